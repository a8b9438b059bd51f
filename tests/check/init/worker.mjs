// A small consumer around the adapter that `quern check init` writes; SQS without an SDK.
import { handle } from "./quern-adapter.mjs";

let stopped = false;
process.on("SIGTERM", () => (stopped = true));
const url = process.env.QUEUE_URL;

async function sqs(action, input) {
  const answer = await fetch(process.env.AWS_ENDPOINT_URL, {
    method: "POST",
    headers: { "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": `AmazonSQS.${action}` },
    body: JSON.stringify({ QueueUrl: url, ...input }),
  });
  if (!answer.ok) throw new Error(`${action}: ${answer.status}`);
  return answer.json().catch(() => ({}));
}

while (!stopped) {
  try {
    for (const message of (await sqs("ReceiveMessage", { WaitTimeSeconds: 1 })).Messages ?? []) {
      await handle(message.Body);
      await sqs("DeleteMessage", { ReceiptHandle: message.ReceiptHandle });
    }
  } catch (reason) {
    console.log("left:", reason.message);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
