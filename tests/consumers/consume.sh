#!/bin/sh
# The work of one message, for `quern consume "$QUEUE_URL" -- sh consume.sh`. The rest of a right
# consumer is in `quern consume`: what is left is the business, here the effect sink of `quern check`.
# Needs curl and jq.
body=$(mktemp) || exit 75
trap 'rm -f "$body"' EXIT
trap 'exit 75' TERM
cat >"$body"

post() {
    curl -s -o /dev/null -w '%{http_code}' --max-time 60 -H 'Content-Type: application/json' \
        -H "X-Quern-Message-Id: $QUERN_MESSAGE_ID" \
        -H "X-Quern-Receive-Count: $QUERN_MESSAGE_RECEIVE_COUNT" "$@"
}

# What can never succeed is kept where somebody looks, and only then it is done.
reject() {
    id=$(jq -r '.payload.id // empty' "$body" 2>/dev/null)
    status=$(jq -nc --arg id "${id:-$QUERN_MESSAGE_ID}" --arg reason "$1" '{$id, $reason}' |
        post --data-binary @- "$QUERN_SINK_URL/v1/rejects")
    [ "$status" = 200 ] && exit 0
    exit 75
}

key=$(jq -er 'select(.schemaVersion == 1).idempotencyKey' "$body" 2>/dev/null) ||
    reject 'not a message of version 1'
case $(post -H "Idempotency-Key: $key" --data-binary @"$body" "$QUERN_SINK_URL/v1/effects") in
200) exit 0 ;;
422) reject refused ;;
*) exit 75 ;;
esac
