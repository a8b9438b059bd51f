/* What a rule means where its words leave it open (the point, the part of the answer), and what is
 * refused: what can never happen, and what SQS promises not to do. A consumer may rely on those
 * promises: to break one proves nothing about it. */
#include "chaos/parse.h"
#include "chaos/verbs.h"

/* The actions that touch messages. Those of the grammar that ask for certain requests ask for some
 * of these. */
static const char *const message_actions[] = {
    "SendMessage",
    "SendMessageBatch",
    "ReceiveMessage",
    "DeleteMessage",
    "DeleteMessageBatch",
    "ChangeMessageVisibility",
    "ChangeMessageVisibilityBatch",
};

static bool is_send(struct qn_str api_action)
{
    return qn_str_starts_with(api_action, QN_STR("SendMessage"));
}

/* Whether a request at this point is one to which the action can be done. */
static bool fits(enum qn_rule_verb verb, struct qn_str api_action, enum qn_rule_point point)
{
    bool is_receive = qn_str_equal(api_action, QN_STR("ReceiveMessage"));
    bool is_done = point >= QN_RULE_POST_COMMIT;

    switch (verb) {
    case QN_DO_FAIL_ENTRIES:
        return qn_str_ends_with(api_action, QN_STR("Batch"));
    case QN_DO_FALSE_EMPTY:
    case QN_DO_SHORT:
    case QN_DO_DUP_IN_BATCH:
    case QN_DO_DELIVER_TO_BOTH:
        return is_receive;
    case QN_DO_FAKE_SUCCESS:
        return is_send(api_action) || qn_str_starts_with(api_action, QN_STR("DeleteMessage")) ||
               qn_str_starts_with(api_action, QN_STR("ChangeMessageVisibility"));
    case QN_DO_BAD_MD5:
    case QN_DO_NO_MD5:
        return is_receive || is_send(api_action);
    case QN_DO_EXPIRE_LEASE:
    case QN_DO_SHORTEN_LEASE:
    case QN_DO_EXTEND_LEASE:
    case QN_DO_DELIVER_AGAIN: /* a receive grants the lease, a delete ends it */
        return is_receive ? is_done
               : qn_str_starts_with(api_action, QN_STR("DeleteMessage"))
                   ? !is_done
                   : qn_str_starts_with(api_action, QN_STR("ChangeMessageVisibility"));
    case QN_DO_DUP_SEND:
    case QN_DO_POISON_BODY: /* of a message that there is, or was */
        return is_send(api_action) ? is_done
               : is_receive        ? point > QN_RULE_ARRIVE
                                   : qn_str_starts_with(api_action, QN_STR("DeleteMessage")) ||
                                  qn_str_starts_with(api_action, QN_STR("ChangeMessageVisibility"));
    default:
        return true;
    }
}

/* Whether the action needs to know which queue, and the rule does not say it. */
static bool wants_queue(const struct qn_rule_action *action)
{
    switch (action->verb) {
    case QN_DO_REORDER:
    case QN_DO_SEND:
    case QN_DO_REDRIVE:
    case QN_DO_PURGE:
    case QN_DO_DELETE_QUEUE:
    case QN_DO_CREATE_QUEUE:
    case QN_DO_SET_ATTR:
        return qn_str_is_none(action->queue);
    default:
        return false;
    }
}

static bool is_delay(const struct qn_rule_action *action)
{
    return action->verb == QN_DO_REORDER && qn_str_equal(action->text, QN_STR("delay"));
}

/* What the queue or the request is too narrow for, also unsound. */
static bool has_room(const struct qn_rule_action *action, const struct qn_rule_subject *subject)
{
    if (wants_queue(action) && qn_str_is_none(subject->queue)) {
        return false;
    }
    switch (action->verb) {
    case QN_DO_DUP_IN_BATCH: /* an answer never holds more than was asked for */
        return subject->max != 1 && subject->message_count > 0;
    case QN_DO_DELIVER_TO_BOTH:
        return subject->message_count > 0;
    case QN_DO_DELIVER_AGAIN: /* single messages of a FIFO queue are kept back for nobody */
        return !subject->is_fifo || qn_str_is_none(action->text);
    case QN_DO_REORDER:
        return !subject->is_fifo || !is_delay(action);
    default:
        return true;
    }
}

