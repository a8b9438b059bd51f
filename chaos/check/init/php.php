<?php
// Stands for your handler under `quern check`: the effect sink does the work, and says how it went.
// Call quern_handle($body) with the text of a message. It returns: delete the message. It throws: leave it.

function quern_handle(string $body): void
{
    $context = stream_context_create(['http' => [
        'method' => 'POST',
        'header' => 'Content-Type: text/plain',
        'content' => $body,
        'timeout' => 60,
    ]]);
    if (@file_get_contents(getenv('QUERN_SINK_URL') . '/v1/handle', false, $context) === false) {
        throw new RuntimeException(error_get_last()['message']);
    }
}
