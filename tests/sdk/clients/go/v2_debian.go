package main

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func sdkVersion() string { return aws.SDKVersion }

func at(options *sqs.Options, endpoint string) {
	options.EndpointResolver = sqs.EndpointResolverFromURL(endpoint)
}
