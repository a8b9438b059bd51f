/* `quern chaos list`, and the table that it prints. */
#include <stdio.h>

#include "server/base/clock.h"
#include "server/cli/faults/faults.h"

enum { COLUMNS = 6 };

static const struct qn_option options[] = {QN_REMOTE_OPTIONS};

const char *qn_chaos_text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));

    return value != NULL ? value : "";
}

bool qn_chaos_check_quern(struct qn_remote *remote, struct quern_error *err)
{
    return qn_remote_check_quern(remote, ", and nothing else has fault rules", err);
}

bool qn_chaos_get_rules(struct qn_remote *remote, json_t **ret_rules, struct quern_error *err)
{
    json_t *answer;

    if (!qn_chaos_check_quern(remote, err) ||
        !quern_http_get(remote->client, "/_quern/rules", &answer, err)) {
        return false;
    }
    *ret_rules = json_incref(json_object_get(answer, "rules"));
    json_decref(answer);
    return true;
}

static bool is_among(const json_t *names, const json_t *rule)
{
    size_t i;
    const json_t *name;

    json_array_foreach(names, i, name)
    {
        if (json_equal(name, json_object_get(rule, "name"))) {
            return true;
        }
    }
    return names == NULL;
}

static void add_row(struct qn_columns *table, const json_t *rule)
{
    const json_t *last = json_object_get(rule, "last_fired");
    char at[32] = "never";

    if (json_is_integer(last)) {
        qn_clock_format_instant(json_integer_value(last), at);
    }
    qn_columns_add(table, qn_chaos_text(rule, "name"));
    qn_columns_add(table, qn_chaos_text(rule, "state"));
    qn_columns_add_integer(table, json_integer_value(json_object_get(rule, "matched")));
    qn_columns_add_integer(table, json_integer_value(json_object_get(rule, "fired")));
    qn_columns_add(table, at);
    qn_columns_add(table, qn_chaos_text(rule, "text"));
}

static void print_notes(const json_t *rule)
{
    json_int_t held = json_integer_value(json_object_get(rule, "held"));
    size_t i;
    const json_t *queue;

    json_array_foreach(json_object_get(rule, "queues_unknown"), i, queue)
    {
        const char *name = json_string_value(queue);
        bool is_pattern = strpbrk(name, "*?") != NULL;
        (void)printf("note: %s: there is no queue %s", qn_chaos_text(rule, "name"),
                     is_pattern ? "like " : "");
        qn_columns_print_clean(name);
        (void)puts(" (yet)");
    }
    if (held > 0) {
        (void)printf("note: %s holds %lld request%s\n", qn_chaos_text(rule, "name"),
                     (long long)held, held == 1 ? "" : "s");
    }
}

void qn_chaos_print_rules(const json_t *rules, const json_t *names)
{
    static const char *const head[COLUMNS] = {"NAME",  "STATE",      "MATCHED",
                                              "FIRED", "LAST FIRED", "RULE"};
    struct qn_columns table;
    size_t i;
    const json_t *rule;

    qn_columns_begin(&table, head, COLUMNS);
    json_array_foreach(rules, i, rule)
    {
        if (is_among(names, rule)) {
            add_row(&table, rule);
        }
    }
    qn_columns_print(&table);
    qn_columns_done(&table);
    json_array_foreach(rules, i, rule)
    {
        if (is_among(names, rule)) {
            print_notes(rule);
        }
    }
}

int qn_chaos_list_main(int argc, char **argv)
{
    struct qn_remote remote;
    struct quern_error err;
    json_t *rules;
    int code = QN_EXIT_OK;

    if (!qn_remote_open(&remote, "chaos list [OPTIONS]", options, QN_REMOTE_COUNT, 0, 0, argc, argv,
                        &code)) {
        return code;
    }
    if (!qn_chaos_get_rules(&remote, &rules, &err)) {
        code = qn_remote_fail(&remote, &err);
    } else if (qn_remote_wants_json(&remote)) {
        qn_remote_print_json(json_pack("{s:o}", "rules", rules));
    } else {
        qn_chaos_print_rules(rules, NULL);
        json_decref(rules);
    }
    qn_remote_close(&remote);
    return code;
}
