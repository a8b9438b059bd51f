/* Approximate counts that were taken for exact. FIFO queues count exactly. */
#include "chaos/assumptions/detect.h"

static bool reads_counts(const struct qn_view *view, const struct qn_seen_call *call,
                         const struct qn_seen_queue **ret_queue)
{
    *ret_queue = qn_scene_queue(view->scene, call->key);
    return call->ok && call->action == QN_SEEN_GET_ATTRIBUTES && call->params.asks_counts &&
           !call->params.asks_all && *ret_queue != NULL && !(*ret_queue)->is_fifo;
}

/* ---- counts-after-change: whoever alone uses a queue knows what it holds, and asks because the
 * number has to agree. Who goes on sending may only be watching the backlog, and who asks until a
 * minute has passed does as AWS says. ---- */

struct asked {
    struct qn_sight change;
    struct qn_sight read;
    int reads; /* since the change */
    bool is_open;
};

static void note_read(struct qn_view *view, const struct qn_seen_call *call,
                      const struct qn_seen_queue *queue)
{
    struct asked *asked = qn_memo_at(view->memo, call->key);

    if (asked->change.seq != queue->changed.seq) {
        *asked = (struct asked){.change = queue->changed};
    }
    asked->read = call->in;
    asked->reads++;
    asked->is_open = queue->is_known && queue->changed.seq != 0 &&
                     queue->only_conn == call->in.conn && queue->only_conn >= 0 &&
                     qn_between_ms(&queue->changed, &call->in) < QN_PROPAGATION_MS;
}

static void tell(struct qn_view *view, const struct qn_seen_call *call, struct qn_str name,
                 const struct asked *asked, const struct qn_sight *next)
{
    const struct qn_sight *const sights[] = {&asked->change, &asked->read, next};

    qn_found(view, call, name, sights, next != NULL ? 3 : 2,
             "read the counts once, %lld ms after its own %s, as the only client of the queue",
             (long long)qn_between_ms(&asked->change, &asked->read), asked->change.action);
}

static void change_at_call(struct qn_view *view, const struct qn_seen_call *call)
{
    const struct qn_seen_queue *queue;
    struct asked *asked;

    if (reads_counts(view, call, &queue)) {
        note_read(view, call, queue);
        return;
    }
    asked = qn_str_is_none(call->key) ? NULL : qn_memo_find(view->memo, call->key);
    if (asked == NULL || !asked->is_open || !call->ok) {
        return;
    }
    switch (call->action) {
    case QN_SEEN_RECEIVE:
    case QN_SEEN_DELETE:
    case QN_SEEN_PURGE:
    case QN_SEEN_DELETE_QUEUE:
        if (asked->reads == 1 && qn_seen_same_client(&asked->read, &call->in)) {
            tell(view, call, call->queue, asked, &call->in);
        }
        asked->is_open = false;
        break;
    case QN_SEEN_SEND:
        asked->is_open = false;
        break;
    default:
        break;
    }
}

static void change_at_end(struct qn_view *view)
{
    for (struct qn_memo_item *item = view->memo->oldest; item != NULL; item = item->newer) {
        const struct asked *asked = item->value;
        const struct qn_seen_queue *queue = qn_scene_queue(view->scene, item->key);
        bool is_ours = qn_str_equal(qn_str_from_cstr(asked->read.instance), view->scene->harness);
        if (asked->is_open && asked->reads == 1 && queue != NULL && !is_ours) {
            tell(view, NULL, qn_str_from_cstr(queue->name), asked, NULL);
        }
    }
}

const struct qn_detector qn_detect_counts_after_change = {
    .entry_size = sizeof(struct asked), .at_call = change_at_call, .at_end = change_at_end};

/* ---- counts-until-zero: a loop that read the counts until they were 0, and ended there, within a
 * minute of the last change. A monitor would read on. ---- */

struct loop {
    char key[192];
    struct qn_sight first;
    struct qn_sight last;
    int64_t gap_ms; /* the longest between two readings */
    bool saw_more;
    bool is_zero;
    bool is_fresh; /* the queue had changed within the last minute */
    bool went_on;  /* the client did something else */
    bool is_open;
};

