/* From an empty directory to a server with a loaded queue, and the header of the history. */
#include <stdio.h>

#include "chaos/check/bodies.h"
#include "chaos/check/declared.h"
#include "chaos/check/json_text.h"
#include "chaos/check/kept.h"
#include "chaos/check/object.h"
#include "chaos/check/report/report.h"
#include "chaos/check/running.h"
#include "server/base/clock.h"

const char *qn_running_rule(struct qn_running *run, struct qn_str text)
{
    bool has_own_bodies = run->options->bodies.count > 0;

    return has_own_bodies ? qn_bodies_rule(&run->load, text, &run->arena).ptr : text.ptr;
}

static size_t instance_limit(const struct qn_running *run)
{
    int64_t limit = run->scenario->instance_count + qn_scenario_spawn_count(run->scenario);

    return limit < QN_INSTANCES_MAX ? (size_t)limit : QN_INSTANCES_MAX;
}

/* Each of several has a port of its own. */
static void name_ports(struct qn_running *run)
{
    for (size_t i = 0; run->instance_limit > 1 && i < run->instance_limit; i++) {
        qn_history_add_port(&run->history, run->server.ports[i], run->instances[i].name);
    }
}

static json_t *ports_json(const struct qn_running *run)
{
    json_t *ports = json_object();

    for (size_t i = 0; i < run->history.port_count; i++) {
        const struct qn_history_port *item = &run->history.ports[i];
        json_object_set_new(ports, item->instance, json_integer(item->port));
    }
    return ports;
}

static bool add_rules(struct qn_running *run, struct qn_error *err)
{
    for (size_t i = 0; i < run->faults.count; i++) {
        const struct qn_fault *fault = &run->faults.items[i];
        if (!qn_faults_is_ours(fault->rule) && qn_str_is_none(fault->from->window) &&
            !qn_server_add_rule(&run->server, qn_running_rule(run, fault->text), err)) {
            return false;
        }
    }
    return qn_running_move_windows(run, err); /* the first call of all may be in the first one */
}

static json_t *planned_faults(const struct qn_scenario *scenario)
{
    json_t *list = json_array();

    for (size_t i = 0; i < scenario->fault_count; i++) {
        const struct qn_scenario_fault *fault = &scenario->faults[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:I, s:s*}", "name", fault->name.ptr, "rule",
                                        fault->text.ptr, "planned", (json_int_t)fault->planned,
                                        "window", fault->window.ptr));
    }
    return list;
}

/* The keys that belong into the dead-letter queue, by what the load says of them. */
static json_t *dead_keys(const struct qn_running *run)
{
    json_t *keys = json_array();

    for (size_t i = 0; run->scenario->has_dlq && i < run->load.count; i++) {
        const struct qn_load_message *message = &run->load.messages[i];
        if (message->copy == 1 && qn_load_is_dead(message, run->scenario->max_receive)) {
            json_array_append_new(keys, json_string(message->k.ptr));
        }
    }
    return keys;
}

/* Who ran, and how it is run again: for reports that are made from the trace alone. */
static void add_command(const struct qn_running *run, json_t *facts)
{
    json_t *command = json_array();
    struct qn_buf again;

    for (size_t i = 0; run->options->command[i] != NULL; i++) {
        json_array_append_new(command,
                              qn_report_json_text(qn_str_from_cstr(run->options->command[i])));
    }
    json_object_set_new(facts, "command", command);
    qn_buf_init(&again, SIZE_MAX / 2);
    qn_options_append_again(run->options, run->scenario->id, run->seed, &again);
    json_object_set_new(facts, "again", qn_report_json_text(qn_buf_str(&again)));
    qn_buf_done(&again);
    json_object_set_new(facts, "tempo", json_string(run->options->tempo));
}

/* With --reuse. */
static void add_process(const struct qn_running *run, json_t *facts)
{
    if (run->process.kept_from[0] != '\0') {
        json_object_set_new(facts, "process",
                            json_pack("{s:s}", "kept_from", run->process.kept_from));
    } else if (run->process.started[0] != '\0') {
        json_object_set_new(facts, "process", json_pack("{s:s}", "started", run->process.started));
    }
}

