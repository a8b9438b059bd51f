/* Scenario files: those that are shipped, and what is wrong with others. */
#include <criterion/criterion.h>

#include "chaos/check/judge/judge.h"
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
        cr_expect(scenario->for_standard || scenario->for_fifo || scenario->for_lambda);
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
            struct qn_judge_rule rule;
            cr_expect(qn_judge_rule_read(text, &rule, &err), "%s: %s", scenario->id.ptr,
                      err.message);
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
    cr_expect(scenario->restarts);
    cr_expect(qn_str_equal(scenario->restart_delay, QN_STR("200ms")));
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
    expect_refused("{\"id\":\"a\",\"load\":[\"ok work=fast\"]}", "not a time");
    expect_refused("{\"id\":\"a\",\"load\":[\"ok\"],\"faults\":[\"on nothing do nothing\"]}",
                   "fault");
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

Test(scenario, faults_of_the_sink_and_of_processes_are_the_harness_s)
{
    expect_fault("on work.begin do hang");
    expect_fault("on work.begin once do delay 300ms then status 503");
    expect_fault("on work.commit once do commit-then-status 504");
    expect_fault("on work.begin once do hold then kill instance then after 2s respawn");
    expect_fault("on work.begin once do after 300ms expire-lease then after 1s gate open");
    expect_fault("on lookup once do status 503");
    expect_fault("on reject once do hold then kill instance");
    expect_fault("on exit once do respawn after 1s");
    expect_fault("on work.commit nth 3 do crash server then after 1s restart server");
    expect_fault("on tick 3s once do signal instance=1 TERM");
    expect_fault("on Delete* at arrive do stop instance 2s");
    expect_fault("on tick 1s once do spawn 2 then after 2s kill instance=3");
    expect_fault("on tick 1s once do capacity 4 then after 2s outcome ok for key=k-001");
}

Test(scenario, faults_that_nobody_carries_out_are_refused)
{
    expect_fault_refused("on Delete* do restart server", "only a crashed server");
    expect_fault_refused("on Delete* do kill instance then restart server",
                         "only a crashed server");
    expect_fault_refused("on Delete* do crash server", "then restart server");
    expect_fault_refused("on work.begin do crash server", "then restart server");
    expect_fault_refused("on work.begin do kill instance then hold", "stands first");
    expect_fault_refused("on work.begin do delay 1s then hold", "stands first");
    expect_fault_refused("on work.begin do truncate 0.5", "status N, reset, close or hang");
    expect_fault_refused("on invoke do kill instance", "that takes profile lambda");
    expect_fault_refused("on work.begin do kill instance=2", "no such instance");
    expect_fault_refused("on sink.work.begin where group=a do status 500",
                         "here where takes key, mid");
    expect_fault_refused("on sink.work.begin where key=k-000 or not size>9 do status 500",
                         "here where takes key, mid");
    expect_fault_refused("on proc.exit where attempt=2 do kill instance=1",
                         "a process has no message");
    expect_fault_refused("on sink.work.begin do delay 1s jitter 500ms",
                         "here a delay has no jitter");
    expect_fault_refused("on sink.work.begin do reset 0.5", "say it without a part");
    expect_fault_refused("on Delete* do kill instance=QUERN0002", "no such instance");
}

static struct qn_scenario *read_with(const char *members)
{
    struct qn_scenario *scenario = NULL;
    struct qn_buf text;

    qn_buf_init(&text, 65536);
    qn_buf_append_format(&text, "{\"id\":\"a\"%s%s}",
                         strstr(members, "\"load\"") == NULL ? ",\"load\":[\"ok\"]" : "", members);
    cr_assert(qn_scenario_read(qn_buf_str(&text), "x", &scenario, &err), "%s: %s", members,
              err.message);
    qn_buf_done(&text);
    return scenario;
}

Test(scenario, queue_that_goes_away_comes_back_for_a_load)
{
    struct qn_scenario *scenario =
        read_with(",\"queue\":{\"away_for\":\"2*V\"},\"load\":[\"ok\",\"ok count=2 back=1s\"]");

    cr_expect(qn_str_equal(scenario->away_for, QN_STR("2*V")));
    cr_expect(qn_str_is_none(scenario->loads[0].back));
    cr_expect(qn_str_equal(scenario->loads[1].back, QN_STR("1s")));
    qn_scenario_free(scenario);
    expect_refused("{\"id\":\"a\",\"load\":[\"ok back=1s\"]}", "say queue.away_for");
    expect_refused("{\"id\":\"a\",\"queue\":{\"away_for\":\"1s\"},\"load\":[\"ok\"]}",
                   "no load comes when the queue is back");
    expect_refused("{\"id\":\"a\",\"queue\":{\"away_for\":\"1s\"},\"load\":[\"ok at=1s back=1s\"]}",
                   "at, back and window exclude each other");
    expect_refused("{\"id\":\"a\",\"queue\":{\"away_for\":\"soon\"},\"load\":[\"ok back=1s\"]}",
                   "queue.away_for: not a time");
}

