/* The life of calls, and the lists that they wait in. */
#include "server/http/internal.h"

enum {
    SPARE_MAX = 256,
    KEPT_BYTES = 64 * 1024, /* larger buffers are given back */
    ARENA_ROOM = 96 * 1024 * 1024
};

static void init_buffers(struct qn_call *call)
{
    size_t body_max =
        qn_wire_body_max(qn_engine_options_of(call->loop->parts.engine)->limits.message_size);

    qn_buf_init(&call->body, body_max);
    qn_buf_init(&call->answer, SIZE_MAX / 2);
    /* Escaped text is copied, parameters are listed: a few times the body's size. */
    qn_arena_init(&call->request.arena, 4 * body_max + ARENA_ROOM);
}

struct qn_call *qn_call_new(struct qn_client *client)
{
    struct qn_loop *loop = client->loop;
    struct qn_call *call = loop->spare;

    if (call != NULL) {
        struct qn_buf body = call->body;
        struct qn_buf answer = call->answer;
        struct qn_arena arena = call->request.arena;
        loop->spare = call->next;
        loop->spare_count--;
        *call = (struct qn_call){.body = body, .answer = answer, .request.arena = arena};
        call->loop = loop;
    } else {
        call = qn_memory_new(sizeof(*call));
        call->loop = loop;
        init_buffers(call);
    }
    call->client = client;
    call->content_length = -1;
    call->deadline_ms = -1;
    client->call = call;
    return call;
}

static void destroy(struct qn_call *call)
{
    qn_buf_done(&call->body);
    qn_buf_done(&call->answer);
    qn_arena_done(&call->request.arena);
    qn_memory_free(call);
}

static void trim(struct qn_buf *buf)
{
    qn_buf_clear(buf);
    if (buf->cap > KEPT_BYTES) {
        size_t max = buf->max;
        qn_buf_done(buf);
        qn_buf_init(buf, max);
    }
}

void qn_call_end(struct qn_call *call)
{
    struct qn_loop *loop = call->loop;

    if (call->is_recorded) {
        qn_record_lost(call);
    }
    qn_engine_unpark(loop->parts.engine, &call->waiter);
    qn_call_leave(call);
    qn_body_release(call);
    if (call->client != NULL) {
        call->client->call = NULL;
        if (call->client->is_gone) {
            qn_client_expect_end(call->client);
        }
    }
    loop->calls_begun -= call->has_begun;
    if (loop->spare_count == SPARE_MAX || loop->is_stopping) {
        destroy(call);
        return;
    }
    trim(&call->body);
    trim(&call->answer);
    qn_arena_reset(&call->request.arena);
    call->next = loop->spare;
    loop->spare = call;
    loop->spare_count++;
}

void qn_calls_free_spare(struct qn_loop *loop)
{
    while (loop->spare != NULL) {
        struct qn_call *call = loop->spare;
        loop->spare = call->next;
        destroy(call);
    }
}

static void join_behind(struct qn_call_list *list, struct qn_call *call, struct qn_call *before)
{
    qn_call_leave(call);
    call->list = list;
    call->previous = before;
    call->next = before == NULL ? list->first : before->next;
    if (call->previous == NULL) {
        list->first = call;
    } else {
        call->previous->next = call;
    }
    if (call->next == NULL) {
        list->last = call;
    } else {
        call->next->previous = call;
    }
    list->count++;
}

void qn_call_join(struct qn_call_list *list, struct qn_call *call)
{
    join_behind(list, call, list->last);
}

void qn_call_join_by_due(struct qn_call_list *list, struct qn_call *call)
{
    struct qn_call *before = list->last;

    /* From the end: mostly the newest is due last. */
    while (before != NULL && before->due_ms > call->due_ms) {
        before = before->previous;
    }
    join_behind(list, call, before);
}

void qn_call_leave(struct qn_call *call)
{
    struct qn_call_list *list = call->list;

    if (list == NULL) {
        return;
    }
    if (call->previous == NULL) {
        list->first = call->next;
    } else {
        call->previous->next = call->next;
    }
    if (call->next == NULL) {
        list->last = call->previous;
    } else {
        call->next->previous = call->previous;
    }
    list->count--;
    call->list = NULL;
    call->previous = call->next = NULL;
}
