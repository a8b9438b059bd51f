/* Scenario files: those that are shipped, and what is wrong with others. */
#include <criterion/criterion.h>

#include "chaos/check/judge/judge.h"
#include "chaos/check/load.h"
#include "chaos/check/scenario.h"

static struct qn_error err;

static struct qn_scenario *shipped(const char *id)
{
    for (size_t i = 0; i < qn_embedded_scenario_count; i++) {
        const struct qn_embedded *file = &qn_embedded_scenarios[i];
        struct qn_scenario *scenario = NULL;
        if (strcmp(file->name, id) == 0) {
            cr_assert(qn_scenario_read(qn_str(file->data, file->size), file->name, &scenario, &err),
                      "%s", err.message);
            return scenario;
        }
    }
    cr_assert_fail("%s is not shipped", id);
    return NULL;
}

Test(scenario, each_that_is_shipped_can_be_read)
{
    cr_assert_geq(qn_embedded_scenario_count, 23);
    for (size_t i = 0; i < qn_embedded_scenario_count; i++) {
        struct qn_scenario *scenario = shipped(qn_embedded_scenarios[i].name);
        cr_expect(qn_str_equal(scenario->id, qn_str_from_cstr(qn_embedded_scenarios[i].name)));
        cr_expect(scenario->title.len > 0 && scenario->why.len > 0 && scenario->fix.len > 0);
        cr_expect(scenario->for_standard || scenario->for_fifo);
        qn_scenario_free(scenario);
    }
}

/* A name or an expression with a slip in it would only show when somebody runs the scenario. */
static void expect_judgeable(const struct qn_scenario *scenario)
{
    static const char *const lists[] = {"must", "should", "info"};
    const struct qn_history nothing = {0};
    const struct qn_judge_input in = {.history = &nothing, .level = QN_LEVEL_SINK};
    size_t i;
    const json_t *item;

    for (size_t list = 0; list < 3; list++) {
        json_array_foreach(json_object_get(scenario->json, lists[list]), i, item)
        {
            struct qn_str text = qn_str_from_cstr(json_string_value(item));
            struct qn_finding finding = {0};
            cr_expect(qn_judge_checker(text) != NULL ||
                          qn_judge_expression(&in, text, &finding, &err),
                      "%s: %s", scenario->id.ptr, json_string_value(item));
        }
    }
    int64_t limit_ms;
    cr_expect(qn_judge_number(&in, scenario->drained_within, &limit_ms, &err));
}

Test(scenario, invariants_and_expressions_of_all_are_known)
{
    for (size_t i = 0; i < qn_embedded_scenario_count; i++) {
        struct qn_scenario *scenario = shipped(qn_embedded_scenarios[i].name);
        expect_judgeable(scenario);
        qn_scenario_free(scenario);
    }
}

Test(scenario, faults_keep_their_names_and_planned_counts)
{
    struct qn_scenario *scenario = shipped("std.delete-lost");

    cr_assert_eq(scenario->fault_count, 1);
    cr_expect(qn_str_equal(scenario->faults[0].name, QN_STR("lost")));
    cr_expect_eq(scenario->faults[0].planned, 2);
    cr_expect(scenario->needs_sink);
    cr_expect(scenario->restarts);
    cr_expect_eq(scenario->restart_delay_ms, 200);
    qn_scenario_free(scenario);
}

static void expect_refused(const char *text, const char *about)
{
    struct qn_scenario *scenario = NULL;

    cr_expect_not(qn_scenario_read(qn_str_from_cstr(text), "x", &scenario, &err), "%s", text);
    cr_expect_not_null(strstr(err.message, about), "%s", err.message);
    qn_scenario_free(scenario);
}

Test(scenario, wrong_files_are_refused)
{
    expect_refused("{", "line 1");
    expect_refused("[]", "scenario x");
    expect_refused("{\"load\":[\"ok\"]}", "no id");
    expect_refused("{\"id\":\"a\"}", "no load");
    expect_refused("{\"id\":\"a\",\"load\":[\"maybe count=1\"]}", "maybe");
    expect_refused("{\"id\":\"a\",\"load\":[\"ok count=0\"]}", "count=0");
    expect_refused("{\"id\":\"a\",\"load\":[\"ok speed=1\"]}", "speed=1");
    expect_refused("{\"id\":\"a\",\"load\":[\"ok work=fast\"]}", "work=fast");
    expect_refused("{\"id\":\"a\",\"load\":[\"ok\"],\"faults\":[\"on nothing do nothing\"]}",
                   "fault");
    expect_refused("{\"id\":\"a\",\"load\":[\"ok\"],\"faults\":[\"on work.begin do hang\"]}",
                   "hold, kill and signal");
    expect_refused("{\"id\":\"a\",\"load\":[\"ok\"],\"end\":{\"settle\":\"x\"}}", "not a time");
}

