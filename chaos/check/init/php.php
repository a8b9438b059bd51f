<?php
// Stands for your handler under `quern check`: the effect sink does the work, and says how it went.
// Call quern_handle($body) with the text of a message. It returns: delete the message. It throws: leave it.

function quern_handle(string $body): void
{
    $message = json_decode($body, true);
    if (!isset($message['schemaVersion'], $message['idempotencyKey'], $message['payload']['id'])) {
        // Not ours: can never succeed; do here what you do with such. Recorded before it is deleted.
        [$status] = quern_post('/v1/rejects', $body, []);
        if ($status !== 200) {
            throw new RuntimeException("status $status");
        }
        return;
    }
    if ($message['schemaVersion'] !== 1) {
        throw new RuntimeException('a version that this build does not know');
    }
    [$status, $text] = quern_post('/v1/effects', $body, ['Idempotency-Key: ' . $message['idempotencyKey']]);
    if ($status === 422) { // never; recorded before the message is deleted
        $record = json_encode(['id' => $message['payload']['id'], 'reason' => $text]);
        [$status] = quern_post('/v1/rejects', $record, []);
    }
    if ($status !== 200) {
        throw new RuntimeException("status $status"); // may succeed later
    }
}

function quern_post(string $path, string $body, array $headers): array
{
    $context = stream_context_create(['http' => [
        'method' => 'POST',
        'header' => array_merge(['Content-Type: application/json'], $headers),
        'content' => $body,
        'ignore_errors' => true,
        'timeout' => 60,
    ]]);
    $text = file_get_contents(getenv('QUERN_SINK_URL') . $path, false, $context);
    return [(int) explode(' ', $http_response_header[0] ?? '0 0')[1], (string) $text];
}
