/* ListDeadLetterSourceQueues: the queues whose RedrivePolicy names this one. */
#include "server/actions/paging.h"

struct input {
    struct qn_str queue_url;
    struct qn_str next_token;
    struct qn_integer max;
};

struct output {
    struct qn_list queue_urls;
    struct qn_str next_token;
};

static const struct qn_field input_fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
    {"NextToken", NULL, QN_STRING, 0, offsetof(struct input, next_token), NULL, NULL, NULL},
    {"MaxResults", NULL, QN_INTEGER, 0, offsetof(struct input, max), NULL, NULL, NULL},
};
const struct qn_shape qn_list_dead_letter_source_queues_in = QN_SHAPE(struct input, input_fields);

static const struct qn_field output_fields[] = {
    {"queueUrls", "QueueUrl", QN_STRING_LIST, QN_ALWAYS_SENT, offsetof(struct output, queue_urls),
     NULL, NULL, NULL},
    {"NextToken", NULL, QN_STRING, 0, offsetof(struct output, next_token), NULL, NULL, NULL},
};
const struct qn_shape qn_list_dead_letter_source_queues_out =
    QN_SHAPE(struct output, output_fields);

static struct qn_page page_of(const struct qn_tx *tx, const struct input *in)
{
    return (struct qn_page){.target = tx->queue,
                            .account = qn_queue_account(tx->queue),
                            .region = qn_queue_region(tx->queue),
                            .max = in->max,
                            .next_token = in->next_token};
}

bool qn_list_dead_letter_source_queues_check(struct qn_tx *tx, const void *input,
                                             struct qn_error *err)
{
    const struct input *in = input;

    if (!qn_resolve_queue(tx, in->queue_url, err)) {
        return false;
    }
    struct qn_page page = page_of(tx, in);
    return qn_page_check(tx, &page, err);
}

bool qn_list_dead_letter_source_queues_execute(struct qn_tx *tx, const void *input,
                                               void *ret_output, struct qn_error *err)
{
    struct output *out = ret_output;
    struct qn_page page = page_of(tx, input);

    return qn_page_fill(tx, &page, &out->queue_urls, &out->next_token, err);
}
