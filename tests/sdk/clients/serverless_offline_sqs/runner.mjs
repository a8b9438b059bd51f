// Consumes with Lambda functions that serverless-offline-sqs calls. Each consumer is a service of its
// own, in a process of its own, whose function hands what it was given to the server here.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { serveConsumers } from "./consuming.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const services = mkdtempSync(`${here}services-`);
const handlers = new Map();
const processes = new Set();

// A Lambda record has the fields of a message under names of its own.
function messageOf({ body, attributes, messageAttributes }) {
    const upper = (name) => name[0].toUpperCase() + name.slice(1);
    const renamed = (object) => Object.entries(object).map(([k, v]) => [upper(k), v]);
    const changed = Object.entries(messageAttributes ?? {}).map(([k, v]) => [
        k,
        Object.fromEntries(renamed(v)),
    ]);
    return { Body: body, Attributes: attributes, MessageAttributes: Object.fromEntries(changed) };
}

const server = createServer(async (request, response) => {
    const record = JSON.parse(await text(request));
    try {
        handlers.get(request.url).handle(messageOf(record));
    } catch (error) {
        response.statusCode = 500;
        response.end(error.message);
        return;
    }
    response.end();
});
server.listen(0, "127.0.0.1");
await once(server, "listening");

function serviceOf({ consumer, queue_name: queue, batch, fail }, endpoint) {
    const { port } = server.address();
    return {
        service: "consumer",
        frameworkVersion: "3",
        configValidationMode: "off", // compiling the schema takes four seconds of each start
        provider: {
            name: "aws",
            runtime: "nodejs18.x",
            region: "us-east-1",
            environment: { HANDLER_URL: `http://127.0.0.1:${port}/${consumer}` },
        },
        plugins: ["serverless-offline-sqs", "serverless-offline"],
        custom: {
            "serverless-offline": { lambdaPort: 0, httpPort: 0 },
            "serverless-offline-sqs": {
                endpoint,
                region: "us-east-1",
                accessKeyId: "test",
                secretAccessKey: "test",
                autoCreate: true,
            },
        },
        functions: {
            consume: {
                handler: "handler.handle",
                events: [
                    {
                        sqs: {
                            arn: `arn:aws:sqs:us-east-1:000000000000:${queue}`,
                            // The plugin knows no partial failures: one message fails them all.
                            batchSize: Object.keys(fail).length > 0 ? 1 : batch,
                        },
                    },
                ],
            },
        },
    };
}

function folderOf(service) {
    const folder = mkdtempSync(`${services}/`);
    writeFileSync(`${folder}/serverless.json`, JSON.stringify(service));
    copyFileSync(`${here}handler.js`, `${folder}/handler.js`);
    return folder;
}

function launch(folder) {
    const program = `${here}node_modules/serverless/bin/serverless.js`;
    const quiet = { SLS_TELEMETRY_DISABLED: "1", SLS_NOTIFICATIONS_MODE: "off" };
    const process_ = spawn(process.execPath, [program, "offline"], {
        cwd: folder,
        env: { ...process.env, ...quiet, HOME: folder },
        stdio: ["ignore", "pipe", "pipe"],
    });
    processes.add(process_);
    process_.on("exit", () => processes.delete(process_));
    return process_;
}

// Waits until the plugin says that it polls.
function polling(process_) {
    let told = "";
    return new Promise((resolve, reject) => {
        const hear = (data) => {
            told += data;
            if (told.includes("Starting Offline SQS")) {
                resolve();
            }
        };
        process_.stdout.on("data", hear);
        process_.stderr.on("data", hear);
        process_.on("exit", (code) => reject(new Error(`serverless ended with ${code}: ${told}`)));
    });
}

async function start(members, handler, endpoint) {
    const folder = folderOf(serviceOf(members, endpoint));
    handlers.set(`/${members.consumer}`, handler);
    const process_ = launch(folder);
    const ended = once(process_, "exit");
    await polling(process_);
    return async () => {
        process_.kill("SIGTERM");
        const late = setTimeout(() => process_.kill("SIGKILL"), 10000);
        await ended;
        clearTimeout(late);
        rmSync(folder, { recursive: true });
    };
}

process.on("exit", () => {
    processes.forEach((process_) => process_.kill("SIGKILL"));
    rmSync(services, { recursive: true, force: true });
});

const manifest = `${here}node_modules/serverless-offline-sqs/package.json`;
serveConsumers(`serverless-offline-sqs ${JSON.parse(readFileSync(manifest)).version}`, { start });
