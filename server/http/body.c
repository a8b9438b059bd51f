/* Bodies: collected up to a ceiling each, and up to one for all that are under way. */
#include "server/http/internal.h"

enum {
    /* A client that is still sending does not read: what is too large is read to its end, within
     * reason, so that the refusal is seen. */
    DISCARD_MAX = 16 * 1024 * 1024,
    /* A body takes so much at first, and then more as it comes: what it says of its size is not to
     * be trusted. */
    ROOM_AT_FIRST = 64 * 1024,
    /* Bodies that need no more than that may go beyond the ceiling by this part of it. Otherwise
     * some clients that send, or read, slowly would stop all others. */
    SMALL_SHARE = 8
};

static bool is_chunked(const struct qn_call *call)
{
    return call->is_chunked || call->content_length < 0;
}

static bool is_too_large(const struct qn_call *call)
{
    return !is_chunked(call) && (uint64_t)call->content_length > call->body.max;
}

bool qn_body_is_hopeless(const struct qn_call *call)
{
    return is_too_large(call) && (call->expects_continue ||
                                  (uint64_t)call->content_length > call->body.max + DISCARD_MAX);
}

static bool is_small(const struct qn_call *call, size_t bytes)
{
    return bytes <= ROOM_AT_FIRST && call->content_length <= ROOM_AT_FIRST;
}

static size_t ceiling(const struct qn_call *call, size_t bytes)
{
    size_t max = call->loop->options.under_way_max;

    return is_small(call, bytes) ? max + max / SMALL_SHARE : max;
}

static bool reserve(struct qn_call *call, size_t bytes)
{
    struct qn_loop *loop = call->loop;

    if (bytes <= call->reserved) {
        return true;
    }
    if (loop->under_way + bytes - call->reserved > ceiling(call, bytes)) {
        /* One at a time may go beyond: otherwise those that grow could wait for each other. */
        if (is_small(call, bytes) || (loop->overshooting != NULL && loop->overshooting != call)) {
            return false;
        }
        loop->overshooting = call;
    }
    loop->under_way += bytes - call->reserved;
    call->reserved = bytes;
    return true;
}

void qn_body_release(struct qn_call *call)
{
    call->loop->under_way -= call->reserved;
    call->reserved = 0;
    if (call->loop->overshooting == call) {
        call->loop->overshooting = NULL;
    }
}

/* What the body needs of the ceiling when `more` bytes are added. */
static size_t needed(const struct qn_call *call, size_t more)
{
    size_t most = is_chunked(call) ? call->body.max : (size_t)call->content_length;
    size_t room = ROOM_AT_FIRST;

    while (room < call->body.len + more) {
        room *= 2;
    }
    return room < most ? room : most;
}

static void start_discarding(struct qn_call *call)
{
    size_t max = call->body.max;

    call->refusal = QN_ERR_REQUEST_TOO_LARGE;
    call->discarded = call->body.len;
    qn_buf_done(&call->body);
    qn_buf_init(&call->body, max);
    qn_body_release(call);
}

bool qn_body_take(struct qn_call *call, const char *data, size_t *len)
{
    if (call->refusal == QN_ERR_NONE &&
        (is_too_large(call) || call->body.len + *len > call->body.max)) {
        start_discarding(call);
    }
    if (call->refusal != QN_ERR_NONE) {
        call->discarded += *len;
        *len = 0;
        return call->discarded <= call->body.max + DISCARD_MAX;
    }
    call->wanted = needed(call, *len);
    if (!reserve(call, call->wanted)) {
        qn_call_join(&call->loop->starving, call);
        qn_call_suspend(call);
        return true; /* called again with the same bytes */
    }
    if (call->body.cap == 0 && !is_chunked(call)) {
        size_t first = (size_t)call->content_length;
        (void)qn_buf_reserve(&call->body, first < ROOM_AT_FIRST ? first : ROOM_AT_FIRST);
    }
    qn_buf_append(&call->body, data, *len);
    *len = 0;
    return true;
}

void qn_body_feed(struct qn_loop *loop)
{
    struct qn_call *next;

    /* A small one need not wait behind a large one. */
    for (struct qn_call *call = loop->starving.first; call != NULL; call = next) {
        next = call->next;
        if (reserve(call, call->wanted)) {
            qn_call_join(&loop->resuming, call);
        }
    }
}
