# Stands for your handler under `quern check`: the effect sink does the work, and says how it went.
# Source this file and call `quern_handle < BODY`; its status is what `quern consume` takes: 0 delete the message, else leave it.
quern_handle() { # needs curl
    curl -sSf -m 60 -o /dev/null --data-binary @- "$QUERN_SINK_URL/v1/handle" || return 75
}
