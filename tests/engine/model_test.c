/* Random requests against the engine and against a slow reference side by side: the same answers in
 * the same order, the same counts, restarts in between. */
#include <criterion/criterion.h>

#include "tests/support/engine_check.h"
#include "tests/support/fixture.h"
#include "tests/support/reference.h"

enum { STEPS = 700, HANDLES = 64 };

static const char *const names[REFERENCE_QUEUES] = {"s", "sd", "f.fifo", "fd.fifo"};

/* A handle as both sides know it. */
struct pair {
    struct reference_handle reference;
    const char *handle;
};

struct run {
    struct fixture f;
    struct reference *reference;
    struct qn_random random;
    struct pair pairs[HANDLES];
    size_t pair_count;
    int pending_source, pending_target; /* of a move task that begins with the next settle */
    bool task_is_pending;
    unsigned seed;
    int step;
};

static int below(struct run *run, uint64_t bound)
{
    return (int)qn_random_below(&run->random, bound);
}

static void settle(struct run *run)
{
    fixture_settle(&run->f);
    run->reference->now_ms = run->f.now_ms;
    reference_settle(run->reference);
    if (run->task_is_pending) {
        run->task_is_pending = false;
        reference_move_all(run->reference, run->pending_source, run->pending_target);
    }
}

static void expect_code(const struct run *run, enum qn_error_code code, enum qn_error_code expected)
{
    cr_assert_eq(code, expected, "seed %u step %d: %s, expected %s (%s)", run->seed, run->step,
                 qn_error_info(code)->query_code, qn_error_info(expected)->query_code,
                 run->f.err.message);
}

static void send(struct run *run)
{
    int queue = below(run, REFERENCE_QUEUES);
    bool is_fifo = queue >= 2;
    int delay_s = !is_fifo && below(run, 3) == 0 ? below(run, 20) : -1;
    int group = below(run, REFERENCE_GROUPS);
    /* Few ids for duplicates, but most sends under one that no window knows. */
    int id = below(run, REFERENCE_IDS);
    const char *members = "";

    if (run->reference->message_count == REFERENCE_MESSAGES) {
        return;
    }
    if (is_fifo) {
        members = fixture_format(&run->f, "'MessageGroupId':'g%d','MessageDeduplicationId':'d%d'",
                                 group, id);
    } else if (delay_s >= 0) {
        members = fixture_format(&run->f, "'DelaySeconds':%d", delay_s);
    }
    const char *sent = fixture_send_with(&run->f, names[queue], "m", members);
    const char *known = reference_send(run->reference, queue, delay_s, group, id);
    if (known != NULL) {
        cr_assert_str_eq(sent, known, "seed %u step %d", run->seed, run->step);
        return;
    }
    memcpy(run->reference->messages[run->reference->message_count - 1].id, sent, 37);
    if (is_fifo) {
        memcpy(run->reference->queues[queue].accepted_id[id], sent, 37);
    }
}

static void note_handle(struct run *run, const struct reference_handle *reference,
                        const char *handle)
{
    size_t at = run->pair_count < HANDLES ? run->pair_count++ : (size_t)below(run, HANDLES);

    run->pairs[at] = (struct pair){*reference, handle};
}

static void receive(struct run *run)
{
    struct fixture *f = &run->f;
    struct reference_receive receive = {.queue = below(run, REFERENCE_QUEUES),
                                        .max = 1 + below(run, 10),
                                        .visibility_s = below(run, 2) == 0 ? below(run, 8) : -1,
                                        .attempt = -1};
    struct reference_handle handles[QN_RECEIVE_MAX];
    size_t count;

    if (receive.queue >= 2 && below(run, 4) == 0) {
        receive.attempt = below(run, REFERENCE_IDS);
    }
    enum qn_error_code expected = reference_receive(run->reference, &receive, handles, &count);
    enum qn_error_code code =
        fixture_code(f, "ReceiveMessage",
                     "'QueueUrl':'%s','MaxNumberOfMessages':%d,'AttributeNames':['All']%s%s",
                     names[receive.queue], receive.max,
                     receive.visibility_s < 0
                         ? ""
                         : fixture_format(f, ",'VisibilityTimeout':%d", (int)receive.visibility_s),
                     receive.attempt < 0
                         ? ""
                         : fixture_format(f, ",'ReceiveRequestAttemptId':'r%d'", receive.attempt));
    expect_code(run, code, expected);
    if (code != QN_ERR_NONE) {
        return;
    }
    cr_assert_eq(fixture_count(f, "Messages"), count, "seed %u step %d: %zu messages, not %zu",
                 run->seed, run->step, fixture_count(f, "Messages"), count);
    for (size_t i = 0; i < count; i++) {
        const struct reference_message *message = &run->reference->messages[handles[i].message];
        cr_assert_str_eq(fixture_get(f, fixture_format(f, "Messages.%zu.MessageId", i)),
                         message->id, "seed %u step %d: place %zu", run->seed, run->step, i);
        cr_assert_eq(
            fixture_get_integer(
                f, fixture_format(f, "Messages.%zu.Attributes.ApproximateReceiveCount", i)),
            message->total_count, "seed %u step %d: receive count", run->seed, run->step);
        note_handle(run, &handles[i],
                    fixture_get(f, fixture_format(f, "Messages.%zu.ReceiptHandle", i)));
    }
}

