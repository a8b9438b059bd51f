// squiss-ts as its documentation shows it: so many messages at once, their visibility extended while the
// handler works, each deleted when it is done and left to its lease when it is not. squiss-ts tells of
// errors that nobody listens to by throwing them.

import { createRequire } from "node:module";
import { handle } from "./quern-adapter.mjs";

const { Squiss } = createRequire(import.meta.url)("squiss-ts");

const squiss = new Squiss({
    awsConfig: { region: process.env.AWS_REGION },
    queueUrl: process.env.QUEUE_URL,
    bodyFormat: "plain",
    maxInFlight: 15,
    autoExtendTimeout: true,
});
squiss.on("message", async (message) => {
    try {
        await handle(message.body);
        await message.del();
    } catch (error) {
        console.error(error.message);
        message.keep();
    }
});
squiss.on("error", (error) => console.error(error.message));
process.once("SIGTERM", async () => {
    await squiss.stop();
    process.exit(0);
});
await squiss.start();
