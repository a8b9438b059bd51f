/* What AWS accepts and advises against.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html */
#include <stdio.h>

#include "client/lambda/mapping.h"

enum { LINE_ROOM = 400, TIMEOUTS = 6, RECEIVES = 5 };

struct audit {
    const struct qn_lambda_mapping *mapping;
    const struct qn_lambda_queue *queue;
    void (*tell)(void *state, const char *line);
    void *state;
    size_t count;
};

static void QN_PRINTF(2, 3) say(struct audit *audit, const char *format, ...)
{
    char line[LINE_ROOM];
    va_list values;

    va_start(values, format);
    (void)vsnprintf(line, sizeof(line), format, values);
    va_end(values);
    audit->tell(audit->state, line);
    audit->count++;
}

static void look_at_lease(struct audit *audit)
{
    int64_t wanted_s = TIMEOUTS * audit->mapping->timeout_s + audit->mapping->window_s;

    if (audit->queue->visibility_s < wanted_s) {
        say(audit,
            "visibility timeout %lld s: set it to %lld s or more, six times the function's timeout "
            "of %lld s and the window of %lld s, or a batch that was throttled comes again while "
            "it "
            "is still tried",
            (long long)audit->queue->visibility_s, (long long)wanted_s,
            (long long)audit->mapping->timeout_s, (long long)audit->mapping->window_s);
    }
}

static void look_at_dead_letters(struct audit *audit)
{
    const struct qn_lambda_queue *queue = audit->queue;

    if (queue->max_receive_count == 0) {
        say(audit, "no dead-letter queue: a message that always fails comes again until it is too "
                   "old, and is lost then");
    } else if (queue->max_receive_count < RECEIVES) {
        say(audit,
            "maxReceiveCount %lld: set it to %d or more, or messages whose invocations were "
            "throttled land in the dead-letter queue without ever having been tried",
            (long long)queue->max_receive_count, RECEIVES);
    }
    /* On a standard queue the age goes on in the dead-letter queue. */
    if (queue->dead_letter_retention_s > 0 && !queue->is_fifo &&
        queue->dead_letter_retention_s <= queue->retention_s) {
        say(audit,
            "dead letters are kept for %lld s, messages for %lld s: keep dead letters longer, for "
            "their age goes on from when they were sent",
            (long long)queue->dead_letter_retention_s, (long long)queue->retention_s);
    }
}

static void look_at_concurrency(struct audit *audit)
{
    const struct qn_lambda_mapping *mapping = audit->mapping;

    if (mapping->max_concurrency == 0) {
        say(audit, "MaximumConcurrency is not set: set it, or a backlog takes all the concurrency "
                   "there is");
    }
    if (mapping->reserved >= 0 &&
        mapping->reserved <
            (mapping->max_concurrency > 0 ? mapping->max_concurrency : QN_LAMBDA_POLLERS)) {
        say(audit,
            "reserved concurrency %lld is below the %s of %lld: what is beyond it is throttled, "
            "and "
            "each time costs its messages a receive",
            (long long)mapping->reserved,
            mapping->max_concurrency > 0 ? "MaximumConcurrency" : "pollers that Lambda begins with",
            (long long)(mapping->max_concurrency > 0 ? mapping->max_concurrency
                                                     : QN_LAMBDA_POLLERS));
    }
}

size_t qn_lambda_mapping_audit(const struct qn_lambda_mapping *mapping,
                               const struct qn_lambda_queue *queue,
                               void (*tell)(void *state, const char *line), void *state)
{
    struct audit audit = {mapping, queue, tell, state, 0};

    look_at_lease(&audit);
    if (!mapping->reports) {
        say(&audit, "ReportBatchItemFailures is off: one message that fails makes the whole batch "
                    "come again");
    }
    look_at_dead_letters(&audit);
    look_at_concurrency(&audit);
    return audit.count;
}
