/* Receiving messages, and what may be asked of one. */
#include "client/calls.h"
#include "client/internal.h"
#include "client/message_shapes.h"

/* ---- the call ---- */

struct receive_input {
    const char *queue_url;
    struct quern_receive_options options;
};

#define OPTION(name) offsetof(struct receive_input, options.name)

static const struct quern_field input_fields[] = {
    {.name = "QueueUrl", .is_required = true, .offset = offsetof(struct receive_input, queue_url)},
    {.name = "MaxNumberOfMessages", .kind = QUERN_NUMBER, .offset = OPTION(max_messages)},
    {.name = "WaitTimeSeconds", .kind = QUERN_NUMBER, .offset = OPTION(wait_s)},
    {.name = "VisibilityTimeout", .kind = QUERN_NUMBER, .offset = OPTION(visibility_s)},
    {.name = "ReceiveRequestAttemptId", .offset = OPTION(attempt_id)},
    {.name = "MessageSystemAttributeNames",
     .kind = QUERN_TEXTS,
     .offset = OPTION(system_names),
     .count = OPTION(system_name_count)},
    {.name = "MessageAttributeNames",
     .kind = QUERN_TEXTS,
     .offset = OPTION(attribute_names),
     .count = OPTION(attribute_name_count)},
};
static const struct quern_shape input_shape = QUERN_SHAPE(struct receive_input, input_fields);

/* A message, and what was told of it that the caller does not see. */
struct arrival {
    struct quern_received message;
    const char *sum_of_body;
    const char *sum_of_attributes;
};

static const struct quern_field arrival_fields[] = {
    {.name = "MessageId",
     .is_required = true,
     .offset = offsetof(struct arrival, message.message_id)},
    {.name = "ReceiptHandle",
     .is_required = true,
     .offset = offsetof(struct arrival, message.receipt_handle)},
    {.name = "Body",
     .kind = QUERN_SIZED_TEXT,
     .is_required = true,
     .offset = offsetof(struct arrival, message.body),
     .count = offsetof(struct arrival, message.body_len)},
    {.name = "Attributes", .kind = QUERN_PAIRS, .offset = offsetof(struct arrival, message.system)},
    {.name = "MessageAttributes",
     .kind = QUERN_NAMED_ITEMS,
     .offset = offsetof(struct arrival, message.attributes),
     .count = offsetof(struct arrival, message.attribute_count),
     .item = &quern_attribute_shape},
    {.name = "MD5OfBody", .offset = offsetof(struct arrival, sum_of_body)},
    {.name = "MD5OfMessageAttributes", .offset = offsetof(struct arrival, sum_of_attributes)},
};
static const struct quern_shape arrival_shape = QUERN_SHAPE(struct arrival, arrival_fields);

struct receive_output {
    struct quern_messages messages; /* what the caller sees */
    const struct arrival *arrivals;
    size_t arrival_count;
};

static const struct quern_field output_fields[] = {
    {.name = "Messages",
     .kind = QUERN_ITEMS,
     .offset = offsetof(struct receive_output, arrivals),
     .count = offsetof(struct receive_output, arrival_count),
     .item = &arrival_shape},
};
static const struct quern_shape output_shape = QUERN_SHAPE(struct receive_output, output_fields);

static bool is_whole(const struct arrival *arrival)
{
    const struct quern_received *message = &arrival->message;
    char sum[QUERN_DIGEST_TEXT];

    quern_digest_body(qn_str(message->body, message->body_len), sum);
    if (!quern_digest_is_right(arrival->sum_of_body, sum)) {
        return false;
    }
    quern_digest_attributes(message->attributes, message->attribute_count, sum);
    return quern_digest_is_right(arrival->sum_of_attributes, sum);
}

/* Keeps what is whole: the rest of an answer is not to suffer for one damaged message, whose lease
 * would then hide the others as well. */
static bool keep_whole(void *output, const void *context, struct qn_arena *arena,
                       struct quern_error *err)
{
    struct receive_output *received = output;
    struct quern_messages *kept = &received->messages;
    struct quern_received *items =
        qn_arena_alloc(arena, (received->arrival_count + 1) * sizeof(*items));

    (void)context;
    if (items == NULL) {
        return quern_fail(err, "UnreadableAnswer", 200, "the answer is too large");
    }
    for (size_t i = 0; i < received->arrival_count; i++) {
        if (is_whole(&received->arrivals[i])) {
            items[kept->count++] = received->arrivals[i].message;
        } else {
            kept->damaged_count++;
        }
    }
    kept->items = items;
    return kept->count > 0 || kept->damaged_count == 0 ||
           quern_fail(err, "ChecksumMismatch", 200,
                      "%zu messages arrived with another MD5 than they were told to have",
                      kept->damaged_count);
}

bool quern_receive_message(struct quern_client *client, const char *queue_url,
                           const struct quern_receive_options *options,
                           struct quern_messages **ret_messages, struct quern_error *err)
{
    static const char *const all[] = {"All"};
    static const struct quern_receive_options plain = {.wait_s = QUERN_NOT_GIVEN,
                                                       .visibility_s = QUERN_NOT_GIVEN};
    struct receive_input input = {.queue_url = queue_url,
                                  .options = options != NULL ? *options : plain};
    const struct quern_call call = {
        .action = "ReceiveMessage",
        .input_shape = &input_shape,
        .input = &input,
        .output_shape = &output_shape,
        .check = keep_whole,
    };
    void *output = NULL;

    if (input.options.max_messages == 0) {
        input.options.max_messages = QUERN_BATCH_MAX;
    }
    if (input.options.system_names == NULL) {
        input.options.system_names = all;
        input.options.system_name_count = 1;
    }
    if (input.options.attribute_names == NULL) {
        input.options.attribute_names = all;
        input.options.attribute_name_count = 1;
    }
    if (!quern_call_make(client, &call, &output, err)) {
        return false;
    }
    *ret_messages = output;
    return true;
}

/* ---- one message ---- */

const char *quern_received_system(const struct quern_received *message, const char *name)
{
    return quern_pairs_get(&message->system, name);
}

int64_t quern_received_number(const struct quern_received *message, const char *name)
{
    const char *text = quern_received_system(message, name);
    int64_t number;

    return text != NULL && qn_str_to_int64(qn_str_from_cstr(text), 0, INT64_MAX, &number)
               ? number
               : QUERN_NOT_GIVEN;
}

const struct quern_attribute *quern_received_attribute(const struct quern_received *message,
                                                       const char *name)
{
    for (size_t i = 0; i < message->attribute_count; i++) {
        if (strcmp(message->attributes[i].name, name) == 0) {
            return &message->attributes[i];
        }
    }
    return NULL;
}
