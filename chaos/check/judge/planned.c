/* How often each rule of the scenario fired, of the times that were planned. A delayed action may
 * come too late to have an effect: then the consumer stood nothing, and the rule has not fired. */
#include "chaos/check/judge/judge.h"

static const char not_done[] = "not done: ";

/* An event of a batch may be about several messages; one that lost to another rule is about none.
 */
static int64_t times_fired(const struct qn_check_event *event)
{
    int64_t times = 1;

    if (qn_str_starts_with(event->detail->reason, QN_STR("shadowed"))) {
        return 0;
    }
    for (size_t i = 0; i < event->detail->target.len; i++) {
        times += event->detail->target.ptr[i] == ',';
    }
    return times;
}

/* Says that an action of this rule could not be done. */
static bool is_not_done(const struct qn_check_event *event, struct qn_str rule)
{
    struct qn_str target = event->detail->target;

    return event->kind == QN_CHECK_FAULT && qn_str_is_none(event->detail->rule) &&
           qn_str_starts_with(target, QN_STR("rule=")) &&
           qn_str_equal(qn_str_from(target, strlen("rule=")), rule) &&
           qn_str_starts_with(event->detail->reason, qn_str_from_cstr(not_done));
}

/* Of a chain several actions may fail at one firing: the one that failed most often counts. */
static void count_not_done(struct qn_judgement *judgement, struct qn_planned_fault *fault,
                           const struct qn_history *history)
{
    struct qn_str rule = qn_str_from_cstr(fault->rule);
    struct qn_table actions; /* int64_t */

    qn_table_init(&actions, sizeof(int64_t));
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (!is_not_done(event, rule)) {
            continue;
        }
        int64_t *times = qn_table_at(&actions, event->code);
        ++*times;
        fault->vain = *times > fault->vain ? *times : fault->vain;
        fault->why =
            qn_arena_copy(&judgement->arena, qn_str_from(event->detail->reason, strlen(not_done)))
                .ptr;
    }
    qn_table_done(&actions);
    fault->fired -= fault->vain < fault->fired ? fault->vain : fault->fired;
}

void qn_judge_count_faults(struct qn_judgement *judgement, const struct qn_history *history,
                           const json_t *run)
{
    const json_t *planned = json_object_get(run, "faults");
    size_t i;
    const json_t *item;

    judgement->faults = qn_arena_alloc(&judgement->arena, (json_array_size(planned) + 1) *
                                                              sizeof(struct qn_planned_fault));
    json_array_foreach(planned, i, item)
    {
        struct qn_planned_fault *fault = &judgement->faults[judgement->fault_count++];
        struct qn_str name = qn_str_from_cstr(json_string_value(json_object_get(item, "name")));
        *fault = (struct qn_planned_fault){
            .rule = qn_arena_copy(&judgement->arena, name).ptr,
            .planned = json_integer_value(json_object_get(item, "planned")),
        };
        for (size_t j = 0; j < history->count; j++) {
            const struct qn_check_event *event = &history->events[j];
            if (event->kind == QN_CHECK_FAULT && qn_str_equal(event->detail->rule, name)) {
                fault->fired += times_fired(event);
            }
        }
        count_not_done(judgement, fault, history);
    }
}