static struct loop *loop_of(const struct qn_view *view, int64_t conn)
{
    struct qn_pair_key room;

    return qn_memo_find(view->memo, qn_pair_key(&room, conn, QN_STR("")));
}

static void read_again(struct qn_view *view, const struct qn_seen_call *call,
                       const struct qn_seen_queue *queue)
{
    struct qn_pair_key room;
    struct loop *loop = qn_memo_at(view->memo, qn_pair_key(&room, call->in.conn, QN_STR("")));
    bool goes_on =
        loop->is_open && !loop->went_on && qn_str_equal(qn_str_from_cstr(loop->key), call->key);

    if (!goes_on) {
        *loop = (struct loop){.first = call->in, .is_open = true};
        struct qn_str key = qn_str_first(call->key, sizeof(loop->key) - 1);
        memcpy(loop->key, key.ptr, key.len);
    } else {
        int64_t gap_ms = qn_between_ms(&loop->last, &call->in);
        loop->gap_ms = gap_ms > loop->gap_ms ? gap_ms : loop->gap_ms;
    }
    loop->last = call->in;
    loop->is_zero = loop->saw_more && call->told_count == 0;
    loop->saw_more = loop->saw_more || call->told_count > 0;
    loop->is_fresh =
        queue->changed.seq != 0 && qn_between_ms(&queue->changed, &call->in) < QN_PROPAGATION_MS;
}

static bool has_ended(const struct loop *loop, const struct qn_sight *now)
{
    int64_t wait_ms = 3 * loop->gap_ms > QN_PAUSE_MS ? 3 * loop->gap_ms : QN_PAUSE_MS;

    return loop->went_on && qn_between_ms(&loop->last, now) >= wait_ms;
}

static struct qn_str name_in(struct qn_str key)
{
    struct qn_str rest;

    (void)qn_str_cut(key, '/', &rest);
    (void)qn_str_cut(rest, '/', &rest);
    return rest;
}

static void tell_loop(struct qn_view *view, const struct qn_seen_call *call,
                      const struct loop *loop, const struct qn_sight *next)
{
    qn_found(view, call, name_in(qn_str_from_cstr(loop->key)),
             QN_SIGHTS(&loop->first, &loop->last, next),
             "read the counts until they were 0 and went on at once, less than a minute after "
             "the last change");
}

static void zero_at_call(struct qn_view *view, const struct qn_seen_call *call)
{
    const struct qn_seen_queue *queue;
    struct loop *loop;

    if (call->in.conn < 0) {
        return;
    }
    if (reads_counts(view, call, &queue)) {
        read_again(view, call, queue);
        return;
    }
    loop = loop_of(view, call->in.conn);
    if (loop == NULL || !loop->is_open) {
        return;
    }
    bool empties = call->ok &&
                   (call->action == QN_SEEN_DELETE_QUEUE || call->action == QN_SEEN_PURGE) &&
                   qn_str_equal(qn_str_from_cstr(loop->key), call->key);
    loop->went_on = true;
    if (!loop->is_zero || !loop->is_fresh) {
        loop->is_open = false;
    } else if (empties || has_ended(loop, &call->in)) {
        tell_loop(view, call, loop, &call->in);
        loop->is_open = false;
    }
}

static void zero_at_end(struct qn_view *view)
{
    for (struct qn_memo_item *item = view->memo->oldest; item != NULL; item = item->newer) {
        const struct loop *loop = item->value;
        bool is_ours = qn_str_equal(qn_str_from_cstr(loop->last.instance), view->scene->harness);
        if (loop->is_open && loop->is_zero && loop->is_fresh && !is_ours &&
            has_ended(loop, &view->scene->now)) {
            tell_loop(view, NULL, loop, &loop->last);
        }
    }
}

const struct qn_detector qn_detect_counts_until_zero = {
    .entry_size = sizeof(struct loop), .at_call = zero_at_call, .at_end = zero_at_end};