static void write_header(struct qn_running *run)
{
    const struct qn_check_options *o = run->options;
    const struct qn_judge_input *terms = &run->terms.in;
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"seed", (int64_t)run->seed},
        {"level", run->learned->is_known ? run->learned->level : QN_LEVEL_PROTOCOL},
        {"visibility_ms", terms->visibility_ms},
        {"heartbeat_visibility_ms", terms->heartbeat_visibility_ms},
        {"grace_ms", terms->grace_ms},
        {"slack_ms", terms->slack_ms},
        {"wait_ms", terms->wait_ms},
        {"restart_ms", terms->restart_ms},
        {"concurrency", terms->concurrency},
        {"prefetch", terms->prefetch},
        {"max_receive", terms->max_receive},
        {"soak_ms", terms->soak_ms},
        {"work_max_ms", terms->work_max_ms},
    };
    json_t *facts = json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "id", run->run_id, "profile",
                              o->profile, "queue", run->queue_name.ptr, "dlq",
                              run->dlq_name.ptr != NULL ? run->dlq_name.ptr : "", "self",
                              QN_SERVER_SELF, "faults", planned_faults(run->scenario));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        json_object_set_new(facts, numbers[i].name, json_integer(numbers[i].value));
    }
    json_object_set_new(facts, "dead", dead_keys(run));
    json_object_set_new(facts, "ports", ports_json(run));
    json_object_set_new(facts, "declared", qn_declared_json(o));
    add_command(run, facts);
    add_process(run, facts);
    json_t *header = json_pack("{s:s, s:i, s:O, s:o}", "kind", "header", "schema", 1, "scenario",
                               run->scenario->json, "run", facts);
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_json_text_append(&text, header, JSON_COMPACT);
    run->history.header = qn_arena_copy(&run->history.arena, qn_buf_str(&text));
    qn_buf_done(&text);
    json_decref(header);
}

/* As the load says, but for the outcome that a rule has set since. */
static const struct qn_effect_script *script_of(void *state, struct qn_str k, int64_t attempt)
{
    struct qn_running *run = state;
    const struct qn_load_message *message = qn_load_find(&run->load, k);

    run->set_outcome = qn_faults_outcome(&run->faults, k, attempt);
    if (message == NULL || qn_str_is_none(run->set_outcome)) {
        return message != NULL ? &message->script : NULL;
    }
    run->set_script = (struct qn_effect_script){message->script.work_ms, &run->set_outcome, 1};
    return &run->set_script;
}

static struct qn_str key_of_id(void *state, struct qn_str id)
{
    const struct qn_running *run = state;
    const struct qn_load_message *message = qn_load_find(&run->load, id);

    return message != NULL ? message->k : QN_STR_NONE;
}

static struct qn_str key_of_body(void *state, struct qn_str body, bool *ret_is_readable)
{
    const struct qn_running *run = state;
    struct qn_str key = QN_STR_NONE;

    for (size_t i = 0; i < run->load.count; i++) {
        const struct qn_load_message *message = &run->load.messages[i];
        if (qn_str_equal(message->body, body)) {
            if (!qn_str_is_none(key) && !qn_str_equal(key, message->k)) {
                return QN_STR_NONE;
            }
            key = message->k;
            *ret_is_readable = message->outcome != QN_LOAD_BADJSON;
        }
    }
    return key;
}

static int object_of(void *state, struct qn_str name, struct qn_str *ret_k,
                     struct qn_str *ret_content)
{
    struct qn_running *run = state;
    const struct qn_load_message *message = qn_load_find(&run->load, name);

    if (message == NULL || !qn_str_equal(message->object_name, name)) {
        return 0;
    }
    *ret_k = message->k;
    return qn_object_get(message, &run->arena, ret_content);
}

static struct qn_str instance_of(void *state, struct qn_str header, struct qn_str k)
{
    struct qn_running *run = state;
    int64_t number;

    if (qn_str_to_int64(header, 1, (int64_t)run->instance_count, &number)) {
        return qn_str_from_cstr(run->instances[number - 1].name);
    }
    if (!qn_str_is_none(header) || run->instance_limit == 1) {
        const struct qn_instance *instance = qn_instance_find(run, header);
        return instance != NULL ? qn_str_from_cstr(instance->name) : QN_STR_NONE;
    }
    struct qn_str owner = qn_watch_owner_of(&run->history, &run->watch, k);
    struct qn_error ignored; /* the trace's failures are counted where it is read in turn */
    if (qn_str_is_none(owner) && run->server.pid != 0 && qn_running_read_trace(run, &ignored)) {
        owner = qn_watch_owner_of(&run->history, &run->watch, k); /* its lease is a moment old */
    }
    return owner;
}

