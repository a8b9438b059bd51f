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

json_t *quern_tell_ids(const struct quern_delivery *d)
{
    json_t *fields = json_pack("{s:s, s:I}", "message_id", d->id, "receive_count",
                               (json_int_t)quern_delivery_receive_count(d));
    const char *group = quern_delivery_group(d);
    const char *trace = quern_received_system(d->received, "AWSTraceHeader");

    if (group != NULL) {
        json_object_set_new(fields, "group", json_string(group));
    }
    if (d->tenant != NULL) {
        json_object_set_new(fields, "tenant", json_string(d->tenant->name));
    }
    if (trace != NULL) {
        json_object_set_new(fields, "trace", json_string(trace));
    }
    return fields;
}

void quern_tell_failure(struct quern_consumer *c, const char *event, json_t *fields_take,
                        const struct quern_error *err)
{
    json_object_set_new(fields_take, "code", json_string(err->code));
    json_object_set_new(fields_take, "message", json_string(err->message));
    json_object_set_new(fields_take, "status", json_integer(err->http_status));
    quern_tell(c, "warn", event, fields_take);
}

void quern_tell_error(struct quern_consumer *c, const char *event, const struct quern_error *err)
{
    quern_tell_failure(c, event, json_object(), err);
}

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
    COLUMN(duplicates),
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
