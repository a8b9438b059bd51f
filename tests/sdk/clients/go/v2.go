// Version 2 of the SDK.

package main

import (
	"errors"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
)

func version() string { return aws.SDKName + " " + sdkVersion() }

func methodPrefix(action string) string { return action }

func clientOf(endpoint string) any {
	options := sqs.Options{
		Region:      "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}
	at(&options, endpoint)
	return sqs.New(options)
}

// What a program that looks at the error can see of it.
func shown(err error) map[string]any {
	var failure smithy.APIError
	var response *awshttp.ResponseError
	if !errors.As(err, &failure) || !errors.As(err, &response) {
		return nil
	}
	return map[string]any{"class": reflect.TypeOf(failure).Elem().Name(), "code": failure.ErrorCode(),
		"message": failure.ErrorMessage(), "status": response.HTTPStatusCode(),
		"fault": failure.ErrorFault().String()}
}

// Members that are plain numbers in this SDK, which does not send a zero unless they are required.
func unsaid(action string, members map[string]any) string {
	for _, name := range []string{"DelaySeconds", "VisibilityTimeout", "WaitTimeSeconds"} {
		if members[name] == 0.0 && action != "ChangeMessageVisibility" {
			return action + "." + name + " of 0"
		}
	}
	entries, _ := members["Entries"].([]any)
	for _, entry := range entries {
		if what := unsaid(action, entry.(map[string]any)); what != "" {
			return what
		}
	}
	return ""
}
