// sqs-consumer 3, which calls back, as its README shows it.

import Consumer from "sqs-consumer";
import { handle } from "./quern-adapter.mjs";

const app = Consumer.create({
    queueUrl: process.env.QUEUE_URL,
    handleMessage: (message, done) => {
        handle(message.Body).then(() => done(), done);
    },
});
app.on("error", (error) => console.log(error.message));
process.once("SIGTERM", () => app.stop());
app.start();