static void expect_fault_refused(const char *rule, const char *about)
{
    char text[512];

    snprintf(text, sizeof(text), "{\"id\":\"a\",\"load\":[\"ok\"],\"faults\":[\"%s\"]}", rule);
    expect_refused(text, about);
}

static void expect_fault(const char *rule)
{
    struct qn_scenario *scenario = NULL;
    char text[512];

    snprintf(text, sizeof(text), "{\"id\":\"a\",\"load\":[\"ok\"],\"faults\":[\"%s\"]}", rule);
    cr_assert(qn_scenario_read(qn_str_from_cstr(text), "x", &scenario, &err), "%s", err.message);
    cr_expect_eq(scenario->fault_count, 1);
    qn_scenario_free(scenario);
}

Test(scenario, faults_that_the_server_carries_out_are_left_to_it)
{
    expect_fault("on tick 5s do freeze server 2s");
    expect_fault("on ReceiveMessage nth 3 do refuse 1s then jump 5s force");
    expect_fault("on Delete* do garbage");
}

Test(scenario, faults_that_nobody_carries_out_are_refused)
{
    const char *ours = "the harness can kill and signal, and restart a crashed server";

    expect_fault_refused("on Delete* at arrive do stop instance 2s", ours);
    expect_fault_refused("on Delete* at arrive do stop instance 2s", "\"stop instance 2s\" is not");
    expect_fault_refused("on msg.delete do spawn 2", ours);
    expect_fault_refused("on msg.delete do respawn after 1s", ours);
    expect_fault_refused("on Delete* do restart server", ours);
    expect_fault_refused("on Delete* do kill instance then restart server", ours);
    expect_fault_refused("on Delete* do crash server", "then restart server");
    expect_fault_refused("on spawn do respawn", "hold, kill and signal");
    expect_fault_refused("on Delete* do gate open", "this version does not carry it out");
    expect_fault_refused("on invoke do kill instance", "no Lambda function");
    expect_fault_refused("on work.begin do kill instance=2", "no such instance");
    expect_fault_refused("on Delete* do kill instance=QUERN0002", "no such instance");
}

Test(load, messages_are_named_in_send_order_and_alike_for_one_seed)
{
    struct qn_scenario *scenario = shipped("fifo.order");
    const struct qn_load_options options = {
        .is_fifo = true, .seed = 7, .run_id = "run-7", .now_ms = 1};
    struct qn_load a;
    struct qn_load b;

    qn_load_init(&a, scenario, &options);
    qn_load_init(&b, scenario, &options);
    cr_assert_eq(a.count, 40);
    cr_expect(qn_str_equal(a.messages[3].id, QN_STR("m-003")));
    cr_expect(qn_str_equal(a.messages[3].k, QN_STR("k-003")));
    cr_expect(qn_str_equal(a.messages[0].group, a.messages[4].group));
    cr_expect_not(qn_str_equal(a.messages[0].group, a.messages[1].group));
    for (size_t i = 0; i < a.count; i++) {
        cr_expect(qn_str_equal(a.messages[i].body, b.messages[i].body));
    }
    cr_expect_eq(qn_load_find(&a, QN_STR("m-003")), &a.messages[3]);
    cr_expect_eq(qn_load_find(&a, QN_STR("k-003")), &a.messages[3]);
    cr_expect_null(qn_load_find(&a, QN_STR("m-999")));
    qn_load_done(&a);
    qn_load_done(&b);
    qn_scenario_free(scenario);
}

Test(load, body_is_the_envelope)
{
    struct qn_scenario *scenario = shipped("base.drain-and-profile");
    const struct qn_load_options options = {.seed = 7, .run_id = "run-7", .now_ms = 0};
    struct qn_load load;

    qn_load_init(&load, scenario, &options);
    json_t *body = json_loadb(load.messages[5].body.ptr, load.messages[5].body.len, 0, NULL);
    cr_assert_not_null(body);
    cr_expect_str_eq(json_string_value(json_object_get(body, "idempotencyKey")), "k-005");
    cr_expect_str_eq(json_string_value(json_object_get(body, "messageType")), "quern.work");
    cr_expect_str_eq(json_string_value(json_object_get(body, "correlationId")), "run-7/m-005");
    cr_expect_str_eq(json_string_value(json_object_get(body, "occurredAt")),
                     "1970-01-01T00:00:00.000Z");
    cr_expect_eq(json_integer_value(json_object_get(json_object_get(body, "instr"), "work_ms")),
                 20);
    json_decref(body);
    qn_load_done(&load);
    qn_scenario_free(scenario);
}
