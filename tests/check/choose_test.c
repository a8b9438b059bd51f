/* Which scenario is next. */
#include <criterion/criterion.h>

#include "chaos/check/choose.h"
#include "chaos/check/options_rows.h"

enum { COUNT = 4 };

/* Bounds of 20, 60, 48 (with its run) and 60 seconds, where V is 4 s. */
static const char *const files[COUNT] = {
    "{\"id\":\"a.first\",\"load\":[\"ok\"],\"end\":{\"drained_within\":\"20s\"}}",
    "{\"id\":\"b.long\",\"load\":[\"ok\"],\"end\":{\"drained_within\":\"10*V+20s\"}}",
    "{\"id\":\"c.runs\",\"load\":[\"ok\"],\"end\":{\"drained_within\":\"8s\",\"run_for\":\"40s\"}}",
    "{\"id\":\"d.as-long\",\"load\":[\"ok\"],\"end\":{\"drained_within\":\"60s\"}}",
};

static struct qn_check_options options;
static struct qn_report_entry entries[COUNT];
static struct qn_report report;

static void begin(void)
{
    struct qn_error err;

    options = qn_options_default();
    options.jobs = 4;
    report = (struct qn_report){.options = &options, .entries = entries, .planned = COUNT};
    report.profile = (struct qn_profile){.is_known = true, .level = QN_LEVEL_SINK, .batch = 10};
    for (size_t i = 0; i < COUNT; i++) {
        struct qn_scenario *scenario;
        cr_assert(qn_scenario_read(qn_str_from_cstr(files[i]), "x", &scenario, &err), "%s",
                  err.message);
        entries[i] = (struct qn_report_entry){.scenario = scenario};
    }
}

static void end(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        qn_scenario_free((struct qn_scenario *)(uintptr_t)entries[i].scenario);
    }
}

TestSuite(choose, .init = begin, .fini = end);

static void expect_order(const char *order)
{
    char seen[COUNT + 1] = "";

    for (size_t i = 0; i < COUNT; i++) {
        struct qn_report_entry *entry = qn_choose(&report, NULL);
        cr_assert_not_null(entry);
        entry->is_begun = true;
        seen[i] = entry->scenario->id.ptr[0];
    }
    cr_expect_str_eq(seen, order);
    cr_expect_null(qn_choose(&report, NULL));
}

Test(choose, side_by_side_the_longest_is_first_and_equals_as_they_are_listed)
{
    expect_order("bdca");
}

Test(choose, one_after_the_other_as_they_are_listed)
{
    options.jobs = 1;
    expect_order("abcd");
}

/* The first scenario of all shows what the consumer is. */
Test(choose, of_an_unknown_consumer_as_they_are_listed)
{
    report.profile.is_known = false;
    expect_order("abcd");
}

Test(choose, with_kept_consumers_as_they_are_listed)
{
    options.reuse = true;
    expect_order("abcd");
}
