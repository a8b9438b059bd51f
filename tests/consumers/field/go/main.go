// A loop on the AWS SDK for Go version 2: receive and delete as in the SDK's own examples, each message
// of an answer in a goroutine, and a context that ends at SIGTERM.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

var queue = os.Getenv("QUEUE_URL")

func receive(ctx context.Context, client *sqs.Client) ([]types.Message, error) {
	result, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl:            aws.String(queue),
		MaxNumberOfMessages: 10,
		WaitTimeSeconds:     20,
	})
	if err != nil {
		return nil, err
	}
	return result.Messages, nil
}

func remove(ctx context.Context, client *sqs.Client, message types.Message) {
	_, err := client.DeleteMessage(ctx, &sqs.DeleteMessageInput{
		QueueUrl:      aws.String(queue),
		ReceiptHandle: message.ReceiptHandle,
	})
	if err != nil {
		log.Printf("couldn't delete message %s: %v", *message.MessageId, err)
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	client := sqs.NewFromConfig(settings)
	for ctx.Err() == nil {
		messages, err := receive(ctx, client)
		if err != nil {
			if ctx.Err() == nil {
				log.Printf("couldn't get messages: %v", err)
				time.Sleep(time.Second)
			}
			continue
		}
		var working sync.WaitGroup
		for _, message := range messages {
			working.Add(1)
			go func() {
				defer working.Done()
				if err := QuernHandle(*message.Body); err != nil {
					log.Printf("message %s: %v", *message.MessageId, err)
					return
				}
				remove(ctx, client, message)
			}()
		}
		working.Wait()
	}
}
