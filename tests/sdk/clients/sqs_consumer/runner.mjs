// Consumes with sqs-consumer and sends with sqs-producer. Both make their own SDK client, which takes
// the endpoint from the queue URL.

import { readFileSync } from "node:fs";
import { Consumer } from "sqs-consumer";
import { Producer } from "sqs-producer";
import { serveConsumers } from "./consuming.mjs";

function start({ queue_url: queueUrl, batch }, handler) {
    const consumer = Consumer.create({
        queueUrl,
        batchSize: batch,
        messageSystemAttributeNames: ["All"],
        messageAttributeNames: ["All"],
        suppressFifoWarning: true,
        handleMessage: async (message) => {
            handler.handle(message);
            return message;
        },
    });
    consumer.on("error", (error) => {
        if (error.code !== "AbortError") {
            console.error(error.message);
        }
    });
    consumer.on("processing_error", () => {}); // the handler told it already
    consumer.start();
    return () => consumer.stop({ abort: true });
}

async function send(members) {
    await Producer.create({ queueUrl: members.QueueUrl }).send({
        id: "only",
        body: members.MessageBody,
        messageAttributes: members.MessageAttributes,
        groupId: members.MessageGroupId,
        deduplicationId: members.MessageDeduplicationId,
        delaySeconds: members.DelaySeconds,
    });
}

function versionOf(name) {
    const file = new URL(`./node_modules/${name}/package.json`, import.meta.url);
    return JSON.parse(readFileSync(file)).version;
}

const versions = ["sqs-consumer", "sqs-producer"].map(versionOf);
serveConsumers(`sqs-consumer, sqs-producer ${versions.join("+")}`, { start, send });
