/* What lies in the dead-letter queue at the end. Of letters that the consumer wrote itself: which
 * message of the load each is about. Who cannot read a body cannot give his letter its key, and
 * many put the body into an envelope of their own; so the letters are read as a person would, who
 * knows all bodies and ids. Of the first ones the trace has the beginning of the body, for the
 * report. */
#include <stdio.h>

#include "chaos/check/running.h"
#include "chaos/check/unit_key.h"
#include "server/base/utf8.h"

enum {
    PATH_ROOM = 512,
    PAGE = 50,
    DEPTH_MAX = 8,      /* of envelopes within each other */
    TELLING_BYTES = 16, /* a shorter body may stand in any text by chance */
    SHOWN_MAX = 50,
    SHOWN_BYTES = 160 /* of a body */
};

struct reader {
    struct qn_running *run;
    struct qn_table open;    /* uint64_t, seq of the send, by message id: not known by its key */
    struct qn_table deleted; /* uint64_t, seq of the last delete, by message id */
    struct qn_table taken;   /* by message id: there is a letter about it */
    bool has_dead;           /* the queue itself moved one there */
    size_t shown;
};

/* What a letter says, the surest first. */
struct letter {
    uint64_t seq;
    const struct qn_load_message *by_id;
    const struct qn_load_message *by_key;
    const struct qn_load_message *by_body;
    uint64_t by_body_rank;
};

static void note(struct reader *reader, const struct qn_check_event *event)
{
    const struct qn_running *run = reader->run;
    bool is_known = !qn_str_is_none(event->k) && qn_load_find(&run->load, event->k) != NULL &&
                    qn_str_equal(qn_load_find(&run->load, event->k)->k, event->k);

    if (event->kind == QN_CHECK_MSG_SEND && qn_str_equal(event->queue, run->dlq_name) &&
        !qn_str_equal(event->instance, QN_STR(QN_SERVER_SELF)) && !is_known) {
        *(uint64_t *)qn_table_at(&reader->open, event->mid) = event->seq;
    } else if (event->kind == QN_CHECK_MSG_DELETE && qn_str_equal(event->queue, run->queue_name)) {
        *(uint64_t *)qn_table_at(&reader->deleted, event->mid) = event->seq;
    } else if (event->kind == QN_CHECK_MSG_DLQ) {
        reader->has_dead = true;
    }
}

/* Several messages may have one body. The letter is about the one that was deleted next, and each
 * has one before any has two. */
static uint64_t rank_of(const struct reader *reader, const struct letter *letter,
                        const struct qn_load_message *message)
{
    const uint64_t *deleted = qn_table_find(&reader->deleted, message->mid);

    if (qn_table_find(&reader->taken, message->mid) != NULL) {
        return UINT64_MAX - 1;
    }
    return deleted != NULL && *deleted > letter->seq ? *deleted : UINT64_MAX - 2;
}

static void read_text(const struct reader *reader, struct qn_str text, int depth,
                      struct letter *letter);

static void read_value(const struct reader *reader, const json_t *value, int depth,
                       struct letter *letter)
{
    static const char *const names[] = {"idempotencyKey", "id"};
    const char *name;
    size_t i;
    const json_t *part;

    for (i = 0; i < 2 && letter->by_key == NULL; i++) {
        struct qn_str key = qn_unit_member(value, names[i]);
        letter->by_key = qn_str_is_none(key) ? NULL : qn_load_find(&reader->run->load, key);
    }
    if (json_is_string(value)) {
        read_text(reader, qn_str(json_string_value(value), json_string_length(value)), depth,
                  letter);
    }
    json_array_foreach(value, i, part)
    {
        read_value(reader, part, depth, letter);
    }
    json_object_foreach((json_t *)value, name, part)
    {
        read_value(reader, part, depth, letter);
    }
}

static void read_text(const struct reader *reader, struct qn_str text, int depth,
                      struct letter *letter)
{
    const struct qn_load *load = &reader->run->load;

