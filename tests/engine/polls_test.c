/* Random requests with long polls among them: a poll never sleeps beside a message that it could
 * have, no message is in two hands, and the engine's structures hold. Tenants are among them. */
#include <criterion/criterion.h>

#include "tests/support/engine_check.h"
#include "tests/support/fixture.h"

enum { STEPS = 600, QUEUES = 4, KNOWN = 4096, VISIBILITY_S = 5 };

static const char *const names[QUEUES] = {"s", "sd", "f.fifo", "fd.fifo"};

struct held {
    const char *handle;
    const char *id;
    int64_t until_ms; /* 0: nobody's */
};

struct run {
    struct fixture f;
    struct qn_random random;
    struct held held[KNOWN];
    size_t held_count;
    unsigned seed;
    int step;
    int next_body;
    const struct fixture_seen *noted;
};

static int below(struct run *run, uint64_t bound)
{
    return (int)qn_random_below(&run->random, bound);
}

static struct held *held_of(struct run *run, const char *id)
{
    for (size_t i = 0; i < run->held_count; i++) {
        if (strcmp(run->held[i].id, id) == 0) {
            return &run->held[i];
        }
    }
    cr_assert_lt(run->held_count, KNOWN);
    run->held[run->held_count] = (struct held){.id = id};
    return &run->held[run->held_count++];
}

/* What was received since the last call, by requests and by polls, oldest first. */
static void note_received(struct run *run, const struct fixture_seen *seen)
{
    if (seen == run->noted) {
        return;
    }
    note_received(run, seen->older);
    struct held *held = held_of(run, seen->id);
    cr_assert_leq(held->until_ms, seen->at_ms, "seed %u step %d: %s is in two hands", run->seed,
                  run->step, seen->body);
    held->handle = seen->handle;
    held->until_ms = seen->at_ms + VISIBILITY_S * 1000;
}

static void send(struct run *run)
{
    struct fixture *f = &run->f;
    int queue = below(run, QUEUES);
    const char *body = fixture_format(f, "m%d", run->next_body++);

    if (queue >= 2) {
        fixture_send_with(f, names[queue], body,
                          fixture_format(f, "'MessageGroupId':'g%d','MessageDeduplicationId':'%s'",
                                         below(run, 5), body));
    } else if (below(run, 3) == 0) {
        fixture_send_with(f, names[queue], body,
                          fixture_format(f, "'DelaySeconds':%d", below(run, 4)));
    } else {
        fixture_send_with(f, names[queue], body,
                          fixture_format(f, "'MessageGroupId':'t%d'", below(run, 3)));
    }
}

static void use(struct run *run)
{
    if (run->held_count == 0) {
        return;
    }
    struct held *held = &run->held[below(run, run->held_count)];
    struct fixture *f = &run->f;
    if (held->handle == NULL || held->until_ms <= f->now_ms) {
        return;
    }
    for (int queue = 0; queue < QUEUES; queue++) {
        enum qn_error_code code;
        if (below(run, 2) == 0) {
            code = fixture_delete(f, names[queue], held->handle);
        } else {
            int visibility_s = below(run, 2) == 0 ? 0 : VISIBILITY_S;
            /* Freed before the call: a poll that it wakes may have the message already. */
            int64_t before_ms = held->until_ms;
            held->until_ms = f->now_ms;
            code = fixture_change(f, names[queue], held->handle, visibility_s);
            if (code != QN_ERR_NONE) {
                held->until_ms = before_ms;
            } else if (visibility_s > 0) {
                held->until_ms = f->now_ms + visibility_s * 1000;
            }
        }
        if (code == QN_ERR_NONE) {
            return;
        }
    }
}

static void expect_awake(struct run *run, const struct fixture_poll *poll)
{
    struct qn_receive receive = {.max = 1, .visibility_timeout_s = VISIBILITY_S};
    struct qn_facts facts = {.message_count = 0};
    struct qn_event_list events = {.wanted = false};
    struct qn_arena arena;

    if (poll->is_answered || poll->waiter.queue == NULL) {
        return;
    }
    qn_arena_init(&arena, SIZE_MAX);
    struct qn_tx tx = {
        .engine = run->f.engine, .now_ms = run->f.now_ms, .arena = &arena, .events = &events};
    qn_engine_look_receive(&tx, poll->waiter.queue, &receive, &facts);
    cr_assert_eq(facts.message_count, 0, "seed %u step %d: a poll sleeps beside a message",
                 run->seed, run->step);
    cr_assert_gt(poll->waiter.deadline_ms, run->f.now_ms, "seed %u step %d: a poll overslept",
                 run->seed, run->step);
    qn_arena_done(&arena);
}

static void step(struct run *run)
{
    struct fixture *f = &run->f;
    int kind = below(run, 100);

    if (kind < 35) {
        send(run);
    } else if (kind < 55) {
        fixture_poll(f, names[below(run, QUEUES)], 1 + below(run, 10), 1 + below(run, 20),
                     "'VisibilityTimeout':5");
    } else if (kind < 65) {
        fixture_receive_with(f, names[below(run, QUEUES)], 1 + below(run, 10),
                             "'VisibilityTimeout':5");
    } else if (kind < 80) {
        use(run);
    } else if (kind < 95) {
        fixture_advance_ms(f, below(run, 2) == 0 ? 1000 : 1 + below(run, 3000));
    } else if (kind < 97) {
        int queue = below(run, 2) * 2;
        fixture_redrive(f, names[queue], names[queue + 1], 1 + below(run, 3));
    } else if (kind < 98) {
        fixture_set(f, "f.fifo", fixture_format(f, "'DelaySeconds':'%d'", below(run, 4)));
    } else {
        fixture_restart(f);
    }
    note_received(run, run->f.seen);
    run->noted = run->f.seen;
    for (const struct fixture_poll *poll = f->polls; poll != NULL; poll = poll->next) {
        expect_awake(run, poll);
    }
    const char *problem = engine_check(f->engine);
    cr_assert_null(problem, "seed %u step %d: not %s", run->seed, run->step, problem);
}

static void run_seed(unsigned seed)
{
    struct run *run = qn_memory_new(sizeof(*run));

    run->seed = seed;
    qn_random_init(&run->random, seed, 3, 4);
    fixture_open(&run->f);
    run->f.options.limits.in_flight = seed % 2 == 0 ? 5 : QN_IN_FLIGHT_MAX;
    run->f.slice = seed % 3 == 0 ? 2 : 1000;
    fixture_restart(&run->f);
    for (int queue = 0; queue < QUEUES; queue++) {
        fixture_create(&run->f, names[queue], "");
    }
    for (run->step = 0; run->step < STEPS; run->step++) {
        step(run);
    }
    fixture_close(&run->f);
    qn_memory_free(run);
}

Test(polls, RCV_3_I5_none_sleeps_beside_a_message_and_none_is_in_two_hands)
{
    for (unsigned seed = 0; seed < 30; seed++) {
        run_seed(seed);
    }
}

Test(polls, RCV_3_none_sleeps_beside_a_message_with_other_seeds)
{
    for (unsigned seed = 100; seed < 130; seed++) {
        run_seed(seed);
    }
}
