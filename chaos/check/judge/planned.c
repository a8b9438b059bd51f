/* How often each rule of the scenario fired, of the times that were planned. */
#include "chaos/check/judge/judge.h"

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
        fault->rule = qn_arena_copy(&judgement->arena, name).ptr;
        fault->planned = json_integer_value(json_object_get(item, "planned"));
        for (size_t j = 0; j < history->count; j++) {
            const struct qn_check_event *event = &history->events[j];
            if (event->kind == QN_CHECK_FAULT && qn_str_equal(event->detail->rule, name)) {
                fault->fired += times_fired(event);
            }
        }
    }
}
