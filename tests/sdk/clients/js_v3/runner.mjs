// Makes SQS calls with version 3 of the AWS SDK for JavaScript. The SDK itself checks the digests of
// bodies on every send and receive. The argument is the name that this version of the SDK has for the
// member SystemAttributeNames.

import { createRequire } from "node:module";
import * as sdk from "@aws-sdk/client-sqs";
import { speak } from "./lines.mjs";

const [, , systemAttributeNames] = process.argv;
const clients = new Map();

function clientOf(endpoint, timeoutS) {
    const key = `${endpoint} ${timeoutS}`;
    if (!clients.has(key)) {
        const timeoutMs = timeoutS && 1000 * timeoutS;
        const requestHandler = timeoutS && { connectionTimeout: timeoutMs, socketTimeout: timeoutMs };
        clients.set(key, new sdk.SQSClient(requestHandler ? { endpoint, requestHandler } : { endpoint }));
    }
    return clients.get(key);
}

function call(endpoint, action, { SystemAttributeNames, ...members }, timeoutS) {
    if (SystemAttributeNames) {
        members[systemAttributeNames] = SystemAttributeNames;
    }
    return clientOf(endpoint, timeoutS).send(new sdk[`${action}Command`](members));
}

// What a program that catches the exception can see of it. The older SDK has code and message of the
// errors that have a class in their member Error.
function shown(error, action) {
    if (!(error instanceof sdk.SQSServiceException)) {
        return undefined;
    }
    return {
        action,
        class: error.constructor.name,
        shape: error.name,
        code: error.Code ?? error.Error?.Code,
        fault: error.$fault,
        status: error.$metadata.httpStatusCode,
        message: error.Error?.Message ?? error.message,
    };
}

const manifest = createRequire(import.meta.url)("./node_modules/@aws-sdk/client-sqs/package.json");
speak(`${manifest.name} ${manifest.version}`, call, shown);
