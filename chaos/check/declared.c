/* Declarations and waivers as data. */
#include "chaos/check/declared.h"

static const char *const usual_exits[] = {"0", "143"};

static void set_text(json_t *object, const char *name, const char *text)
{
    if (text != NULL) {
        json_object_set_new(object, name, json_string(text));
    }
}

static void set_number(json_t *object, const char *name, int64_t value)
{
    if (value > 0) {
        json_object_set_new(object, name, json_integer((json_int_t)value));
    }
}

/* Zero means nothing where the number is not said. */
static const char *const *exits_of(const struct qn_check_options *options, size_t *ret_count)
{
    const struct qn_text_list *said = &options->expect_exit;

    *ret_count = said->count > 0 ? said->count : sizeof(usual_exits) / sizeof(usual_exits[0]);
    return said->count > 0 ? said->items : usual_exits;
}

bool qn_declared_exits_are_usual(const struct qn_check_options *options)
{
    size_t count;
    const char *const *exits = exits_of(options, &count);
    bool is_usual = count == sizeof(usual_exits) / sizeof(usual_exits[0]);

    for (size_t i = 0; i < count && is_usual; i++) {
        is_usual = strcmp(exits[i], usual_exits[i]) == 0;
    }
    return is_usual;
}

json_t *qn_declared_json(const struct qn_check_options *options)
{
    json_t *object = json_object();
    json_t *codes = json_array();
    size_t count;
    const char *const *exits = exits_of(options, &count);

    for (size_t i = 0; i < count; i++) {
        int64_t code = 0;
        if (qn_str_to_int64(qn_str_from_cstr(exits[i]), 0, 255, &code)) {
            json_array_append_new(codes, json_integer((json_int_t)code));
        }
    }
    set_number(object, "concurrency", options->concurrency);
    set_number(object, "prefetch", options->prefetch);
    set_number(object, "work_max_ms", options->work_max_ms);
    json_object_set_new(object, "grace_ms", json_integer((json_int_t)options->grace_ms));
    set_text(object, "heartbeat", options->heartbeat);
    set_text(object, "idempotency", options->idempotency);
    json_object_set_new(object, "at_most_once", json_boolean(options->at_most_once));
    set_text(object, "poison", options->poison);
    set_text(object, "fifo_on_failure", options->fifo_on_failure);
    set_text(object, "retry_queue", options->retry_queue);
    set_text(object, "output_queue", options->output_queue);
    json_object_set_new(object, "expect_exit", codes);
    set_text(object, "restart", options->restart);
    return object;
}

bool qn_declared_exit(const struct qn_check_options *options, int64_t exit_code)
{
    size_t count;
    const char *const *exits = exits_of(options, &count);

    for (size_t i = 0; i < count; i++) {
        int64_t code;
        if (qn_str_to_int64(qn_str_from_cstr(exits[i]), 0, 255, &code) && code == exit_code) {
            return true;
        }
    }
    return false;
}

const char *qn_waiver_of(const struct qn_check_options *options, const struct qn_scenario *scenario)
{
    for (size_t i = 0; i < options->waive.count; i++) {
        struct qn_str reason;
        struct qn_str pattern = qn_str_cut(qn_str_from_cstr(options->waive.items[i]), '=', &reason);
        if (qn_rule_glob(pattern, scenario->id)) {
            return reason.ptr;
        }
    }
    return NULL;
}
