/* What an operation costs does not hang on how much is stored, in flight, blocked or named. The
 * engine counts the messages and groups that it looks at: the count is the same at a thousand and
 * at a hundred thousand. No stopwatch. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

enum { SMALL = 1000, LARGE = 100000 };

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    fixture_use_no_store(&f);
    f.options.limits.in_flight = INT64_MAX;
    fixture_restart(&f);
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(cost, .init = start, .fini = stop);

/* ---- filling, straight through the engine ---- */

static void with_tx(void (*run)(struct qn_tx *tx, const void *with), const void *with)
{
    struct qn_random random;
    struct qn_arena arena;

    qn_random_init(&random, 1, 2, ++f.sequence);
    qn_arena_init(&arena, SIZE_MAX);
    struct qn_tx tx = {.engine = f.engine,
                       .now_ms = f.now_ms,
                       .random = &random,
                       .arena = &arena,
                       .caller = &f.caller,
                       .events = &f.events};
    run(&tx, with);
    qn_arena_done(&arena);
}

struct filling {
    const char *queue;
    int count;
    const char *group; /* %d: the message's number; NULL: none */
    int64_t delay_s;
};

static void fill_all(struct qn_tx *tx, const void *with)
{
    const struct filling *filling = with;

    for (int i = 0; i < filling->count; i++) {
        char group[32];
        int len =
            filling->group == NULL ? 0 : snprintf(group, sizeof(group), "%s%d", filling->group, i);
        struct qn_content content = {.body = QN_STR("m"), .attributes = QN_STR("")};
        struct qn_sent sent;
        if (filling->group != NULL) {
            content.group_id = qn_str(group, (size_t)len);
        }
        struct qn_send send = {.content = &content, .delay_s = filling->delay_s};
        qn_engine_send(tx, fixture_queue(&f, filling->queue), &send, &sent);
    }
}

static void fill(const char *queue, int count, const char *group)
{
    const struct filling filling = {.queue = queue, .count = count, .group = group};
    with_tx(fill_all, &filling);
}

static void take_all(struct qn_tx *tx, const void *with)
{
    const struct filling *filling = with;
    struct qn_delivery deliveries[QN_RECEIVE_MAX];
    struct qn_error err;
    size_t count;

    for (int i = 0; i < filling->count; i += QN_RECEIVE_MAX) {
        struct qn_receive receive = {.max = QN_RECEIVE_MAX, .visibility_timeout_s = 1000};
        cr_assert_eq(qn_engine_receive(tx, fixture_queue(&f, filling->queue), &receive, deliveries,
                                       &count, &err),
                     QN_RECEIVED);
        qn_arena_reset(tx->arena);
    }
}

static void take(const char *queue, int count)
{
    const struct filling filling = {.queue = queue, .count = count};
    with_tx(take_all, &filling);
}

/* ---- counting ---- */

static uint64_t counted;

static void begin_count(void)
{
    fixture_settle(&f);
    counted = fixture_looked_at(&f);
}

static uint64_t end_count(void)
{
    return fixture_looked_at(&f) - counted;
}

/* Runs the operations with a little and with a lot behind them and holds the counts against each
 * other, and against a bound. */
static void expect_same_cost(void (*prepare)(const char *queue, int count),
                             uint64_t (*operate)(const char *queue), const char *suffix,
                             uint64_t at_most)
{
    const char *small = fixture_format(&f, "small%s", suffix);
    const char *large = fixture_format(&f, "large%s", suffix);

    fixture_create(&f, small, "");
    fixture_create(&f, large, "");
    prepare(small, SMALL);
    uint64_t small_cost = operate(small);
    prepare(large, LARGE);
    uint64_t large_cost = operate(large);
    cr_expect_eq(small_cost, large_cost, "%llu and %llu", (unsigned long long)small_cost,
                 (unsigned long long)large_cost);
    cr_expect_leq(large_cost, at_most, "%llu", (unsigned long long)large_cost);
    cr_expect_gt(large_cost, 0);
}

static void backlog(const char *queue, int count)
{
    fill(queue, count, NULL);
}

static void in_flight(const char *queue, int count)
{
    fill(queue, count, NULL);
    take(queue, count);
}

static void backlog_and_in_flight(const char *queue, int count)
{
    fill(queue, count, NULL);
    take(queue, count / 2);
}

static void tenants(const char *queue, int count)
{
    fill(queue, count, "t");
}

