/* The actions on up to ten messages at once. An entry's id is its number: the caller's order is all
 * that tells entries apart. */
#include "client/calls.h"
#include "client/internal.h"
#include "client/message_shapes.h"

enum { ID_MAX = 24 };

/* ---- what is asked ---- */

/* An entry of any of the three actions. */
struct entry_input {
    char id[ID_MAX];
    const char *id_text; /* points to id */
    const char *receipt_handle;
    int64_t visibility_s;
    struct quern_message_input message;
};

static const struct quern_field send_entry_fields[] = {
    {.name = "Id", .is_required = true, .offset = offsetof(struct entry_input, id_text)},
    QUERN_MESSAGE_FIELDS(struct entry_input, message),
};
static const struct quern_shape send_entry = QUERN_SHAPE(struct entry_input, send_entry_fields);

static const struct quern_field settle_entry_fields[] = {
    {.name = "Id", .is_required = true, .offset = offsetof(struct entry_input, id_text)},
    {.name = "ReceiptHandle",
     .is_required = true,
     .offset = offsetof(struct entry_input, receipt_handle)},
    {.name = "VisibilityTimeout",
     .kind = QUERN_NUMBER,
     .offset = offsetof(struct entry_input, visibility_s)},
};
static const struct quern_shape settle_entry = QUERN_SHAPE(struct entry_input, settle_entry_fields);

struct batch_input {
    const char *queue_url;
    struct entry_input *entries;
    size_t count;
};

#define BATCH_FIELDS(entry)                                                                        \
    {.name = "QueueUrl", .is_required = true, .offset = offsetof(struct batch_input, queue_url)},  \
    {                                                                                              \
        .name = "Entries", .kind = QUERN_ITEMS, .is_required = true,                               \
        .offset = offsetof(struct batch_input, entries),                                           \
        .count = offsetof(struct batch_input, count), .item = &(entry)                             \
    }

static const struct quern_field send_fields[] = {BATCH_FIELDS(send_entry)};
static const struct quern_field settle_fields[] = {BATCH_FIELDS(settle_entry)};
static const struct quern_shape send_shape = QUERN_SHAPE(struct batch_input, send_fields);
static const struct quern_shape settle_shape = QUERN_SHAPE(struct batch_input, settle_fields);

/* ---- what is answered ---- */

struct done_entry {
    const char *id;
    const char *message_id;
    const char *sequence_number;
    struct quern_told_sums sums;
};

static const struct quern_field done_fields[] = {
    {.name = "Id", .is_required = true, .offset = offsetof(struct done_entry, id)},
    {.name = "MessageId", .offset = offsetof(struct done_entry, message_id)},
    {.name = "SequenceNumber", .offset = offsetof(struct done_entry, sequence_number)},
    QUERN_SUM_FIELDS(struct done_entry, sums),
};
static const struct quern_shape done_shape = QUERN_SHAPE(struct done_entry, done_fields);

struct failed_entry {
    const char *id;
    const char *code;
    const char *message;
    bool is_sender_fault;
};

static const struct quern_field failed_fields[] = {
    {.name = "Id", .is_required = true, .offset = offsetof(struct failed_entry, id)},
    {.name = "Code", .is_required = true, .offset = offsetof(struct failed_entry, code)},
    {.name = "Message", .offset = offsetof(struct failed_entry, message)},
    {.name = "SenderFault",
     .kind = QUERN_BOOLEAN,
     .offset = offsetof(struct failed_entry, is_sender_fault)},
};
static const struct quern_shape failed_shape = QUERN_SHAPE(struct failed_entry, failed_fields);

struct batch_output {
    struct quern_batch batch; /* what the caller sees */
    const struct done_entry *done;
    size_t done_count;
    const struct failed_entry *failed;
    size_t failed_count;
};

static const struct quern_field output_fields[] = {
    {.name = "Successful",
     .kind = QUERN_ITEMS,
     .offset = offsetof(struct batch_output, done),
     .count = offsetof(struct batch_output, done_count),
     .item = &done_shape},
    {.name = "Failed",
     .kind = QUERN_ITEMS,
     .offset = offsetof(struct batch_output, failed),
     .count = offsetof(struct batch_output, failed_count),
     .item = &failed_shape},
};
static const struct quern_shape output_shape = QUERN_SHAPE(struct batch_output, output_fields);

/* The entry of that id, or NULL: an answer may tell of others, and of one twice. */
static struct quern_batch_entry *entry_of(struct quern_batch_entry *entries, size_t count,
                                          const char *id)
{
    int64_t number;

    return qn_str_to_int64(qn_str_from_cstr(id), 0, (int64_t)count - 1, &number) ? &entries[number]
                                                                                 : NULL;
}

static const struct quern_batch_entry left_out = {
    .code = "UnreadableAnswer",
    .message = "the answer does not tell what became of the entry",
    .is_retryable = true,
    .is_unknown = true,
};

