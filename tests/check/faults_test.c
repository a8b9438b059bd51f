/* Rules that the harness carries out. */
#include <criterion/criterion.h>
#include <signal.h>

#include "chaos/check/faults.h"
#include "server/base/clock.h"

static struct qn_history history;
static struct qn_recorder recorder;
static struct qn_scenario *scenario;
static struct qn_faults faults;
static struct qn_terms terms;

static void open_with(const char *rules)
{
    struct qn_buf text;
    struct qn_error err;

    qn_buf_init(&text, 65536);
    qn_buf_append_format(&text,
                         "{\"id\":\"t\",\"profiles\":[\"lambda\"],\"load\":[\"ok\"],\"instances\":{"
                         "\"count\":2},\"faults\":[%s]}",
                         rules);
    cr_assert(qn_scenario_read(qn_buf_str(&text), "t", &scenario, &err), "%s", err.message);
    qn_buf_done(&text);
    qn_history_init(&history);
    terms = (struct qn_terms){.in = {.history = &terms.nothing, .visibility_ms = 4000}};
    recorder = (struct qn_recorder){.history = &history};
    cr_assert(qn_faults_init(&faults, scenario, &terms, &recorder, 1, &err), "%s", err.message);
}

static void close_faults(void)
{
    qn_faults_done(&faults);
    qn_scenario_free(scenario);
    qn_history_done(&history);
}

TestSuite(faults, .fini = close_faults);

static struct qn_effect_verdict happened(enum qn_check_kind kind, const char *k)
{
    struct qn_check_event event;

    qn_check_event_init(&event, NULL, kind);
    event.k = qn_str_from_cstr(k);
    event.instance = QN_STR("QUERN0001");
    return qn_faults_at(&faults, &event);
}

static enum qn_effect_fate happens(enum qn_check_kind kind, const char *k)
{
    return happened(kind, k).fate;
}

static bool next_at(struct qn_fault_step *step, int64_t in_ms)
{
    return qn_faults_next(&faults, qn_clock_monotonic_ms() + in_ms, step);
}

static bool next(struct qn_fault_step *step)
{
    return next_at(step, 1);
}

Test(faults, invocations_are_refused_throttled_and_lost)
{
    open_with(
        "\"on invoke nth 2 do status 429 as burnt\", \"on response nth 2 do status 500 as lost\","
        "\"on init once do delay 1s as cold\"");
    cr_expect_eq(happened(QN_CHECK_LAMBDA_INIT, "").delay_ms, 1000);
    cr_expect_eq(happens(QN_CHECK_LAMBDA_INIT, ""), QN_EFFECT_GO_ON);
    cr_expect_eq(happens(QN_CHECK_LAMBDA_INVOKE, ""), QN_EFFECT_GO_ON);
    cr_expect_eq(happens(QN_CHECK_LAMBDA_RETURN, ""), QN_EFFECT_GO_ON);
    cr_expect_eq(happened(QN_CHECK_LAMBDA_INVOKE, "").status, 429);
    cr_expect_eq(happens(QN_CHECK_LAMBDA_TIMEOUT, ""), QN_EFFECT_GO_ON, "no response");
    cr_expect_eq(happened(QN_CHECK_LAMBDA_ERROR, "").status, 500, "an error is one too");
    cr_expect_eq(happens(QN_CHECK_WORK_BEGIN, "k-000"), QN_EFFECT_GO_ON);
}

Test(faults, effect_of_one_key_holds_its_answer_and_kills_the_instance)
{
    struct qn_fault_step step;

    open_with("\"on sink.work.commit where key=k-002 once do hold then kill instance as boom\"");
    cr_expect_eq(happens(QN_CHECK_WORK_COMMIT, "k-001"), QN_EFFECT_GO_ON);
    cr_expect_eq(happens(QN_CHECK_WORK_BEGIN, "k-002"), QN_EFFECT_GO_ON);
    cr_expect_not(next(&step));
    cr_expect_eq(happens(QN_CHECK_WORK_COMMIT, "k-002"), QN_EFFECT_HELD);
    cr_assert(next(&step));
    cr_expect_eq(step.action->verb, QN_DO_KILL);
    cr_expect(qn_str_equal(step.cause.instance, QN_STR("QUERN0001")));
    cr_expect(qn_str_equal(step.cause.k, QN_STR("k-002")));
    cr_expect(qn_str_equal(step.rule, QN_STR("boom")));
    cr_expect(step.releases_run);
    cr_expect_not(step.releases_server);
    cr_expect_eq(happens(QN_CHECK_WORK_COMMIT, "k-002"), QN_EFFECT_GO_ON); /* once */
    cr_assert_eq(history.count, 1);
    cr_expect_eq(history.events[0].kind, QN_CHECK_FAULT);
    cr_expect(qn_str_equal(history.events[0].detail->rule, QN_STR("boom")));
}

