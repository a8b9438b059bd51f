/* Which events a rule's conditions fit. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "chaos/rule.h"
#include "server/base/buf.h"
#include "server/model/message.h"

static struct qn_arena arena;
static struct qn_buf attributes;
static struct qn_rule_subject subject;
static struct qn_fact_message messages[3];

static void start(void)
{
    const struct qn_message_attribute sorted[] = {
        {.name = QN_STR("kind"), .data_type = QN_STR("String"), .string_value = QN_STR("order")},
        {.name = QN_STR("tag"), .data_type = QN_STR("String"), .string_value = QN_STR("red")}};
    qn_arena_init(&arena, 1 << 20);
    qn_buf_init(&attributes, 4096);
    qn_content_encode_attributes(&attributes, sorted, 2);
    qn_rule_subject_init(&subject, QN_TARGET_SQS, QN_STR("DeleteMessageBatch"), &arena);
    subject.point = QN_RULE_ARRIVE;
    subject.queue = QN_STR("orders");
    subject.instance = QN_STR("QUERN0002");
    subject.attempt = 2;
    subject.size = 1000;
    subject.entries = 3;
    subject.since_ready_ms = 5500;
    messages[0] = (struct qn_fact_message){
        .message_id = QN_STR("id-0"),
        .group = QN_STR("A"),
        .receive_count = 1,
        .attributes = qn_buf_str(&attributes),
        .body = QN_STR("{\"idempotencyKey\":\"k-003\",\"tenantId\":\"acme\",\"tag\":\"blue\","
                       "\"payload\":{\"id\":\"m-003\",\"version\":12,\"ok\":true,"
                       "\"list\":[1,{\"x\":\"y\"}]}}")};
    messages[1] = (struct qn_fact_message){
        .message_id = QN_STR("id-1"),
        .receive_count = 3,
        .attributes = qn_buf_str(&attributes),
        .body = QN_STR("{\"idempotencyKey\":\"k-004\",\"payload\":{\"version\":9}}")};
    messages[2] = (struct qn_fact_message){
        .message_id = QN_STR("id-2"), .receive_count = 2, .body = QN_STR("not json")};
    subject.messages = messages;
    subject.message_count = 3;
}

static void stop(void)
{
    qn_arena_done(&arena);
    qn_buf_done(&attributes);
}

TestSuite(predicate, .init = start, .fini = stop);

static uint64_t match_rule(const char *text)
{
    struct qn_rule *rule;
    struct qn_error err;
    cr_assert(qn_rule_parse(qn_str_from_cstr(text), 1, NULL, &rule, &err), "%s: %s", text,
              err.message);
    uint64_t mask = qn_rule_match(rule, &subject);
    qn_rule_free(rule);
    return mask;
}

/* What `where` matches: which messages, or all bits for the request. */
static uint64_t where(const char *predicate)
{
    char text[500];
    snprintf(text, sizeof(text), "on any where %s at arrive do hold", predicate);
    return match_rule(text);
}

#define ALL UINT64_MAX

Test(predicate, fields_of_the_request)
{
    cr_expect_eq(where("queue=orders"), ALL);
    cr_expect_eq(where("queue=other"), 0);
    cr_expect_eq(where("queue!=other"), ALL);
    cr_expect_eq(where("queue ~ ord*"), ALL);
    cr_expect_eq(where("queue ~ ord"), 0);
    cr_expect_eq(where("queue in (a,orders)"), ALL);
    cr_expect_eq(where("queue in (a,b)"), 0);
    cr_expect_eq(where("instance=2"), ALL);
    cr_expect_eq(where("instance=3"), 0);
    cr_expect_eq(where("instance!=2"), 0);
    cr_expect_eq(where("instance=QUERN0002"), ALL);
    cr_expect_eq(where("attempt=2"), ALL);
    cr_expect_eq(where("attempt<2"), 0);
    cr_expect_eq(where("attempt<=2"), ALL);
    cr_expect_eq(where("size>999"), ALL);
    cr_expect_eq(where("size>1000"), 0);
    cr_expect_eq(where("size>=1000"), ALL);
    cr_expect_eq(where("entries in (2,3)"), ALL);
    cr_expect_eq(where("t>5"), ALL);
    cr_expect_eq(where("t>5.5"), 0);
    cr_expect_eq(where("t<5600ms"), ALL);
}

Test(predicate, an_absent_field_equals_nothing)
{
    cr_expect_eq(where("wait=0"), 0);
    cr_expect_eq(where("wait<100"), 0);
    cr_expect_eq(where("wait!=0"), ALL);
    cr_expect_eq(where("not wait=0"), ALL);
    subject.instance = QN_STR_NONE;
    cr_expect_eq(where("instance ~ *"), 0);
    cr_expect_eq(where("group=A"), 1);
    cr_expect_eq(where("group!=A"), 6);
}

Test(predicate, message_fields_pick_single_messages)
{
    cr_expect_eq(where("mid=id-1"), 2);
    cr_expect_eq(where("mid in (id-0,id-2)"), 5);
    cr_expect_eq(where("rc>=2"), 6);
    cr_expect_eq(where("key=k-003"), 1);
    cr_expect_eq(where("key=m-003"), 1);
    cr_expect_eq(where("key in (m-003,k-004)"), 3);
    cr_expect_eq(where("key!=m-003"), 6);
    cr_expect_eq(where("key ~ k-*"), 3);
    cr_expect_eq(where("tag=blue"), 1);
    cr_expect_eq(where("tag=red"), 2);
    cr_expect_eq(where("tenant=A"), 1);
    cr_expect_eq(where("attr.\"kind\"=order"), 3);
    cr_expect_eq(where("attr.kind=invoice"), 0);
}