Test(scenario, a_fault_may_be_a_window_and_a_load_wait_for_it)
{
    struct qn_scenario *scenario =
        read_with(",\"load\":[\"ok\",\"ok window=2s\"],\"faults\":[\"on Delete* once do reset\","
                  "{\"rule\":\"on ReceiveMessage do throttle as slow\",\"window\":\"2*V\"}]");

    cr_expect(qn_str_is_none(scenario->faults[0].window));
    cr_expect(qn_str_equal(scenario->faults[1].window, QN_STR("2*V")));
    cr_expect_eq(scenario->faults[1].planned, 1);
    cr_expect(qn_str_equal(scenario->loads[1].window, QN_STR("2s")));
    qn_scenario_free(scenario);
    expect_refused(
        "{\"id\":\"a\",\"load\":[\"ok\"],\"faults\":[{\"rule\":\"on sink.work.begin do hang\","
        "\"window\":\"1s\"}]}",
        "a window is of calls to the server");
    expect_refused("{\"id\":\"a\",\"load\":[\"ok\"],\"faults\":[{\"rule\":\"on Delete* do reset\","
                   "\"window\":\"soon\"}]}",
                   "faults[0]: not a time");
    expect_refused(
        "{\"id\":\"a\",\"load\":[\"ok\"],\"faults\":[{\"rule\":\"on Delete* once do reset\","
        "\"window\":\"1s\"}]}",
        "faults[0]: a window lasts until the consumer has noticed");
    expect_refused("{\"id\":\"a\",\"load\":[\"ok at=1s window=1s\"]}",
                   "at, back and window exclude each other");
}

Test(scenario, a_rule_has_its_name_as_it_stands_in_the_file)
{
    expect_refused("{\"id\":\"a\",\"load\":[\"ok\"],\"faults\":[\"on Delete* do reset as r{V}\"]}",
                   "faults[0]: the name of a rule is not filled in");
    struct qn_scenario *scenario =
        read_with(",\"load\":[\"ok\"],\"faults\":[\"on Delete* do delay {V} as r4000\"]");
    cr_expect(qn_str_equal(scenario->faults[0].name, QN_STR("r4000")));
    qn_scenario_free(scenario);
}

Test(scenario, times_are_expressions_and_are_checked_when_the_file_is_read)
{
    struct qn_scenario *scenario =
        read_with(",\"queue\":{\"visibility\":\"VH\",\"created_after\":\"5s\"},"
                  "\"end\":{\"run_for\":\"3*W+6s\",\"settle\":\"2*V\",\"final_stop\":\"judged\"}");

    cr_expect(qn_str_equal(scenario->visibility, QN_STR("VH")));
    cr_expect(qn_str_equal(scenario->created_after, QN_STR("5s")));
    cr_expect(qn_str_equal(scenario->run_for, QN_STR("3*W+6s")));
    cr_expect(qn_str_equal(scenario->settle, QN_STR("2*V")));
    cr_expect(qn_str_is_none(scenario->load_count > 0 ? scenario->loads[0].at : QN_STR("x")));
    cr_expect(scenario->judges_final_stop);
    qn_scenario_free(scenario);
    expect_refused("{\"id\":\"a\",\"load\":[\"ok\"],\"end\":{\"run_for\":\"3*X\"}}",
                   "end.run_for: not a time");
}

static int64_t planned(const char *rule)
{
    struct qn_buf member;

    qn_buf_init(&member, 65536);
    qn_buf_append_format(&member, ",\"faults\":[\"%s\"]", rule);
    qn_buf_append_char(&member, '\0');
    struct qn_scenario *scenario = read_with(member.ptr);
    int64_t times = scenario->faults[0].planned;
    qn_scenario_free(scenario);
    qn_buf_done(&member);
    return times;
}

Test(scenario, fault_must_fire_as_often_as_its_rule_says)
{
    cr_expect_eq(planned("on Delete* once do reset"), 1);
    cr_expect_eq(planned("on Delete* first 3 do reset"), 3);
    cr_expect_eq(planned("on Delete* nth 1,2,4,7 do reset"), 4);
    cr_expect_eq(planned("on Delete* prob 0.1 do reset"), 1);
    cr_expect_eq(planned("on Delete* do reset"), 1);
    cr_expect_eq(planned("on Delete* where key in (k-1,k-2) first 1 per message do reset"), 2);
    cr_expect_eq(planned("on Delete* where key=k-1 first 2 per message do reset"), 2);
    cr_expect_eq(planned("optional on Delete* first 3 do reset"), 0);
}

Test(scenario, expressions_in_rules_are_filled_in_later)
{
    struct qn_scenario *scenario =
        read_with(",\"faults\":[\"on msg.delete do after {V+1s} resurrect as back\","
                  "\"on Delete* do reset\"]");

    cr_expect(scenario->faults[0].has_blanks);
    cr_expect(qn_str_equal(scenario->faults[0].text,
                           QN_STR("on msg.delete do after {V+1s} resurrect as back")));
    cr_expect_not(scenario->faults[1].has_blanks);
    cr_expect(qn_str_equal(scenario->faults[1].name, QN_STR("fault-2")));
    qn_scenario_free(scenario);
}