Test(faults, action_waits_for_its_time)
{
    struct qn_fault_step step;

    open_with("\"on work.begin nth 2 do after 10s kill instance=2\"");
    (void)happens(QN_CHECK_WORK_BEGIN, "k-001");
    cr_expect_not(qn_faults_are_pending(&faults));
    (void)happens(QN_CHECK_WORK_BEGIN, "k-001");
    cr_expect(qn_faults_are_pending(&faults));
    cr_expect_not(next(&step));
    cr_assert(next_at(&step, 10001));
    cr_expect(qn_str_equal(step.action->instance, QN_STR("2")));
    cr_expect_not(qn_faults_are_pending(&faults));
}

Test(faults, actions_come_one_after_the_other)
{
    struct qn_fault_step step;

    open_with("\"on work.begin once do expire-lease then after 2s kill instance then after 1s "
              "mark done\"");
    cr_expect_eq(happens(QN_CHECK_WORK_BEGIN, "k-001"), QN_EFFECT_GO_ON);
    cr_assert(next(&step));
    cr_expect_eq(step.action->verb, QN_DO_EXPIRE_LEASE);
    cr_expect_not(next_at(&step, 1900));
    cr_assert(next_at(&step, 2100));
    cr_expect_eq(step.action->verb, QN_DO_KILL);
    cr_expect_not(next_at(&step, 3000));
    cr_assert(next_at(&step, 3300));
    cr_expect_eq(step.action->verb, QN_DO_MARK);
    cr_expect_not(next_at(&step, 99999));
}

Test(faults, what_is_done_to_a_call_is_its_verdict)
{
    struct qn_effect_verdict verdict;

    open_with("\"on work.begin where key=k-1 do delay 300ms then status 503\","
              "\"on work.begin where key=k-2 do hang\","
              "\"on work.begin where key=k-3 do commit-then-reset\","
              "\"on work.commit where key=k-4 do commit-then-status 504\","
              "\"on work.begin where key=k-5 do close\"");
    verdict = happened(QN_CHECK_WORK_BEGIN, "k-1");
    cr_expect(verdict.fate == QN_EFFECT_STATUS && verdict.status == 503 &&
              verdict.delay_ms == 300 && !verdict.commits);
    cr_expect_eq(happens(QN_CHECK_WORK_BEGIN, "k-2"), QN_EFFECT_HUNG);
    verdict = happened(QN_CHECK_WORK_BEGIN, "k-3");
    cr_expect(verdict.fate == QN_EFFECT_BREAK && verdict.end == QN_EFFECT_RESET && verdict.commits);
    verdict = happened(QN_CHECK_WORK_COMMIT, "k-4");
    cr_expect(verdict.fate == QN_EFFECT_STATUS && verdict.status == 504 && verdict.commits);
    verdict = happened(QN_CHECK_WORK_BEGIN, "k-5");
    cr_expect(verdict.fate == QN_EFFECT_BREAK && verdict.end == QN_EFFECT_CLOSED);
    cr_expect_not(qn_faults_are_pending(&faults));
}

Test(faults, first_per_message_counts_each_key_for_itself)
{
    open_with("\"on work.begin where key in (k-1,k-2) first 1 per message do status 503\"");
    cr_expect_eq(happens(QN_CHECK_WORK_BEGIN, "k-1"), QN_EFFECT_STATUS);
    cr_expect_eq(happens(QN_CHECK_WORK_BEGIN, "k-1"), QN_EFFECT_GO_ON);
    cr_expect_eq(happens(QN_CHECK_WORK_BEGIN, "k-2"), QN_EFFECT_STATUS);
    cr_expect_eq(happens(QN_CHECK_WORK_BEGIN, "k-2"), QN_EFFECT_GO_ON);
    cr_expect_eq(happens(QN_CHECK_WORK_BEGIN, "k-3"), QN_EFFECT_GO_ON);
}

