/* The profile card: one pass over the history. */
#include "chaos/check/profile.h"

#include <stdlib.h>

/* Gaps and durations, to take a median or a percentile of. */
struct samples {
    int64_t *values;
    size_t count;
    size_t cap;
};

struct lease {
    int64_t granted_at_ms;
    int64_t extended_at_ms; /* 0: not so far */
    bool is_live;
};

struct learner {
    struct qn_profile *profile;
    const struct qn_judge_input *in;
    struct qn_table leases; /* struct lease, by message id */
    struct samples handling;
    struct samples gaps;
    int64_t open_runs;
    int64_t held;
    int64_t spawned_at_ms;
};

static void add(struct samples *samples, int64_t value)
{
    if (samples->count == samples->cap) {
        samples->cap = samples->cap > 0 ? samples->cap * 2 : 64;
        samples->values = qn_memory_resize(samples->values, samples->cap, sizeof(int64_t));
    }
    samples->values[samples->count++] = value;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Sorts the samples. 0 without any. */
static int64_t percentile(struct samples *samples, size_t percent)
{
    int64_t value = 0;

    if (samples->count > 0) {
        qsort(samples->values, samples->count, sizeof(int64_t), ascending);
        value = samples->values[(samples->count - 1) * percent / 100];
    }
    return value;
}

static void learn_call(struct learner *learner, const struct qn_check_event *event)
{
    struct qn_profile *profile = learner->profile;

    profile->has_sdk = profile->has_sdk || !qn_str_is_none(event->detail->invocation);
    profile->sdk_attempts =
        event->attempt > profile->sdk_attempts ? event->attempt : profile->sdk_attempts;
    if (qn_str_equal(event->action, QN_STR("ReceiveMessage"))) {
        int64_t max = event->detail->max != QN_EVENT_NO_INT ? event->detail->max : 1;
        profile->batch = max > profile->batch ? max : profile->batch;
        profile->wait_s =
            event->detail->wait > profile->wait_s ? event->detail->wait : profile->wait_s;
        profile->overrides_visibility =
            profile->overrides_visibility || event->detail->visibility != QN_EVENT_NO_INT;
        if (profile->startup_ms == 0 && learner->spawned_at_ms != 0) {
            profile->startup_ms = event->wt - learner->spawned_at_ms;
        }
    } else if (qn_str_equal(event->action, QN_STR("DeleteMessage"))) {
        profile->deletes_single = true;
    } else if (qn_str_equal(event->action, QN_STR("DeleteMessageBatch"))) {
        profile->deletes_batch = true;
    }
}

static void end_lease(struct learner *learner, struct lease *lease)
{
    learner->held -= lease->is_live;
    lease->is_live = false;
}

static void learn_state(struct learner *learner, const struct qn_check_event *event)
{
    struct qn_profile *profile = learner->profile;
    struct lease *lease = qn_table_at_kept(&learner->leases, event->mid);

    switch (event->kind) {
    case QN_CHECK_LEASE_GRANT:
        end_lease(learner, lease);
        *lease = (struct lease){event->vt, 0, true};
        learner->held++;
        profile->held = learner->held > profile->held ? learner->held : profile->held;
        if (learner->in->level >= QN_LEVEL_SINK &&
            learner->held - learner->open_runs > profile->prefetch) {
            profile->prefetch = learner->held - learner->open_runs;
        }
        if (profile->visibility_ms == 0) {
            profile->visibility_ms = event->deadline - event->vt;
        }
        break;
    case QN_CHECK_LEASE_EXTEND:
        /* The first extension may come at any time, and be a back-off; a heartbeat comes again. */
        if (lease->extended_at_ms != 0) {
            add(&learner->gaps, event->vt - lease->extended_at_ms);
        }
        lease->extended_at_ms = event->vt;
        break;
    case QN_CHECK_MSG_DELETE:
        if (lease->granted_at_ms != 0) {
            add(&learner->handling, event->vt - lease->granted_at_ms);
        }
        end_lease(learner, lease);
        break;
    case QN_CHECK_LEASE_RELEASE:
    case QN_CHECK_LEASE_EXPIRE:
    case QN_CHECK_MSG_DLQ:
        end_lease(learner, lease);
        break;
    default:
        break;
    }
}

static void learn_event(struct learner *learner, const struct qn_check_event *event)
{
    struct qn_profile *profile = learner->profile;

    if (event->kind == QN_CHECK_API_IN && qn_judge_counts(learner->in, event)) {
        learn_call(learner, event);
    } else if (event->kind >= QN_CHECK_LEASE_GRANT && event->kind <= QN_CHECK_MSG_DUPCOPY &&
               qn_judge_on_source(learner->in, event)) {
        learn_state(learner, event);
    } else if (event->kind == QN_CHECK_WORK_BEGIN) {
        learner->open_runs++;
        if (learner->open_runs > profile->concurrency) {
            profile->concurrency = learner->open_runs;
        }
    } else if (event->kind == QN_CHECK_WORK_REPLY) {
        learner->open_runs--;
    } else if (event->kind == QN_CHECK_PROC && qn_str_equal(event->what, QN_STR("spawn")) &&
               learner->spawned_at_ms == 0) {
        learner->spawned_at_ms = event->wt;
    }
}

void qn_profile_learn(struct qn_profile *profile, const struct qn_judge_input *in)
{
    struct learner learner = {.profile = profile, .in = in};

    *profile = (struct qn_profile){.is_known = true, .level = in->level, .wait_s = QN_EVENT_NO_INT};
    qn_table_init_for(&learner.leases, sizeof(struct lease), &in->history->texts);
    for (size_t i = 0; i < in->history->count; i++) {
        learn_event(&learner, &in->history->events[i]);
    }
    profile->handling_p50_ms = percentile(&learner.handling, 50);
    profile->handling_p99_ms = percentile(&learner.handling, 99);
    profile->heartbeat_ms = percentile(&learner.gaps, 50);
    qn_memory_free(learner.handling.values);
    qn_memory_free(learner.gaps.values);
    qn_table_done(&learner.leases);
}
