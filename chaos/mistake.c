/* The list of what is wrong in a text of rules. */
#include "chaos/mistake.h"

#include <stdio.h>
#include <string.h>

#include "server/base/memory.h"

void qn_mistakes_add(struct qn_mistakes *mistakes, int64_t line, int64_t column,
                     const char *message)
{
    struct qn_error what; /* cuts what is too long, between characters */

    if (mistakes->count == mistakes->cap) {
        mistakes->cap = mistakes->cap > 0 ? 2 * mistakes->cap : 8;
        mistakes->all = qn_memory_resize(mistakes->all, mistakes->cap, sizeof(mistakes->all[0]));
    }
    (void)qn_fail(&what, QN_ERR_INVALID_PARAMETER_VALUE, "%s", message);
    mistakes->all[mistakes->count++] = (struct qn_mistake){
        mistakes->text, line, column, qn_memory_copy_text(what.message, strlen(what.message))};
}

void qn_mistakes_done(struct qn_mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes->count; i++) {
        qn_memory_free(mistakes->all[i].what);
    }
    qn_memory_free(mistakes->all);
    *mistakes = (struct qn_mistakes){.count = 0};
}

bool qn_mistakes_fail(const struct qn_mistakes *mistakes, struct qn_error *err)
{
    const struct qn_mistake *first = &mistakes->all[0];
    char more[64] = "";

    if (mistakes->count > 1) {
        (void)snprintf(more, sizeof(more), " (and %zu more mistake%s)", mistakes->count - 1,
                       mistakes->count > 2 ? "s" : "");
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "line %lld, column %lld: %s%s",
                   (long long)first->line, (long long)first->column, first->what, more);
}

json_t *qn_mistakes_list(const struct qn_mistakes *mistakes, bool has_texts)
{
    json_t *list = json_array();

    for (size_t i = 0; i < mistakes->count; i++) {
        const struct qn_mistake *mistake = &mistakes->all[i];
        json_t *row = json_pack("{s:I, s:I, s:s}", "line", (json_int_t)mistake->line, "column",
                                (json_int_t)mistake->column, "message", mistake->what);
        if (has_texts) {
            json_object_set_new(row, "index", json_integer((json_int_t)mistake->text));
        }
        json_array_append_new(list, row);
    }
    return list;
}
