/* Bodies of the user's own, and rules about them. */
#include <criterion/criterion.h>

#include "chaos/check/bodies.h"

static struct qn_check_options options;
static struct qn_arena arena;
static struct qn_load load;
static struct qn_load_message messages[2];

static void begin(void)
{
    qn_arena_init(&arena, SIZE_MAX / 2);
    options = (struct qn_check_options){.bodies = {.count = 1}};
    options.body_texts[QN_BODY_GOOD] = QN_STR("{\"n\":{{n}},\"id\":\"{{id}}\",\"x\":\"{{y}}\"}");
    load = (struct qn_load){0};
    qn_table_init(&load.by_name, sizeof(struct qn_load_message *));
    for (size_t i = 0; i < 2; i++) {
        messages[i] = (struct qn_load_message){.k = i == 0 ? QN_STR("k-000") : QN_STR("k-001"),
                                               .mid = i == 0 ? QN_STR("a-1") : QN_STR_NONE};
        *(struct qn_load_message **)qn_table_at(&load.by_name, messages[i].k) = &messages[i];
    }
}

static void end(void)
{
    qn_table_done(&load.by_name);
    qn_arena_done(&arena);
}

TestSuite(bodies, .init = begin, .fini = end);

static void expect_body(const struct qn_load_message *message, const char *expected)
{
    cr_expect_str_eq(qn_bodies_make(&options, message, &arena).ptr, expected);
}

Test(bodies, id_and_number_are_filled_in_and_other_braces_stay)
{
    const struct qn_load_message message = {
        .id = QN_STR("quern-1-007"), .number = 7, .position = 17};

    expect_body(&message, "{\"n\":8,\"id\":\"quern-1-007\",\"x\":\"{{y}}\"}");
}

Test(bodies, what_always_fails_and_what_takes_long_have_their_own)
{
    const struct qn_load_message bad = {.outcome = QN_LOAD_PERM};
    const struct qn_load_message invalid = {.outcome = QN_LOAD_BADJSON};
    const struct qn_load_message slow = {.script = {.work_ms = 1000}};
    const struct qn_load_message quick = {.script = {.work_ms = 999}};

    options.body_texts[QN_BODY_GOOD] = QN_STR("good");
    options.body_texts[QN_BODY_POISON] = QN_STR("bad");
    options.body_texts[QN_BODY_SLOW] = QN_STR("slow");
    expect_body(&bad, "bad");
    expect_body(&invalid, "bad");
    expect_body(&slow, "slow");
    expect_body(&quick, "good");
}

static void expect_rule(const char *rule, const char *expected)
{
    cr_expect_str_eq(qn_bodies_rule(&load, qn_str_from_cstr(rule), &arena).ptr, expected);
}

Test(bodies, rules_name_the_message_id_in_place_of_its_key)
{
    expect_rule("on Delete* where key=k-000 once do hold",
                "on Delete* where mid=\"a-1\" once do hold");
    expect_rule("on X where key != k-000 and key in (k-000, zz) do drop",
                "on X where mid != \"a-1\" and mid in (\"a-1\", zz) do drop");
}

Test(bodies, a_message_that_is_not_sent_yet_keeps_its_key_and_the_rule_fits_nothing)
{
    expect_rule("on X where key=k-001 do drop", "on X where mid=k-001 do drop");
}

Test(bodies, rules_without_keys_stay_as_they_are)
{
    expect_rule("on ReceiveMessage first 3 do empty as key-000",
                "on ReceiveMessage first 3 do empty as key-000");
}

Test(bodies, ids_are_others_in_each_run_and_scenario)
{
    struct qn_str one = qn_bodies_tag("run-1", QN_STR("a"), 5, &arena);

    cr_expect(qn_str_starts_with(one, QN_STR("quern-")));
    cr_expect_not(qn_str_equal(one, qn_bodies_tag("run-1", QN_STR("b"), 5, &arena)));
    cr_expect_not(qn_str_equal(one, qn_bodies_tag("run-1", QN_STR("a"), 6, &arena)));
    cr_expect(qn_str_equal(one, qn_bodies_tag("run-1", QN_STR("a"), 5, &arena)));
}
