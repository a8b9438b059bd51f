/* What SQS promises, and which action breaks it. Chance, time and the network promise nothing: a
 * refusal, a lost answer, a slow one, fewer messages than asked for are borne by every client. What
 * anybody may do to a queue (send, purge, change its attributes) breaks no promise either.
 * Sources: SQS guide, "Amazon SQS standard queues" and "Exactly-once processing in Amazon SQS". */
#include "chaos/parse.h"
#include "chaos/verbs.h"

static bool is_named(const struct qn_rule *rule, const char *const *api_actions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (qn_rule_glob(rule->event, qn_str_from_cstr(api_actions[i]))) {
            return true;
        }
    }
    return false;
}

/* Of queues of both kinds. */
static const char *promise_of_all(const struct qn_rule *rule, enum qn_rule_verb verb)
{
    static const char *const sends[] = {"SendMessage", "SendMessageBatch"};

    if (verb == QN_DO_FAKE_SUCCESS && is_named(rule, sends, 2)) {
        return "a send that was answered as done is stored; fake-success is for Delete* and "
               "ChangeMessageVisibility*";
    }
    if (verb == QN_DO_RESTORE) {
        return "a send that was answered as done is stored, and what was deleted stays away";
    }
    return NULL;
}

/* Of FIFO queues beyond that. A delete that is lost is none: it may be lost on its way as well, and
 * the message comes again. */
static const char *promise_of_fifo(const struct qn_rule *rule, enum qn_rule_verb verb)
{
    static const char *const extensions[] = {"ChangeMessageVisibility",
                                             "ChangeMessageVisibilityBatch"};

    switch (verb) {
    case QN_DO_FAKE_SUCCESS:
        return is_named(rule, extensions, 2)
                   ? "a lease that was extended lasts so long; name DeleteMessage*"
                   : NULL;
    case QN_DO_DELIVER_AGAIN:
    case QN_DO_DUP_IN_BATCH:
    case QN_DO_DELIVER_TO_BOTH:
        return "nobody else gets a message while its lease lasts";
    case QN_DO_EXPIRE_LEASE:
    case QN_DO_SHORTEN_LEASE:
        return "a lease lasts as long as was asked for";
    case QN_DO_RESURRECT:
        return "what was deleted does not come back";
    case QN_DO_REORDER:
        return "the messages of a group come in their order";
    case QN_DO_DUP_SEND:
        return "what is sent twice within five minutes is stored once";
    default:
        return NULL;
    }
}

const char *qn_rule_promise(const struct qn_rule *rule, const struct qn_rule_action *action,
                            bool is_fifo, bool *ret_of_fifo)
{
    const char *promise = promise_of_all(rule, action->verb);

    if (!qn_str_is_none(action->queue)) { /* that one is hit, not the event's */
        is_fifo = qn_str_ends_with(action->queue, QN_STR(".fifo"));
    }
    *ret_of_fifo = promise == NULL && is_fifo;
    return *ret_of_fifo ? promise_of_fifo(rule, action->verb) : promise;
}
