/* Failpoints by name: what this server can meet, and those of actions, which are rules. */
#include "chaos/failpoints.h"

#include <criterion/criterion.h>

#include "chaos/chaos.h"

static struct qn_plan *plan;
static struct qn_error err;

static void start(void)
{
    plan = qn_plan_new(&(struct qn_plan_options){.failpoints = {.has_journal = true}});
    qn_failpoint_clear();
}

static void stop(void)
{
    qn_plan_free(plan);
    qn_failpoint_clear();
}

TestSuite(failpoints, .init = start, .fini = stop);

static void expect_text(size_t i, const char *text)
{
    json_t *rules = qn_plan_list(plan);

    cr_expect_str_eq(json_string_value(json_object_get(json_array_get(rules, i), "text")), text);
    json_decref(rules);
}

static bool can_meet(const char *name, bool has_journal, bool is_synced, bool has_starts)
{
    const struct qn_failpoint_reach reach = {has_journal, is_synced, has_starts};

    return qn_failpoints_can_meet(qn_str_from_cstr(name), &reach, &err);
}

Test(failpoints, each_is_met_where_its_place_is_passed)
{
    cr_expect(can_meet("lease_timer.before_commit", false, false, false));
    cr_expect_not(can_meet("writer.before_commit", false, false, false));
    cr_expect(can_meet("writer.before_commit", true, false, false));
    cr_expect_not(can_meet("ring.before_sync", true, false, false));
    cr_expect(can_meet("ring.before_sync", true, true, false));
    cr_expect_not(can_meet("boot.mid_recovery", true, true, false));
    cr_expect_not(can_meet("boot.mid_recovery", false, false, true));
    cr_expect(can_meet("boot.mid_recovery", true, false, true));
    cr_expect(can_meet("send_batch.entry:10", true, false, false));
    cr_expect_not(can_meet("send_batch.entry:11", true, false, false));
}

Test(failpoints, those_of_an_action_become_rules_and_the_others_are_armed)
{
    const struct qn_str specs[] = {
        QN_STR("begin:SendMessage=kill"),
        QN_STR("before_commit:Delete*=kill:5"),
        QN_STR("purge.mid=error"),
        QN_STR("after_commit:any=delay 20"),
        QN_STR("before_write:ReceiveMessage=error"),
        QN_STR("mid_write:ReceiveMessage=kill:2"),
    };
    const struct qn_failpoint_reach reach = {.has_journal = true};

    cr_assert(qn_failpoints_check(specs, 6, &reach, &err), "%s", err.message);
    cr_assert(qn_failpoints_add_rules(plan, specs, 6, &err), "%s", err.message);
    cr_assert(qn_failpoints_arm(specs, 6, &err), "%s", err.message);
    cr_expect(qn_failpoint("purge.mid"));
    cr_assert_eq(qn_plan_rule_count(plan), 5);
    expect_text(0, "on SendMessage at arrive do crash server as failpoint.begin.SendMessage");
    expect_text(
        1, "on Delete* nth 5 at pre-commit do crash server as failpoint.before_commit.Delete-");
    expect_text(2, "on any at post-commit do delay 20ms as failpoint.after_commit.any");
    expect_text(3, "on ReceiveMessage at post-commit do error InternalFailure as "
                   "failpoint.before_write.ReceiveMessage");
    expect_text(4, "on ReceiveMessage nth 2 at mid-response do crash server as "
                   "failpoint.mid_write.ReceiveMessage");
}

Test(failpoints, of_rules_all_are_added_or_none)
{
    const struct qn_str specs[] = {QN_STR("begin:any=kill"), QN_STR("purge.mid=kill"),
                                   QN_STR("mid_write:any=error")};

    cr_expect_not(qn_failpoints_add_rules(plan, specs, 3, &err));
    cr_expect_not_null(strstr(err.message, "failpoint mid_write:any"), "%s", err.message);
    cr_expect_eq(qn_plan_rule_count(plan), 0);
}

Test(failpoints, no_rule_can_be_smuggled_in_by_a_name)
{
    cr_expect(qn_failpoints_is_point(QN_STR("begin:SendMessage*")));
    cr_expect_not(qn_failpoints_is_point(QN_STR("begin:any do hang #")));
    cr_expect_not(qn_failpoints_is_point(QN_STR("begin:")));
    cr_expect_not(qn_failpoints_is_point(QN_STR("begin")));
    cr_expect_not(qn_failpoints_is_point(QN_STR("purge.mid")));
}