static void idle_tenants_in_flight(const char *queue, int count)
{
    fill(queue, count, "t");
    take(queue, count - 100);
}

/* All groups but the last have a message in flight and one behind it. */
static void blocked_groups(const char *queue, int count)
{
    fill(queue, count, "g");
    take(queue, count);
    fill(queue, count, "g");
}

static void open_groups(const char *queue, int count)
{
    fill(queue, count, "g");
}

static void one_group(const char *queue, int count)
{
    for (int i = 0; i < count; i++) {
        fill(queue, 1, "g");
    }
}

static uint64_t cost_of_send(const char *queue)
{
    begin_count();
    fixture_must(&f, "SendMessage", "'QueueUrl':'%s','MessageBody':'new'", queue);
    return end_count();
}

static uint64_t cost_of_fifo_send(const char *queue)
{
    begin_count();
    fixture_must(&f, "SendMessage",
                 "'QueueUrl':'%s','MessageBody':'new','MessageGroupId':'g7',"
                 "'MessageDeduplicationId':'d'",
                 queue);
    return end_count();
}

static uint64_t cost_of_receive(const char *queue)
{
    begin_count();
    fixture_must(&f, "ReceiveMessage", "'QueueUrl':'%s','MaxNumberOfMessages':10", queue);
    return end_count();
}

static uint64_t cost_of_one_life(const char *queue)
{
    begin_count();
    fixture_must(&f, "SendMessage",
                 "'QueueUrl':'%s','MessageBody':'new','MessageGroupId':'fresh',"
                 "'MessageDeduplicationId':'d'",
                 queue);
    fixture_must(&f, "ReceiveMessage", "'QueueUrl':'%s','MaxNumberOfMessages':1", queue);
    const char *handle = fixture_get(&f, "Messages.0.ReceiptHandle");
    cr_assert_not_null(handle);
    cr_assert_eq(fixture_change(&f, queue, handle, 100), QN_ERR_NONE);
    cr_assert_eq(fixture_delete(&f, queue, handle), QN_ERR_NONE);
    return end_count();
}

static uint64_t cost_of_standard_life(const char *queue)
{
    begin_count();
    fixture_must(&f, "SendMessage", "'QueueUrl':'%s','MessageBody':'new'", queue);
    fixture_must(&f, "ReceiveMessage", "'QueueUrl':'%s','MaxNumberOfMessages':1", queue);
    const char *handle = fixture_get(&f, "Messages.0.ReceiptHandle");
    cr_assert_not_null(handle);
    cr_assert_eq(fixture_change(&f, queue, handle, 0), QN_ERR_NONE);
    cr_assert_eq(fixture_change(&f, queue, handle, 100), QN_ERR_NONE);
    cr_assert_eq(fixture_delete(&f, queue, handle), QN_ERR_NONE);
    return end_count();
}

static uint64_t cost_of_empty_receive(const char *queue)
{
    begin_count();
    fixture_must(&f, "ReceiveMessage", "'QueueUrl':'%s','MaxNumberOfMessages':10", queue);
    cr_assert_eq(fixture_count(&f, "Messages"), 0);
    return end_count() + 1;
}

static uint64_t cost_of_purge(const char *queue)
{
    begin_count();
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'%s'", queue);
    return end_count() + 1;
}

static uint64_t cost_of_counts(const char *queue)
{
    begin_count();
    (void)fixture_counts(&f, queue);
    return end_count() + 1;
}

Test(cost, a_send_behind_a_backlog)
{
    expect_same_cost(backlog, cost_of_send, "", 10);
}

Test(cost, a_receive_from_a_backlog)
{
    expect_same_cost(backlog, cost_of_receive, "", 60);
}

Test(cost, a_receive_beside_messages_in_flight)
{
    expect_same_cost(backlog_and_in_flight, cost_of_receive, "", 60);
}

Test(cost, an_empty_receive_beside_messages_in_flight)
{
    expect_same_cost(in_flight, cost_of_empty_receive, "", 10);
}

Test(cost, a_message_s_life_behind_a_backlog)
{
    expect_same_cost(backlog, cost_of_standard_life, "", 40);
}

Test(cost, a_message_s_life_beside_messages_in_flight)
{
    expect_same_cost(in_flight, cost_of_standard_life, "", 40);
}

Test(cost, a_receive_from_many_tenants)
{
    expect_same_cost(tenants, cost_of_receive, "", 80);
}

