/* The list of what is wrong in a text of rules. */
#include "chaos/mistake.h"

#include <stdio.h>

void qn_mistakes_add(struct qn_mistakes *mistakes, int64_t line, int64_t column,
                     const char *message)
{
    if (mistakes->count < QN_MISTAKES_KEPT) {
        struct qn_mistake *mistake = &mistakes->kept[mistakes->count];
        mistake->text = mistakes->text;
        mistake->line = line;
        mistake->column = column;
        (void)qn_fail(&mistake->what, QN_ERR_INVALID_PARAMETER_VALUE, "%s", message);
    }
    mistakes->count++;
}

size_t qn_mistakes_kept(const struct qn_mistakes *mistakes)
{
    return mistakes->count < QN_MISTAKES_KEPT ? mistakes->count : QN_MISTAKES_KEPT;
}

bool qn_mistakes_fail(const struct qn_mistakes *mistakes, struct qn_error *err)
{
    const struct qn_mistake *first = &mistakes->kept[0];
    char more[64] = "";

    if (mistakes->count > 1) {
        (void)snprintf(more, sizeof(more), " (and %zu more mistake%s)", mistakes->count - 1,
                       mistakes->count > 2 ? "s" : "");
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "line %lld, column %lld: %s%s",
                   (long long)first->line, (long long)first->column, first->what.message, more);
}

json_t *qn_mistakes_list(const struct qn_mistakes *mistakes, bool has_texts)
{
    json_t *list = json_array();

    for (size_t i = 0; i < qn_mistakes_kept(mistakes); i++) {
        const struct qn_mistake *mistake = &mistakes->kept[i];
        json_t *row = json_pack("{s:I, s:I, s:s}", "line", (json_int_t)mistake->line, "column",
                                (json_int_t)mistake->column, "message", mistake->what.message);
        if (has_texts) {
            json_object_set_new(row, "index", json_integer((json_int_t)mistake->text));
        }
        json_array_append_new(list, row);
    }
    return list;
}
