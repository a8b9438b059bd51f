#include "server/base/failpoint.h"

#include <criterion/criterion.h>
#include <signal.h>

#include "server/base/clock.h"

static void clear(void)
{
    qn_failpoint_clear();
}

TestSuite(failpoint, .init = clear, .fini = clear);

static void arm(const char *spec)
{
    struct qn_error err;

    cr_assert(qn_failpoint_arm(qn_str_from_cstr(spec), &err), "%s", err.message);
}

Test(failpoint, nothing_happens_while_none_is_armed)
{
    cr_expect_not(qn_failpoint_any_armed);
    cr_expect_not(qn_failpoint("redrive.after_commit"));
}

Test(failpoint, an_armed_error_is_met_under_its_name_only)
{
    arm("writer.commit=error");
    cr_expect(qn_failpoint("writer.commit"));
    cr_expect(qn_failpoint("writer.commit"), "at each passage");
    cr_expect_not(qn_failpoint("writer.commit2"));
    cr_expect_not(qn_failpoint("writer"));
    qn_failpoint_clear();
    cr_expect_not(qn_failpoint("writer.commit"));
}

Test(failpoint, a_number_means_that_passage_alone)
{
    arm("a=error:3");
    arm("b=error:1");
    cr_expect_not(qn_failpoint("a"));
    cr_expect(qn_failpoint("b"));
    cr_expect_not(qn_failpoint("a"));
    cr_expect(qn_failpoint("a"));
    cr_expect_not(qn_failpoint("a"));
    arm("a=error:1");
    cr_expect(qn_failpoint("a"), "arming again counts from the start");
}

Test(failpoint, kill_ends_the_process_at_that_passage, .signal = SIGKILL)
{
    arm("ring.append=kill:2");
    cr_assert_not(qn_failpoint("ring.append"));
    (void)qn_failpoint("ring.append");
}

Test(failpoint, abort_ends_the_process, .signal = SIGABRT)
{
    arm("ring.append=abort");
    (void)qn_failpoint("ring.append");
}

Test(failpoint, delay_holds_the_thread_and_lets_it_go_on)
{
    int64_t began_us = qn_clock_monotonic_us();

    arm("checkpoint=delay 2");
    cr_expect_not(qn_failpoint("checkpoint"));
    cr_expect_geq(qn_clock_monotonic_us() - began_us, 2000);
}

Test(failpoint, a_malformed_specification_is_refused)
{
    static const char *const wrong[] = {
        "",         "x",       "=kill",     "x=",         "x=explode", "x=kill:",    "x=kill:0",
        "x=kill:a", "x=delay", "x=delay a", "x=delay -1", "x=kill 5",  "x=error:1:2"};
    struct qn_error err;
    char long_spec[128];

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_not(qn_failpoint_arm(qn_str_from_cstr(wrong[i]), &err), "%s", wrong[i]);
        cr_expect_eq(err.code, QN_ERR_INVALID_PARAMETER_VALUE);
    }
    memset(long_spec, 'n', sizeof(long_spec));
    memcpy(long_spec + 100, "=kill", 5);
    cr_expect_not(qn_failpoint_arm(qn_str(long_spec, 105), &err));
    cr_expect_not(qn_failpoint_any_armed);
}

Test(failpoint, the_table_has_an_end)
{
    struct qn_error err;
    char spec[] = "point-A=error";

    for (int i = 0; i < QN_FAILPOINTS_MAX; i++) {
        spec[6] = (char)('A' + i);
        arm(spec);
    }
    cr_expect_not(qn_failpoint_arm(QN_STR("one more=error"), &err));
    cr_expect_eq(err.code, QN_ERR_OVER_LIMIT);
    arm("point-B=kill");
    cr_expect(qn_failpoint_disarm(QN_STR("point-C")));
    arm("one more=error");
}

Test(failpoint, of_a_list_all_are_armed_or_none)
{
    const struct qn_str wrong[] = {QN_STR("a=error"), QN_STR("b=sometimes")};
    const struct qn_str right[] = {QN_STR("a=error"), QN_STR("b=error:2")};
    struct qn_error err;

    cr_expect_not(qn_failpoint_arm_all(wrong, 2, &err));
    cr_expect_not(qn_failpoint_any_armed);
    cr_expect(qn_failpoint_check_all(right, 2, &err));
    cr_expect_not(qn_failpoint_any_armed);
    cr_expect(qn_failpoint_arm_all(right, 2, &err));
    cr_expect(qn_failpoint("a"));
    cr_expect_not(qn_failpoint("b"));
    cr_expect(qn_failpoint("b"));
}

Test(failpoint, one_is_disarmed_and_the_others_stay)
{
    arm("a=error");
    arm("b=error");
    cr_expect(qn_failpoint_disarm(QN_STR("a")));
    cr_expect_not(qn_failpoint("a"));
    cr_expect(qn_failpoint("b"));
    cr_expect_not(qn_failpoint_disarm(QN_STR("a")), "it is not armed any more");
    cr_expect(qn_failpoint_disarm(QN_STR("b")));
    cr_expect_not(qn_failpoint_any_armed);
}

Test(failpoint, armed_once_it_is_met_once)
{
    struct qn_failpoint_state state;
    struct qn_error err;
    char mode[32];

    cr_assert(qn_failpoint_arm_once(QN_STR("a"), QN_STR("error"), 700, &err));
    cr_expect(qn_failpoint("a"));
    cr_expect_not(qn_failpoint("a"));
    cr_assert(qn_failpoint_find(QN_STR("a"), &state));
    cr_expect_eq(state.passages, 2);
    cr_expect_eq(state.restart_ms, 700);
    cr_assert(qn_failpoint_arm_once(QN_STR("a"), QN_STR("delay 5"), -1, &err));
    cr_assert(qn_failpoint_find(QN_STR("a"), &state));
    cr_expect(qn_str_equal(qn_failpoint_mode_text(&state, mode), QN_STR("delay 5")));
    cr_expect_not(qn_failpoint_arm_once(QN_STR("a"), QN_STR("explode"), -1, &err));
}

Test(failpoint, a_shared_table_keeps_what_was_armed_and_passed_in_it)
{
    static struct qn_failpoint_table table;

    qn_failpoint_share(&table);
    arm("a=error:3");
    cr_expect_not(qn_failpoint("a"));
    qn_failpoint_share(&(struct qn_failpoint_table){.fatal = 0});
    cr_expect_not(qn_failpoint_any_armed);
    qn_failpoint_share(&table);
    cr_expect_not(qn_failpoint("a"));
    cr_expect(qn_failpoint("a"));
    cr_expect_eq(table.fatal, 0, "an error is not the end");
}

Test(failpoint, rows_are_in_order_and_have_a_sentence)
{
    const struct qn_failpoint_row *row;
    size_t count = 0;

    for (; (row = qn_failpoint_row(count)) != NULL; count++) {
        cr_expect_lt(strlen(row->name), (size_t)QN_FAILPOINT_NAME_MAX);
        cr_expect_gt(strlen(row->proves), (size_t)0);
    }
    cr_expect_leq(count, (size_t)QN_FAILPOINTS_MAX, "all can be armed at once");
}
