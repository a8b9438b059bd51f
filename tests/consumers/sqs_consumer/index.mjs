// The published package sqs-consumer as its README shows it. Nothing here knows of Quern.

import { Consumer } from "sqs-consumer";

const consumer = Consumer.create({
    queueUrl: process.env.QUEUE_URL,
    handleMessage: async (message) => message,
});
consumer.on("error", (error) => console.error(error.message));
consumer.on("processing_error", (error) => console.error(error.message));
process.on("SIGTERM", () => consumer.stop());
consumer.start();
