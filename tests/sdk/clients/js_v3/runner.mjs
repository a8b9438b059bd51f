// Makes SQS calls with version 3 of the AWS SDK for JavaScript. Lines in and out as
// sdk_clients.py says. The SDK itself checks the digests of bodies on every send and receive.

import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import * as sdk from "@aws-sdk/client-sqs";

const clients = new Map();

function clientOf(endpoint) {
    if (!clients.has(endpoint)) {
        clients.set(endpoint, new sdk.SQSClient({ endpoint }));
    }
    return clients.get(endpoint);
}

function fromWire(value) {
    if (Array.isArray(value)) {
        return value.map(fromWire);
    }
    if (value !== null && typeof value === "object") {
        if (Object.keys(value).join() === "$bytes") {
            return new Uint8Array(Buffer.from(value.$bytes, "base64"));
        }
        return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fromWire(v)]));
    }
    return value;
}

function toWire(value) {
    if (value instanceof Uint8Array) {
        return { $bytes: Buffer.from(value).toString("base64") };
    }
    if (Array.isArray(value)) {
        return value.map(toWire);
    }
    if (value !== null && typeof value === "object") {
        const kept = Object.entries(value).filter(([k, v]) => k !== "$metadata" && v !== undefined);
        return Object.fromEntries(kept.map(([k, v]) => [k, toWire(v)]));
    }
    return value;
}

// What a program that catches the exception can see of it.
function shown(error) {
    return {
        class: error.constructor.name,
        shape: error.name,
        code: error.Code,
        fault: error.$fault,
        status: error.$metadata.httpStatusCode,
        message: error.message,
    };
}

function say(line) {
    process.stdout.write(JSON.stringify(line) + "\n");
}

async function answer({ id, endpoint, action, members: wire }) {
    try {
        const members = fromWire(wire);
        if (members.SystemAttributeNames) {
            members.MessageSystemAttributeNames = members.SystemAttributeNames;
            delete members.SystemAttributeNames;
        }
        const output = await clientOf(endpoint).send(new sdk[`${action}Command`](members));
        say({ id, output: toWire(output) });
    } catch (error) {
        if (error instanceof sdk.SQSServiceException) {
            say({ id, error: shown(error) });
        } else {
            say({ id, broken: `${error.name}: ${error.message}` });
        }
    }
}

const manifest = createRequire(import.meta.url)("./node_modules/@aws-sdk/client-sqs/package.json");
say({ client: `${manifest.name} ${manifest.version}` });
for await (const line of createInterface({ input: process.stdin })) {
    answer(JSON.parse(line));
}
process.exit(0);
