/* What the server says of itself, and marks in the trace. */
#include "server/http/control/control.h"

void qn_control_health(struct qn_call *call, struct qn_str rest)
{
    (void)rest;
    qn_control_answer(call, 200, json_pack("{s:s}", "status", "ok"));
}

static json_t *clock_document(const struct qn_loop *loop)
{
    bool is_virtual = qn_clock_is_virtual(loop->parts.clock);

    return json_pack("{s:s, s:I, s:o, s:f}", "kind", is_virtual ? "virtual" : "real", "now_ms",
                     (json_int_t)loop->now_ms, "now", qn_control_instant(loop->now_ms), "rate",
                     qn_clock_rate(loop->parts.clock));
}

static json_t *journal_document(const struct qn_loop *loop)
{
    struct qn_journal_figures figures;

    if (loop->parts.journal == NULL) {
        return json_null();
    }
    qn_journal_figures(loop->parts.journal, &figures);
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "last_lsn",
        (json_int_t)figures.last_lsn, "synced_lsn", (json_int_t)figures.synced_lsn, "written_lsn",
        (json_int_t)figures.written_lsn, "ring_bytes_used", (json_int_t)figures.ring_bytes_used,
        "ring_bytes_max_used", (json_int_t)figures.ring_bytes_max_used, "commits",
        (json_int_t)figures.commits, "checkpoints", (json_int_t)figures.checkpoints, "write_errors",
        (json_int_t)figures.write_errors, "wal_bytes", (json_int_t)figures.wal_bytes, "snapshots",
        (json_int_t)qn_journal_snapshot_count(loop->parts.journal));
}

static json_t *engine_document(const struct qn_loop *loop)
{
    struct qn_engine_figures figures;

    qn_engine_total_figures(loop->parts.engine, &figures);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "queues", (json_int_t)figures.queues,
                     "messages", (json_int_t)figures.messages, "memory_bytes",
                     (json_int_t)figures.memory_bytes, "content_bytes",
                     (json_int_t)figures.content_bytes, "parked", (json_int_t)figures.parked,
                     "looked_at", (json_int_t)figures.looked_at);
}

static json_t *supervised_document(const struct qn_loop *loop)
{
    const struct qn_legacy *legacy = loop->parts.legacy;

    return legacy == NULL ? json_null() : json_pack("{s:I}", "life", (json_int_t)legacy->life);
}

/* Calls that are not answered, by what they wait for. */
static json_t *waiting_document(const struct qn_loop *loop)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "parked", (json_int_t)loop->parked.count, "held",
                     (json_int_t)loop->held.count, "delayed", (json_int_t)loop->delayed.count,
                     "hanging", (json_int_t)loop->hanging.count, "syncing",
                     (json_int_t)loop->syncing.count);
}

static json_t *listeners_document(const struct qn_loop *loop)
{
    json_t *list = json_array();

    for (size_t i = 0; i < loop->parts.listeners->count; i++) {
        json_array_append_new(list,
                              json_sprintf("http://%s", loop->parts.listeners->items[i].address));
    }
    return list;
}

void qn_control_info(struct qn_call *call, struct qn_str rest)
{
    struct qn_loop *loop = call->loop;
    json_t *document;

    (void)rest;
    /* A seed has 64 bits, more than a number of JSON's readers holds. */
    document = json_pack(
        "{s:s, s:o, s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:O?}", "version",
        QN_VERSION, "seed", json_sprintf("%llu", (unsigned long long)loop->options.seed), "boot",
        (json_int_t)loop->options.boot, "supervised", supervised_document(loop), "requests",
        (json_int_t)loop->sequence, "waiting", waiting_document(loop), "clock",
        clock_document(loop), "listening", listeners_document(loop), "engine",
        engine_document(loop), "journal", journal_document(loop), "connections",
        (json_int_t)loop->clients_open, "bytes_under_way", (json_int_t)loop->under_way, "last_seq",
        (json_int_t)qn_trace_last_seq(loop->parts.trace), "options", loop->options.shown);
    qn_control_answer(call, 200, document);
}

void qn_control_mark(struct qn_call *call, struct qn_str rest)
{
    static const char *const members[] = {"name", NULL};
    json_t *body = qn_control_body(call, members);
    const char *name;

    (void)rest;
    if (body == NULL) {
        return;
    }
    name = json_string_value(json_object_get(body, "name"));
    if (name == NULL || name[0] == '\0') {
        qn_control_fail(call, 400, "say which mark: {\"name\": \"...\"}");
    } else {
        qn_keep_mark(call->loop, qn_str_from_cstr(name));
        qn_control_answer(
            call, 200,
            json_pack("{s:I}", "seq", (json_int_t)qn_trace_last_seq(call->loop->parts.trace)));
    }
    json_decref(body);
}
