/* Deletions at the wrong moment. */
#include "tests/consumers/worker/bugs.h"

/* early-ack: deletes first, then works. */
static void set_early_ack(struct worker *w)
{
    w->rules.work = settle_before_work;
    w->rules.settle = settle_nothing;
}

/* ack-on-dispatch: deletes when the message has been given to the pool. */
static void delete_when_given(struct worker *w, json_t *messages)
{
    size_t i;
    const json_t *message;
    struct quern_error err;

    receive_admit(w, messages);
    json_array_foreach(messages, i, message)
    {
        (void)quern_delete_message(w->poller, w->settings.queue_url,
                                   message_text(message, "ReceiptHandle"), &err);
    }
}

static void set_ack_on_dispatch(struct worker *w)
{
    w->rules.admit = delete_when_given;
    w->rules.settle = settle_nothing;
}

/* ack-always: the deletion stands in a `finally`. */
static void acknowledge_any(struct hand *hand, struct job *job, enum outcome outcome)
{
    (void)outcome;
    hand->worker->rules.acknowledge(hand, job);
}

static void set_ack_always(struct worker *w)
{
    w->rules.settle = acknowledge_any;
}

/* skip-without-delete: what was done before is dropped, and comes back for ever. */
static void drop_replayed(struct hand *hand, struct job *job, enum outcome outcome)
{
    if (outcome == OUTCOME_REPLAYED) {
        settle_forget(hand, job);
    } else {
        settle_outcome(hand, job, outcome);
    }
}

static void set_skip_without_delete(struct worker *w)
{
    w->rules.settle = drop_replayed;
}

/* ack-ambiguous: no answer counts as success. */
static void trust_silence(struct hand *hand, struct job *job, enum outcome outcome)
{
    settle_outcome(hand, job, outcome == OUTCOME_UNKNOWN ? OUTCOME_DONE : outcome);
}

static void set_ack_ambiguous(struct worker *w)
{
    w->rules.settle = trust_silence;
}

const struct bug bugs_ack[] = {
    {"early-ack", set_early_ack},         {"ack-on-dispatch", set_ack_on_dispatch},
    {"ack-always", set_ack_always},       {"skip-without-delete", set_skip_without_delete},
    {"ack-ambiguous", set_ack_ambiguous}, {NULL, NULL},
};
