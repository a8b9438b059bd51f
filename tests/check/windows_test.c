/* When a window opens and when it is over. */
#include "chaos/check/windows.h"

#include <criterion/criterion.h>

#include "chaos/check/scenario.h"

#define ME QN_STR("QUERN0001")

static struct qn_scenario *scenario;
static struct qn_recorder recorder;
static struct qn_terms terms;
static struct qn_faults faults;
static struct qn_windows windows;
static const struct qn_check_options options = {.tempo = "fast"};
static const struct qn_profile learned;

static void open_windows(void)
{
    static const char text[] =
        "{\"id\":\"a\",\"load\":[\"ok\"],\"faults\":["
        "{\"rule\":\"on ReceiveMessage at arrive do 5xx 500 as one\",\"window\":\"8s\"},"
        "\"on DeleteMessage once do reset as other\","
        "{\"rule\":\"on ReceiveMessage at arrive do 5xx 503 as two\",\"window\":\"0s\"}]}";
    struct qn_error err;

    cr_assert(qn_scenario_read(qn_str_from_cstr(text), "a", &scenario, &err), "%s", err.message);
    qn_terms_init(&terms, scenario, &options, &learned);
    cr_assert(qn_faults_init(&faults, scenario, &terms, &recorder, 1, &err), "%s", err.message);
    qn_windows_init(&windows, &faults, &terms);
}

static void close_windows(void)
{
    qn_windows_done(&windows);
    qn_faults_done(&faults);
    qn_scenario_free(scenario);
}

TestSuite(windows, .init = open_windows, .fini = close_windows);

static void feed(enum qn_check_kind kind, const char *req, const char *word, int64_t at_ms)
{
    struct qn_check_event event;
    struct qn_check_detail detail;

    qn_check_event_init(&event, &detail, kind);
    event.req = qn_str_from_cstr(req);
    event.wt = at_ms;
    event.action = QN_STR("ReceiveMessage");
    if (kind == QN_CHECK_API_IN) {
        detail.invocation = word != NULL ? qn_str_from_cstr(word) : QN_STR_NONE;
    } else if (kind == QN_CHECK_FAULT) {
        detail.rule = qn_str_from_cstr(word);
    } else if (kind == QN_CHECK_PROC) {
        event.what = qn_str_from_cstr(word);
    } else {
        event.code = qn_str_from_cstr(word);
    }
    qn_windows_feed(&windows, &event, ME);
}

/* A call of this invocation, which the rule breaks. */
static void fail(const char *req, const char *invocation, const char *rule, int64_t at_ms)
{
    feed(QN_CHECK_API_IN, req, invocation, at_ms);
    feed(QN_CHECK_FAULT, req, rule, at_ms);
    feed(QN_CHECK_API_OUT, req, "InternalFailure", at_ms);
}

static void open_one(int64_t now_ms)
{
    cr_assert_eq(qn_windows_step(&windows, now_ms), QN_WINDOWS_OPEN);
    qn_windows_opened(&windows);
    cr_assert_eq(qn_windows_step(&windows, now_ms), QN_WINDOWS_WAIT);
}

static void expect_end(int64_t at_ms)
{
    cr_expect_eq(qn_windows_step(&windows, at_ms - 1), QN_WINDOWS_WAIT);
    cr_assert_eq(qn_windows_step(&windows, at_ms), QN_WINDOWS_END);
    qn_windows_ended(&windows, at_ms);
}

Test(windows, are_the_faults_that_say_so)
{
    cr_expect_eq(windows.count, 2);
    cr_expect_eq(windows.items[0].length_ms, 8000);
    cr_expect(qn_str_equal(windows.items[1].fault->from->name, QN_STR("two")));
    cr_expect_not(qn_windows_is_last(&windows));
}

Test(windows, lasts_until_so_long_after_an_invocation_was_given_up)
{
    open_one(1000);
    fail("r1", "i-1", "one", 2000);
    fail("r2", "i-1", "one", 9000); /* the SDK tries again by itself */
    cr_expect_eq(qn_windows_step(&windows, 20000), QN_WINDOWS_WAIT);
    fail("r3", "i-2", "one", 20000);
    fail("r4", "i-3", "one", 25000); /* a later one makes it no longer */
    expect_end(28000);
}

Test(windows, that_nobody_called_in_is_not_over)
{
    open_one(1000);
    cr_expect_eq(qn_windows_step(&windows, 10000000), QN_WINDOWS_WAIT);
    fail("r1", "i-1", "other", 2000); /* another rule's */
    cr_expect_eq(qn_windows_step(&windows, 10000000), QN_WINDOWS_WAIT);
}

