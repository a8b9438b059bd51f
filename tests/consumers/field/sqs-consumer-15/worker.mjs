// sqs-consumer 15 with the graceful shutdown of its README. BATCH_SIZE above 1 turns on what the
// documentation offers for it: several messages at once, a heartbeat, and all of an answer in one call
// on FIFO queues.

import { Consumer } from "sqs-consumer";
import { handle } from "./quern-adapter.mjs";

const batchSize = Number(process.env.BATCH_SIZE ?? 1);
const visibilityTimeout = Number(process.env.QUERN_VISIBILITY);

const inOrder = async (messages) => {
    const done = [];
    for (const message of messages) {
        try {
            await handle(message.Body);
        } catch (error) {
            console.error(error.message);
            break;
        }
        done.push(message);
    }
    return done;
};
const one = async (message) => {
    await handle(message.Body);
    return message;
};

const consumer = Consumer.create({
    queueUrl: process.env.QUEUE_URL,
    pollingCompleteWaitTimeMs: 10_000,
    ...(process.env.QUEUE_URL.endsWith(".fifo") ? { handleMessageBatch: inOrder } : { handleMessage: one }),
    ...(batchSize > 1 && { batchSize, visibilityTimeout, heartbeatInterval: visibilityTimeout / 2 }),
});
for (const event of ["error", "processing_error", "timeout_error"]) {
    consumer.on(event, (error) => console.error(event, error.message));
}
process.once("SIGTERM", () => {
    consumer.stop();
    consumer.once("stopped", () => process.exit(0));
});
consumer.start();