bool qn_rule_is_apt(const struct qn_rule *rule, const struct qn_rule_subject *subject)
{
    bool is_request = subject->target == QN_TARGET_SQS && !rule->is_internal;
    bool is_of_fifo;

    for (size_t i = 0; i < rule->action_count; i++) {
        const struct qn_rule_action *action = &rule->actions[i];
        if ((is_request && !fits(action->verb, subject->event, rule->point)) ||
            (!rule->unsound &&
             qn_rule_promise(rule, action, subject->is_fifo, &is_of_fifo) != NULL)) {
            return false;
        }
    }
    return true;
}

bool qn_rule_has_room(const struct qn_rule *rule, const struct qn_rule_subject *subject)
{
    for (size_t i = 0; i < rule->action_count; i++) {
        if (!has_room(&rule->actions[i], subject)) {
            return false;
        }
    }
    return true;
}

static size_t place_of(const struct qn_parse *parse, const struct qn_rule_action *action)
{
    return (size_t)(action->source.ptr - parse->lex.whole.ptr);
}

/* Whether the rule's event can be a request to which the action fits. */
static bool can_fit(const struct qn_rule *rule, enum qn_rule_verb verb, enum qn_rule_point point)
{
    bool is_choosy = verb == QN_DO_DUP_SEND || verb == QN_DO_POISON_BODY; /* messages only */

    for (size_t i = 0; i < sizeof(message_actions) / sizeof(message_actions[0]); i++) {
        struct qn_str name = qn_str_from_cstr(message_actions[i]);
        is_choosy = is_choosy || !fits(verb, name, point);
        if (fits(verb, name, point) && qn_rule_glob(rule->event, name)) {
            return true;
        }
    }
    return !is_choosy;
}

static bool is_sound(struct qn_parse *parse, const struct qn_rule_action *action)
{
    const struct qn_rule *rule = parse->rule;
    bool is_of_fifo;
    const char *promise =
        qn_rule_promise(rule, action, qn_pred_wants_fifo(rule->where), &is_of_fifo);

    if (rule->unsound || promise == NULL) {
        return true;
    }
    return qn_lex_fail_at(
        &parse->lex, place_of(parse, action),
        "%s breaks what SQS promises%s (%s); say \"unsound\" to do it all the same",
        qn_rule_verb_name(action->verb), is_of_fifo ? " for FIFO queues" : "", promise);
}

/* Events inside the server, of processes and of the clock: nobody waits for an answer. */
static bool check_without_request(struct qn_parse *parse, const struct qn_rule_action *action)
{
    const struct qn_rule *rule = parse->rule;
    const struct qn_verb *verb = qn_verb_of(action->verb);

    if (verb->need == QN_NEEDS_REQUEST) {
        return qn_lex_fail_at(&parse->lex, place_of(parse, action),
                              "%s needs a request, and %.*s is none", verb->word,
                              QN_STR_ARG(rule->event));
    }
    return true;
}

/* Of the events inside the server not each has a lease, or a message that was deleted. */
static bool check_event(struct qn_parse *parse, const struct qn_rule_action *action)
{
    const struct qn_rule *rule = parse->rule;

    switch (action->verb) {
    case QN_DO_RESURRECT:
        return qn_str_equal(rule->event, QN_STR("msg.delete")) ||
               qn_lex_fail_at(&parse->lex, place_of(parse, action),
                              "resurrect is for `on msg.delete`: it brings back what was deleted");
    case QN_DO_EXPIRE_LEASE:
    case QN_DO_SHORTEN_LEASE:
    case QN_DO_EXTEND_LEASE:
    case QN_DO_DELIVER_AGAIN:
        return !rule->is_internal || qn_str_equal(rule->event, QN_STR("lease.grant")) ||
               qn_lex_fail_at(&parse->lex, place_of(parse, action),
                              "of the events inside the server only lease.grant has a lease, for "
                              "%s",
                              qn_rule_verb_name(action->verb));
    default:
        return true;
    }
}

/* An event that never is about a queue. */
static bool has_no_queue(const struct qn_rule *rule)
{
    static const char *const actions[] = {"ListQueues", "StartMessageMoveTask",
                                          "CancelMessageMoveTask", "ListMessageMoveTasks"};
    bool found = rule->target == QN_TARGET_CLOCK;

    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        found = found || qn_str_equal(rule->event, qn_str_from_cstr(actions[i]));
    }
    return found;
}

