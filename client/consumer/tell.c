/* Lines of JSON with ids and numbers, and the counters. Never a payload. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/consumer/internal.h"
#include "server/base/buf.h"
#include "server/base/clock.h"

enum { LINE_MAX_BYTES = 16 * 1024 };

static int append(const char *bytes, size_t len, void *state)
{
    qn_buf_append(state, bytes, len);
    return 0;
}

void quern_tell(struct quern_consumer *c, const char *level, const char *event, json_t *fields_take)
{
    const struct qn_clock clock = qn_clock_system();
    struct qn_buf line;
    char instant[32];

    if (c->options.is_quiet) {
        json_decref(fields_take);
        return;
    }
    qn_clock_format_instant(clock.now_ms(clock.state), instant);
    json_t *all = json_pack("{s:s, s:s, s:s}", "time", instant, "level", level, "event", event);
    if (fields_take != NULL) {
        (void)json_object_update(all, fields_take);
        json_decref(fields_take);
    }
    qn_buf_init(&line, LINE_MAX_BYTES);
    (void)json_dump_callback(all, append, &line, JSON_COMPACT);
    json_decref(all);
    (void)pthread_mutex_lock(&c->log_lock);
    if (c->options.on_log != NULL) {
        qn_buf_append_char(&line, '\0');
        if (!line.overflow) {
            c->options.on_log(c->options.state, line.ptr);
        }
    } else {
        qn_buf_append_char(&line, '\n');
        (void)!write(STDERR_FILENO, line.ptr, line.len); /* whole: lines do not mix */
    }
    (void)pthread_mutex_unlock(&c->log_lock);
    qn_buf_done(&line);
}

/* Some sender wrote it: not more of it than a line bears. */
static void set_text(json_t *fields, const char *name, const char *text)
{
    size_t len = text != NULL ? strlen(text) : 0;

    if (text == NULL) {
        return;
    }
    if (len > QUERN_KEY_MAX) {
        for (len = QUERN_KEY_MAX; ((unsigned char)text[len] & 0xc0) == 0x80; len--) {
        } /* whole characters */
    }
    json_object_set_new(fields, name, json_stringn(text, len));
}

static void set_envelope(json_t *fields, const struct quern_envelope *e)
{
    set_text(fields, "envelope_id", e->message_id);
    set_text(fields, "type", e->message_type);
    json_object_set_new(fields, "version", json_integer(e->schema_version));
    set_text(fields, "key", e->idempotency_key);
    set_text(fields, "tenant", e->tenant_id);
    set_text(fields, "correlation_id", e->correlation_id);
    set_text(fields, "causation_id", e->causation_id);
}

/* Under the lock. */
static json_t *ids_of(const struct quern_delivery *d)
{
    json_t *fields =
        json_pack("{s:s, s:I}", "message_id", d->id, "receive_count", (json_int_t)d->receive_count);
    const char *group = quern_delivery_group(d);
    const char *trace = quern_received_system(d->received, "AWSTraceHeader");

    if (d->envelope.document != NULL) {
        set_envelope(fields, &d->envelope);
    }
    set_text(fields, "group", group);
    if (d->tenant != NULL) {
        set_text(fields, "tenant", d->tenant->name);
    }
    set_text(fields, "trace", trace);
    return fields;
}

json_t *quern_tell_ids(const struct quern_delivery *d)
{
    (void)pthread_mutex_lock(&d->consumer->lock);
    json_t *fields = ids_of(d);
    (void)pthread_mutex_unlock(&d->consumer->lock);
    return fields;
}

static void set_error(json_t *fields, const struct quern_error *err)
{
    json_object_set_new(fields, "code", json_string(err->code));
    json_object_set_new(fields, "message", json_string(err->message));
    json_object_set_new(fields, "status", json_integer(err->http_status));
}

void quern_tell_failure(struct quern_consumer *c, const char *event, json_t *fields_take,
                        const struct quern_error *err)
{
    set_error(fields_take, err);
    quern_tell(c, "warn", event, fields_take);
}

void quern_tell_error(struct quern_consumer *c, const char *event, const struct quern_error *err)
{
    quern_tell_failure(c, event, json_object(), err);
}

/* ---- lines for later ---- */

void quern_note(struct quern_consumer *c, const char *event, const struct quern_delivery *d,
                const struct quern_error *err)
{
    json_t *fields = ids_of(d);

    json_object_set_new(fields, "event", json_string(event));
    if (err != NULL) {
        set_error(fields, err);
    }
    if (c->noted == NULL) {
        c->noted = json_array();
    }
    json_array_append_new(c->noted, fields);
}

void quern_note_lapse(struct quern_delivery *d)
{
    quern_note(d->consumer, "lease.lost", d, NULL);
}

bool quern_tell_noted(struct quern_consumer *c)
{
    json_t *noted = c->noted;
    json_t *fields;
    size_t i;

    if (noted == NULL) {
        return false;
    }
    c->noted = NULL;
    (void)pthread_mutex_unlock(&c->lock);
    json_array_foreach(noted, i, fields)
    {
        quern_tell(c, "warn", json_string_value(json_object_get(fields, "event")),
                   json_incref(fields));
    }
    json_decref(noted);
    (void)pthread_mutex_lock(&c->lock);
    return true;
}

/* ---- counters ---- */

void quern_consumer_count(struct quern_consumer *c, struct quern_counters *ret_counters)
{
    (void)pthread_mutex_lock(&c->lock);
    *ret_counters = c->hand.counters;
    (void)pthread_mutex_unlock(&c->lock);
}

struct column {
    const char *name;
    size_t offset;
};

#define COLUMN(name)                                                                               \
    {                                                                                              \
#name, offsetof(struct quern_counters, name)                                               \
    }

static const struct column columns[] = {
    COLUMN(receives),         COLUMN(empty_receives),
    COLUMN(receive_failures), COLUMN(received),
    COLUMN(redelivered),      COLUMN(succeeded),
    COLUMN(retried),          COLUMN(permanent),
    COLUMN(ambiguous),        COLUMN(quarantined),
    COLUMN(deleted),          COLUMN(delete_failures),
    COLUMN(released),         COLUMN(deferred),
    COLUMN(extensions),       COLUMN(extension_failures),
    COLUMN(lapses),           COLUMN(circuit_opens),
    COLUMN(in_hand),          COLUMN(running),
    COLUMN(waiting),          COLUMN(newest_age_ms),
    COLUMN(duplicates),       COLUMN(damaged),
};

void quern_tell_metrics(struct quern_consumer *c)
{
    struct quern_counters counters;
    json_t *fields = json_object();

    quern_consumer_count(c, &counters);
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        int64_t value;
        memcpy(&value, (const char *)&counters + columns[i].offset, sizeof(value));
        json_object_set_new(fields, columns[i].name, json_integer(value));
    }
    if (c->options.on_metrics != NULL) {
        c->options.on_metrics(c->options.state, &counters);
    }
    quern_tell(c, "info", "counters", fields);
}
