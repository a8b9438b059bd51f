// The lines between the tests and a runner in JavaScript, as sdk_clients.py describes them.

import { createInterface } from "node:readline";

export function fromWire(value) {
    if (Array.isArray(value)) {
        return value.map(fromWire);
    }
    if (value !== null && typeof value === "object") {
        if (Object.keys(value).join() === "$bytes") {
            return Buffer.from(value.$bytes, "base64");
        }
        return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fromWire(v)]));
    }
    return value;
}

export function toWire(value) {
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

function say(line) {
    process.stdout.write(JSON.stringify(line) + "\n");
}

// Answers requests until the input ends. `answer` gives the output of one; what it throws is the
// service's refusal if `shown` knows what a user sees of it, else the client is broken.
export async function speak(client, answer, shown = () => undefined) {
    async function respond({ id, endpoint, action, members, timeout_s }) {
        try {
            say({ id, output: toWire(await answer(endpoint, action, fromWire(members), timeout_s)) });
        } catch (thrown) {
            const error = shown(thrown, action);
            const { name, code, message } = thrown;
            const kind = thrown.constructor.name;
            const broken = { id, broken: `${name}: ${message}`, thrown: { class: kind, name, code, message } };
            say(error ? { id, error } : broken);
        }
    }

    say({ client });
    for await (const line of createInterface({ input: process.stdin })) {
        respond(JSON.parse(line));
    }
    process.exit(0);
}
