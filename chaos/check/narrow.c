/* Leaving rules out of a scenario: those that stay keep their names, by which they draw. */
#include "chaos/check/narrow.h"

#include "chaos/check/json_text.h"
#include "chaos/lex.h"

enum { NAMES_MAX = 64 };

static bool is_named(struct qn_str names, struct qn_str name)
{
    while (names.len > 0) {
        if (qn_str_equal(qn_str_trim(qn_str_cut(names, ',', &names)), name)) {
            return true;
        }
    }
    return false;
}

static bool fail_unknown(const struct qn_scenario *scenario, struct qn_str name,
                         struct qn_error *err)
{
    const char *all[NAMES_MAX];
    size_t count = 0;

    for (; count < scenario->fault_count && count < NAMES_MAX; count++) {
        all[count] = scenario->faults[count].name.ptr;
    }
    const char *nearest = qn_nearest_word(name, all, count);
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "%s has no rule \"%.*s\"%s%s%s (quern scenarios show %s has their names)",
                   scenario->id.ptr, QN_STR_ARG(name), nearest != NULL ? "; did you mean " : "",
                   nearest != NULL ? nearest : "", nearest != NULL ? "?" : "", scenario->id.ptr);
}

static bool has_rule(const struct qn_scenario *scenario, struct qn_str name)
{
    for (size_t i = 0; i < scenario->fault_count; i++) {
        if (qn_str_equal(name, scenario->faults[i].name)) {
            return true;
        }
    }
    return false;
}

static bool check_names(const struct qn_scenario *scenario, struct qn_str names,
                        struct qn_error *err)
{
    while (names.len > 0) {
        struct qn_str name = qn_str_trim(qn_str_cut(names, ',', &names));
        if (!has_rule(scenario, name) &&
            (scenario->without_sink == NULL || !has_rule(scenario->without_sink, name))) {
            return fail_unknown(scenario, name, err);
        }
    }
    return true;
}

static json_t *named_faults(const struct qn_scenario *scenario, struct qn_str names)
{
    json_t *faults = json_array();

    for (size_t i = 0; i < scenario->fault_count; i++) {
        const struct qn_scenario_fault *fault = &scenario->faults[i];
        if (is_named(names, fault->name)) {
            json_array_append_new(faults, json_pack("{s:s, s:I, s:s*}", "rule", fault->text.ptr,
                                                    "planned", (json_int_t)fault->planned, "window",
                                                    fault->window.ptr));
        }
    }
    return faults;
}

bool qn_narrow(const struct qn_scenario *scenario, struct qn_str names,
               struct qn_scenario **ret_scenario, struct qn_error *err)
{
    struct qn_buf text;

    if (qn_str_equal(names, QN_STR(QN_NARROW_NONE))) {
        names = QN_STR("");
    }
    if (!check_names(scenario, names, err)) {
        return false;
    }
    json_t *json = json_deep_copy(scenario->json);
    json_object_set_new(json, "faults", named_faults(scenario, names));
    if (scenario->without_sink != NULL) {
        json_object_set_new(json_object_get(json, "without_sink"), "faults",
                            named_faults(scenario->without_sink, names));
    }
    json_object_del(json, "variants"); /* each of them is a scenario of its own already */
    qn_buf_init(&text, SIZE_MAX / 2);
    qn_json_text_append(&text, json, JSON_COMPACT);
    json_decref(json);
    bool ok = qn_scenario_read(qn_buf_str(&text), scenario->id.ptr, ret_scenario, err);
    qn_buf_done(&text);
    return ok;
}
