// Stands for your handler under `quern check`: the effect sink does the work, and says how it went.
// Call handle(body) with the text of a message. It resolves: delete the message. It rejects: leave it.
export async function handle(body) {
  const answer = await fetch(process.env.QUERN_SINK_URL + "/v1/handle", {
    method: "POST",
    body,
    signal: AbortSignal.timeout(60000),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`status ${answer.status}: ${text}`);
}