Test(windows, waits_a_minute_for_the_first_final_failure)
{
    open_one(1000);
    fail("r1", "i-1", "one", 2000);
    fail("r2", "i-1", "one", 50000);
    expect_end(62000);
}

Test(windows, has_its_length_behind_a_late_final_failure_too)
{
    open_one(1000);
    fail("r1", "i-1", "one", 2000);
    fail("r2", "i-2", "one", 61000);
    expect_end(69000);
}

Test(windows, without_ids_six_calls_are_enough)
{
    static const char *const requests[] = {"r1", "r2", "r3", "r4", "r5"};

    open_one(0);
    for (int i = 0; i < 5; i++) {
        fail(requests[i], NULL, "one", 1000 * (i + 1));
    }
    cr_expect_eq(qn_windows_step(&windows, 50000), QN_WINDOWS_WAIT);
    fail("r6", NULL, "one", 6000);
    expect_end(14000);
}

Test(windows, of_several_pollers_one_more_is_to_fail)
{
    windows.pollers = 2; /* as its profile says */
    open_one(0);
    fail("r1", "i-a", "one", 10);
    fail("r2", "i-b", "one", 11);
    cr_expect_eq(qn_windows_step(&windows, 50000), QN_WINDOWS_WAIT);
    fail("r3", "i-c", "one", 3000);
    expect_end(11000);
}

Test(windows, pollers_show_in_invocations_that_are_tried_again_side_by_side)
{
    open_one(0);
    fail("r1", "i-a", "one", 10);
    fail("r2", "i-b", "one", 11);
    fail("r3", "i-c", "one", 12); /* was a given up? */
    cr_expect_eq(windows.final_ms, 11);
    fail("r4", "i-a", "one", 1000); /* no: it was alive all the time */
    fail("r5", "i-b", "one", 1001);
    fail("r6", "i-c", "one", 1002);
    cr_expect_eq(windows.final_ms, 0);
    fail("r7", "i-d", "one", 5000);
    fail("r8", "i-b", "one", 5001);
    expect_end(13000);
    cr_expect_eq(windows.pollers, 3, "also in the next one");
}

Test(windows, who_hangs_up_and_asks_anew_is_one_poller)
{
    open_one(0);
    feed(QN_CHECK_API_IN, "r1", "i-1", 1000); /* never answered */
    feed(QN_CHECK_FAULT, "r1", "one", 1000);
    feed(QN_CHECK_API_IN, "r2", "i-2", 4000);
    feed(QN_CHECK_FAULT, "r2", "one", 4000);
    expect_end(12000);
}

Test(windows, a_process_that_ends_gives_up_what_it_tried)
{
    open_one(0);
    feed(QN_CHECK_PROC, "", "exit", 500); /* it had not failed */
    fail("r1", "i-1", "one", 1000);
    cr_expect_eq(qn_windows_step(&windows, 50000), QN_WINDOWS_WAIT);
    feed(QN_CHECK_PROC, "", "exit", 2000);
    expect_end(10000);
}

Test(windows, an_end_may_be_told_before_the_failure)
{
    open_one(0);
    feed(QN_CHECK_PROC, "", "exit", 1005);
    fail("r1", "i-1", "one", 1000);
    expect_end(9005);
}

Test(windows, the_next_opens_once_a_call_went_through)
{
    open_one(0);
    feed(QN_CHECK_API_IN, "parked", "i-0", 10);
    fail("r1", "i-1", "one", 1000);
    fail("r2", "i-2", "one", 2000);
    expect_end(10000);
    cr_expect(qn_windows_is_last(&windows));
    cr_expect_eq(windows.first_ms, 0, "of the one to come");
    feed(QN_CHECK_API_OUT, "parked", "OK", 12000); /* it came before all that */
    feed(QN_CHECK_API_OUT, "r2", "OK", 12000);     /* and this one had failed */
    cr_expect_eq(qn_windows_step(&windows, 12000), QN_WINDOWS_WAIT);
    feed(QN_CHECK_API_IN, "r4", "i-3", 12500);
    feed(QN_CHECK_API_OUT, "r4", "AccessDenied", 12500);
    cr_expect_eq(qn_windows_step(&windows, 12500), QN_WINDOWS_WAIT);
    feed(QN_CHECK_API_IN, "r5", "i-4", 13000);
    feed(QN_CHECK_API_OUT, "r5", "OK", 13000);
    open_one(13000);
    cr_expect_not(qn_windows_are_over(&windows));
    fail("r6", "i-5", "two", 14000);
    fail("r7", "i-6", "two", 15000);
    expect_end(15000);
    cr_expect(qn_windows_are_over(&windows));
    cr_expect_eq(qn_windows_step(&windows, 99000), QN_WINDOWS_WAIT);
}
