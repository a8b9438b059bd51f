/* What in fault rules may be a slip: queues that are not there (yet), and actions that this server
 * cannot carry out. */
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

static void tell_told(const json_t *rule)
{
    size_t i;
    const json_t *action;

    json_array_foreach(json_object_get(rule, "told"), i, action)
    {
        qn_log(QN_LOG_WARN, "chaos",
               "only quern check can do this, here it is just a line in the trace rule=%s do=%s",
               json_string_value(json_object_get(rule, "name")), json_string_value(action));
    }
}

void qn_loop_tell_slips(const struct qn_loop *loop)
{
    json_t *rules = qn_plan_list(loop->parts.plan);
    size_t i;
    const json_t *rule;

    json_array_foreach(rules, i, rule)
    {
        tell(loop, rule);
        tell_told(rule);
    }
    json_decref(rules);
}