Test(cost, a_receive_beside_tenants_with_messages_in_flight)
{
    expect_same_cost(idle_tenants_in_flight, cost_of_receive, "", 80);
}

Test(cost, a_fifo_send_beside_blocked_groups)
{
    expect_same_cost(blocked_groups, cost_of_fifo_send, ".fifo", 10);
}

Test(cost, an_empty_fifo_receive_beside_blocked_groups)
{
    expect_same_cost(blocked_groups, cost_of_empty_receive, ".fifo", 10);
}

Test(cost, a_fifo_message_s_life_beside_blocked_groups)
{
    expect_same_cost(blocked_groups, cost_of_one_life, ".fifo", 40);
}

Test(cost, a_fifo_receive_from_open_groups)
{
    expect_same_cost(open_groups, cost_of_receive, ".fifo", 60);
}

Test(cost, a_fifo_receive_from_one_long_group)
{
    expect_same_cost(one_group, cost_of_receive, ".fifo", 60);
}

Test(cost, a_purge)
{
    expect_same_cost(backlog, cost_of_purge, "", 10);
}

Test(cost, a_purge_of_groups_in_flight)
{
    expect_same_cost(blocked_groups, cost_of_purge, ".fifo", 10);
}

Test(cost, the_counts_of_a_queue)
{
    expect_same_cost(in_flight, cost_of_counts, "", 10);
}

Test(cost, what_a_purge_left_behind_goes_in_slices)
{
    struct qn_engine_figures figures;

    fixture_create(&f, "q", "");
    fill("q", LARGE, NULL);
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q'");
    qn_engine_total_figures(f.engine, &figures);
    cr_expect_eq(figures.messages, LARGE);
    for (int left = LARGE; left > 0; left -= 1000) {
        struct qn_arena arena;
        struct qn_tx tx = {
            .engine = f.engine, .now_ms = f.now_ms, .arena = &arena, .events = &f.events};
        int budget = 1000;
        qn_arena_init(&arena, SIZE_MAX);
        cr_assert_eq(qn_engine_next_event_ms(f.engine), 0);
        (void)qn_engine_settle(&tx, &budget);
        qn_arena_done(&arena);
        qn_engine_total_figures(f.engine, &figures);
        cr_assert_eq((int)figures.messages, left - 1000);
    }
}

Test(cost, what_a_purge_left_behind_of_deduplication_goes_in_slices_too)
{
    fixture_create(&f, "q.fifo", "");
    for (int i = 0; i < SMALL; i++) {
        fixture_send_with(
            &f, "q.fifo", "m",
            fixture_format(&f, "'MessageGroupId':'g','MessageDeduplicationId':'%d'", i));
        if (i % 10 == 0) {
            fixture_receive_with(&f, "q.fifo", 1,
                                 fixture_format(&f,
                                                "'ReceiveRequestAttemptId':'r%d',"
                                                "'VisibilityTimeout':0",
                                                i));
        }
    }
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q.fifo'");
    int slices = 0;
    struct qn_arena arena;
    struct qn_tx tx = {
        .engine = f.engine, .now_ms = f.now_ms, .arena = &arena, .events = &f.events};
    int budget;
    qn_arena_init(&arena, SIZE_MAX);
    do {
        budget = 100;
        slices++;
    } while (qn_engine_settle(&tx, &budget) == QN_SETTLE_MORE);
    qn_arena_done(&arena);
    /* Messages, deduplication entries, attempts. */
    cr_expect_geq(slices, (SMALL + SMALL + SMALL / 10) / 100);
}

Test(cost, what_falls_due_together_is_done_in_slices)
{
    struct qn_arena arena;
    int slices = 0;
    int budget;

    fixture_create(&f, "q", "");
    fill("q", SMALL * 10, NULL);
    take("q", SMALL * 10);
    f.now_ms += 1000 * 1000;
    struct qn_tx tx = {
        .engine = f.engine, .now_ms = f.now_ms, .arena = &arena, .events = &f.events};
    qn_arena_init(&arena, SIZE_MAX);
    do {
        budget = 500;
        slices++;
    } while (qn_engine_settle(&tx, &budget) == QN_SETTLE_MORE);
    qn_arena_done(&arena);
    cr_expect_geq(slices, SMALL * 10 / 500);
    cr_expect_leq(slices, SMALL * 10 / 500 + 1);
}
