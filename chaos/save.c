/* Rules as bytes, for the next process of the same server. Their counters lie elsewhere, found by
 * the names. */
#include "chaos/plan.h"

void qn_plan_save(const struct qn_plan *plan, int64_t now_ms, struct qn_buf *ret_saved)
{
    qn_buf_append_u64(ret_saved, (uint64_t)plan->ready_ms);
    qn_buf_append_u8(ret_saved, plan->is_ready);
    qn_buf_append_u64(ret_saved, plan->names_given);
    qn_buf_append_u64(ret_saved, plan->rule_count);
    for (size_t i = 0; i < plan->rule_count; i++) {
        const struct qn_plan_rule *item = plan->rules[i];
        qn_buf_append_bytes(ret_saved, item->name);
        qn_buf_append_bytes(ret_saved, item->rule->text);
        qn_sends_save(item->rule, ret_saved);
        /* One that was added this moment is asked for the first time at once. */
        qn_buf_append_u64(
            ret_saved,
            (uint64_t)(item->state.since_ms == INT64_MIN ? now_ms : item->state.since_ms));
        qn_buf_append_u8(ret_saved, item->is_disabled);
    }
}

static bool restore_rule(struct qn_plan *plan, struct qn_reader *reader,
                         struct qn_mistakes *mistakes)
{
    struct qn_str name = qn_reader_bytes(reader);
    struct qn_str text = qn_reader_bytes(reader);
    const struct qn_rule_names *names = plan->names.actions != NULL ? &plan->names : NULL;
    struct qn_rule *rule;

    if (reader->failed || !qn_rule_read(text, 1, names, &rule, mistakes)) {
        return false;
    }
    bool ok = qn_sends_restore(rule, reader, mistakes);
    int64_t since_ms = (int64_t)qn_reader_u64(reader);
    bool is_disabled = qn_reader_u8(reader) != 0;
    if (!ok || reader->failed) {
        qn_rule_free(rule);
        return false;
    }
    qn_plan_append(plan, rule, name);
    plan->rules[plan->rule_count - 1]->state.since_ms = since_ms;
    plan->rules[plan->rule_count - 1]->is_disabled = is_disabled;
    return true;
}

bool qn_plan_restore(struct qn_plan *plan, struct qn_str saved, struct qn_error *err)
{
    struct qn_mistakes mistakes = {.count = 0};
    struct qn_reader reader;

    qn_reader_init(&reader, saved);
    int64_t ready_ms = (int64_t)qn_reader_u64(&reader);
    bool is_ready = qn_reader_u8(&reader) != 0;
    if (plan->ready_slot == NULL || plan->ready_slot[1] == 0) {
        plan->ready_ms = ready_ms; /* nothing has come since; it would lie with the counters */
        plan->is_ready = is_ready;
    }
    plan->names_given = qn_reader_u64(&reader);
    for (uint64_t left = qn_reader_u64(&reader); left > 0; left--) {
        if (!restore_rule(plan, &reader, &mistakes)) {
            (void)(mistakes.count > 0 ? qn_mistakes_fail(&mistakes, err)
                                      : qn_fail(err, QN_ERR_INTERNAL,
                                                "the rules of the process before are damaged"));
            qn_mistakes_done(&mistakes);
            return false;
        }
    }
    qn_plan_reindex(plan);
    return true;
}
