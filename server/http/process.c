/* Faults of the server as a whole: for a while it does not listen, or does nothing. Both in real
 * time, as its clients wait. */
#include "server/http/internal.h"

#include <poll.h>

#include "server/base/log.h"

enum { LISTEN_AGAIN_MS = 100 };

void qn_process_refuse(struct qn_loop *loop, int64_t for_ms)
{
    int64_t until_ms = qn_clock_monotonic_ms() + for_ms;

    if (loop->is_stopping) {
        return;
    }
    qn_listeners_close(loop->parts.listeners);
    loop->refuses = true;
    if (until_ms > loop->listen_again_ms) {
        loop->listen_again_ms = until_ms;
    }
}

void qn_process_listen_again(struct qn_loop *loop, int64_t monotonic_ms)
{
    struct qn_error err;

    if (!loop->refuses || loop->listen_again_ms > monotonic_ms || loop->is_stopping) {
        return;
    }
    if (qn_listeners_open(loop->parts.listeners, &err) && qn_loop_watch_listeners(loop, &err)) {
        loop->refuses = false;
        loop->cannot_listen = false;
        loop->listen_again_ms = 0;
        return;
    }
    if (!loop->cannot_listen) {
        qn_log(QN_LOG_WARN, "chaos", "%s; tried again until it goes", err.message);
    }
    loop->cannot_listen = true;
    qn_listeners_close(loop->parts.listeners);
    loop->listen_again_ms = monotonic_ms + LISTEN_AGAIN_MS;
}

/* A signal ends it: the server can be stopped all the time. What fell due meanwhile is done before
 * anybody is served. */
void qn_process_freeze(struct qn_loop *loop, int64_t for_ms)
{
    struct pollfd signals = {.fd = loop->signal_fd, .events = POLLIN};
    int64_t until_ms = qn_clock_monotonic_ms() + for_ms;
    int64_t left_ms = loop->is_stopping ? 0 : for_ms;

    while (left_ms > 0) {
        if (poll(&signals, 1, left_ms < INT32_MAX ? (int)left_ms : INT32_MAX) > 0) {
            break;
        }
        left_ms = until_ms - qn_clock_monotonic_ms();
    }
    qn_pass_read_clock(loop);
    qn_pass_settle(loop);
}
