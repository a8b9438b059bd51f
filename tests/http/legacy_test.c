/* What one life of a server leaves to the next. */
#include "server/http/legacy.h"

#include <criterion/criterion.h>

#include <sys/wait.h>
#include <unistd.h>

static struct qn_legacy *legacy;
static struct qn_error err;

static void start(void)
{
    cr_assert(qn_legacy_new(&legacy, &err));
    qn_legacy_begin_life(legacy);
}

static void stop(void)
{
    qn_legacy_free(legacy);
}

TestSuite(legacy, .init = start, .fini = stop);

Test(legacy, what_a_process_writes_another_reads)
{
    pid_t pid = fork();

    if (pid == 0) {
        legacy->now_ms = 77;
        qn_legacy_announce(legacy, QN_STR("boom"), 300);
        qn_failpoint_share(&legacy->failpoints);
        _exit(qn_failpoint_arm(QN_STR("purge.mid=kill:3"), &err) ? 0 : 1);
    }
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    cr_expect(legacy->is_planned);
    cr_expect_str_eq(legacy->reason, "boom");
    cr_expect_eq(legacy->restart_ms, 300);
    cr_expect_eq(legacy->now_ms, 77);
    cr_expect_str_eq(legacy->failpoints.points[0].name, "purge.mid");
}

Test(legacy, another_life_has_no_end_yet)
{
    qn_legacy_announce(legacy, QN_STR("boom"), 300);
    legacy->is_up = true;
    legacy->failpoints.fatal = 3;
    qn_legacy_begin_life(legacy);
    cr_expect_eq(legacy->life, 2);
    cr_expect_not(legacy->is_planned);
    cr_expect_not(legacy->is_up);
    cr_expect_eq(legacy->restart_ms, -1);
    cr_expect_eq(legacy->failpoints.fatal, 0);
}

Test(legacy, a_long_name_is_cut_and_nobody_is_told_nothing)
{
    char name[2 * QN_LEGACY_REASON_MAX];

    memset(name, 'x', sizeof(name));
    qn_legacy_announce(legacy, qn_str(name, sizeof(name)), 1);
    cr_expect_eq(strlen(legacy->reason), QN_LEGACY_REASON_MAX - 1);
    qn_legacy_announce(NULL, QN_STR("boom"), 1);
}

static void save(struct qn_plan *plan, const char *rule)
{
    cr_assert(qn_plan_add(plan, qn_str_from_cstr(rule), &err), "%s", err.message);
    cr_assert(qn_legacy_save_rules(legacy, plan, 1000));
}

Test(legacy, the_rules_that_were_saved_last_are_whole)
{
    struct qn_plan *plan = qn_plan_new(&(struct qn_plan_options){.seed = 1});

    cr_expect(qn_str_is_none(qn_legacy_rules(legacy)));
    cr_assert(qn_legacy_save_rules(legacy, plan, 1000));
    cr_expect_not(qn_str_is_none(qn_legacy_rules(legacy)), "no rules are rules, too");
    save(plan, "on any do hang as a");
    save(plan, "on any do hang as b");
    /* The third is under way: the second is what counts. */
    memset(legacy->rules[legacy->saved_rules == 1 ? 1 : 0], 'x', 100);
    struct qn_plan *next = qn_plan_new(&(struct qn_plan_options){.seed = 1});
    cr_assert(qn_plan_restore(next, qn_legacy_rules(legacy), &err), "%s", err.message);
    cr_expect(qn_plan_has(next, QN_STR("a")) && qn_plan_has(next, QN_STR("b")));
    qn_plan_free(next);
    qn_plan_free(plan);
}
