// Version 1 of the SDK.

package main

import (
	"errors"
	"os"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go/aws"
	"github.com/aws/aws-sdk-go/aws/awserr"
	"github.com/aws/aws-sdk-go/aws/session"
	"github.com/aws/aws-sdk-go/service/sqs"
)

func version() string { return aws.SDKName + " " + aws.SDKVersion }

func methodPrefix(action string) string { return action + "WithContext" }

func clientOf(endpoint string) any {
	region := os.Getenv("AWS_REGION")
	all := session.Must(session.NewSession(&aws.Config{Endpoint: &endpoint, Region: &region}))
	return sqs.New(all)
}

// What a program that looks at the error can see of it.
func shown(err error) map[string]any {
	var failure awserr.RequestFailure
	if !errors.As(err, &failure) || failure.StatusCode() == 0 {
		return nil
	}
	class := reflect.TypeOf(err).Elem().Name()
	return map[string]any{"class": strings.Title(class), "code": failure.Code(),
		"message": failure.Message(), "status": failure.StatusCode()}
}

// All members are pointers in this SDK, so that each value can be said.
func unsaid(string, map[string]any) string { return "" }
