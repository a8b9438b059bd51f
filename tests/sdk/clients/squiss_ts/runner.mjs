// Consumes and sends with squiss-ts, which finds the queue by its name.

import { createRequire } from "node:module";
import { serveConsumers } from "./consuming.mjs";

const require = createRequire(import.meta.url);
const { Squiss } = require("squiss-ts");

function squissOf(endpoint, queueName, more) {
    const squiss = new Squiss({ awsConfig: { endpoint }, queueName, ...more });
    squiss.on("error", (error) => console.error(error.message));
    return squiss;
}

// Squiss gives attributes as values of JavaScript.
function attributeOf(value) {
    return typeof value === "number"
        ? { DataType: "Number", StringValue: String(value) }
        : { DataType: "String", StringValue: value };
}

function valueOf({ DataType, StringValue, BinaryValue }) {
    return DataType === "Number" ? Number(StringValue) : BinaryValue ?? StringValue;
}

function mapped(object, change) {
    return Object.fromEntries(Object.entries(object ?? {}).map(([k, v]) => [k, change(v)]));
}

async function start({ queue_name: queueName, batch }, handler, endpoint) {
    const squiss = squissOf(endpoint, queueName, {
        bodyFormat: "plain",
        receiveBatchSize: batch,
        receiveSqsAttributes: ["All"],
        receiveAttributes: ["All"],
        deleteWaitMs: 50,
    });
    squiss.on("message", (message) => {
        try {
            handler.handle({
                Body: message.body,
                Attributes: message.sqsAttributes,
                MessageAttributes: mapped(message.attributes, attributeOf),
            });
        } catch {
            message.keep(); // neither deleted nor released: it comes again by itself
            return;
        }
        message.del();
    });
    await squiss.start();
    return () => squiss.stop();
}

async function send(members, endpoint) {
    const attributes = mapped(members.MessageAttributes, valueOf);
    if (members.MessageGroupId) {
        attributes.FIFO_MessageGroupId = members.MessageGroupId;
    }
    if (members.MessageDeduplicationId) {
        attributes.FIFO_MessageDeduplicationId = members.MessageDeduplicationId;
    }
    const squiss = squissOf(endpoint, members.queue_name);
    await squiss.sendMessage(members.MessageBody, members.DelaySeconds, attributes);
}

serveConsumers(`squiss-ts ${require("./node_modules/squiss-ts/package.json").version}`, { start, send });