static const char *how_to_name_queue(enum qn_rule_verb verb)
{
    switch (verb) {
    case QN_DO_SEND:
        return "send \"...\" to QUEUE";
    case QN_DO_REDRIVE:
        return "redrive of QUEUE";
    case QN_DO_PURGE:
        return "purge of QUEUE";
    case QN_DO_DELETE_QUEUE:
        return "delete-queue of QUEUE";
    case QN_DO_CREATE_QUEUE:
        return "create-queue QUEUE";
    case QN_DO_SET_ATTR:
        return "set-attr NAME=VALUE of QUEUE";
    default:
        return "an event of a queue";
    }
}

static bool wants_group(const struct qn_rule *rule, const struct qn_rule_action *action)
{
    bool is_fifo = qn_str_is_none(action->queue) ? qn_pred_wants_fifo(rule->where)
                                                 : qn_str_ends_with(action->queue, QN_STR(".fifo"));

    return action->verb == QN_DO_SEND && !action->is_file && is_fifo &&
           qn_str_is_none(action->value);
}

/* What no queue of the kind that the rule names can do, also unsound. */
static bool check_queue(struct qn_parse *parse, const struct qn_rule_action *action)
{
    bool wants_fifo = qn_pred_wants_fifo(parse->rule->where);

    if (action->verb == QN_DO_DELIVER_AGAIN && wants_fifo && !qn_str_is_none(action->text)) {
        return qn_lex_fail_at(&parse->lex, place_of(parse, action),
                              "a FIFO queue keeps no single message back for some consumers; say "
                              "deliver-again alone");
    }
    if (is_delay(action) && wants_fifo) {
        return qn_lex_fail_at(&parse->lex, place_of(parse, action),
                              "a FIFO queue delays no single message; say reorder reverse or "
                              "shuffle");
    }
    if (wants_group(parse->rule, action)) {
        return qn_lex_fail_at(&parse->lex, place_of(parse, action),
                              "a message to a FIFO queue needs a group: say `group G` behind it");
    }
    if (wants_queue(action) && has_no_queue(parse->rule)) {
        return qn_lex_fail_at(&parse->lex, place_of(parse, action),
                              "%.*s has no queue that %s could be for; say which: %s",
                              QN_STR_ARG(parse->rule->event), qn_rule_verb_name(action->verb),
                              how_to_name_queue(action->verb));
    }
    return true;
}

static bool check_part(struct qn_parse *parse, struct qn_rule_action *action)
{
    enum qn_rule_point point = parse->rule->point;
    bool cuts = action->fraction > 0 || action->bytes > 0;

    if (action->verb != QN_DO_RESET && action->verb != QN_DO_CLOSE &&
        action->verb != QN_DO_TRUNCATE) {
        return true;
    }
    if (point == QN_RULE_POST_RESPONSE) {
        if (action->bytes >= 0 || (action->fraction >= 0 && action->fraction < 1)) {
            return qn_lex_fail_at(&parse->lex, place_of(parse, action),
                                  "at post-response all of the answer is sent; for a part of it "
                                  "say `at mid-response`");
        }
        action->fraction = 1;
    } else if (point != QN_RULE_MID_RESPONSE && cuts) {
        return qn_lex_fail_at(&parse->lex, place_of(parse, action),
                              "at %s nothing of the answer is sent yet; for a part of it say `at "
                              "mid-response`",
                              qn_rule_point_name(point));
    } else if (action->verb == QN_DO_TRUNCATE && action->fraction >= 1) {
        return qn_lex_fail_at(&parse->lex, place_of(parse, action),
                              "behind all of the answer nothing is missing; say a part of it, such "
                              "as 0.5 or 100B");
    } else if (action->fraction < 0 && action->bytes < 0) {
        action->fraction = point == QN_RULE_MID_RESPONSE ? 0.5 : 0;
    }
    return true;
}

