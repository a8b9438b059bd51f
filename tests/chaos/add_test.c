/* Rules are added all or not at all, and every mistake in them is listed. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "chaos/chaos.h"

static struct qn_plan *plan;
static struct qn_mistakes mistakes;

static const char *const actions[] = {"SendMessage", "DeleteMessage", "ReceiveMessage"};

static void start(void)
{
    plan = qn_plan_new(&(struct qn_plan_options){.seed = 1, .actions = actions, .action_count = 3});
}

static void stop(void)
{
    qn_mistakes_done(&mistakes);
    qn_plan_free(plan);
}

TestSuite(add, .init = start, .fini = stop);

static bool add_lines(const char *text)
{
    qn_mistakes_done(&mistakes);
    bool ok = qn_plan_add_lines(plan, qn_str_from_cstr(text), &mistakes);
    cr_expect_eq(ok, mistakes.count == 0);
    return ok;
}

static void expect(size_t i, int64_t line, int64_t column, const char *part)
{
    cr_assert_lt(i, mistakes.count, "there is no mistake %zu", i);
    const struct qn_mistake *mistake = &mistakes.all[i];
    cr_expect_eq(mistake->line, line, "%zu: line %lld", i, (long long)mistake->line);
    cr_expect_eq(mistake->column, column, "%zu: column %lld", i, (long long)mistake->column);
    cr_expect_not_null(strstr(mistake->what, part), "%zu: %s", i, mistake->what);
}

static void expect_name(size_t i, const char *name)
{
    json_t *list = qn_plan_list(plan);
    cr_expect_str_eq(json_string_value(json_object_get(json_array_get(list, i), "name")), name);
    json_decref(list);
}

Test(add, a_file_has_one_rule_a_line_with_comments_and_blank_lines)
{
    cr_expect(add_lines("on any do hold as a\r\n\n # comment\non any do hold # b\n"));
    cr_expect_eq(qn_plan_rule_count(plan), 2);
    cr_expect(add_lines(""));
    cr_expect(add_lines("# nothing"));
    cr_expect_eq(qn_plan_rule_count(plan), 2);
}

Test(add, a_file_may_begin_with_the_mark_of_an_editor)
{
    cr_expect(add_lines("\xEF\xBB\xBFon any do hold as a\non any do hold"));
    cr_expect_eq(qn_plan_rule_count(plan), 2);
    cr_expect_not(add_lines("on any do hold\n\xEF\xBB\xBFon any do hold"));
    expect(0, 2, 1, "expected \"on\"");
}

Test(add, a_file_with_too_many_rules_is_refused_once)
{
    enum { TOO_MANY = 10100 };
    static char text[TOO_MANY * 16];
    size_t len = 0;

    for (int i = 0; i < TOO_MANY; i++) {
        memcpy(text + len, "on any do hold\n", 15);
        len += 15;
    }
    cr_expect_not(add_lines(text));
    cr_expect_eq(mistakes.count, 1);
    expect(0, 10001, 1, "10000 rules at most");
    cr_expect_eq(qn_plan_rule_count(plan), 0);
}

Test(add, a_wrong_file_adds_nothing_and_all_its_mistakes_are_listed)
{
    struct qn_error err;
    cr_assert(add_lines("on any do hang as mine"));
    cr_expect_not(add_lines("on any do hold as a\r\n\n# comment\n"
                            "  on any do hodl as b\n"
                            "on any do hold as c\n"
                            "nonsense\n"
                            "on SendMesage do hang as d\n"));
    cr_expect_eq(qn_plan_rule_count(plan), 1);
    cr_expect_eq(mistakes.count, 3);
    expect(0, 4, 13, "expected an action, found \"hodl\"; did you mean \"hold\"?");
    expect(1, 6, 1, "expected \"on\"");
    expect(2, 7, 4, "did you mean \"SendMessage\"?");
    cr_expect_not(qn_mistakes_fail(&mistakes, &err));
    cr_expect_str_eq(err.message, "line 4, column 13: expected an action, found \"hodl\"; did you "
                                  "mean \"hold\"? (and 2 more mistakes)");
    cr_expect(add_lines("on any do hold as a"), "the names of what was refused are free");
}

Test(add, a_name_is_taken_once_by_a_file_and_by_what_was_there)
{
    cr_assert(add_lines("on any do hang as mine"));
    cr_expect_not(add_lines("on any do hold as mine\n"
                            "on any do hold as a\n"
                            "on any do hang at as a\n"
                            "on any do hold as \"a\"\n"));
    cr_expect_eq(mistakes.count, 3);
    expect(0, 1, 19, "there is a rule with the name \"mine\" already");
    expect(1, 3, 16, "\"at\" stands before `do`");
    expect(2, 4, 19, "there is a rule with the name \"a\" already");
}

Test(add, given_names_leave_out_those_that_the_file_says_later)
{
    cr_assert(add_lines("on any do hang\non any do hang as rule-1\non any do hang\n"));
    expect_name(0, "rule-2");
    expect_name(1, "rule-1");
    expect_name(2, "rule-3");
}

Test(add, the_parts_of_a_rule_are_all_looked_at)
{
    cr_expect_not(add_lines("on SendMesage where quee=q first x at mid do hagn then hodl as a"));
    cr_expect_eq(mistakes.count, 6);
    expect(0, 1, 4, "did you mean \"SendMessage\"?");
    expect(1, 1, 21, "did you mean \"queue\"?");
    expect(2, 1, 34, "expected a number from 1 on, found \"x\"");
    expect(3, 1, 39, "did you mean \"mid-response\"?");
    expect(4, 1, 46, "did you mean \"hang\"?");
    expect(5, 1, 56, "did you mean \"hold\"?");

    cr_expect_not(add_lines("on any where key=first were queue=do do hang 7"));
    cr_expect_eq(mistakes.count, 2);
    expect(0, 1, 24, "did you mean \"where\"?");
    expect(1, 1, 46, "expected the end of the rule");

    cr_expect_not(add_lines("on any where (quee=first and key=m do delay 5 then hold"));
    cr_expect_eq(mistakes.count, 2, "a value that looks like a word of the grammar is none");
    expect(0, 1, 15, "did you mean \"queue\"?");
    expect(1, 1, 45, "expected a duration");
}

Test(add, each_action_of_a_chain_is_checked)
{
    cr_expect_not(add_lines("on Delete* do short 1 then false-empty then delay 1s"));
    cr_expect_eq(mistakes.count, 2);
    expect(0, 1, 15, "short can be done to no request");
    expect(1, 1, 28, "false-empty can be done to no request");
    cr_expect_not(add_lines("on any do throttle then hang then kill instance then hold"));
    cr_expect_eq(mistakes.count, 2);
    expect(0, 1, 25, "behind \"error\" nothing more");
    expect(1, 1, 54, "the server does its part first");
    cr_expect(add_lines("on msg.dlq nth 4 do kill instance=1 then redrive of d"),
              "what the harness does may go on with what it asks the server for");
}

Test(add, behind_what_cannot_be_read_nothing_is_guessed)
{
    cr_expect_not(add_lines("on any where queue=\"a do hagn\non any do ha\001ng then hodl\n"
                            "on any where queue ! q do hagn\n"));
    cr_expect_eq(mistakes.count, 3);
    expect(0, 1, 20, "a quoted text begins here and does not end");
    expect(1, 2, 13, "a control character");
    expect(2, 3, 20, "expected \"!=\"");
}

Test(add, very_many_mistakes_are_all_listed)
{
    char text[100 * 9 + 1] = "";
    struct qn_error err;

    for (int i = 0; i < 100; i++) {
        memcpy(text + 9 * i, "nonsense\n", 10);
    }
    cr_expect_not(add_lines(text));
    cr_expect_eq(mistakes.count, 100);
    expect(99, 100, 1, "expected \"on\"");
    cr_expect_not(qn_mistakes_fail(&mistakes, &err));
    cr_expect_not_null(strstr(err.message, "(and 99 more mistakes)"));
    json_t *list = qn_mistakes_list(&mistakes, false);
    cr_expect_eq(json_array_size(list), 100);
    json_decref(list);
}

Test(add, a_list_says_which_of_its_rules_is_wrong)
{
    const struct qn_str texts[] = {QN_STR("on any do hang as a"), QN_STR("on any\n do hagn"),
                                   QN_STR("on any do hold as a"), QN_STR("")};
    qn_mistakes_done(&mistakes);
    cr_expect_not(qn_plan_add_all(plan, texts, 4, &mistakes));
    cr_expect_eq(qn_plan_rule_count(plan), 0);
    json_t *list = qn_mistakes_list(&mistakes, true);
    static const int64_t places[][3] = {{1, 2, 5}, {2, 1, 19}, {3, 1, 1}};
    cr_assert_eq(json_array_size(list), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *row = json_array_get(list, i);
        cr_expect_eq(json_integer_value(json_object_get(row, "index")), places[i][0]);
        cr_expect_eq(json_integer_value(json_object_get(row, "line")), places[i][1]);
        cr_expect_eq(json_integer_value(json_object_get(row, "column")), places[i][2]);
        cr_expect(json_is_string(json_object_get(row, "message")));
    }
    json_decref(list);
    qn_mistakes_done(&mistakes);
    cr_expect(qn_plan_add_all(plan, texts, 1, &mistakes));
}

Test(add, a_message_is_cut_between_characters)
{
    static char text[8000] = "on any nth \"";
    for (size_t i = 0; i < 2000; i++) {
        memcpy(text + 12 + 3 * i, "\xe2\x82\xac", 3);
    }
    memcpy(text + 12 + 6000, "\" do hang", 10);
    cr_expect_not(add_lines(text));
    expect(0, 1, 12, "nth counts from 1");
    cr_expect(qn_str_is_utf8(qn_str_from_cstr(mistakes.all[0].what)));
    json_t *list = qn_mistakes_list(&mistakes, false);
    cr_expect_eq(json_array_size(list), 1);
    json_decref(list);
}

Test(add, there_is_room_for_ten_thousand_rules)
{
    struct qn_buf text;
    qn_buf_init(&text, 1 << 20);
    for (int i = 0; i < 10001; i++) {
        qn_buf_append_literal(&text, "on any do hang\n");
    }
    qn_buf_append_char(&text, '\0');
    cr_expect_not(add_lines(text.ptr));
    cr_expect_eq(mistakes.count, 1);
    expect(0, 10001, 1, "a server has 10000 rules at most");
    cr_expect_eq(qn_plan_rule_count(plan), 0);
    qn_buf_done(&text);
}
