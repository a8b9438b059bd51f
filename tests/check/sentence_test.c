/* What a broken expression says in words. */
#include "chaos/check/judge/sentence.h"

#include <criterion/criterion.h>
#include <jansson.h>

#include "chaos/check/judge/judge.h"
#include "chaos/embedded.h"

static void expect_of(const char *left, const char *comparator, double left_value,
                      double right_value, const char *wanted)
{
    const struct qn_compared compared = {qn_str_from_cstr(left), comparator, left_value,
                                         right_value, QN_STR("k-007")};
    struct qn_buf buf;

    qn_buf_init(&buf, SIZE_MAX / 2);
    qn_sentence_append(&compared, &buf);
    qn_buf_append_char(&buf, '\0');
    cr_expect_str_eq(buf.ptr, wanted);
    qn_buf_done(&buf);
}

Test(sentence, counts_are_told_of_their_messages)
{
    expect_of("leases(k-000)", "==", 2, 1,
              "message k-000 was received 2 times; it should be exactly once");
    expect_of("leases(k-010)", ">=", 1, 2,
              "message k-010 was received once; it should be at least 2 times");
    expect_of(
        "dead(k-010)", "==", 0, 1,
        "message k-010 was moved to the dead-letter queue 0 times; it should be exactly once");
    expect_of("attempts(k-001)", "==", 1, 0,
              "work on message k-001 was begun once; it should never happen");
    expect_of("resent_at_once(flaky)", "==", 3, 0,
              "the messages of kind flaky together were sent to the retry queue without a delay 3 "
              "times; it should never happen");
    expect_of("tried(Delete*, k-001)", "<=", 12, 7,
              "Delete* was called 12 times for message k-001; it should be at most 7 times");
    expect_of(
        "calls(ReceiveMessage,slow)", ">=", 0, 1,
        "ReceiveMessage was called 0 times in the phase \"slow\"; it should be at least once");
}

Test(sentence, an_extreme_is_told_of_its_message)
{
    expect_of("max(leases)", "==", 3, 1,
              "message k-007 was received 3 times; it should be exactly once");
    expect_of("min(outputs, ok)", ">=", 0, 1,
              "the result of message k-007 was sent to the output queue 0 times; it should be at "
              "least once");
}

Test(sentence, a_sum_of_one_function_is_told_once)
{
    expect_of("effects(k-000) + effects(k-001)", "==", 1, 0,
              "the effect of the messages k-000 and k-001 together was applied once; it should "
              "never happen");
    expect_of("dead(k-004) + dead(k-005) + dead(k-006) + dead(k-007)", "==", 2, 0,
              "the messages k-004, k-005, k-006 and 1 more together were moved to the dead-letter "
              "queue 2 times; it should never happen");
}

Test(sentence, times_have_their_unit)
{
    expect_of(
        "last(work.commit) - time(over)", "<=", 20500, 12000,
        "from the moment \"over\" to the last effect it was 20.5 s; it should be at most 12 s");
    expect_of("first(lease.grant,k-000) - first(load,k-000)", "<=", 1200, 999,
              "from the first send by the check of message k-000 to the first receive of message "
              "k-000 it was 1.2 s; it should be at most 999 ms");
    expect_of(
        "rate(ReceiveMessage,idle)", "<=", 41.26, 10,
        "ReceiveMessage was called 41.3 times a second in the phase \"idle\"; it should be at "
        "most 10 times a second");
}

Test(sentence, what_has_no_words_stands_as_it_is)
{
    expect_of("leases(k-000) * 2", "<", 4, 3, "leases(k-000) * 2 was 4; it should be less than 3");
    expect_of("count(queue.purge)", "==", 2, 0,
              "the event queue.purge happened 2 times; it should never happen");
    cr_expect_not(qn_sentence_is_known(QN_STR("leases(k-000) * 2")));
    cr_expect_not(qn_sentence_is_known(QN_STR("count(queue.purge)")));
    cr_expect_not(qn_sentence_is_known(QN_STR("leases(k-000) + effects(k-000)")));
    cr_expect_not(qn_sentence_is_known(QN_STR("max(2*V, 5s)")));
}

static size_t expressions;

static void expect_words(const json_t *scenario, const char *name)
{
    static const char *const lists[] = {"must", "should", "info"};
    size_t i;
    const json_t *item;

    for (size_t list = 0; list < 3; list++) {
        json_array_foreach(json_object_get(scenario, lists[list]), i, item)
        {
            struct qn_judge_rule rule;
            struct qn_error err;
            const char *text = json_string_value(item);
            cr_assert(qn_judge_rule_read(qn_str_from_cstr(text), &rule, &err), "%s: %s", name,
                      err.message);
            if (rule.checker == NULL) {
                expressions++;
                cr_expect(qn_judge_expression_has_words(rule.expression),
                          "%s: no sentence for %s: give it words in judge/sentence_words.c", name,
                          text);
            }
        }
    }
}

Test(sentence, each_expression_of_the_scenarios_has_one)
{
    for (size_t i = 0; i < qn_embedded_scenario_count; i++) {
        const struct qn_embedded *embedded = &qn_embedded_scenarios[i];
        json_t *scenario =
            json_loadb((const char *)embedded->data, embedded->size, JSON_ALLOW_NUL, NULL);
        size_t j;
        const json_t *variant;
        cr_assert_not_null(scenario, "%s", embedded->name);
        expect_words(scenario, embedded->name);
        json_array_foreach(json_object_get(scenario, "variants"), j, variant)
        {
            expect_words(variant, embedded->name);
        }
        json_decref(scenario);
    }
    cr_expect_gt(expressions, 50);
}
