/* What a scenario is about and a consumer turned out not to do: then there is nothing to judge. */
#include <string.h>

#include "chaos/check/json_text.h"
#include "chaos/check/judge/judge.h"

static bool has_event(const struct qn_history *history, enum qn_check_kind kind)
{
    for (size_t i = 0; i < history->count; i++) {
        if (history->events[i].kind == kind) {
            return true;
        }
    }
    return false;
}

static bool has_step(const struct qn_history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        if (!qn_str_is_none(history->events[i].detail->step)) {
            return true;
        }
    }
    return false;
}

static bool has_unnamed(const struct qn_judge_input *in)
{
    for (size_t i = 0; i < in->history->count; i++) {
        if (qn_judge_is_unnamed(in, &in->history->events[i])) {
            return true;
        }
    }
    return false;
}

const char *qn_judge_lacks(const struct qn_judge_input *in, const json_t *needs)
{
    if (qn_json_text_is_in(needs, "reject") && in->poison != QN_POISON_QUARANTINE &&
        !has_event(in->history, QN_CHECK_REJECT)) {
        return "needs a consumer that records what it will not work on (POST /v1/rejects), and "
               "this one did not (--poison quarantine says that it should)";
    }
    if (qn_json_text_is_in(needs, "state") && !has_event(in->history, QN_CHECK_STATE)) {
        return "needs a consumer that keeps the version of each entity (PUT /v1/state/ENTITY), and "
               "this one did not";
    }
    if (qn_json_text_is_in(needs, "steps") && !has_step(in->history)) {
        return "needs a consumer that works in several steps (POST /v1/steps/NAME), and this one "
               "did not";
    }
    if ((qn_json_text_is_in(needs, "output_queue") || qn_json_text_is_in(needs, "retry_queue")) &&
        has_unnamed(in)) {
        return "needs an idempotencyKey in each body that the consumer sends, by which effects and "
               "messages are matched, and some had none";
    }
    return NULL;
}

bool qn_judge_never_extends(const struct qn_judge_input *in, const json_t *needs)
{
    const char *said = json_string_value(qn_declaration(in->declared, QN_STR("heartbeat")));

    if (!qn_json_text_is_in(needs, "heartbeat") || (said != NULL && strcmp(said, "yes") == 0)) {
        return false;
    }
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind == QN_CHECK_API_IN &&
            qn_judge_is_call(in, event, QN_STR("ChangeMessageVisibility*"))) {
            return false;
        }
    }
    return true;
}

bool qn_judge_was_done_before_kill(const struct qn_judge_input *in)
{
    struct qn_table bombs;
    bool is_deleted = false;

    qn_table_init_for(&bombs, sizeof(bool), &in->history->texts);
    for (size_t i = 0; in->level < QN_LEVEL_SINK && !is_deleted && i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (event->kind == QN_CHECK_LOAD && qn_str_equal(event->what, QN_STR("bomb"))) {
            (void)qn_table_at_kept(&bombs, event->k);
        }
        is_deleted = event->kind == QN_CHECK_MSG_DELETE && !event->undone &&
                     qn_judge_on_source(in, event) && qn_table_find_kept(&bombs, event->k) != NULL;
    }
    qn_table_done(&bombs);
    return is_deleted;
}

void qn_judge_say_unseen(enum qn_level level, bool takes_counts, struct qn_buf *reason)
{
    if (level == QN_LEVEL_COMMAND && !takes_counts) {
        qn_buf_append_literal(reason,
                              "needs the effect sink ($QUERN_SINK_URL): the effects command "
                              "tells only what is there at the end");
        return;
    }
    qn_buf_append_format(reason,
                         "needs the effect sink%s, and no call of the consumer's was seen that it "
                         "could take ($QUERN_SINK_URL)",
                         takes_counts ? " or --effects-cmd" : "");
}
