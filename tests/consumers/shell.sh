#!/bin/sh
# A right consumer as a shell script: the AWS CLI receives and deletes, curl does the work. Needs aws,
# curl and jq. One message at a time; what fails comes back when its lease ends, what can never
# succeed is left to the redrive policy. Told to end, it lets its work go on for six seconds more;
# what is not done by then it gives back.
folder=$(mktemp -d) || exit 1
stop=
timer=
pause=1
trap 'stop=1' TERM INT
trap 'rm -rf "$folder"; [ -z "$timer" ] || kill "$timer"' EXIT

sqs() { aws --endpoint-url "$AWS_ENDPOINT_URL" sqs "$@"; }

give_back() { sqs change-message-visibility --queue-url "$QUEUE_URL" --receipt-handle "$1" --visibility-timeout 0; }

# Whether the child succeeds. A signal ends the wait for it, and not the child.
finishes() {
    while true; do
        if [ -n "$stop" ] && [ -z "$timer" ]; then
            { sleep 6 && kill "$1"; } 2>"$folder/late" &
            timer=$!
        fi
        wait "$1"
        status=$?
        if [ "$status" -le 128 ] || ! kill -0 "$1" 2>"$folder/ended"; then
            return "$status"
        fi
    done
}

while [ -z "$stop" ]; do
    if ! sqs receive-message --queue-url "$QUEUE_URL" --wait-time-seconds 2 --max-number-of-messages 1 \
        --attribute-names ApproximateReceiveCount >"$folder/answer"; then
        sleep "$pause"
        pause=$((pause < 8 ? pause * 2 : 8))
        continue
    fi
    pause=1
    handle=$(jq -r '.Messages[0].ReceiptHandle // empty' "$folder/answer")
    [ -n "$handle" ] || continue
    if [ -n "$stop" ]; then
        give_back "$handle"
        break
    fi
    jq -j '.Messages[0].Body' "$folder/answer" >"$folder/body"
    key=$(jq -er 'select(.schemaVersion == 1) | .idempotencyKey' "$folder/body" 2>/dev/null) || continue
    curl -fsS --noproxy '*' --max-time 60 -o /dev/null \
        -H "Idempotency-Key: $key" -H 'Content-Type: application/json' -H "X-Quern-Instance: $QUERN_INSTANCE" \
        -H "X-Quern-Message-Id: $(jq -r '.Messages[0].MessageId' "$folder/answer")" \
        -H "X-Quern-Receive-Count: $(jq -r '.Messages[0].Attributes.ApproximateReceiveCount' "$folder/answer")" \
        --data-binary @"$folder/body" "$QUERN_SINK_URL/v1/effects" &
    if finishes $!; then
        sqs delete-message --queue-url "$QUEUE_URL" --receipt-handle "$handle"
    elif [ -n "$stop" ]; then
        give_back "$handle"
    fi
done