    for (size_t i = 0; i < load->count; i++) {
        const struct qn_load_message *message = &load->messages[i];
        uint64_t rank = rank_of(reader, letter, message);
        bool is_named = message->mid.len > 0 && qn_str_find(text, message->mid) < text.len;
        bool has_body =
            qn_str_equal(text, message->body) ||
            (message->body.len >= TELLING_BYTES && qn_str_find(text, message->body) < text.len);
        letter->by_id = letter->by_id == NULL && is_named ? message : letter->by_id;
        if (has_body && (letter->by_body == NULL || rank < letter->by_body_rank)) {
            letter->by_body = message;
            letter->by_body_rank = rank;
        }
    }
    if (depth < DEPTH_MAX) {
        json_t *value = json_loadb(text.ptr, text.len, JSON_ALLOW_NUL, NULL);
        read_value(reader, value, depth + 1, letter);
        json_decref(value);
    }
}

static struct qn_str beginning_of(struct qn_str body)
{
    size_t len = body.len < SHOWN_BYTES ? body.len : SHOWN_BYTES;

    while (len < body.len && len > 0 && qn_utf8_is_tail((unsigned char)body.ptr[len])) {
        len--;
    }
    return qn_str_first(body, len);
}

/* message: NULL when the trace names it already, or nobody can. */
static void record(struct reader *reader, const struct qn_load_message *message,
                   const json_t *document)
{
    struct qn_check_event event;
    struct qn_check_detail detail;

    if (message == NULL && reader->shown == SHOWN_MAX) {
        return;
    }
    qn_check_event_init(&event, &detail, QN_CHECK_LETTER);
    event.queue = reader->run->dlq_name;
    event.mid = qn_unit_member(document, "message_id");
    event.n = json_integer_value(json_object_get(document, "receive_count"));
    if (reader->shown < SHOWN_MAX) {
        detail.reason = beginning_of(qn_unit_member(document, "body"));
        reader->shown++;
    }
    if (message != NULL) {
        event.k = message->k;
        (void)qn_table_at(&reader->taken, message->mid);
    }
    qn_record(&reader->run->recorder, &event);
}

static const struct qn_load_message *message_of(const struct reader *reader, const json_t *document,
                                                uint64_t seq)
{
    struct letter letter = {.seq = seq};

    read_text(reader, qn_unit_member(document, "body"), 0, &letter);
    read_value(reader, json_object_get(document, "attributes"), 0, &letter);
    return letter.by_id != NULL    ? letter.by_id
           : letter.by_key != NULL ? letter.by_key
                                   : letter.by_body;
}

static void read_letter(struct reader *reader, const json_t *document)
{
    const uint64_t *seq = qn_table_find(&reader->open, qn_unit_member(document, "message_id"));

    record(reader, seq != NULL ? message_of(reader, document, *seq) : NULL, document);
}

static bool read_queue(struct reader *reader, struct qn_error *err)
{
    const struct qn_running *run = reader->run;
    struct quern_error cause;
    json_int_t after = 0;
    char path[PATH_ROOM];

    while (after >= 0) {
        json_t *page;
        size_t i;
        const json_t *document;
        (void)snprintf(path, sizeof(path), "/_quern/queues/%.*s/messages?after=%lld&limit=%d",
                       QN_STR_ARG(run->dlq_name), (long long)after, PAGE);
        if (!quern_http_get(run->server.client, path, &page, &cause)) {
            return qn_server_fail(err, "reading the dead-letter queue", &cause);
        }
        json_array_foreach(json_object_get(page, "messages"), i, document)
        {
            read_letter(reader, document);
        }
        const json_t *next = json_object_get(page, "next");
        after = json_is_integer(next) ? json_integer_value(next) : -1;
        json_decref(page);
    }
    return true;
}

bool qn_running_read_letters(struct qn_running *run, struct qn_error *err)
{
    struct reader reader = {.run = run};
    bool ok = true;

    qn_table_init(&reader.open, sizeof(uint64_t));
    qn_table_init(&reader.deleted, sizeof(uint64_t));
    qn_table_init(&reader.taken, 1);
    for (size_t i = 0; i < run->history.count && !qn_str_is_none(run->dlq_name); i++) {
        note(&reader, &run->history.events[i]);
    }
    if (reader.open.count > 0 || reader.has_dead) {
        ok = read_queue(&reader, err);
    }
    qn_table_done(&reader.taken);
    qn_table_done(&reader.deleted);
    qn_table_done(&reader.open);
    return ok;
}
