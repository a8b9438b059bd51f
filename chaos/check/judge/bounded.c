/* BOUNDED: a consumer holds no more messages than it can work on soon, and works on no more than it
 * said. A message whose handler failed is held by nobody: it waits for its lease to end, or for its
 * next attempt. How many it works on at once is seen at the sink, or said: without either, many
 * workers and a hoard look the same. */
#include "chaos/check/judge/book.h"

enum {
    PREFETCH_PER_POLLER = 10, /* unless declared */
    GRAVE = 4,                /* times the limit */
    NOTABLE = 2
};

struct load {
    int64_t life;
    int64_t held;
    int64_t running;
    int64_t most_running;
    /* At each grant, to see what grows. */
    int64_t *held_at, *running_at;
    size_t count, cap;
    int64_t peak;
    size_t peak_at;
    uint64_t peak_seq;
};

static void note_grant(struct load *load, uint64_t seq)
{
    load->held++;
    if (load->count == load->cap) {
        load->cap = load->cap > 0 ? load->cap * 2 : 64;
        load->held_at = qn_memory_resize(load->held_at, load->cap, sizeof(int64_t));
        load->running_at = qn_memory_resize(load->running_at, load->cap, sizeof(int64_t));
    }
    load->held_at[load->count] = load->held;
    load->running_at[load->count] = load->running;
    if (load->held > load->peak) {
        load->peak = load->held;
        load->peak_at = load->count;
        load->peak_seq = seq;
    }
    load->count++;
}

static int64_t largest(const int64_t *values, size_t from, size_t to)
{
    int64_t best = 0;

    for (size_t i = from; i < to; i++) {
        best = values[i] > best ? values[i] : best;
    }
    return best;
}

/* Up to the peak, each quarter holds clearly more than the one before while no more is begun: what
 * it takes goes into a buffer without a bound. */
static bool grows_without_bound(const struct load *load)
{
    size_t count = load->peak_at + 1;
    int64_t before = 0;
    int64_t running_at_first = 0;

    if (count < 40) {
        return false;
    }
    for (size_t i = 0; i < 4; i++) {
        int64_t held = largest(load->held_at, count * i / 4, count * (i + 1) / 4);
        int64_t running = largest(load->running_at, count * i / 4, count * (i + 1) / 4);
        if (i == 1) {
            running_at_first = running;
        }
        if (held * 10 <= before * 11 || (i > 1 && running > running_at_first)) {
            return false;
        }
        before = held;
    }
    return true;
}

static int64_t limit_of(const struct qn_judge_input *in, const struct qn_book_instance *instance,
                        const struct load *load)
{
    int64_t pollers = instance->pollers > 0 ? instance->pollers : 1;
    int64_t prefetch =
        in->is_prefetch_declared ? in->prefetch : (int64_t)PREFETCH_PER_POLLER * pollers;
    int64_t concurrency = in->concurrency > 0 ? in->concurrency : load->most_running;

    return prefetch + (concurrency > 0 ? concurrency : 1);
}

static void judge(const struct qn_judge_input *in, const struct qn_book_instance *instance,
                  const struct load *load, struct qn_finding *finding)
{
    int64_t limit = limit_of(in, instance, load);
    bool is_endless =
        load->peak > NOTABLE * limit && in->level >= QN_LEVEL_SINK && grows_without_bound(load);
    bool is_limit_known = in->level >= QN_LEVEL_SINK || in->is_concurrency_declared;
    enum qn_severity severity = !is_limit_known                            ? QN_INFO
                                : load->peak > GRAVE * limit || is_endless ? QN_MUST
                                                                           : QN_SHOULD;

    if (load->peak > limit &&
        qn_finding_break(
            finding, severity, "%.*s held %lld messages at once (seq %llu), more than %lld%s",
            QN_STR_ARG(instance->name), (long long)load->peak, (unsigned long long)load->peak_seq,
            (long long)limit,
            is_endless        ? ", and ever more while no more were worked on"
            : !is_limit_known ? "; how many it works on is not seen (--concurrency says it)"
                              : "")) {
        qn_finding_witness(finding, load->peak_seq);
    }
    if (in->is_concurrency_declared && load->most_running > in->concurrency) {
        severity = load->most_running > NOTABLE * in->concurrency ? QN_MUST : QN_SHOULD;
        (void)qn_finding_break(
            finding, severity, "%.*s worked on %lld messages at once, more than the %lld declared",
            QN_STR_ARG(instance->name), (long long)load->most_running, (long long)in->concurrency);
    }
}

