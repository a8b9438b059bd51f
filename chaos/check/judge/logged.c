/* The functions of expressions that read the consumer's log. */
#include <stdio.h>

#include "chaos/check/judge/expression.h"

/* Lines of its log that have a canary in them, plain or as base64 has it at each of three places.
 */
double qn_expression_canaries(struct qn_expression *x)
{
    static const char *const forms[] = {"CANARY-", "Q0FOQVJZ", "NBTkFSW", "DQU5BUlkt"};
    double count = 0;

    x->pattern = QN_STR("log");
    for (size_t i = 0; i < x->in->history->count; i++) {
        const struct qn_check_event *event = &x->in->history->events[i];
        bool has_any = false;
        for (size_t j = 0; event->kind == QN_CHECK_LOG && j < 4; j++) {
            struct qn_str form = qn_str_from_cstr(forms[j]);
            has_any =
                has_any || qn_str_find(event->detail->reason, form) < event->detail->reason.len;
        }
        count += has_any;
    }
    return count;
}

static bool has_text(struct qn_str line, struct qn_str part)
{
    return part.len > 0 && qn_str_find(line, part) < line.len;
}

/* Lines of its log that name one of these messages: by the queue's id, the key, or the id of the
 * payload, which has the number of the key. */
double qn_expression_printed(struct qn_expression *x, struct qn_str selector)
{
    const struct qn_history *history = x->in->history;
    double count = 0;

    x->pattern = QN_STR("log");
    for (size_t i = 0; i < history->count; i++) {
        struct qn_str line = history->events[i].detail->reason;
        bool names_any = false;
        for (size_t j = 0; j < history->count && history->events[i].kind == QN_CHECK_LOG; j++) {
            const struct qn_check_event *sent = &history->events[j];
            char id[32] = "";
            if (sent->kind != QN_CHECK_LOAD || names_any ||
                !qn_expression_is_about(x->in, sent, selector)) {
                continue;
            }
            struct qn_str number = qn_str_from(sent->k, sent->k.len > 2 ? 2 : sent->k.len);
            (void)snprintf(id, sizeof(id), "m-%.*s", QN_STR_ARG(qn_str_first(number, 20)));
            names_any = has_text(line, sent->mid) || has_text(line, sent->k) ||
                        (number.len > 0 && has_text(line, qn_str_from_cstr(id)));
        }
        count += names_any;
    }
    return count;
}
