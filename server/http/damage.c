/* Faults of the answer itself: wrong digests, noise, a cut, a slow way, a late end. Verdicts are
 * noted on the call, or change the answer that is there, and the rest happens as it leaves. */
#include "server/http/internal.h"

#include <stdio.h>
#include <sys/socket.h>

enum {
    NOISE_MIN = 32, /* where there was no body */
    BLOCK_BYTES = 16 * 1024,
    PACE_MS = 50 /* a slow answer leaves in steps of about so long */
};

/* ---- the body ---- */

/* The answer may lack entries that failed: an id says which one it is. */
static bool is_hit(const void *state, size_t index, struct qn_str id)
{
    const struct qn_call *call = state;
    uint64_t mask = call->hit;

    for (size_t i = 0; !qn_str_is_none(id) && i < call->facts->message_count; i++) {
        if (qn_str_equal(call->facts->messages[i].entry_id, id)) {
            index = i;
        }
    }
    return mask == UINT64_MAX || (index < 64 && (mask >> index & 1U) != 0);
}

static void spoil_digests(struct qn_call *call, const struct qn_verdict *verdict)
{
    const struct qn_digest_fault fault = {.takes_out = verdict->kind == QN_VERDICT_NO_MD5,
                                          .draw = verdict->draw,
                                          .is_hit = is_hit,
                                          .state = call};

    call->hit = call->facts != NULL ? verdict->entry_mask : UINT64_MAX;
    if (call->code == QN_ERR_NONE && call->request.output != NULL) {
        (void)qn_wire_spoil_digests(&call->request, &fault, &call->answer);
    }
}

/* Printable, and neither JSON nor XML from its first byte on. */
static void fill_with_noise(struct qn_buf *answer, uint64_t draw)
{
    size_t len = answer->len > 0 ? answer->len : NOISE_MIN;
    struct qn_random random;

    qn_random_init(&random, draw, 0, 0);
    qn_buf_clear(answer);
    qn_buf_append_char(answer, '}');
    while (answer->len < len) {
        qn_buf_append_char(answer, (char)('a' + qn_random_below(&random, 26)));
    }
}

/* What stands between the client and the server speaks neither of the two protocols. */
static void put_page(struct qn_call *call)
{
    const char *phrase = MHD_get_reason_phrase_for((unsigned)call->status);

    qn_buf_clear(&call->answer);
    qn_buf_append_format(&call->answer,
                         "<html>\r\n<head><title>%d %s</title></head>\r\n"
                         "<body>\r\n<center><h1>%d %s</h1></center>\r\n"
                         "<hr><center>proxy</center>\r\n</body>\r\n</html>\r\n",
                         call->status, phrase, call->status, phrase);
    call->content_type = "text/html";
    call->header_count = 0;
}

bool qn_damage_note(struct qn_call *call, const struct qn_verdict *verdict)
{
    switch (verdict->kind) {
    case QN_VERDICT_BAD_MD5:
    case QN_VERDICT_NO_MD5:
        spoil_digests(call, verdict);
        return true;
    case QN_VERDICT_GARBAGE:
        fill_with_noise(&call->answer, verdict->draw);
        return true;
    case QN_VERDICT_HTML:
        put_page(call);
        return true;
    case QN_VERDICT_BANDWIDTH:
        call->bytes_per_s = verdict->count;
        call->slow_fraction = verdict->fraction;
        return true;
    case QN_VERDICT_SLOW_CLOSE:
        call->lingers = true;
        call->linger_ms = verdict->delay_ms;
        return true;
    default:
        return false;
    }
}

/* ---- cuts ---- */

static bool may_cut(const struct qn_verdict *verdict)
{
    switch (verdict->kind) {
    case QN_VERDICT_RESET:
    case QN_VERDICT_CLOSE:
    case QN_VERDICT_HANG:
    case QN_VERDICT_TRUNCATE:
        return true;
    case QN_VERDICT_CRASH:
        return qn_str_is_none(verdict->failpoint);
    default:
        return false;
    }
}

bool qn_damage_cuts(struct qn_call *call, const struct qn_verdict *verdict)
{
    size_t len = call->answer.len;
    size_t cut_at;

    if (!may_cut(verdict)) {
        return false;
    }
    cut_at =
        verdict->count >= 0 ? (size_t)verdict->count : (size_t)((double)len * verdict->fraction);
    cut_at = cut_at < len ? cut_at : len;
    if (verdict->kind == QN_VERDICT_TRUNCATE) {
        if (len == 0) {
            return false;
        }
        cut_at = cut_at < len ? cut_at : len - 1; /* something has to be missing */
    } else if (cut_at == 0 && len > 0) {
        return false;
    }
    /* Who has the whole answer does not notice that nothing follows. */
    if (verdict->kind == QN_VERDICT_HANG && cut_at == len) {
        return false;
    }
    qn_fault_note_rule(call, verdict);
    call->cuts = true;
    call->cut_by = verdict->kind;
    call->restart_ms = verdict->restart_ms;
    call->cut_at = cut_at;
    return true;
}

void qn_damage_behind_answer(struct qn_call *call)
{
    if (call->cut_by == QN_VERDICT_RESET) {
        qn_fault_reset(call->client);
    } else if (call->cut_by == QN_VERDICT_CRASH) {
        qn_fault_crash(call->loop,
                       &(struct qn_crash){call->rule, QN_STR_NONE, QN_STR_NONE, call->restart_ms});
    }
}

/* ---- effects at a place of the answer ---- */