/* Mostly at the queue that the handle is from. */
static void use_handle(struct run *run)
{
    if (run->pair_count == 0) {
        return;
    }
    const struct pair *pair = &run->pairs[below(run, run->pair_count)];
    int queue = below(run, 20) == 0 ? below(run, REFERENCE_QUEUES) : pair->reference.queue;

    if (below(run, 2) == 0) {
        expect_code(run, fixture_delete(&run->f, names[queue], pair->handle),
                    reference_delete(run->reference, queue, &pair->reference));
    } else {
        int visibility_s = below(run, 10) == 0 ? 43200 - below(run, 30) : below(run, 12);
        expect_code(run, fixture_change(&run->f, names[queue], pair->handle, visibility_s),
                    reference_change(run->reference, queue, &pair->reference, visibility_s));
    }
}

static void set_attributes(struct run *run)
{
    int queue = below(run, REFERENCE_QUEUES);
    struct reference_queue *q = &run->reference->queues[queue];
    struct fixture *f = &run->f;

    switch (below(run, 4)) {
    case 0:
        q->visibility_s = below(run, 30);
        fixture_set(f, names[queue],
                    fixture_format(f, "'VisibilityTimeout':'%d'", (int)q->visibility_s));
        break;
    case 1:
        q->delay_s = below(run, 2) == 0 ? 0 : below(run, 30);
        fixture_set(f, names[queue], fixture_format(f, "'DelaySeconds':'%d'", (int)q->delay_s));
        break;
    case 2:
        q->retention_s = 60 + below(run, 600);
        fixture_set(f, names[queue],
                    fixture_format(f, "'MessageRetentionPeriod':'%d'", (int)q->retention_s));
        break;
    default:
        if (queue % 2 == 0) {
            q->max_receive_count = 1 + below(run, 4);
            q->target = queue + 1;
            fixture_redrive(f, names[queue], names[queue + 1], q->max_receive_count);
        }
        break;
    }
    reference_settle(run->reference);
}

static void move(struct run *run)
{
    int source = below(run, 2) == 0 ? 1 : 3;
    int target = below(run, 2) == 0 ? -1 : source - 1;
    struct fixture *f = &run->f;

    if (run->reference->queues[source - 1].max_receive_count == 0) {
        return; /* not a dead-letter queue */
    }
    fixture_must(f, "StartMessageMoveTask", "'SourceArn':'%s'%s", fixture_arn(f, names[source]),
                 target < 0
                     ? ""
                     : fixture_format(f, ",'DestinationArn':'%s'", fixture_arn(f, names[target])));
    run->task_is_pending = true;
    run->pending_source = source;
    run->pending_target = target;
}

/* What moved has new ids: the reference learns them by peeking. */
static void learn_ids(struct run *run)
{
    struct qn_event_list events = {.wanted = false};
    struct qn_arena arena;

    qn_arena_init(&arena, SIZE_MAX);
    struct qn_tx tx = {
        .engine = run->f.engine, .now_ms = run->f.now_ms, .arena = &arena, .events = &events};
    for (int queue = 0; queue < REFERENCE_QUEUES; queue++) {
        struct qn_peeked peeked = {.sequence = 0};
        struct qn_queue *q = fixture_queue(&run->f, names[queue]);
        int64_t order = -1;
        while (qn_engine_peek(&tx, q, peeked.sequence, &peeked)) {
            int next = -1;
            for (int i = 0; i < run->reference->message_count; i++) {
                const struct reference_message *m = &run->reference->messages[i];
                if (m->queue == queue && m->order > order &&
                    (next < 0 || m->order < run->reference->messages[next].order)) {
                    next = i;
                }
            }
            cr_assert_geq(next, 0, "seed %u step %d: a message too many", run->seed, run->step);
            order = run->reference->messages[next].order;
            qn_random_format_uuid(peeked.message_id, run->reference->messages[next].id);
        }
    }
    qn_arena_done(&arena);
}

