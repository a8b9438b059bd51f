/* Any bytes as a rule: parsed or refused with a place, and a rule that is accepted says the same
 * when its own text is parsed again, and can be matched. */
#include <stdlib.h>

#include "chaos/chaos.h"
#include "chaos/rule.h"
#include "server/base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void match(const struct qn_rule *rule, struct qn_arena *arena)
{
    static const char *const events[] = {"DeleteMessageBatch", "msg.delete", "work.begin"};
    struct qn_fact_message message = {
        .message_id = QN_STR("id"),
        .group = QN_STR("A"),
        .receive_count = 2,
        .body = QN_STR("{\"idempotencyKey\":\"k-1\",\"payload\":{\"id\":\"m-1\",\"v\":[1,2]}}")};
    struct qn_rule_subject subject;

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        qn_rule_subject_init(&subject, i == 2 ? QN_TARGET_SINK : QN_TARGET_SQS,
                             qn_str_from_cstr(events[i]), arena);
        subject.queue = QN_STR("q");
        subject.messages = &message;
        subject.message_count = 1;
        uint64_t mask = qn_rule_match(rule, &subject);
        require(!rule->by_message || mask <= 1);
    }
}

/* What the server makes of it. */
static void run(struct qn_str text, struct qn_arena *arena)
{
    struct qn_plan *plan = qn_plan_new(&(struct qn_plan_options){.seed = 1});
    struct qn_event_list events = {.wanted = true};
    struct qn_fact_message message = {.message_id = QN_STR("id"), .receive_count = 1};
    struct qn_facts facts = {.arena = arena,
                             .action = QN_STR("DeleteMessageBatch"),
                             .queue = QN_STR("q"),
                             .entries = 1,
                             .messages = &message,
                             .message_count = 1};
    struct qn_mistakes mistakes = {.count = 0};
    struct qn_effect effect;

    qn_buf_init(&events.encoded, 1 << 20);
    if (qn_plan_add_lines(plan, text, &mistakes)) {
        for (int point = QN_POINT_ARRIVE; point <= QN_POINT_REPLY; point++) {
            (void)qn_chaos_at(plan, (enum qn_chaos_point)point, &facts, &events);
        }
        qn_plan_observe(plan, NULL, 1000);
        (void)qn_plan_take_effect(plan, INT64_MAX, &effect);
        qn_plan_take_events(plan, &events);
    }
    qn_mistakes_done(&mistakes);
    json_decref(qn_plan_list(plan));
    qn_plan_free(plan);
    qn_buf_done(&events.encoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct qn_str text = qn_str((const char *)data, size);
    struct qn_rule *rule;
    struct qn_rule *again;
    struct qn_error err = {.message = ""};
    struct qn_arena arena;

    qn_arena_init(&arena, 1 << 20);
    if (qn_rule_parse(text, 1, NULL, &rule, &err)) {
        require(qn_rule_parse(rule->text, 1, NULL, &again, &err));
        require(qn_str_equal(rule->text, again->text));
        require(rule->point == again->point && rule->action_count == again->action_count);
        match(rule, &arena);
        qn_rule_free(again);
        qn_rule_free(rule);
    } else {
        require(strncmp(err.message, "line ", 5) == 0);
        require(qn_str_is_utf8(qn_str_from_cstr(err.message)));
    }
    run(text, &arena);
    qn_arena_done(&arena);
    return 0;
}
