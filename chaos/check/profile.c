/* The profile card: one pass over the history. */
#include "chaos/check/profile.h"

#include <stdio.h>
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
    bool is_worked; /* work on it has ended: what is left is the delete, or the next attempt */
};

struct learner {
    struct qn_profile *profile;
    const struct qn_judge_input *in;
    struct qn_table leases; /* struct lease, by message id */
    struct qn_table by_key; /* struct lease *: the newest */
    struct samples handling;
    struct samples gaps;
    int64_t open_runs;
    int64_t held;
    int64_t unworked;      /* leases, with those that are worked on */
    int64_t most_unworked; /* when one more was granted */
    int64_t spawned_at_ms;
    struct qn_table polls;      /* int64_t *: of open_polls, by request; NULL: it is answered */
    struct qn_table open_polls; /* int64_t, by instance */
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

static void keep_text(char *place, size_t room, struct qn_str text)
{
    (void)snprintf(place, room, "%.*s", QN_STR_ARG(text));
}

/* "m/E,b": what the SDK is set to, a letter each. */
static const char *mode_of_letters(struct qn_str letters)
{
    static const struct {
        const char *letter;
        const char *mode;
    } modes[] = {{"D", "legacy"}, {"E", "standard"}, {"F", "adaptive"}};

    while (letters.len > 0) {
        struct qn_str letter = qn_str_cut(letters, ',', &letters);
        for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
            if (qn_str_equal(letter, qn_str_from_cstr(modes[i].letter))) {
                return modes[i].mode;
            }
        }
    }
    return "";
}

/* SDKs name themselves, and how they try again, in words of User-Agent: "Boto3/1.35.2 ...
 * cfg/retry-mode#legacy". The first word may be the application's. */
static void learn_agent(struct qn_profile *profile, struct qn_str agent)
{
    const struct qn_str mode = QN_STR("cfg/retry-mode");
    struct qn_str rest = agent;
    bool is_sdk = false;

    while (rest.len > 0) {
        struct qn_str word = qn_str_cut(rest, ' ', &rest);
        bool names_sdk =
            qn_str_starts_with(word, QN_STR("aws-")) || qn_str_starts_with(word, QN_STR("Boto3/"));
        if (word.len > 0 && !is_sdk && (names_sdk || profile->agent[0] == '\0')) {
            keep_text(profile->agent, sizeof(profile->agent), word);
            is_sdk = names_sdk;
        }
        if (qn_str_starts_with(word, mode) && word.len > mode.len + 1) {
            keep_text(profile->retry_mode, sizeof(profile->retry_mode),
                      qn_str_from(word, mode.len + 1));
        } else if (qn_str_starts_with(word, QN_STR("m/")) && profile->retry_mode[0] == '\0') {
            keep_text(profile->retry_mode, sizeof(profile->retry_mode),
                      qn_str_from_cstr(mode_of_letters(qn_str_from(word, 2))));
        }
    }
}

static void learn_call(struct learner *learner, const struct qn_check_event *event)
{
    struct qn_profile *profile = learner->profile;

    if (!qn_str_is_none(event->detail->agent) && profile->agent[0] == '\0') {
        learn_agent(profile, event->detail->agent);
    }

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
        if (event->detail->asked.len > 0 && profile->asked[0] == '\0') {
            keep_text(profile->asked, sizeof(profile->asked), event->detail->asked);
        }
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
    learner->unworked -= lease->is_live && !lease->is_worked;
    lease->is_live = false;
}

static void grant(struct learner *learner, const struct qn_check_event *event, struct lease *lease)
{
    struct qn_profile *profile = learner->profile;

    end_lease(learner, lease);
    *lease = (struct lease){.granted_at_ms = event->vt, .is_live = true};
    if (!qn_str_is_none(event->k)) {
        *(struct lease **)qn_table_at_kept(&learner->by_key, event->k) = lease;
    }
    learner->held++;
    profile->held = learner->held > profile->held ? learner->held : profile->held;
    learner->unworked++;
    learner->most_unworked =
        learner->unworked > learner->most_unworked ? learner->unworked : learner->most_unworked;
    if (profile->visibility_ms == 0) {
        profile->visibility_ms = event->deadline - event->vt;
    }
}

static void end_work(struct learner *learner, struct qn_str key)
{
    struct lease **newest = qn_str_is_none(key) ? NULL : qn_table_find_kept(&learner->by_key, key);

    if (newest != NULL && !(*newest)->is_worked) {
        learner->unworked -= (*newest)->is_live;
        (*newest)->is_worked = true;
    }
}

static void learn_state(struct learner *learner, const struct qn_check_event *event)
{
    struct lease *lease = qn_table_at_kept(&learner->leases, event->mid);

    switch (event->kind) {
    case QN_CHECK_LEASE_GRANT:
        grant(learner, event, lease);
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

static void learn_polls(struct learner *learner, const struct qn_check_event *event)
{
    struct qn_profile *profile = learner->profile;

    if (qn_str_is_none(event->req) ||
        !qn_judge_is_call(learner->in, event, QN_STR("ReceiveMessage"))) {
        return;
    }
    int64_t **polls = qn_table_at_kept(&learner->polls, event->req);
    if (event->kind == QN_CHECK_API_OUT) {
        if (*polls != NULL) {
            (**polls)--;
        }
        *polls = NULL;
        return;
    }
    *polls = qn_table_at(&learner->open_polls, event->instance);
    (**polls)++;
    profile->pollers = **polls > profile->pollers ? **polls : profile->pollers;
}

static void learn_event(struct learner *learner, const struct qn_check_event *event)
{
    struct qn_profile *profile = learner->profile;

    if (event->kind == QN_CHECK_API_IN || event->kind == QN_CHECK_API_OUT) {
        learn_polls(learner, event);
    }
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
    } else if (event->kind == QN_CHECK_WORK_COMMIT || event->kind == QN_CHECK_WORK_ABORT) {
        end_work(learner, event->k); /* each item of a call that brings several */
    } else if (event->kind == QN_CHECK_WORK_REPLY) {
        learner->open_runs--;
        end_work(learner, event->k);
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
    qn_table_init_for(&learner.by_key, sizeof(struct lease *), &in->history->texts);
    qn_table_init_for(&learner.polls, sizeof(int64_t *), &in->history->texts);
    qn_table_init(&learner.open_polls, sizeof(int64_t));
    for (size_t i = 0; i < in->history->count; i++) {
        learn_event(&learner, &in->history->events[i]);
    }
    /* All that its workers may soon be at is no buffer, however long a start takes. */
    if (in->level >= QN_LEVEL_SINK && learner.most_unworked > profile->concurrency) {
        profile->prefetch = learner.most_unworked - profile->concurrency;
    }
    profile->handling_p50_ms = percentile(&learner.handling, 50);
    profile->handling_p99_ms = percentile(&learner.handling, 99);
    profile->heartbeat_ms = percentile(&learner.gaps, 50);
    qn_memory_free(learner.handling.values);
    qn_memory_free(learner.gaps.values);
    qn_table_done(&learner.by_key);
    qn_table_done(&learner.polls);
    qn_table_done(&learner.open_polls);
    qn_table_done(&learner.leases);
}