static void advance(struct run *run)
{
    static const int spans_ms[] = {1, 500, 1000, 3000, 10000, 31000, 70000, 301000};
    int span_ms = spans_ms[below(run, below(run, 4) == 0 ? 8 : 6)];

    if (below(run, 2) == 0) {
        fixture_leap_ms(&run->f, span_ms);
    } else {
        fixture_advance_ms(&run->f, span_ms);
    }
}

static void rare(struct run *run)
{
    int queue = below(run, REFERENCE_QUEUES);
    struct fixture *f = &run->f;

    switch (below(run, 8)) {
    case 0:
        fixture_must(f, "PurgeQueue", "'QueueUrl':'%s'", names[queue]);
        reference_purge(run->reference, queue);
        break;
    case 1:
        if (queue % 2 == 0) {
            fixture_must(f, "DeleteQueue", "'QueueUrl':'%s'", names[queue]);
            fixture_create(f, names[queue], "");
            reference_create_queue(run->reference, queue, queue >= 2);
        }
        break;
    case 2:
    case 3:
        move(run);
        break;
    default:
        fixture_restart(f);
        break;
    }
}

static void check(struct run *run)
{
    for (int queue = 0; queue < REFERENCE_QUEUES; queue++) {
        struct qn_queue_counts counts = qn_queue_counts_of(fixture_queue(&run->f, names[queue]));
        int64_t expected[3];
        reference_counts(run->reference, queue, expected);
        cr_assert(counts.visible == expected[0] && counts.in_flight == expected[1] &&
                      counts.delayed == expected[2],
                  "seed %u step %d: %s has %d %d %d, expected %d %d %d", run->seed, run->step,
                  names[queue], (int)counts.visible, (int)counts.in_flight, (int)counts.delayed,
                  (int)expected[0], (int)expected[1], (int)expected[2]);
    }
    const char *problem = engine_check(run->f.engine);
    cr_assert_null(problem, "seed %u step %d: not %s", run->seed, run->step, problem);
}

static void step(struct run *run)
{
    bool moves = run->task_is_pending;

    settle(run);
    if (moves) {
        learn_ids(run);
    }
    int kind = below(run, 100);
    if (kind < 34) {
        send(run);
    } else if (kind < 60) {
        receive(run);
    } else if (kind < 78) {
        use_handle(run);
    } else if (kind < 90) {
        advance(run);
        run->reference->now_ms = run->f.now_ms;
        reference_settle(run->reference);
    } else if (kind < 95) {
        set_attributes(run);
    } else {
        rare(run);
    }
    if (!run->task_is_pending) {
        fixture_settle(&run->f); /* a dead letter may be too old for its new queue */
        reference_settle(run->reference);
        check(run);
    }
}

static void run_seed(unsigned seed)
{
    struct run *run = qn_memory_new(sizeof(*run));

    run->seed = seed;
    run->reference = qn_memory_new(sizeof(*run->reference));
    qn_random_init(&run->random, seed, 1, 2);
    fixture_open(&run->f);
    run->f.options.limits.in_flight = seed % 3 == 0 ? 6 : QN_IN_FLIGHT_MAX;
    run->f.looks = seed % 2 == 0;
    run->f.evicts = seed % 4 == 1;
    run->f.slice = seed % 5 == 2 ? 3 : 1000;
    run->f.events.wanted = seed % 7 == 3;
    fixture_restart(&run->f);
    reference_init(run->reference, run->f.now_ms, run->f.options.limits.in_flight);
    for (int queue = 0; queue < REFERENCE_QUEUES; queue++) {
        fixture_create(&run->f, names[queue], "");
        reference_create_queue(run->reference, queue, queue >= 2);
    }
    for (run->step = 0; run->step < STEPS; run->step++) {
        step(run);
    }
    fixture_close(&run->f);
    qn_memory_free(run->reference);
    qn_memory_free(run);
}

#define SEEDS(from)                                                                                \
    Test(model, I1_to_I9_random_requests_give_what_the_reference_gives_from_seed_##from)           \
    {                                                                                              \
        for (unsigned seed = from; seed < from + 25; seed++) {                                     \
            run_seed(seed);                                                                        \
        }                                                                                          \
    }

SEEDS(0)
SEEDS(25)
SEEDS(50)
SEEDS(75)