static struct qn_effect_verdict at_event(void *state, const struct qn_check_event *event)
{
    static const struct qn_effect_verdict nothing = {.fate = QN_EFFECT_GO_ON};
    struct qn_running *run = state;

    if (event->kind == QN_CHECK_PROC) { /* the sink's ready: already recorded */
        struct qn_instance *instance = qn_instance_find(run, event->instance);
        if (instance != NULL) {
            instance->is_ready = true;
        }
    }
    if (run->is_over) {
        return nothing;
    }
    struct qn_effect_verdict verdict = qn_faults_at(&run->faults, event);
    qn_running_change_sink(run);
    return verdict;
}

static bool open_sink(struct qn_running *run, struct qn_error *err)
{
    const struct qn_routes_options options = {
        .effects = {.recorder = &run->recorder,
                    .script = script_of,
                    .at_event = at_event,
                    .state = run,
                    .capacity = run->options->sink_capacity,
                    .busy_is_409 = run->options->sink_busy_is_409},
        .bind = run->options->bind_address,
        .instance_of = instance_of,
        .key_of_id = key_of_id,
        .key_of_body = key_of_body,
        .object_of = object_of,
    };

    if (run->sink != NULL) {
        qn_sink_renew(run->sink, &options);
        return true;
    }
    return qn_sink_open(&options, &run->sink, err);
}

static void name_instances(struct qn_running *run)
{
    run->instance_count = (size_t)run->scenario->instance_count;
    run->instance_limit = instance_limit(run);
    for (size_t i = 0; i < run->instance_limit; i++) {
        run->instances[i].number = (int)i + 1;
        (void)snprintf(run->instances[i].name, sizeof(run->instances[i].name), "QUERN%04zu", i + 1);
    }
}

void qn_running_prepare(struct qn_running *run)
{
    qn_arena_init(&run->arena, SIZE_MAX / 2);
    name_instances(run);
    qn_terms_init(&run->terms, run->scenario, run->options, run->learned);
    qn_running_name_queues(run);
}

bool qn_running_set_up(struct qn_running *run, struct qn_error *err)
{
    const struct qn_server_options server = {
        .program = run->options->server_program,
        .bind = run->options->bind_address,
        .directory = run->directory,
        .seed = run->seed,
        .port_count = instance_limit(run),
    };

    qn_running_prepare(run);
    qn_history_init(&run->history);
    run->history.keeps_lines = true;
    run->recorder.history = &run->history;
    qn_watch_init(&run->watch, run->queue_name, QN_STR(QN_SERVER_SELF),
                  run->instance_limit == 1 ? qn_str_from_cstr(run->instances[0].name)
                                           : QN_STR_NONE);
    if (!qn_faults_init(&run->faults, run->scenario, &run->terms, &run->recorder, run->seed, err) ||
        (!qn_kept_take_over(run) && !qn_server_start(&run->server, &server, &run->recorder, err))) {
        return false;
    }
    qn_windows_init(&run->windows, &run->faults, &run->terms);
    run->windows.pollers = run->learned->pollers > 0 ? run->learned->pollers : run->windows.pollers;
    name_ports(run);
    qn_terms_set_slack(&run->terms, run->server.start_ms);
    if (run->options->slack_ms >= 0) {
        run->terms.in.slack_ms = run->options->slack_ms;
    }
    if (!open_sink(run, err)) {
        return false;
    }
    const struct qn_load_options load = {
        .is_fifo = run->options->is_fifo,
        .seed = run->seed,
        .run_id = run->run_id,
        .now_ms = qn_recorder_now_ms(&run->recorder),
        .terms = &run->terms,
        .check = run->options,
        .sink_url = qn_running_sink_url(run),
    };
    qn_load_init(&run->load, run->scenario, &load);
    if (!qn_running_create_queues(run, err)) {
        return false;
    }
    write_header(run);
    return add_rules(run, err);
}

void qn_running_tear_down(struct qn_running *run)
{
    qn_sink_close(run->sink);
    quern_text_free(run->queue_url);
    quern_text_free(run->dlq_url);
    quern_text_free(run->output_queue_url);
    quern_text_free(run->retry_queue_url);
    qn_server_stop(&run->server);
    qn_windows_done(&run->windows);
    qn_faults_done(&run->faults);
    qn_watch_done(&run->watch);
    qn_load_done(&run->load);
    qn_recorder_unmap(&run->recorder);
    qn_history_done(&run->history);
    qn_arena_done(&run->arena);
}
