/* --effects-cmd: at the end of a scenario the user's own command tells how often each effect is
 * there. */
#include <stdio.h>

#include "chaos/check/files.h"
#include "chaos/check/running.h"

enum { TOLD_MAX = 60 };

/* Of another scenario, from a store that outlives the scenario. */
static bool is_of_another(const struct qn_running *run, struct qn_str key)
{
    return run->options->bodies.count > 0 && !qn_str_starts_with(key, run->load.tag);
}

static bool take_line(struct qn_running *run, struct qn_str line, size_t number,
                      struct qn_table *seen, struct qn_error *err)
{
    struct qn_str text;
    struct qn_str key = qn_str_cut(line, '\t', &text);
    struct qn_check_event event;
    struct qn_check_detail detail;
    int64_t count;

    if (qn_str_is_none(text) || key.len == 0 ||
        !qn_str_to_int64(qn_str_trim(text), 0, INT32_MAX, &count)) {
        return qn_fail(err, QN_ERR_INTERNAL,
                       "--effects-cmd, line %zu: a key, a tab and a number are expected, not "
                       "\"%.*s\"",
                       number, (int)qn_str_first(line, TOLD_MAX).len, line.ptr);
    }
    if (qn_table_find(seen, key) != NULL) {
        return qn_fail(err, QN_ERR_INTERNAL, "--effects-cmd, line %zu: %.*s is there twice", number,
                       (int)qn_str_first(key, TOLD_MAX).len, key.ptr);
    }
    (void)qn_table_at(seen, key);
    if (is_of_another(run, key)) {
        return true;
    }
    const struct qn_load_message *message = qn_load_find(&run->load, key);
    qn_check_event_init(&event, &detail, QN_CHECK_EFFECT_COUNT);
    event.k = message != NULL ? message->k : key;
    detail.count = count;
    qn_record(&run->recorder, &event);
    return true;
}

static bool take_lines(struct qn_running *run, struct qn_str text, struct qn_error *err)
{
    struct qn_table seen;
    size_t number = 0;
    bool ok = true;

    qn_table_init(&seen, 1);
    while (ok && text.len > 0) {
        struct qn_str line = qn_str_cut(text, '\n', &text);
        number++;
        if (line.len > 0 && line.ptr[line.len - 1] == '\r') {
            line.len--;
        }
        ok = line.len == 0 || take_line(run, line, number, &seen, err);
    }
    qn_table_done(&seen);
    return ok;
}

/* Even nothing is an answer: without an event the judge would take the command for not given. */
static void record_absent(struct qn_running *run)
{
    struct qn_check_event event;
    struct qn_check_detail detail;
    bool any = false;

    for (size_t i = 0; i < run->history.count; i++) {
        any = any || run->history.events[i].kind == QN_CHECK_EFFECT_COUNT;
    }
    if (!any && run->load.count > 0) {
        qn_check_event_init(&event, &detail, QN_CHECK_EFFECT_COUNT);
        event.k = run->load.messages[0].k;
        detail.count = 0;
        qn_record(&run->recorder, &event);
    }
}

bool qn_running_count_effects(struct qn_running *run, struct qn_error *err)
{
    const char *output = qn_arena_format(&run->arena, "%s/effects.txt", run->directory).ptr;
    const struct qn_user_command command = {.option = "--effects-cmd",
                                            .text = run->options->effects_command,
                                            .input = "/dev/null",
                                            .output = output};
    struct qn_buf text;

    if (run->options->effects_command == NULL) {
        return true;
    }
    qn_buf_init(&text, SIZE_MAX / 2);
    bool ok = qn_running_run_command(run, &command, err) && qn_files_read(output, &text, err) &&
              take_lines(run, qn_buf_str(&text), err);
    qn_buf_done(&text);
    if (ok) {
        record_absent(run);
    }
    return ok;
}