static const struct quern_batch_entry damaged = {
    .code = "ChecksumMismatch",
    .message = "the message arrived with another MD5 than it was sent with",
    .is_retryable = true,
    .is_unknown = true,
};

static void tell_done(const struct batch_input *input, const struct done_entry *told,
                      struct quern_batch_entry *entry, size_t number)
{
    /* Both are NULL when nothing was told, as for the actions that send nothing. */
    bool is_whole = quern_message_difference(&input->entries[number].message, &told->sums) == NULL;

    *entry = is_whole ? (struct quern_batch_entry){.is_done = true,
                                                   .message_id = told->message_id,
                                                   .sequence_number = told->sequence_number}
                      : damaged;
}

static bool gather(void *output, const void *context, struct qn_arena *arena,
                   struct quern_error *err)
{
    struct batch_output *answer = output;
    const struct batch_input *input = context;
    size_t count = input->count;
    struct quern_batch_entry *entries = qn_arena_alloc(arena, (count + 1) * sizeof(*entries));

    if (entries == NULL) {
        return quern_fail(err, "UnreadableAnswer", 200, "the answer is too large");
    }
    for (size_t i = 0; i < count; i++) {
        entries[i] = left_out;
    }
    for (size_t i = 0; i < answer->done_count; i++) {
        struct quern_batch_entry *entry = entry_of(entries, count, answer->done[i].id);
        if (entry != NULL) {
            tell_done(input, &answer->done[i], entry, (size_t)(entry - entries));
        }
    }
    for (size_t i = 0; i < answer->failed_count; i++) {
        const struct failed_entry *told = &answer->failed[i];
        struct quern_batch_entry *entry = entry_of(entries, count, told->id);
        if (entry != NULL) {
            *entry = (struct quern_batch_entry){
                .code = told->code,
                .message = told->message != NULL ? told->message : "",
                .is_sender_fault = told->is_sender_fault,
                .is_retryable = !told->is_sender_fault || quern_retry_is_throttling(told->code),
            };
        }
    }
    answer->batch.entries = entries;
    answer->batch.count = count;
    for (size_t i = 0; i < count; i++) {
        answer->batch.failed_count += entries[i].is_done ? 0 : 1;
    }
    return true;
}

/* ---- the calls ---- */

static struct entry_input *new_entries(size_t count)
{
    struct entry_input *entries = qn_memory_new_array(count, sizeof(*entries));

    for (size_t i = 0; i < count; i++) {
        (void)snprintf(entries[i].id, sizeof(entries[i].id), "%zu", i);
        entries[i].id_text = entries[i].id;
        entries[i].visibility_s = QUERN_NOT_GIVEN;
    }
    return entries;
}

static bool make(struct quern_client *client, const char *action, const struct quern_shape *shape,
                 struct batch_input *input, struct quern_batch **ret_batch, struct quern_error *err)
{
    const struct quern_call call = {
        .action = action,
        .input_shape = shape,
        .input = input,
        .output_shape = &output_shape,
        .check = gather,
        .context = input,
    };
    void *output = NULL;
    bool ok = quern_call_make(client, &call, &output, err);

    qn_memory_free(input->entries);
    if (ok) {
        *ret_batch = output;
    }
    return ok;
}

bool quern_send_message_batch(struct quern_client *client, const char *queue_url,
                              const struct quern_message *messages, size_t count,
                              struct quern_batch **ret_batch, struct quern_error *err)
{
    struct batch_input input = {queue_url, new_entries(count), count};

    for (size_t i = 0; i < count; i++) {
        quern_message_prepare(&messages[i], &input.entries[i].message);
    }
    return make(client, "SendMessageBatch", &send_shape, &input, ret_batch, err);
}

bool quern_delete_message_batch(struct quern_client *client, const char *queue_url,
                                const char *const *receipt_handles, size_t count,
                                struct quern_batch **ret_batch, struct quern_error *err)
{
    struct batch_input input = {queue_url, new_entries(count), count};

    for (size_t i = 0; i < count; i++) {
        input.entries[i].receipt_handle = receipt_handles[i];
    }
    return make(client, "DeleteMessageBatch", &settle_shape, &input, ret_batch, err);
}

bool quern_change_visibility_batch(struct quern_client *client, const char *queue_url,
                                   const struct quern_visibility_change *changes, size_t count,
                                   struct quern_batch **ret_batch, struct quern_error *err)
{
    struct batch_input input = {queue_url, new_entries(count), count};

    for (size_t i = 0; i < count; i++) {
        input.entries[i].receipt_handle = changes[i].receipt_handle;
        input.entries[i].visibility_s = changes[i].visibility_s;
    }
    return make(client, "ChangeMessageVisibilityBatch", &settle_shape, &input, ret_batch, err);
}
