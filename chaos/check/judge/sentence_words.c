/* A row for each function, and for each kind of event that scenarios ask about. */
#include "chaos/check/judge/sentence_words.h"

static const struct qn_function_words functions[] = {
    {"sent", QN_TIMES, "{which} {be} sent {n}"},
    {"leases", QN_TIMES, "{which} {be} received {n}"},
    {"deletes", QN_TIMES, "{which} {be} deleted {n}"},
    {"dead", QN_TIMES, "{which} {be} moved to the dead-letter queue {n}"},
    {"effects", QN_TIMES, "the effect of {which} was applied {n}"},
    {"attempts", QN_TIMES, "work on {which} was begun {n}"},
    {"rejects", QN_TIMES, "{which} {be} recorded as rejected {n}"},
    {"outputs", QN_TIMES, "the result of {which} was sent to the output queue {n}"},
    {"resent", QN_TIMES, "{which} {be} sent to the retry queue {n}"},
    {"resent_at_once", QN_TIMES, "{which} {be} sent to the retry queue without a delay {n}"},
    {"changed", QN_TIMES, "work on {which} was begun with another payload than was sent {n}"},
    {"calls", QN_TIMES, "{1} was called {n}{in2}"},
    {"tried", QN_TIMES, "{1} was called {n} for {which2}"},
    {"rate", QN_RATE, "{1} was called {n}{in2}"},
    {"count", QN_TIMES, "{event} {n}{in2}"},
    {"first", QN_MS, "the first {noun}{of2} was {n} after the consumer was ready"},
    {"last", QN_MS, "the last {noun}{of2} was {n} after the consumer was ready"},
    {"time", QN_MS, "{1} began {n} after the consumer was ready"},
    {"gap", QN_MS, "from attempt {2} of {which} to the next it was {n}"},
    {"held", QN_NUMBER, "a consumer held {n} messages at once"},
    {"dlq", QN_TIMES, "a message was moved to the dead-letter queue {n}"},
    {"dlq_left", QN_NUMBER, "the dead-letter queue had {n} messages at the end"},
    {"version", QN_NUMBER, "the version of {1} that was stored last was {n}"},
    {"canaries", QN_TIMES, "a word that only payloads have was in the consumer's log {n}"},
    {"printed", QN_TIMES, "{which} {be} named in the consumer's log {n}"},
    {"short_polls", QN_TIMES, "a receive was answered at once with nothing {n}{in1}"},
    {"unnamed", QN_TIMES, "a message was sent on without an idempotencyKey {n}"},
    {"exits", QN_TIMES, "a consumer ended by itself {n}"},
    {"left", QN_NUMBER, "a consumer ended and left behind of the messages that it had {1} {n}"},
    {"declared", QN_NUMBER, "what is declared as {1} was {n}"},
};

static const struct qn_event_words events[] = {
    {"work.begin", "begin of work", "work was begun"},
    {"work.commit", "effect", "an effect was applied"},
    {"work.abort", "work that was broken off", "work was broken off before its end"},
    {"reject", "reject", "a message was recorded as rejected"},
    {"lease.grant", "receive", "a message was received"},
    {"lease.extend", "extension of a lease", "a lease was extended"},
    {"lease.expire", "end of a lease", "a lease ran out"},
    {"msg.send", "send", "a message was sent"},
    {"msg.delete", "delete", "a message was deleted"},
    {"msg.dlq", "move to the dead-letter queue", "a message was moved to the dead-letter queue"},
    {"load", "send by the check", "the check sent a message"},
    {"fault", "fault", "a fault was made"},
    {"proc.spawn", "start of a consumer", "a consumer was started"},
    {"proc.exit", "end of a consumer", "a consumer ended"},
    {"lambda.timeout", "timeout of the function", "the function ran into its timeout"},
    {"lambda.error", "error of the function", "the function ended with an error"},
    {"lambda.wrong", "answer that Lambda cannot read",
     "the function gave an answer that Lambda cannot read"},
    {"lambda.wrong_id", "answer with an id of no message of its batch",
     "the function gave back the id of a message that was not in its batch"},
    {"lambda.audit", "advice about the mapping", "the mapping was set otherwise than AWS advises"},
    {"lambda.throttled", "throttled batch",
     "a batch was left because the reserved concurrency was used up"},
    {"lambda.filtered", "filtered message", "a message was dropped because no filter fits it"},
};

const struct qn_function_words *qn_function_words_find(struct qn_str name)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (qn_str_equal(name, qn_str_from_cstr(functions[i].name))) {
            return &functions[i];
        }
    }
    return NULL;
}

const struct qn_event_words *qn_event_words_find(struct qn_str kind)
{
    /* Of a scenario's own rule, fault.RULE, is said what is said of any. */
    kind = qn_str_starts_with(kind, QN_STR("fault.")) ? QN_STR("fault") : kind;
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        if (qn_str_equal(kind, qn_str_from_cstr(events[i].kind))) {
            return &events[i];
        }
    }
    return NULL;
}
