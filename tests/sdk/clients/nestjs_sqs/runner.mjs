// Consumes and sends with the SQS module for NestJS: each consumer, and each queue that is sent to, is
// an application of its own.

import { createRequire } from "node:module";
import "reflect-metadata";
import { SQSClient } from "@aws-sdk/client-sqs";
import { NestFactory } from "@nestjs/core";
import { serveConsumers } from "./consuming.mjs";

const require = createRequire(import.meta.url);
const { SqsConsumerEventHandler, SqsMessageHandler, SqsModule, SqsService } = require("@ssut/nestjs-sqs");

function application(options, providers) {
    class Application {}
    const module = { module: Application, imports: [SqsModule.register(options)], providers };
    return NestFactory.createApplicationContext(module, { logger: ["error"] });
}

// A provider with its decorators, which TypeScript would write above the methods.
function providerOf(name, handler) {
    class Listener {
        async handleMessage(message) {
            handler.handle(message);
            return message;
        }

        onError(error) {
            if (error.code !== "AbortError") {
                console.error(error.message);
            }
        }
    }
    const decorate = (method, decorator) => {
        const descriptor = Object.getOwnPropertyDescriptor(Listener.prototype, method);
        decorator(Listener.prototype, method, descriptor);
    };
    decorate("handleMessage", SqsMessageHandler(name, false));
    decorate("onError", SqsConsumerEventHandler(name, "error"));
    return Listener;
}

async function start({ consumer: name, queue_url: queueUrl, batch }, handler, endpoint) {
    const consumer = {
        name,
        queueUrl,
        sqs: new SQSClient({ endpoint }),
        batchSize: batch,
        attributeNames: ["All"],
        messageAttributeNames: ["All"],
        suppressFifoWarning: true,
    };
    const options = { consumers: [consumer], globalStopOptions: { abort: true } };
    const running = await application(options, [providerOf(name, handler)]);
    return () => running.close();
}

async function send(members, endpoint) {
    const name = members.queue_name;
    const producer = { name, queueUrl: members.QueueUrl, sqs: new SQSClient({ endpoint }) };
    const running = await application({ producers: [producer] }, []);
    await running.get(SqsService).send(name, {
        id: "only",
        body: members.MessageBody,
        messageAttributes: members.MessageAttributes,
        groupId: members.MessageGroupId,
        deduplicationId: members.MessageDeduplicationId,
        delaySeconds: members.DelaySeconds,
    });
    await running.close();
}

const { version } = require("./node_modules/@ssut/nestjs-sqs/package.json");
serveConsumers(`@ssut/nestjs-sqs ${version}`, { start, send });
