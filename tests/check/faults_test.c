/* Rules that the harness carries out. */
#include <criterion/criterion.h>
#include <signal.h>

#include "chaos/check/faults.h"
#include "server/base/clock.h"

static struct qn_history history;
static struct qn_recorder recorder;
static struct qn_scenario *scenario;
static struct qn_faults faults;

static void open_with(const char *rules)
{
    struct qn_buf text;
    struct qn_error err;

    qn_buf_init(&text, 65536);
    qn_buf_append_format(
        &text, "{\"id\":\"t\",\"load\":[\"ok\"],\"instances\":{\"count\":2},\"faults\":[%s]}",
        rules);
    cr_assert(qn_scenario_read(qn_buf_str(&text), "t", &scenario, &err), "%s", err.message);
    qn_buf_done(&text);
    qn_history_init(&history);
    recorder = (struct qn_recorder){.history = &history};
    qn_faults_init(&faults, scenario, &recorder, 1);
}

static void close_faults(void)
{
    qn_faults_done(&faults);
    qn_scenario_free(scenario);
    qn_history_done(&history);
}

TestSuite(faults, .fini = close_faults);

static enum qn_effect_verdict happens(enum qn_check_kind kind, const char *k)
{
    struct qn_check_event event;

    qn_check_event_init(&event, kind);
    event.k = qn_str_from_cstr(k);
    event.instance = QN_STR("QUERN0001");
    return qn_faults_at(&faults, &event);
}

static bool next(struct qn_fault_order *order)
{
    return qn_faults_next(&faults, qn_clock_monotonic_ms() + 1, order);
}

Test(faults, effect_of_one_key_holds_its_answer_and_kills_the_instance)
{
    struct qn_fault_order order;

    open_with("\"on sink.work.commit where key=k-002 once do hold then kill instance as boom\"");
    cr_expect_eq(happens(QN_CHECK_WORK_COMMIT, "k-001"), QN_EFFECT_GO_ON);
    cr_expect_eq(happens(QN_CHECK_WORK_BEGIN, "k-002"), QN_EFFECT_GO_ON);
    cr_expect_not(next(&order));
    cr_expect_eq(happens(QN_CHECK_WORK_COMMIT, "k-002"), QN_EFFECT_HELD);
    cr_assert(next(&order));
    cr_expect_eq(order.signal, SIGKILL);
    cr_expect(qn_str_equal(order.instance, QN_STR("QUERN0001")));
    cr_expect(qn_str_equal(order.rule, QN_STR("boom")));
    cr_expect_not(order.holds_in_server);
    cr_expect_eq(happens(QN_CHECK_WORK_COMMIT, "k-002"), QN_EFFECT_GO_ON); /* once */
    cr_assert_eq(history.count, 1);
    cr_expect_eq(history.events[0].kind, QN_CHECK_FAULT);
    cr_expect(qn_str_equal(history.events[0].rule, QN_STR("boom")));
}

Test(faults, order_waits_for_its_time)
{
    struct qn_fault_order order;

    open_with("\"on work.begin nth 2 do after 10s kill instance=2\"");
    (void)happens(QN_CHECK_WORK_BEGIN, "k-001");
    cr_expect_eq(faults.order_count, 0);
    (void)happens(QN_CHECK_WORK_BEGIN, "k-001");
    cr_expect_eq(faults.order_count, 1);
    cr_expect_not(next(&order));
    cr_assert(qn_faults_next(&faults, qn_clock_monotonic_ms() + 10001, &order));
    cr_expect(qn_str_equal(order.instance, QN_STR("QUERN0002")));
}

Test(faults, what_the_server_leaves_to_the_harness_is_done_and_let_go)
{
    struct qn_fault_order order;
    struct qn_check_event event;

    open_with("\"on Delete* where key=k-004 first 1 at arrive do hold then kill instance as b\"");
    qn_check_event_init(&event, QN_CHECK_FAULT);
    event.rule = QN_STR("b");
    event.target = QN_STR("instance=QUERN0001");
    event.reason = QN_STR("kill instance");
    qn_faults_take_from_server(&faults, &event);
    cr_assert(next(&order));
    cr_expect_eq(order.signal, SIGKILL);
    cr_expect(order.holds_in_server);
    event.reason = QN_STR("shadowed by a");
    qn_faults_take_from_server(&faults, &event);
    event.rule = QN_STR("another");
    qn_faults_take_from_server(&faults, &event);
    cr_expect_not(next(&order));
    cr_expect_eq(happens(QN_CHECK_WORK_BEGIN, "k-004"), QN_EFFECT_GO_ON);
}

Test(faults, signals_have_names)
{
    struct qn_fault_order order;

    open_with("\"on reject do signal TERM\"");
    (void)happens(QN_CHECK_REJECT, "k-001");
    cr_assert(next(&order));
    cr_expect_eq(order.signal, SIGTERM);
}

Test(faults, crashed_server_is_started_again_when_the_rule_says_so)
{
    int64_t delay_ms = 0;

    open_with("\"on msg.delete nth 10 do crash server then after 1s restart server\"");
    cr_assert(qn_faults_restart_delay(&faults, &delay_ms));
    cr_expect_eq(delay_ms, 1000);
    close_faults();
    open_with("\"on msg.delete nth 10 do kill instance\"");
    cr_expect_not(qn_faults_restart_delay(&faults, &delay_ms));
}
