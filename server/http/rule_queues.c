/* Queues that fault rules name and that are not there: a slip, or they come later. */
#include "chaos/rule.h"
#include "server/base/log.h"
#include "server/http/internal.h"

/* Whether a queue has this name, or one that fits the wildcards. */
static bool queue_exists(const struct qn_loop *loop, struct qn_str pattern)
{
    struct qn_queue *queue;

    for (size_t i = 0; (queue = qn_engine_queue_at(loop->parts.engine, i)) != NULL; i++) {
        if (qn_rule_glob(pattern, qn_queue_name(queue))) {
            return true;
        }
    }
    return false;
}

json_t *qn_rule_queues_unknown(const struct qn_loop *loop, const json_t *rule)
{
    json_t *unknown = json_array();
    size_t i;
    json_t *queue;

    json_array_foreach(json_object_get(rule, "queues"), i, queue)
    {
        if (!queue_exists(loop, qn_str(json_string_value(queue), json_string_length(queue)))) {
            json_array_append(unknown, queue);
        }
    }
    return unknown;
}

static void tell(const struct qn_loop *loop, const json_t *rule)
{
    json_t *unknown = qn_rule_queues_unknown(loop, rule);
    size_t i;
    const json_t *queue;

    json_array_foreach(unknown, i, queue)
    {
        qn_log(QN_LOG_INFO, "chaos",
               "a rule names a queue that is not there (yet) rule=%s queue=%s",
               json_string_value(json_object_get(rule, "name")), json_string_value(queue));
    }
    json_decref(unknown);
}

void qn_loop_tell_unknown_queues(const struct qn_loop *loop)
{
    json_t *rules = qn_plan_list(loop->parts.plan);
    size_t i;
    const json_t *rule;

    json_array_foreach(rules, i, rule)
    {
        tell(loop, rule);
    }
    json_decref(rules);
}
