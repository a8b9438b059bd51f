# Stands for your handler under `quern check`: the effect sink does the work, and says how it went.
# Source this file and call `quern_handle < BODY`; its status is what `quern consume` takes: 0 delete the message, else leave it.
_quern_post() { curl -sS -m 60 -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' --data-binary @- "$@"; }
_quern_reject() { # what can never succeed is recorded, and only then it is done
    _id=$(printf %s "$_body" | jq -r '.payload.id // empty' 2>/dev/null)
    [ "$(jq -nc --arg id "${_id:-$QUERN_MESSAGE_ID}" --arg reason "$1" '{$id, $reason}' |
        _quern_post "$QUERN_SINK_URL/v1/rejects")" = 200 ] || return 75
}
quern_handle() { # needs curl and jq
    _body=$(cat)
    # Not ours, or of a version that this build does not know: do here what you do with such.
    _key=$(printf %s "$_body" | jq -er 'select(.schemaVersion == 1) | .idempotencyKey' 2>/dev/null) ||
        { _quern_reject 'not ours'; return; }
    case $(printf %s "$_body" | _quern_post -H "Idempotency-Key: $_key" "$QUERN_SINK_URL/v1/effects") in
    200) return 0 ;;
    422) _quern_reject refused ;;
    *) return 75 ;; # may succeed later
    esac
}
