/* Where a message goes that can never succeed: another queue. */
#include <string.h>

#include "client/consumer/internal.h"
#include "server/cli/consume.h"

enum { ATTRIBUTES_MAX = 10 };

static const char reason_name[] = "quern.reason";

/* As it came, with all attributes of its own and the reason at their end. */
struct copy {
    struct quern_attribute attributes[ATTRIBUTES_MAX];
    size_t own_count;
    size_t count;
};

static void fill(struct copy *copy, const struct quern_received *received, const char *reason)
{
    while (copy->count < received->attribute_count && copy->count < ATTRIBUTES_MAX) {
        copy->attributes[copy->count] = received->attributes[copy->count];
        copy->count++;
    }
    copy->own_count = copy->count;
    if (copy->count < ATTRIBUTES_MAX) {
        copy->attributes[copy->count++] =
            (struct quern_attribute){.name = reason_name, .data_type = "String", .text = reason};
    }
}

static bool is_refused_for_what_it_is(const struct quern_error *err)
{
    return strcmp(err->code, "InvalidParameterValue") == 0 ||
           strcmp(err->code, "InvalidParameterValueException") == 0;
}

/* A message may be as long as the queue bears: then there is no room for the reason, and in a queue
 * that bears less none for its own attributes. Better there without them than here for ever. */
static bool send(struct quern_client *client, const char *queue_url, struct quern_message *message,
                 const struct copy *copy, struct quern_error *err)
{
    const size_t counts[] = {copy->count, copy->own_count, 0};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (i > 0 && counts[i] == counts[i - 1]) {
            continue;
        }
        message->attribute_count = counts[i];
        if (quern_send_message(client, queue_url, message, NULL, err)) {
            return true;
        }
        if (!is_refused_for_what_it_is(err)) {
            return false;
        }
    }
    return false;
}

static void tell_shortened(const struct qn_consume *consume, const struct quern_delivery *delivery,
                           const struct copy *copy, size_t sent)
{
    json_t *fields = quern_tell_ids(delivery);
    json_t *names = json_array();

    for (size_t i = sent; i < copy->count; i++) {
        json_array_append_new(names, json_string(copy->attributes[i].name));
    }
    json_object_set_new(fields, "queue", json_string(consume->quarantine));
    json_object_set_new(fields, "left_out", names);
    quern_tell(consume->consumer, "warn", "quarantine.shortened", fields);
}

static void tell_failed(const struct qn_consume *consume, const struct quern_delivery *delivery,
                        const struct quern_error *err)
{
    json_t *fields = quern_tell_ids(delivery);

    json_object_set_new(fields, "queue", json_string(consume->quarantine));
    quern_tell_failure(consume->consumer, "quarantine.failed", fields, err);
}

bool qn_consume_quarantine(void *state, const struct quern_delivery *delivery, const char *reason)
{
    const struct qn_consume *consume = state;
    const struct quern_received *received = quern_delivery_received(delivery);
    const struct quern_options connection = {.endpoint = consume->endpoint,
                                             .region = consume->region};
    bool is_fifo = qn_str_ends_with(qn_str_from_cstr(consume->quarantine), QN_STR(".fifo"));
    const char *group = quern_delivery_group(delivery);
    struct copy copy = {.count = 0};
    struct quern_client *client = NULL;
    struct quern_error err;

    fill(&copy, received, reason);
    struct quern_message message = {
        .body = received->body,
        .body_len = received->body_len,
        .group_id = group != NULL || !is_fifo ? group : "quarantine",
        .deduplication_id = is_fifo ? received->message_id : NULL,
        .delay_s = QUERN_NOT_GIVEN,
        .attributes = copy.attributes,
        .trace_header = quern_received_system(received, "AWSTraceHeader"),
    };
    bool ok = quern_client_new(&connection, &client, &err) &&
              send(client, consume->quarantine, &message, &copy, &err);
    quern_client_free(client);
    if (!ok) {
        tell_failed(consume, delivery, &err);
    } else if (message.attribute_count < copy.count) {
        tell_shortened(consume, delivery, &copy, message.attribute_count);
    }
    return ok;
}
