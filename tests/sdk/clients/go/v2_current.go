package main

import (
	"runtime/debug"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func sdkVersion() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/aws/aws-sdk-go-v2/service/sqs" {
			return module.Version[1:]
		}
	}
	return "?"
}

func at(options *sqs.Options, endpoint string) { options.BaseEndpoint = aws.String(endpoint) }
