/* What goes wrong with ten at a time. */
#include <string.h>

#include "tests/consumers/worker/bugs.h"
#include "tests/consumers/worker/vote.h"

static const int64_t burst_linger_ms = 400;

/* batch-id-is-message-id: two deliveries of one message in a batch have one entry id. */
static void flush_by_message_id(struct worker *w, struct hand *hand)
{
    static const struct flush flush = {.most = BATCH_MAX, .id_is_message_id = true};

    batch_flush(w, hand, &flush);
}

static void set_batch_id_is_message_id(struct worker *w)
{
    w->settings.deletes_in_batches = true;
    w->settings.linger_ms = burst_linger_ms;
    w->rules.delete_batch = flush_by_message_id;
    w->rules.again = bugs_take_again;
}

/* batch-over-10: deletes all that is done in one call, and the same again when it is refused. */
static void flush_all(struct worker *w, struct hand *hand)
{
    static const struct flush flush = {.most = FLUSH_MAX, .never_gives_up = true};

    batch_flush(w, hand, &flush);
}

static void set_batch_over_10(struct worker *w)
{
    w->settings.deletes_in_batches = true;
    w->settings.linger_ms = burst_linger_ms;
    w->settings.prefetch = 2 * BATCH_MAX;
    w->rules.delete_batch = flush_all;
}

/* ignore-batch-failed: HTTP 200 is taken for success. */
static void flush_blindly(struct worker *w, struct hand *hand)
{
    static const struct flush flush = {.most = BATCH_MAX, .ignores_failed = true};

    batch_flush(w, hand, &flush);
}

static void set_ignore_batch_failed(struct worker *w)
{
    w->settings.deletes_in_batches = true;
    w->rules.delete_batch = flush_blindly;
}

/* batch-barrier: the next receive waits for the whole answer. */
static int64_t room_when_empty(struct worker *w)
{
    return jobs_held(w) == 0 ? w->settings.max_messages : 0;
}

static void set_batch_barrier(struct worker *w)
{
    w->rules.room = room_when_empty;
}

/* one-tx-batch: all or nothing. */
static void settle_together(struct hand *hand, struct job *job, enum outcome outcome)
{
    vote_settle(hand, job, outcome, false);
}

static void set_one_tx_batch(struct worker *w)
{
    w->rules.settle = settle_together;
}

/* wrong-variable: all tasks of an answer see its last message. */
static void admit_with_last(struct worker *w, json_t *messages)
{
    const json_t *last = json_array_get(messages, json_array_size(messages) - 1);
    const char *body = message_text(last, "Body");

    (void)pthread_mutex_lock(&w->lock);
    w->answers++;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        struct job *job = jobs_add(w, json_array_get(messages, i));
        job->note = qn_memory_copy_text(body, strlen(body));
    }
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
}

static const char *last_text(struct hand *hand, const struct job *job, size_t *ret_len)
{
    (void)hand;
    *ret_len = strlen(job->note);
    return job->note;
}

static void set_wrong_variable(struct worker *w)
{
    w->rules.admit = admit_with_last;
    w->rules.text = last_text;
}

const struct bug bugs_batch[] = {
    {"batch-id-is-message-id", set_batch_id_is_message_id},
    {"batch-over-10", set_batch_over_10},
    {"ignore-batch-failed", set_ignore_batch_failed},
    {"batch-barrier", set_batch_barrier},
    {"one-tx-batch", set_one_tx_batch},
    {"wrong-variable", set_wrong_variable},
    {NULL, NULL},
};
