/* ListQueues: the caller's queues by prefix, a page at a time. */
#include "server/actions/paging.h"

struct input {
    struct qn_str prefix;
    struct qn_str next_token;
    struct qn_integer max;
};

struct output {
    struct qn_list queue_urls;
    struct qn_str next_token;
};

static const struct qn_field input_fields[] = {
    {"QueueNamePrefix", NULL, QN_STRING, 0, offsetof(struct input, prefix), NULL, NULL, NULL},
    {"NextToken", NULL, QN_STRING, 0, offsetof(struct input, next_token), NULL, NULL, NULL},
    {"MaxResults", NULL, QN_INTEGER, 0, offsetof(struct input, max), NULL, NULL, NULL},
};
const struct qn_shape qn_list_queues_in = QN_SHAPE(struct input, input_fields);

static const struct qn_field output_fields[] = {
    {"QueueUrls", "QueueUrl", QN_STRING_LIST, 0, offsetof(struct output, queue_urls), NULL, NULL,
     NULL},
    {"NextToken", NULL, QN_STRING, 0, offsetof(struct output, next_token), NULL, NULL, NULL},
};
const struct qn_shape qn_list_queues_out = QN_SHAPE(struct output, output_fields);

static struct qn_page page_of(const struct qn_tx *tx, const struct input *in)
{
    return (struct qn_page){.prefix = in->prefix,
                            .account = tx->caller->account,
                            .region = tx->caller->region,
                            .max = in->max,
                            .next_token = in->next_token};
}

bool qn_list_queues_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    struct qn_page page = page_of(tx, input);

    return qn_page_check(tx, &page, err);
}

bool qn_list_queues_execute(struct qn_tx *tx, const void *input, void *ret_output,
                            struct qn_error *err)
{
    struct output *out = ret_output;
    struct qn_page page = page_of(tx, input);

    return qn_page_fill(tx, &page, &out->queue_urls, &out->next_token, err);
}
