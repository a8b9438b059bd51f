// sqs-consumer 5, the last that speaks through aws-sdk version 2, as its README shows it.

import { Consumer } from "sqs-consumer";
import { handle } from "./quern-adapter.mjs";

const app = Consumer.create({
    queueUrl: process.env.QUEUE_URL,
    handleMessage: async (message) => {
        await handle(message.Body);
    },
});
app.on("error", (error) => console.error(error.message));
app.on("processing_error", (error) => console.error(error.message));
process.once("SIGTERM", () => app.stop());
app.start();
