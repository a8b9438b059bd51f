// The runner of a framework: the consumers that the tests start, and what their handlers were given.

import { speak } from "./lines.mjs";

class Handler {
    constructor(fail) {
        this.leftToFail = new Map(Object.entries(fail));
        this.seen = [];
    }

    // Takes a message named as ReceiveMessage has it. Throws if the tests want it to fail.
    handle({ Body, Attributes, MessageAttributes }) {
        const left = this.leftToFail.get(Body) ?? 0;
        this.leftToFail.set(Body, left - 1);
        this.seen.push({ Body, Attributes, MessageAttributes, failed: left > 0 });
        if (left > 0) {
            throw new Error("the handler fails, as it was told");
        }
    }
}

// `start(members, handler, endpoint)` begins to poll and gives (a promise of) the function that ends
// it; `send(members, endpoint)` sends one message, where the framework has a producer.
export function serveConsumers(client, { start, send }) {
    const consumers = new Map();

    async function answer(endpoint, action, members) {
        const consumer = consumers.get(members.consumer);
        switch (action) {
            case "consume.start": {
                const handler = new Handler(members.fail);
                const running = Promise.resolve(start(members, handler, endpoint));
                consumers.set(members.consumer, { handler, running });
                await running;
                return {};
            }
            case "consume.seen":
                return { seen: consumer.handler.seen };
            case "consume.stop": {
                consumers.delete(members.consumer);
                const stop = await consumer.running;
                await stop();
                return {};
            }
            case "send":
                await send(members, endpoint);
                return {};
            default:
                throw new Error(`a framework does not know ${action}`);
        }
    }

    return speak(client, answer);
}