/* The lists of the book, walked side by side with the history. */
struct walk {
    const struct qn_judge_input *in;
    struct qn_table loads; /* struct load, by instance */
    struct qn_table aside; /* bool, by handle: the handler failed */
    const struct qn_lease *granted, *ended;
    const struct qn_handler *begun, *finished;
};

static struct load *load_of(struct walk *walk, const struct qn_book_instance *instance)
{
    return qn_table_at(&walk->loads, instance->name);
}

/* A lease whose work failed leaves what is held, and comes back to it with its next attempt. */
static void put_aside(struct walk *walk, struct load *load, const struct qn_handler *run,
                      bool is_aside)
{
    const struct qn_lease *lease = run->lease;

    if (lease == NULL || qn_str_is_none(lease->grant->h) || lease->life != load->life ||
        (lease->ended != NULL && lease->ended->seq < (is_aside ? run->end : run->begin)->seq)) {
        return;
    }
    bool *known = qn_table_at(&walk->aside, lease->grant->h);
    if (*known != is_aside) {
        load->held += is_aside ? -(load->held > 0) : 1;
        *known = is_aside;
    }
}

static bool is_aside(struct walk *walk, const struct qn_lease *lease)
{
    const bool *known =
        qn_str_is_none(lease->grant->h) ? NULL : qn_table_find(&walk->aside, lease->grant->h);

    return known != NULL && *known;
}

static void step(struct walk *walk, const struct qn_check_event *event)
{
    for (; walk->granted != NULL && walk->granted->grant == event;
         walk->granted = walk->granted->next) {
        if (qn_judge_on_source(walk->in, event)) {
            note_grant(load_of(walk, walk->granted->owner), event->seq);
        }
    }
    for (; walk->ended != NULL && walk->ended->ended == event;
         walk->ended = walk->ended->next_ended) {
        struct load *load = load_of(walk, walk->ended->owner);
        load->held -=
            walk->ended->life == load->life && load->held > 0 && !is_aside(walk, walk->ended);
    }
    for (; walk->begun != NULL && walk->begun->begin == event; walk->begun = walk->begun->next) {
        if (walk->begun->owner != NULL) {
            struct load *load = load_of(walk, walk->begun->owner);
            put_aside(walk, load, walk->begun, false);
            load->running++;
            load->most_running =
                load->running > load->most_running ? load->running : load->most_running;
        }
    }
    for (; walk->finished != NULL && walk->finished->end == event;
         walk->finished = walk->finished->next_ended) {
        if (walk->finished->owner != NULL) {
            struct load *load = load_of(walk, walk->finished->owner);
            load->running -= walk->finished->life == load->life && load->running > 0;
            if (event->kind == QN_CHECK_WORK_ABORT) {
                put_aside(walk, load, walk->finished, true);
            }
        }
    }
    if (event->kind == QN_CHECK_PROC && qn_str_equal(event->what, QN_STR("exit"))) {
        const struct qn_book_instance *instance =
            qn_book_instance_of(walk->in->book, event->instance);
        if (instance != NULL) {
            struct load *load = load_of(walk, instance);
            load->life++;
            load->held = load->running = 0;
        }
    }
}

void qn_judge_bounded(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    const struct qn_book *book = in->book;
    struct walk walk = {.in = in,
                        .granted = book->leases,
                        .ended = book->ended_leases,
                        .begun = book->handlers,
                        .finished = book->ended_handlers};
    int64_t peak = 0;

    qn_table_init(&walk.loads, sizeof(struct load));
    qn_table_init(&walk.aside, sizeof(bool));
    for (size_t i = 0; i < in->history->count; i++) {
        step(&walk, &in->history->events[i]);
    }
    for (const struct qn_table_item *item = walk.loads.first; item != NULL; item = item->next) {
        struct load *load = item->value;
        judge(in, qn_book_instance_of(book, item->key), load, ret_finding);
        peak = load->peak > peak ? load->peak : peak;
        qn_memory_free(load->held_at);
        qn_memory_free(load->running_at);
    }
    if (ret_finding->result == QN_RESULT_PASS) {
        qn_finding_set(ret_finding, QN_RESULT_PASS, "at most %lld messages held at once",
                       (long long)peak);
    }
    qn_table_done(&walk.aside);
    qn_table_done(&walk.loads);
}
