/* The catalogue: the user's scenarios beside those inside the program, and the pages. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "chaos/check/catalogue.h"
#include "chaos/check/judge/judge.h"

static struct qn_catalogue catalogue;
static struct qn_buf mistakes;
static char path[64];

static void begin(void)
{
    qn_buf_init(&mistakes, SIZE_MAX / 2);
    (void)snprintf(path, sizeof(path), "/tmp/quern-scenario-XXXXXX");
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    (void)close(fd);
}

static void end(void)
{
    qn_catalogue_close(&catalogue);
    qn_buf_done(&mistakes);
    (void)remove(path);
}

TestSuite(catalogue, .init = begin, .fini = end);

static bool open_with(const char *text)
{
    const char *files[] = {path};
    FILE *file = fopen(path, "we");

    cr_assert_not_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
    return qn_catalogue_open(&catalogue, files, 1, &mistakes);
}

/* Without the variants, which are scenarios too once they are read. */
static size_t own_count(void)
{
    size_t count = 0;

    for (size_t i = 0; i < catalogue.count; i++) {
        struct qn_str id = catalogue.scenarios[i]->id;
        count += qn_str_find_char(id, '+') == id.len;
    }
    return count;
}

static void expect_mistake(const char *text)
{
    qn_buf_append_char(&mistakes, '\0');
    cr_expect_not_null(strstr(mistakes.ptr, text), "%s is not in: %s", text, mistakes.ptr);
    mistakes.len--;
}

Test(catalogue, the_profile_is_learned_first)
{
    cr_assert(qn_catalogue_open(&catalogue, NULL, 0, &mistakes));
    cr_expect_eq(own_count(), qn_embedded_scenario_count);
    cr_expect_str_eq(catalogue.scenarios[0]->id.ptr, "base.drain-and-profile");
}

Test(catalogue, a_file_stands_beside_those_inside_the_program)
{
    cr_assert(
        open_with("{\"id\":\"mine.first\",\"load\":[\"ok\"],\"tier\":2,\"profiles\":[\"fifo\"]}"));
    const struct qn_scenario *mine = qn_catalogue_find(&catalogue, QN_STR("mine.first"));
    cr_assert_not_null(mine);
    cr_expect_eq(own_count(), qn_embedded_scenario_count + 1);
    cr_expect_eq(qn_catalogue_tier(mine), 2);
    cr_expect_str_eq(qn_catalogue_profiles(mine), "fifo");
    cr_expect_null(qn_catalogue_find(&catalogue, QN_STR("mine.second")));
    cr_expect_str_eq(qn_catalogue_nearest(&catalogue, QN_STR("mine.frist")), "mine.first");
    cr_expect_str_eq(qn_catalogue_nearest(&catalogue, QN_STR("delete-lost")), "std.delete-lost");
    cr_expect_null(qn_catalogue_nearest(&catalogue, QN_STR("nothing like it")));
}

Test(catalogue, the_filter_asks_for_tier_and_profile)
{
    const struct qn_catalogue_filter first = {.tier = 1};
    const struct qn_catalogue_filter fifo = {.profile = "fifo"};
    const struct qn_catalogue_filter standard = {.profile = "standard"};

    cr_assert(
        open_with("{\"id\":\"mine.first\",\"load\":[\"ok\"],\"tier\":2,\"profiles\":[\"fifo\"]}"));
    const struct qn_scenario *mine = qn_catalogue_find(&catalogue, QN_STR("mine.first"));
    cr_expect_not(qn_catalogue_passes(&first, mine));
    cr_expect(qn_catalogue_passes(&fifo, mine));
    cr_expect_not(qn_catalogue_passes(&standard, mine));
    cr_expect(qn_catalogue_passes(&first, catalogue.scenarios[0]));
}

Test(catalogue, everything_that_is_wrong_with_a_file_is_told_at_once)
{
    cr_expect_not(open_with("{\"id\":\"a\",\"titel\":\"t\",\"severity\":\"most\",\"tier\":\"1\","
                            "\"queue\":{\"visibilty\":\"V\"},\"load\":[\"ok\",\"okay\",3],"
                            "\"faults\":[\"on nothing do nothing\",{\"rule\":\"on Delete* do "
                            "hang\",\"plan\":1}],\"must\":[\"NO-LOS\",\"leases(k-000) = 1\"]}"));
    expect_mistake("titel: there is no such member; did you mean title?");
    expect_mistake("severity: is never \"most\"; did you mean must?");
    expect_mistake("tier: is a whole number");
    expect_mistake("queue.visibilty: there is no such member; did you mean visibility?");
    expect_mistake("okay");
    expect_mistake("load[2]: is a text");
    expect_mistake("faults[1].plan: there is no such member");
    expect_mistake("must[0]: ");
    expect_mistake("must[1]: column");
    expect_mistake("faults[0]: ");
    expect_mistake(path);
}

Test(catalogue, a_file_that_is_no_json_is_told_with_its_line)
{
    cr_expect_not(open_with("{\n\"id\": \"a\",\n}"));
    expect_mistake("line 3");
}

Test(catalogue, a_file_that_is_not_there_is_told)
{
    const char *files[] = {"/nowhere/at/all.json"};

    cr_expect_not(qn_catalogue_open(&catalogue, files, 1, &mistakes));
    expect_mistake("/nowhere/at/all.json: No such file");
}

Test(catalogue, an_id_is_given_once)
{
    cr_expect_not(open_with("{\"id\":\"std.delete-lost\",\"load\":[\"ok\"]}"));
    expect_mistake("there is another scenario std.delete-lost");
}