Test(scenario, everything_that_is_wrong_is_told_with_its_line)
{
    static const char text[] = "{\n\"id\": \"a\",\n\"severity\": \"maybe\",\n\"load\": [\n"
                               "\"ok count=0\",\n\"sometimes\"],\n\"faults\": [\n"
                               "\"on nothing do reset\"]}";
    struct qn_scenarios scenarios = {0};
    struct qn_buf mistakes;

    qn_buf_init(&mistakes, 65536);
    cr_expect_not(qn_scenarios_read(&scenarios, qn_str_from_cstr(text), "mine", &mistakes));
    cr_expect_eq(scenarios.count, 0);
    qn_buf_append_char(&mistakes, '\0');
    static const char *const expected[] = {
        "scenario mine: line 3: severity: is never \"maybe\"; did you mean",
        "scenario mine: line 5: load[0]: count=0: say a number from 1 to 2000\n",
        "scenario mine: line 6: load[1]: sometimes: a load is ok, flaky",
        "scenario mine: line 8: faults[0]: ",
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        cr_expect_not_null(strstr(mistakes.ptr, expected[i]), "%s\nin %s", expected[i],
                           mistakes.ptr);
    }
    qn_buf_done(&mistakes);
    qn_scenarios_done(&scenarios);
}

Test(scenario, the_form_without_the_sink_replaces_what_it_names)
{
    static const char text[] = "{\"id\":\"std.x\",\"load\":[\"ok\"],\"must\":[\"ONCE\"],"
                               "\"faults\":[\"on sink.work.begin do hang as a\"],"
                               "\"without_sink\":{\"faults\":[\"on Delete* do reset as b\"]},"
                               "\"variants\":[{\"name\":\"two\",\"instances\":{\"count\":2}}]}";
    struct qn_scenarios scenarios = {0};
    struct qn_buf mistakes;

    qn_buf_init(&mistakes, 65536);
    cr_assert(qn_scenarios_read(&scenarios, qn_str_from_cstr(text), "mine", &mistakes));
    for (size_t i = 0; i < 2; i++) { /* a variant has it too */
        const struct qn_scenario *other = scenarios.items[i]->without_sink;
        cr_assert_not_null(other);
        cr_expect(qn_str_equal(other->id, scenarios.items[i]->id));
        cr_expect(qn_str_equal(scenarios.items[i]->faults[0].name, QN_STR("a")));
        cr_expect(qn_str_equal(other->faults[0].name, QN_STR("b")));
        cr_expect_eq(other->load_count, 1);
        cr_expect_not_null(json_object_get(other->json, "must"));
        cr_expect_null(json_object_get(other->json, "without_sink"));
    }
    qn_scenarios_done(&scenarios);

    static const char wrong[] = "{\"id\":\"std.x\",\"load\":[\"ok\"],\n\"without_sink\":{\n"
                                "\"must\":[\"ONE\"],\"queue\":{}}}";
    cr_expect_not(qn_scenarios_read(&scenarios, qn_str_from_cstr(wrong), "mine", &mistakes));
    qn_buf_append_char(&mistakes, '\0');
    cr_expect_not_null(strstr(mistakes.ptr, "without_sink.must[0]: "), "%s", mistakes.ptr);
    cr_expect_not_null(strstr(mistakes.ptr, "without_sink.queue: there is no such member"), "%s",
                       mistakes.ptr);
    qn_buf_done(&mistakes);
    qn_scenarios_done(&scenarios);
}

Test(scenario, variants_replace_what_they_name)
{
    static const char text[] =
        "{\"id\":\"std.x\",\"load\":[\"ok\"],\"queue\":{\"visibility\":\"V\",\"max_receive\":3},"
        "\"faults\":[\"on Delete* do reset\"],\"variants\":[{\"name\":\"restart\",\"faults\":[],"
        "\"queue\":{\"visibility\":\"VH\"}}]}";
    struct qn_scenarios scenarios = {0};
    struct qn_buf mistakes;

    qn_buf_init(&mistakes, 65536);
    cr_assert(qn_scenarios_read(&scenarios, qn_str_from_cstr(text), "mine", &mistakes));
    cr_assert_eq(scenarios.count, 2);
    cr_expect(qn_str_equal(scenarios.items[0]->id, QN_STR("std.x")));
    cr_expect_eq(scenarios.items[0]->fault_count, 1);
    cr_expect(qn_str_equal(scenarios.items[1]->id, QN_STR("std.x+restart")));
    cr_expect_eq(scenarios.items[1]->fault_count, 0);
    cr_expect_eq(scenarios.items[1]->max_receive, 3);
    cr_expect(qn_str_equal(scenarios.items[1]->visibility, QN_STR("VH")));
    cr_expect_null(json_object_get(scenarios.items[1]->json, "variants"));
    qn_buf_done(&mistakes);
    qn_scenarios_done(&scenarios);
}
