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
    char spec[] = "point-a=error";

    for (int i = 0; i < 16; i++) {
        spec[6] = (char)('a' + i);
        arm(spec);
    }
    cr_expect_not(qn_failpoint_arm(QN_STR("one more=error"), &err));
    cr_expect_eq(err.code, QN_ERR_OVER_LIMIT);
}