Test(predicate, the_tenant_of_a_fifo_message_is_in_its_body)
{
    subject.is_fifo = true;
    cr_expect_eq(where("tenant=acme"), 1);
    cr_expect_eq(where("tenant=A"), 0);
}

Test(predicate, paths_reach_into_the_body)
{
    cr_expect_eq(where("body.\"payload.id\"=m-003"), 1);
    cr_expect_eq(where("body.payload.ok=true"), 1);
    cr_expect_eq(where("body.payload.list.0=1"), 1);
    cr_expect_eq(where("body.payload.list.1.x=y"), 1);
    cr_expect_eq(where("body.payload.list.2=1"), 0);
    cr_expect_eq(where("body.payload.list=1"), 0);
    cr_expect_eq(where("body.payload.nothing=1"), 0);
    /* Numbers compare as numbers: 9 < 12, though "9" > "12". */
    cr_expect_eq(where("body.payload.version>10"), 1);
    cr_expect_eq(where("body.payload.version=12.0"), 1);
    cr_expect_eq(where("body.payload.id>m-002"), 1);
    cr_expect_eq(where("body.payload.id<m-002"), 0);
}

Test(predicate, and_binds_tighter_than_or_and_brackets_tighter_still)
{
    cr_expect_eq(where("queue=orders or queue=x and size<0"), ALL);
    cr_expect_eq(where("(queue=orders or queue=x) and size<0"), 0);
    cr_expect_eq(where("not queue=x and size>1"), ALL);
    cr_expect_eq(where("not (queue=orders and size>1)"), 0);
    cr_expect_eq(where("not not queue=orders"), ALL);
    cr_expect_eq(where("key=k-003 or rc=2"), 5);
    cr_expect_eq(where("rc>1 and not key=k-004"), 4);
    /* One field of a message makes it a matter of messages. */
    cr_expect_eq(where("queue=orders or key=k-003"), 7);
    cr_expect_eq(where("queue=x or key=k-003"), 1);
}

Test(predicate, a_request_without_messages_matches_no_message_field)
{
    subject.message_count = 0;
    cr_expect_eq(where("key=k-003"), 0);
    cr_expect_eq(where("not key=k-003"), 0);
    cr_expect_eq(where("queue=orders"), ALL);
    subject.key = QN_STR("k-009"); /* an event of the sink: known by its key alone */
    cr_expect_eq(where("key=k-009"), 1);
    cr_expect_eq(where("key=k-003"), 0);
}

Test(predicate, event_names_have_wildcards_and_any)
{
    cr_expect_eq(match_rule("on Delete* do hold"), ALL);
    cr_expect_eq(match_rule("on *Batch do hold"), ALL);
    cr_expect_eq(match_rule("on DeleteMessage do hold"), 0);
    cr_expect_eq(match_rule("on DeleteMessage????? do hold"), ALL);
    cr_expect_eq(match_rule("on DeleteMessageBatch do hold"), ALL);
    cr_expect_eq(match_rule("on any do hold"), ALL);
    cr_expect_eq(match_rule("on work.begin do hold"), 0);
    cr_expect_eq(match_rule("on any at pre-commit do hold"), 0);
}

Test(predicate, any_means_requests_and_no_event_inside_the_server)
{
    subject.event = QN_STR("msg.delete");
    cr_expect_eq(match_rule("on any do hold"), 0);
    cr_expect_eq(match_rule("on * do hold"), 0);
    cr_expect_eq(match_rule("on msg.delete do mark x"), ALL);
    cr_expect_eq(match_rule("on msg.dlq do mark x"), 0);
}

Test(predicate, an_action_that_does_not_fit_the_request_does_not_match)
{
    cr_expect_eq(match_rule("on Delete* at pre-commit do fail-entries 1 OverLimit"), 0);
    subject.point = QN_RULE_PRE_COMMIT;
    cr_expect_eq(match_rule("on Delete* at pre-commit do fail-entries 1 OverLimit"), ALL);
    subject.event = QN_STR("DeleteMessage");
    cr_expect_eq(match_rule("on Delete* at pre-commit do fail-entries 1 OverLimit"), 0);
    subject.event = QN_STR("DeleteQueue");
    cr_expect_eq(match_rule("on Delete* do fake-success"), 0);
}

Test(predicate, copies_are_never_brought_back_on_fifo_queues_unless_unsound)
{
    subject.event = QN_STR("msg.delete");
    subject.message_count = 1;
    cr_expect_eq(match_rule("on msg.delete do resurrect"), ALL);
    subject.is_fifo = true;
    cr_expect_eq(match_rule("on msg.delete do resurrect"), 0);
    cr_expect_eq(match_rule("unsound on msg.delete do resurrect"), ALL);
}

Test(predicate, globs)
{
    static const struct {
        const char *pattern;
        const char *text;
        bool fits;
    } cases[] = {{"", "", true},
                 {"*", "", true},
                 {"?", "", false},
                 {"a*c", "abbc", true},
                 {"a*c", "abbcd", false},
                 {"*b*b*", "abab", true},
                 {"*b*b*b*", "abab", false},
                 {"??", "ab", true},
                 {"a?c*", "abc", true},
                 {"***", "x", true},
                 {"*aab", "aaaaab", true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_expect_eq(
            qn_rule_glob(qn_str_from_cstr(cases[i].pattern), qn_str_from_cstr(cases[i].text)),
            cases[i].fits, "%s %s", cases[i].pattern, cases[i].text);
    }
}
