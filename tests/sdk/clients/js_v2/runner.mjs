// Makes SQS calls with version 2 of the AWS SDK for JavaScript. It asks the host of each queue URL,
// and checks the digests of bodies itself.

import AWS from "aws-sdk";
import { speak } from "./lines.mjs";

const clients = new Map();

function clientOf(endpoint) {
    if (!clients.has(endpoint)) {
        // What the SDK would refuse by itself is to reach the server.
        clients.set(endpoint, new AWS.SQS({ endpoint, paramValidation: false }));
    }
    return clients.get(endpoint);
}

// The SDK makes an empty list of each list that the answer does not have.
function withoutEmptyLists(value) {
    if (Array.isArray(value)) {
        return value.map(withoutEmptyLists);
    }
    if (value !== null && typeof value === "object" && !(value instanceof Uint8Array)) {
        const kept = Object.entries(value).filter(([, v]) => !Array.isArray(v) || v.length > 0);
        return Object.fromEntries(kept.map(([k, v]) => [k, withoutEmptyLists(v)]));
    }
    return value;
}

async function call(endpoint, action, members) {
    if (members.SystemAttributeNames) {
        members.AttributeNames = members.SystemAttributeNames;
        delete members.SystemAttributeNames;
    }
    const method = action[0].toLowerCase() + action.slice(1);
    return withoutEmptyLists(await clientOf(endpoint)[method](members).promise());
}

// Only an error with a request id came from the service.
function shown(error) {
    if (!error.requestId) {
        return undefined;
    }
    return { code: error.code, status: error.statusCode, message: error.message };
}

speak(`aws-sdk ${AWS.VERSION}`, call, shown);
