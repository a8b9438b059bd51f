/* Whether a consumer, and the function of one, came up at all: one that never does is not to be
 * judged by what became of its messages. */
#include <stdio.h>

#include "chaos/check/judge/judge.h"

enum { LINE_SHOWN_MAX = 140, WHY_SHOWN_MAX = 120 };

bool qn_judge_is_ready(const struct qn_history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (event->kind == QN_CHECK_PROC && qn_str_equal(event->what, QN_STR("ready"))) {
            return true;
        }
    }
    return false;
}

/* The function's own: what polls for it prints into the same log. */
static bool is_of_function(struct qn_str line)
{
    return line.len > 0 && !qn_str_starts_with(line, QN_STR("quern lambda: "));
}

/* True: the text began with these words, and does no more. */
static bool cut_words(struct qn_str *text, struct qn_str words)
{
    bool begins = qn_str_starts_with(*text, words);

    if (begins) {
        *text = qn_str_from(*text, words.len);
    }
    return begins;
}

bool qn_judge_never_started(const struct qn_judge_input *in, char *ret_text, size_t size)
{
    const struct qn_check_event *failure = NULL;
    struct qn_str line = QN_STR_NONE;

    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind == QN_CHECK_LAMBDA_STARTED) {
            return false;
        }
        if (event->kind == QN_CHECK_LAMBDA_NOT_STARTED) {
            failure = event;
        } else if (event->kind == QN_CHECK_LOG && is_of_function(event->detail->reason)) {
            line = event->detail->reason;
        }
    }
    if (failure == NULL) {
        return false;
    }
    /* Words that name the function already stand in front. */
    struct qn_str why = failure->detail->reason;
    (void)cut_words(&why, QN_STR("Runtime.ExitError: "));
    bool is_about_it = cut_words(&why, QN_STR("the function "));
    why = qn_str_first(why, WHY_SHOWN_MAX);
    line = qn_str_first(line, LINE_SHOWN_MAX);
    (void)snprintf(ret_text, size, "the function never asked for an event: %s%.*s%s%.*s",
                   is_about_it ? "it " : "", QN_STR_ARG(why),
                   line.len > 0 ? "; the last that it printed: " : "", QN_STR_ARG(line));
    return true;
}
