// Stands for your handler under `quern check`: the effect sink does the work, and says how it went.
// Call handle(body) with the text of a message. It resolves: delete the message. It rejects: leave it.
export async function handle(body) {
  const message = read(body);
  if (!message) {
    // Not ours: can never succeed; do here what you do with such. Recorded before it is deleted.
    const record = await post("/v1/rejects", body, {});
    if (!record.ok) throw new Error(`reject: ${record.status}`);
    return;
  }
  if (message.schemaVersion !== 1) throw new Error("a version that this build does not know");
  const answer = await post("/v1/effects", body, { "Idempotency-Key": message.idempotencyKey });
  const reason = await answer.text();
  if (answer.status === 422) {
    // Never; recorded before the message is deleted.
    const record = await post("/v1/rejects", JSON.stringify({ id: message.payload.id, reason }), {});
    if (!record.ok) throw new Error(`reject: ${record.status}`);
  } else if (!answer.ok) {
    throw new Error(`effect: ${answer.status}`); // may succeed later
  }
}

function read(body) {
  try {
    const message = JSON.parse(body);
    return message.idempotencyKey && message.payload.id ? message : null;
  } catch {
    return null;
  }
}

function post(path, body, headers) {
  return fetch(process.env.QUERN_SINK_URL + path, {
    method: "POST",
    body,
    headers: { "Content-Type": "application/json", ...headers },
    signal: AbortSignal.timeout(60000),
  });
}