void qn_damage_note_effects(struct qn_call *call, const struct qn_verdict *verdict)
{
    double len = (double)call->answer.len;

    if (!qn_str_is_none(verdict->rule)) {
        call->effects_wait = true;
        call->effects_at =
            verdict->count >= 0 ? (size_t)verdict->count : (size_t)(len * verdict->fraction);
    }
}

void qn_damage_do_effects(struct qn_call *call)
{
    if (call->effects_wait) {
        call->effects_wait = false;
        qn_plan_answer_left(call->loop->parts.plan, qn_str(call->request.request_id, 36));
        qn_pass_catch_up(call->loop);
    }
}

/* ---- the way of the bytes ---- */

static ssize_t end_amid_answer(struct qn_call *call)
{
    qn_damage_do_effects(call);
    if (call->cut_by == QN_VERDICT_HANG) {
        call->due_ms = 0;
        qn_call_wait(call, &call->loop->hanging);
        return 0;
    }
    if (call->cut_by == QN_VERDICT_CLOSE || call->cut_by == QN_VERDICT_TRUNCATE) {
        (void)shutdown(call->client->fd, SHUT_WR); /* a clean end, whatever else lies there */
    }
    qn_damage_behind_answer(call);
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

static ssize_t wait_until(struct qn_call *call, int64_t due_ms)
{
    call->due_ms = due_ms;
    qn_call_wait(call, &call->loop->pacing);
    return 0;
}

/* How many bytes may leave now that stand at this place; 0: none, and *ret_due_ms says when. */
static size_t allowance(struct qn_call *call, size_t at, int64_t *ret_due_ms)
{
    size_t slow_from = (size_t)((double)call->answer.len * call->slow_fraction);
    double bytes_per_ms = (double)call->bytes_per_s / 1000;
    double step = bytes_per_ms * PACE_MS > 1 ? bytes_per_ms * PACE_MS : 1;
    int64_t now_ms = qn_clock_monotonic_ms();

    if (call->bytes_per_s == 0 || call->loop->is_stopping) {
        return SIZE_MAX;
    }
    if (at < slow_from) {
        return slow_from - at;
    }
    if (call->slow_since_ms == 0) {
        call->slow_since_ms = now_ms;
    }
    double gone = (double)(now_ms - call->slow_since_ms) * bytes_per_ms - (double)(at - slow_from);
    if (gone >= 1) {
        return (size_t)gone;
    }
    *ret_due_ms = now_ms + 1 + (int64_t)((step - gone) / bytes_per_ms);
    return 0;
}

/* It waited and ends now. libmicrohttpd puts a connection away whose socket fails; one that was
 * suspended and then ends with an error it would keep until its time-out. */
static ssize_t give_up(struct qn_call *call, size_t at, char *out, size_t max)
{
    size_t left = call->answer.len - at < max ? call->answer.len - at : max;

    if (left == 0) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    qn_fault_reset(call->client);
    memcpy(out, call->answer.ptr + at, left);
    return (ssize_t)left;
}

static ssize_t read_answer(void *state, uint64_t position, char *out, size_t max)
{
    struct qn_call *call = state;
    size_t at = (size_t)position;
    size_t left = (call->cuts ? call->cut_at : call->answer.len) - at;
    int64_t due_ms = 0;

    if (call->state == QN_CALL_DROPPED) {
        return give_up(call, at, out, max);
    }
    if (left == 0 && call->cuts) {
        return end_amid_answer(call);
    }
    if (left == 0) {
        qn_damage_do_effects(call);
    }
    if (left == 0 && (call->has_lingered || call->loop->is_stopping)) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (left == 0) {
        call->has_lingered = true;
        return wait_until(call, qn_clock_monotonic_ms() + call->linger_ms);
    }
    if (call->effects_wait && at < call->effects_at) {
        left = left < call->effects_at - at ? left : call->effects_at - at;
    } else {
        qn_damage_do_effects(call);
    }
    size_t allowed = allowance(call, at, &due_ms);
    if (allowed == 0) {
        return wait_until(call, due_ms);
    }
    left = left < allowed ? left : allowed;
    left = left < max ? left : max;
    memcpy(out, call->answer.ptr + at, left);
    return (ssize_t)left;
}

/* The end of a body of unknown length is ours to give, so it can come late. The client is told the
 * length all the same. */
static struct MHD_Response *lingering_response(struct qn_call *call)
{
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_answer, call, NULL);
    char length[32];

    if (response != NULL) {
        (void)snprintf(length, sizeof(length), "%zu", call->answer.len);
        (void)MHD_set_response_options(
            response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT | MHD_RF_INSANITY_HEADER_CONTENT_LENGTH,
            MHD_RO_END);
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_LENGTH, length);
    }
    return response;
}

struct MHD_Response *qn_damage_response(struct qn_call *call)
{
    if (call->lingers && !call->cuts) {
        return lingering_response(call);
    }
    return MHD_create_response_from_callback(call->answer.len, BLOCK_BYTES, read_answer, call,
                                             NULL);
}

bool qn_damage_is_noted(const struct qn_call *call)
{
    return (call->cuts && call->cut_at < call->answer.len) || call->lingers ||
           (call->effects_wait && call->effects_at < call->answer.len) ||
           (call->bytes_per_s > 0 && call->answer.len > 0);
}

static void go_on(struct qn_call *call)
{
    call->state = QN_CALL_ANSWERED;
    qn_call_join(&call->loop->resuming, call);
}

void qn_damage_go_on(struct qn_loop *loop, int64_t monotonic_ms)
{
    while (loop->pacing.first != NULL && loop->pacing.first->due_ms <= monotonic_ms) {
        go_on(loop->pacing.first);
    }
}