/* The list of invariants that the scenarios may name. */
static const char *const invariants[] = {
    "NO-LOSS",         "NO-PHANTOM",   "ONCE",          "ACK-AFTER-EFFECT", "NO-ACK-ON-FAIL",
    "DRAINED",         "DLQ-EXACT",    "NEWEST-HANDLE", "LEASE-COVER",      "START-LIVE",
    "NO-GHOST-EXTEND", "BOUNDED",      "GROUP-SERIAL",  "GROUP-ORDER",      "NO-GAP-ACK",
    "BACKOFF",         "QUIET",        "EXIT-IN-GRACE", "NO-STRAND",        "PROGRESS",
    "SURVIVES",        "DISTINCT-IDS", "IDLE-HOLD",     "EXTEND-MARGIN",    "RECOVERY"};

enum { INVARIANT_COUNT = sizeof(invariants) / sizeof(invariants[0]) };

Test(catalogue, each_invariant_and_each_scenario_has_its_page)
{
    cr_assert(qn_catalogue_open(&catalogue, NULL, 0, &mistakes));
    for (size_t i = 0; i < INVARIANT_COUNT; i++) {
        cr_expect_not_null(qn_catalogue_page(qn_str_from_cstr(invariants[i])), "%s", invariants[i]);
    }
    for (size_t i = 0; qn_judge_checker_name(i) != NULL; i++) {
        const char *name = qn_judge_checker_name(i);
        cr_expect_not_null(qn_catalogue_page(qn_str_from_cstr(name)), "%s", name);
    }
    for (size_t i = 0; i < catalogue.count; i++) {
        cr_expect_not_null(qn_catalogue_page(catalogue.scenarios[i]->id), "%s",
                           catalogue.scenarios[i]->id.ptr);
    }
}

/* Whether the text is only an expression, which has no other name. */
static bool is_named(const struct qn_judge_rule *rule)
{
    return !qn_str_is_none(rule->name) && !qn_str_equal(rule->name, rule->expression);
}

/* With `page` NULL: each name that a verdict can print has a page. Otherwise whether one is it. */
static bool scenarios_name(const char *page)
{
    static const char *const lists[] = {"must", "should", "info"};
    bool is_there = false;

    for (size_t i = 0; i < catalogue.count; i++) {
        for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++) {
            size_t j;
            const json_t *entry;
            json_array_foreach(json_object_get(catalogue.scenarios[i]->json, lists[l]), j, entry)
            {
                struct qn_judge_rule rule;
                struct qn_error err;
                cr_assert(
                    qn_judge_rule_read(qn_str_from_cstr(json_string_value(entry)), &rule, &err));
                if (page == NULL && is_named(&rule)) {
                    cr_expect_not_null(qn_catalogue_page(rule.name), "%s: no page explains %.*s",
                                       catalogue.scenarios[i]->id.ptr, QN_STR_ARG(rule.name));
                }
                is_there =
                    is_there || (page != NULL && qn_str_equal(rule.name, qn_str_from_cstr(page)));
            }
        }
    }
    return is_there;
}

Test(catalogue, each_name_that_a_verdict_prints_is_explained)
{
    cr_assert(qn_catalogue_open(&catalogue, NULL, 0, &mistakes));
    cr_expect_not(scenarios_name(NULL));
}

static bool is_invariant(const char *name)
{
    for (size_t i = 0; i < INVARIANT_COUNT; i++) {
        if (strcmp(invariants[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* What a run says where it has no judgement: nothing broke, and AWS has no word on it. */
static bool is_said_of_a_run(const char *name)
{
    static const char *const said[] = {"INCONCLUSIVE", "SKIP", "observed-semantics"};

    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        if (strcmp(said[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void expect_parts(const struct qn_embedded *page, const char *const parts[], size_t count)
{
    struct qn_str text = qn_str(page->data, page->size);

    for (size_t i = 0; i < count; i++) {
        cr_expect_not_null(memmem(text.ptr, text.len, parts[i], strlen(parts[i])),
                           "%s: \"%s\" is missing", page->name, parts[i]);
    }
}

Test(catalogue, each_page_is_about_something_and_says_all_of_it)
{
    static const char *const judged[] = {"## What breaks", "## What right code looks like",
                                         "## How it is judged", "## AWS", "https://"};
    static const char *const said[] = {"\n## ", "\n- *", "`--"};
    size_t pages_of_what_is_said = 0;

    cr_assert(qn_catalogue_open(&catalogue, NULL, 0, &mistakes));
    for (size_t i = 0; i < qn_embedded_explanation_count; i++) {
        const struct qn_embedded *page = &qn_embedded_explanations[i];
        struct qn_str text = qn_str(page->data, page->size);
        struct qn_str name = qn_str_from_cstr(page->name);
        cr_expect(qn_str_starts_with(qn_str_from(text, 2), name), "%s", page->name);
        if (is_said_of_a_run(page->name)) {
            expect_parts(page, said, sizeof(said) / sizeof(said[0]));
            pages_of_what_is_said++;
            continue;
        }
        cr_expect(is_invariant(page->name) || qn_catalogue_find(&catalogue, name) != NULL ||
                      scenarios_name(page->name),
                  "%s is about nothing", page->name);
        expect_parts(page, judged, sizeof(judged) / sizeof(judged[0]));
    }
    cr_expect_eq(pages_of_what_is_said, 3);
    cr_expect_str_eq(qn_catalogue_nearest_page(QN_STR("ONEC")), "ONCE");
    cr_expect_str_eq(qn_catalogue_nearest_page(QN_STR("delete-lost")), "std.delete-lost");
    cr_expect_not_null(qn_catalogue_page(QN_STR("once")));
}
