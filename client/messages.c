/* The actions on single messages. */
#include "client/calls.h"
#include "client/digests.h"
#include "client/internal.h"
#include "client/message_shapes.h"

/* ---- sending ---- */

struct send_input {
    const char *queue_url;
    struct quern_message_input message;
};

static const struct quern_field send_fields[] = {
    {.name = "QueueUrl", .is_required = true, .offset = offsetof(struct send_input, queue_url)},
    QUERN_MESSAGE_FIELDS(struct send_input, message),
};
static const struct quern_shape send_shape = QUERN_SHAPE(struct send_input, send_fields);

struct send_output {
    struct quern_sent sent; /* what the caller sees */
    struct quern_told_sums sums;
};

static const struct quern_field sent_fields[] = {
    {.name = "MessageId",
     .is_required = true,
     .offset = offsetof(struct send_output, sent.message_id)},
    {.name = "SequenceNumber", .offset = offsetof(struct send_output, sent.sequence_number)},
    QUERN_SUM_FIELDS(struct send_output, sums),
};
static const struct quern_shape sent_shape = QUERN_SHAPE(struct send_output, sent_fields);

static bool check_sent(void *output, const void *context, struct qn_arena *arena,
                       struct quern_error *err)
{
    const struct send_output *told = output;
    const struct send_input *sent = context;
    const char *differs = quern_message_difference(&sent->message, &told->sums);

    (void)arena;
    return differs == NULL ||
           quern_fail(err, "ChecksumMismatch", 200,
                      "the %s of message %s arrived with another MD5 than it was sent with",
                      differs, told->sent.message_id);
}

bool quern_send_message(struct quern_client *client, const char *queue_url,
                        const struct quern_message *message, struct quern_sent **ret_sent,
                        struct quern_error *err)
{
    struct send_input input = {.queue_url = queue_url};
    void *output = NULL;

    quern_message_prepare(message, &input.message);
    const struct quern_call call = {
        .action = "SendMessage",
        .input_shape = &send_shape,
        .input = &input,
        .output_shape = &sent_shape,
        .check = check_sent,
        .context = &input,
    };
    if (!quern_call_make(client, &call, &output, err)) {
        return false;
    }
    if (ret_sent != NULL) {
        *ret_sent = output;
    } else {
        quern_answer_free(output);
    }
    return true;
}

/* ---- settling ---- */

struct settle_input {
    const char *queue_url;
    const char *receipt_handle;
    int64_t visibility_s;
};

static const struct quern_field settle_fields[] = {
    {.name = "QueueUrl", .is_required = true, .offset = offsetof(struct settle_input, queue_url)},
    {.name = "ReceiptHandle",
     .is_required = true,
     .offset = offsetof(struct settle_input, receipt_handle)},
    {.name = "VisibilityTimeout",
     .kind = QUERN_NUMBER,
     .offset = offsetof(struct settle_input, visibility_s)},
};
static const struct quern_shape settle_shape = QUERN_SHAPE(struct settle_input, settle_fields);

static bool settle(struct quern_client *client, const char *action,
                   const struct settle_input *input, struct quern_error *err)
{
    const struct quern_call call = {.action = action, .input_shape = &settle_shape, .input = input};

    return quern_call_make(client, &call, NULL, err);
}

bool quern_delete_message(struct quern_client *client, const char *queue_url,
                          const char *receipt_handle, struct quern_error *err)
{
    const struct settle_input input = {queue_url, receipt_handle, QUERN_NOT_GIVEN};

    return settle(client, "DeleteMessage", &input, err);
}

bool quern_change_visibility(struct quern_client *client, const char *queue_url,
                             const char *receipt_handle, int64_t visibility_s,
                             struct quern_error *err)
{
    const struct settle_input input = {queue_url, receipt_handle, visibility_s};

    return settle(client, "ChangeMessageVisibility", &input, err);
}
