/* Receiving messages, and what may be asked of one. */
#include "client/receive.h"
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

/* Of a FIFO queue: whether one before it in its group is damaged, and so comes again. */
static bool is_behind(const struct arrival *arrivals, const enum quern_arrival_state *states,
                      size_t index)
{
    const char *group = quern_received_system(&arrivals[index].message, "MessageGroupId");

    for (size_t i = 0; i < index && group != NULL; i++) {
        const char *other = quern_received_system(&arrivals[i].message, "MessageGroupId");
        if (states[i] == QUERN_ARRIVAL_DAMAGED && other != NULL && strcmp(group, other) == 0) {
            return true;
        }
    }
    return false;
}

static void sift(const struct arrival *arrivals, size_t count, bool is_fifo,
                 enum quern_arrival_state *ret_states)
{
    for (size_t i = 0; i < count; i++) {
        ret_states[i] = !is_whole(&arrivals[i])                         ? QUERN_ARRIVAL_DAMAGED
                        : is_fifo && is_behind(arrivals, ret_states, i) ? QUERN_ARRIVAL_BEHIND
                                                                        : QUERN_ARRIVAL_WHOLE;
    }
}

bool quern_receive_sift(const json_t *answer, bool is_fifo, enum quern_arrival_state *ret_states,
                        struct quern_error *err)
{
    struct receive_output *output = quern_answer_new(sizeof(*output));
    bool ok = quern_codec_read(&output_shape, answer, output, quern_answer_arena(output), err);

    if (ok) {
        sift(output->arrivals, output->arrival_count, is_fifo, ret_states);
    }
    quern_answer_free(output);
    return ok;
}

/* What the check of an answer knows beside it. */
struct receiving {
    bool is_fifo;
    json_t *damaged_ids; /* of all attempts */
};

/* Keeps what is whole: the rest of an answer is not to suffer for one damaged message, whose lease
 * would then hide the others as well. */
static bool keep_whole(void *output, const void *context, struct qn_arena *arena,
                       struct quern_error *err)
{
    struct receive_output *received = output;
    const struct receiving *receiving = context;
    struct quern_messages *kept = &received->messages;
    size_t count = received->arrival_count;
    size_t damaged = 0;
    struct quern_received *items = qn_arena_alloc(arena, (count + 1) * sizeof(*items));
    enum quern_arrival_state *states = qn_arena_alloc(arena, (count + 1) * sizeof(*states));

    if (items == NULL || states == NULL) {
        return quern_fail(err, "UnreadableAnswer", 200, "the answer is too large");
    }
    sift(received->arrivals, count, receiving->is_fifo, states);
    for (size_t i = 0; i < count; i++) {
        if (states[i] == QUERN_ARRIVAL_WHOLE) {
            items[kept->count++] = received->arrivals[i].message;
        } else if (states[i] == QUERN_ARRIVAL_DAMAGED) {
            damaged++;
            (void)json_array_append_new(receiving->damaged_ids,
                                        json_string(received->arrivals[i].message.message_id));
        }
    }
    kept->items = items;
    return kept->count > 0 || damaged == 0 ||
           quern_fail(err, "ChecksumMismatch", 200,
                      "%zu messages arrived with another MD5 than they were told to have", damaged);
}

static void name_damaged(struct quern_messages *messages, const json_t *ids)
{
    struct qn_arena *arena = quern_answer_arena(messages);
    size_t count = json_array_size(ids);
    const char **texts = qn_arena_alloc(arena, (count + 1) * sizeof(*texts));

    for (size_t i = 0; texts != NULL && i < count; i++) {
        const char *id = json_string_value(json_array_get(ids, i));
        texts[messages->damaged_count++] = qn_arena_copy(arena, qn_str_from_cstr(id)).ptr;
    }
    messages->damaged_ids = texts;
}

bool quern_receive_noting(struct quern_client *client, const char *queue_url,
                          const struct quern_receive_options *options, json_t *damaged_ids,
                          struct quern_messages **ret_messages, struct quern_error *err)
{
    static const char *const all[] = {"All"};
    static const struct quern_receive_options plain = {.wait_s = QUERN_NOT_GIVEN,
                                                       .visibility_s = QUERN_NOT_GIVEN};
    struct receive_input input = {.queue_url = queue_url,
                                  .options = options != NULL ? *options : plain};
    const struct receiving receiving = {
        .is_fifo = qn_str_ends_with(qn_str_from_cstr(queue_url), QN_STR(".fifo")),
        .damaged_ids = damaged_ids,
    };
    const struct quern_call call = {
        .action = "ReceiveMessage",
        .input_shape = &input_shape,
        .input = &input,
        .output_shape = &output_shape,
        .check = keep_whole,
        .context = &receiving,
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
    name_damaged(output, damaged_ids);
    *ret_messages = output;
    return true;
}

bool quern_receive_message(struct quern_client *client, const char *queue_url,
                           const struct quern_receive_options *options,
                           struct quern_messages **ret_messages, struct quern_error *err)
{
    json_t *damaged_ids = json_array();
    bool ok = quern_receive_noting(client, queue_url, options, damaged_ids, ret_messages, err);

    json_decref(damaged_ids);
    return ok;
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
