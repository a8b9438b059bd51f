// A right consumer in JavaScript, on @aws-sdk/client-sqs alone: so many messages at a time as it has
// hands, a heartbeat for each, keyed effects, groups in order, and a long poll that ends at SIGTERM.

import {
    ChangeMessageVisibilityCommand,
    DeleteMessageCommand,
    GetQueueAttributesCommand,
    ReceiveMessageCommand,
    SQSClient,
} from "@aws-sdk/client-sqs";

const HANDS = 4;
const WAIT_S = 5;
const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 4000;
const DELETE_ATTEMPTS = 4;
const AFTER_FAILURE_MS = 500;

const queue = process.env.QUEUE_URL;
const sink = process.env.QUERN_SINK_URL;
const sqs = new SQSClient({ maxAttempts: 1, requestHandler: { connectionTimeout: 3000, requestTimeout: 15000, throwOnRequestTimeout: true } });
const poll = new AbortController();
const held = new Map(); // by MessageId: what is worked on, with its newest handle
let stopping = false;
let leaseS = 0;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const log = (event, error) => console.error(event, error?.name ?? "", error?.message ?? "");
const pauseMs = (nth) => Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** nth) * (0.75 + Math.random() / 4);
const call = (Command, input) => sqs.send(new Command({ QueueUrl: queue, ...input }));

async function extend(job) {
    if (Date.now() > job.endsAt) return; // it is somebody else's by now
    const handle = job.handle;
    const asked = Date.now();
    try {
        await call(ChangeMessageVisibilityCommand, { ReceiptHandle: handle, VisibilityTimeout: leaseS });
        if (handle === job.handle) job.endsAt = asked + leaseS * 1000;
    } catch (error) {
        log("extension failed", error);
        await sleep(AFTER_FAILURE_MS);
        if (held.get(job.message.MessageId) === job && !job.isOver) return extend(job);
    }
}

async function stopBeat(job) {
    job.isOver = true;
    clearInterval(job.timer);
    await job.beat;
}

async function post(path, body, headers) {
    try {
        const answer = await fetch(sink + path, { method: "POST", body, headers, signal: AbortSignal.timeout(Math.max(20, 8 * leaseS) * 1000) });
        await answer.text();
        return answer.status;
    } catch {
        return 0; // nobody knows
    }
}

function read(text) {
    try {
        const body = JSON.parse(text);
        return body.schemaVersion === 1 && body.idempotencyKey && body.payload.id ? body : null;
    } catch {
        return null;
    }
}

const reject = async (id, reason) => (await post("/v1/rejects", JSON.stringify({ id, reason }), {})) === 200;

// True when the message is finished with, and can be deleted.
async function work({ message }) {
    const body = read(message.Body);
    if (body === null) return reject(message.MessageId, "not a message of version 1");
    const status = await post("/v1/effects", message.Body, {
        "Idempotency-Key": body.idempotencyKey,
        "X-Quern-Instance": process.env.QUERN_INSTANCE ?? "",
        "X-Quern-Message-Id": message.MessageId,
        "X-Quern-Receive-Count": message.Attributes.ApproximateReceiveCount,
    });
    return status === 422 ? reject(body.payload.id, "refused") : status === 200;
}

async function remove(job) {
    for (let attempt = 0; attempt < DELETE_ATTEMPTS; attempt++) {
        const handle = job.handle;
        try {
            await call(DeleteMessageCommand, { ReceiptHandle: handle });
            if (handle === job.handle) return;
        } catch (error) {
            log("delete failed", error);
            const status = error.$metadata?.httpStatusCode ?? 0;
            if (status >= 400 && status < 500 && status !== 403 && status !== 429) return;
            await sleep(pauseMs(attempt) / 2);
        }
    }
}

async function makeVisible(job, inS) {
    await stopBeat(job);
    try {
        await call(ChangeMessageVisibilityCommand, { ReceiptHandle: job.handle, VisibilityTimeout: inS });
    } catch (error) {
        log("handing back failed", error);
    }
}

async function finish(job) {
    if (stopping && !job.begun) return makeVisible(job, 0);
    if (Date.now() > job.endsAt) return stopBeat(job);
    job.begun = true;
    const isDone = await work(job);
    if (isDone) {
        await stopBeat(job);
        return remove(job);
    }
    job.failed = true;
    const count = Number(job.message.Attributes.ApproximateReceiveCount);
    return makeVisible(job, count < 2 ? Math.ceil(leaseS / 2) : leaseS);
}

// One after the other within a group; behind a failure nothing that came with it is begun.
async function inOrder(job, before) {
    const isBlocked = await before;
    if (isBlocked) {
        await makeVisible(job, 0);
        return true;
    }
    await finish(job);
    return job.failed === true || !job.begun;
}

function take(message, line) {
    const known = held.get(message.MessageId);
    if (known) {
        Object.assign(known, { handle: message.ReceiptHandle, endsAt: Date.now() + leaseS * 1000 });
        return;
    }
    const job = { message, handle: message.ReceiptHandle, endsAt: Date.now() + leaseS * 1000 };
    held.set(message.MessageId, job);
    job.timer = setInterval(() => (job.beat = extend(job)), leaseS * 500);
    const group = queue.endsWith(".fifo") ? message.Attributes.MessageGroupId : null;
    const run = group === null ? finish(job) : inOrder(job, line.get(group) ?? Promise.resolve(false));
    if (group !== null) line.set(group, run);
    run.catch((error) => log("unexpected", error)).finally(() => {
        clearInterval(job.timer);
        held.delete(message.MessageId);
        free.forEach((wake) => wake());
    });
}

const free = new Set();
const someHand = () => new Promise((resolve) => free.add(resolve));

async function receive(failures) {
    try {
        if (leaseS === 0) {
            const answer = await call(GetQueueAttributesCommand, { AttributeNames: ["VisibilityTimeout"] });
            leaseS = Number(answer.Attributes.VisibilityTimeout);
        }
        const wanted = { MaxNumberOfMessages: HANDS - held.size, WaitTimeSeconds: WAIT_S, AttributeNames: ["All"] };
        const answer = await sqs.send(new ReceiveMessageCommand({ QueueUrl: queue, ...wanted }), {
            abortSignal: poll.signal,
        });
        const line = new Map(); // of this answer: the queue sends no more of a group that is in work
        for (const message of answer.Messages ?? []) take(message, line);
        return 0;
    } catch (error) {
        if (!stopping) {
            log("receive failed", error);
            await Promise.race([sleep(pauseMs(failures)), new Promise((end) => poll.signal.addEventListener("abort", end))]);
        }
        return failures + 1;
    }
}

const graceMs = Number(process.env.QUERN_GRACE ?? 10) * 1000;
let giveUpAt = Infinity;

process.on("SIGTERM", () => {
    stopping = true;
    giveUpAt = Date.now() + graceMs - 2000; // what is not finished by then is handed back
    poll.abort();
    free.forEach((wake) => wake());
});

for (let failures = 0; !stopping; ) {
    if (held.size >= HANDS) await someHand();
    else failures = await receive(failures);
    free.clear();
}
while (held.size > 0 && Date.now() < giveUpAt) await sleep(10);
await Promise.race([Promise.allSettled([...held.values()].map((job) => makeVisible(job, 0))), sleep(1000)]);
process.exit(0);
