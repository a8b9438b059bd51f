# Stands for your handler under `quern check`: the effect sink does the work, and says how it went.
# Source this file and call `quern_handle < BODY`. Exit status 0: delete the message; else leave it.
# Needs curl and jq.
quern_handle() {
    _body=$(cat)
    # Not ours, or of a version that this build does not know: do here what you do with such.
    _key=$(printf %s "$_body" | jq -er 'select(.schemaVersion == 1) | .idempotencyKey') || return 1
    _status=$(printf %s "$_body" | curl -sS -m 60 -o /dev/null -w '%{http_code}' \
        -H 'Content-Type: application/json' -H "Idempotency-Key: $_key" \
        --data-binary @- "$QUERN_SINK_URL/v1/effects") || return 1
    case $_status in
    200) return 0 ;;
    422) # never; recorded before the message is deleted
        printf %s "$_body" | jq -c '{id: .payload.id, reason: "permanent"}' | curl -fsS -m 60 -o /dev/null \
            -H 'Content-Type: application/json' --data-binary @- "$QUERN_SINK_URL/v1/rejects" ;;
    *) return 1 ;; # may succeed later
    esac
}