static bool fail_unfit(struct qn_parse *parse, const struct qn_rule_action *action)
{
    static const enum qn_rule_point others[] = {QN_RULE_PRE_COMMIT, QN_RULE_POST_COMMIT};
    const struct qn_rule *rule = parse->rule;
    const char *word = qn_rule_verb_name(action->verb);

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (can_fit(rule, action->verb, others[i])) {
            return qn_lex_fail_at(&parse->lex, place_of(parse, action),
                                  "at %s there is nothing that %s could be done to; say `at %s`",
                                  qn_rule_point_name(rule->point), word,
                                  qn_rule_point_name(others[i]));
        }
    }
    return qn_lex_fail_at(&parse->lex, place_of(parse, action),
                          "%s can be done to no request that \"%.*s\" names", word,
                          QN_STR_ARG(rule->event));
}

static bool check_at_request(struct qn_parse *parse, struct qn_rule_action *action)
{
    const struct qn_rule *rule = parse->rule;
    const struct qn_verb *verb = qn_verb_of(action->verb);
    size_t at = place_of(parse, action);

    if ((verb->points >> rule->point & 1U) == 0 && can_fit(rule, action->verb, rule->point)) {
        return qn_lex_fail_at(&parse->lex, at, "%s cannot be done at %s", verb->word,
                              qn_rule_point_name(rule->point));
    }
    if (!can_fit(rule, action->verb, rule->point)) {
        return fail_unfit(parse, action);
    }
    return check_part(parse, action);
}

/* The point of a rule that names none: that of its first action that has one. */
static enum qn_rule_point default_point(const struct qn_rule *rule)
{
    for (size_t i = 0; i < rule->action_count; i++) {
        const struct qn_rule_action *action = &rule->actions[i];
        if (action->fraction > 0 || action->bytes > 0) {
            return QN_RULE_MID_RESPONSE;
        }
        if (qn_verb_of(action->verb)->point != QN_RULE_ANYWHERE) {
            return qn_verb_of(action->verb)->point;
        }
    }
    return QN_RULE_ARRIVE;
}

static bool check_message_fields(struct qn_parse *parse, bool is_request, size_t event_at)
{
    struct qn_rule *rule = parse->rule;

    if (!rule->by_message) {
        return true;
    }
    if (rule->target == QN_TARGET_PROC || rule->target == QN_TARGET_CLOCK) {
        return qn_lex_fail_at(&parse->lex, event_at, "an event of %s has no message to look at",
                              qn_rule_target_name(rule->target));
    }
    if (is_request && rule->point == QN_RULE_ARRIVE &&
        qn_str_equal(rule->event, QN_STR("ReceiveMessage"))) {
        return qn_lex_fail_at(&parse->lex, event_at,
                              "at arrive the messages of a ReceiveMessage are not known; say `at "
                              "pre-commit`");
    }
    return true;
}

static bool check_action(struct qn_parse *parse, struct qn_rule_action *action, bool is_request,
                         bool has_points)
{
    return (has_points || check_without_request(parse, action)) && check_event(parse, action) &&
           check_queue(parse, action) && (!is_request || check_at_request(parse, action)) &&
           is_sound(parse, action);
}

bool qn_parse_finish(struct qn_parse *parse, size_t event_at, size_t point_at)
{
    struct qn_rule *rule = parse->rule;
    bool is_request = rule->target == QN_TARGET_SQS && !rule->is_internal;
    bool has_points =
        !rule->is_internal && rule->target != QN_TARGET_PROC && rule->target != QN_TARGET_CLOCK;
    bool ok = true;

    rule->by_message = qn_pred_names_message(rule->where) || rule->when.per == QN_PER_MESSAGE ||
                       rule->when.per == QN_PER_GROUP;
    if (is_request && rule->point == QN_RULE_ANYWHERE) {
        rule->point = default_point(rule);
    }
    if (!has_points && rule->point != QN_RULE_ANYWHERE) {
        return qn_lex_fail_at(&parse->lex, point_at, "%.*s has no points", QN_STR_ARG(rule->event));
    }
    if (!check_message_fields(parse, is_request, event_at)) {
        return false;
    }
    if (qn_pred_names_code(rule->where) && (!is_request || rule->point < QN_RULE_POST_COMMIT)) {
        return qn_lex_fail_at(&parse->lex, event_at,
                              "code is known from post-commit on, and of requests only");
    }
    for (size_t i = 0; i < rule->action_count; i++) {
        ok = check_action(parse, &rule->actions[i], is_request, has_points) && ok;
        if (!ok && !qn_lex_resume(&parse->lex)) {
            break;
        }
    }
    return ok;
}