Test(faults, outcomes_can_be_set_for_messages)
{
    struct qn_fault_step step;

    open_with("\"on work.begin nth 3 do outcome transient,ok for key in (k-1,k-2)\"");
    cr_expect(qn_str_is_none(qn_faults_outcome(&faults, QN_STR("k-1"), 1)));
    for (int i = 0; i < 3; i++) {
        (void)happens(QN_CHECK_WORK_BEGIN, "k-1");
    }
    cr_assert(next(&step));
    qn_faults_set_outcome(&faults, step.action);
    cr_expect(qn_str_equal(qn_faults_outcome(&faults, QN_STR("k-1"), 4), QN_STR("transient")));
    cr_expect(qn_str_equal(qn_faults_outcome(&faults, QN_STR("k-1"), 5), QN_STR("ok")));
    cr_expect(qn_str_equal(qn_faults_outcome(&faults, QN_STR("k-1"), 6), QN_STR("ok")));
    cr_expect(qn_str_equal(qn_faults_outcome(&faults, QN_STR("k-2"), 1), QN_STR("transient")));
    cr_expect(qn_str_is_none(qn_faults_outcome(&faults, QN_STR("k-3"), 1)));
}

Test(faults, expressions_are_those_of_the_run)
{
    struct qn_fault_step step;

    open_with("\"on exit do stop instance=2 {V+1s}\"");
    struct qn_check_event event;
    qn_check_event_init(&event, NULL, QN_CHECK_PROC);
    event.what = QN_STR("exit");
    event.instance = QN_STR("QUERN0001");
    (void)qn_faults_at(&faults, &event);
    cr_assert(next(&step));
    cr_expect_eq(step.action->verb, QN_DO_STOP);
    cr_expect_eq(step.action->duration_ms, 5000);
}

Test(faults, what_the_server_leaves_to_the_harness_is_done_and_let_go)
{
    struct qn_fault_step step;
    struct qn_check_event event;
    struct qn_check_detail detail;

    open_with("\"on Delete* where key=k-004 first 1 at arrive do hold then kill instance as b\"");
    qn_check_event_init(&event, &detail, QN_CHECK_FAULT);
    detail.rule = QN_STR("b");
    detail.target = QN_STR("instance=QUERN0001");
    detail.reason = QN_STR("kill instance");
    qn_faults_take_from_server(&faults, &event);
    cr_assert(next(&step));
    cr_expect_eq(step.action->verb, QN_DO_KILL);
    cr_expect(step.releases_server);
    detail.reason = QN_STR("shadowed by a");
    qn_faults_take_from_server(&faults, &event);
    detail.rule = QN_STR("another");
    qn_faults_take_from_server(&faults, &event);
    cr_expect_not(next(&step));
    cr_expect_eq(happens(QN_CHECK_WORK_BEGIN, "k-004"), QN_EFFECT_GO_ON);
}

Test(faults, signals_have_names)
{
    open_with("\"on reject do signal TERM\"");
    cr_expect_eq(qn_faults_signal(QN_STR("TERM")), SIGTERM);
    cr_expect_eq(qn_faults_signal(QN_STR("SIGKILL")), SIGKILL);
    cr_expect_eq(qn_faults_signal(QN_STR("NOSUCH")), 0);
}

Test(faults, crashed_server_is_started_again_when_the_rule_says_so)
{
    int64_t delay_ms = 0;

    open_with("\"on msg.delete nth 10 do crash server then after 1s restart server as slow\","
              "\"on msg.delete nth 20 do crash server then after 2s restart server as slower\","
              "\"on msg.delete nth 30 do kill instance as kill\"");
    cr_assert(qn_faults_restart_delay(&faults, QN_STR("slow"), &delay_ms));
    cr_expect_eq(delay_ms, 1000);
    cr_assert(qn_faults_restart_delay(&faults, QN_STR("slower"), &delay_ms));
    cr_expect_eq(delay_ms, 2000);
    cr_expect_not(qn_faults_restart_delay(&faults, QN_STR("kill"), &delay_ms));
    cr_expect_not(qn_faults_restart_delay(&faults, QN_STR("other"), &delay_ms));
}
