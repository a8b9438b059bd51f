/* The plan of a server: which rule decides, what the verdict says, what the trace is told. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "chaos/chaos.h"

static struct qn_plan *plan;
static struct qn_arena arena;
static struct qn_event_list events;
static struct qn_facts facts;
static struct qn_fact_message messages[4];
static char ids[4][8];
static char bodies[4][64];

static const char *const actions[] = {"SendMessage", "SendMessageBatch", "ReceiveMessage",
                                      "DeleteMessage", "DeleteMessageBatch"};

static void start(void)
{
    plan = qn_plan_new(&(struct qn_plan_options){
        .seed = 1, .start_ms = 1000, .actions = actions, .action_count = 5});
    qn_arena_init(&arena, 1 << 20);
    events.wanted = true;
    qn_buf_init(&events.encoded, 1 << 20);
    facts = (struct qn_facts){.arena = &arena,
                              .request_id = QN_STR("r-1"),
                              .action = QN_STR("DeleteMessageBatch"),
                              .account = QN_STR("000000000000"),
                              .queue = QN_STR("q"),
                              .instance = QN_STR("QUERN0001"),
                              .connection = 5,
                              .wait_s = -1,
                              .max = -1,
                              .entries = 4,
                              .now_ms = 1000,
                              .messages = messages,
                              .message_count = 4};
    for (size_t i = 0; i < 4; i++) {
        snprintf(ids[i], sizeof(ids[i]), "id-%zu", i);
        snprintf(bodies[i], sizeof(bodies[i]), "{\"idempotencyKey\":\"k-%zu\"}", i);
        messages[i] = (struct qn_fact_message){.message_id = qn_str_from_cstr(ids[i]),
                                               .body = qn_str_from_cstr(bodies[i])};
    }
}

static void stop(void)
{
    qn_plan_free(plan);
    qn_buf_done(&events.encoded);
    qn_arena_done(&arena);
}

TestSuite(plan, .init = start, .fini = stop);

static void add(const char *text)
{
    struct qn_error err;
    cr_assert(qn_plan_add(plan, qn_str_from_cstr(text), &err), "%s: %s", text, err.message);
}

static struct qn_verdict at(enum qn_chaos_point point)
{
    return qn_chaos_at(plan, point, &facts, &events);
}

/* Takes the oldest event out of the list. */
static struct qn_event next_event(void)
{
    static char bytes[65536];
    struct qn_reader reader;
    struct qn_event event;

    qn_reader_init(&reader, qn_buf_str(&events.encoded));
    struct qn_str one = qn_reader_bytes(&reader);
    cr_assert_not(reader.failed, "there is no event");
    memcpy(bytes, one.ptr, one.len);
    qn_reader_init(&reader, qn_str(bytes, one.len));
    cr_assert(qn_event_decode(&reader, &event));
    size_t size = one.len + 4;
    memmove(events.encoded.ptr, events.encoded.ptr + size, events.encoded.len - size);
    events.encoded.len -= size;
    return event;
}

static bool same(struct qn_str text, const char *expected)
{
    return qn_str_equal(text, qn_str_from_cstr(expected)) &&
           qn_str_is_none(text) == (expected == NULL);
}

Test(plan, without_rules_everything_passes)
{
    for (int point = QN_POINT_ARRIVE; point <= QN_POINT_REPLY; point++) {
        cr_expect_not(qn_plan_cares(plan, (enum qn_chaos_point)point));
        cr_expect_eq(at((enum qn_chaos_point)point).kind, QN_VERDICT_PASS);
    }
    cr_expect_eq(events.encoded.len, 0);
    cr_expect_eq(qn_plan_next_ms(plan), INT64_MAX);
}

Test(plan, each_action_gives_its_verdict_at_its_point)
{
    static const struct {
        const char *rule;
        enum qn_chaos_point point;
        enum qn_verdict_kind kind;
    } cases[] = {
        {"on any do error OverLimit", QN_POINT_ARRIVE, QN_VERDICT_ERROR},
        {"on any do throttle", QN_POINT_ARRIVE, QN_VERDICT_ERROR},
        {"on any at post-commit do 5xx 500", QN_POINT_POST_COMMIT, QN_VERDICT_ERROR},
        {"on Delete* do fake-success", QN_POINT_PRE_COMMIT, QN_VERDICT_FAKE_SUCCESS},
        {"on any do fail-entries 2 OverLimit", QN_POINT_PRE_COMMIT, QN_VERDICT_FAIL_ENTRIES},
        {"on any do delay 2s", QN_POINT_ARRIVE, QN_VERDICT_DELAY},
        {"on any at pre-commit do hold", QN_POINT_PRE_COMMIT, QN_VERDICT_HOLD},
        {"on any do hang", QN_POINT_POST_COMMIT, QN_VERDICT_HANG},
        {"on any do garbage", QN_POINT_POST_COMMIT, QN_VERDICT_GARBAGE},
        {"on any do html", QN_POINT_POST_COMMIT, QN_VERDICT_HTML},
        {"on any at arrive do bandwidth 1KB/s", QN_POINT_ARRIVE, QN_VERDICT_BANDWIDTH},
        {"on any do slow-close", QN_POINT_REPLY, QN_VERDICT_SLOW_CLOSE},
        {"on any do truncate", QN_POINT_REPLY, QN_VERDICT_TRUNCATE},
        {"on any do reset", QN_POINT_POST_COMMIT, QN_VERDICT_RESET},
        {"on any do close 0.5", QN_POINT_REPLY, QN_VERDICT_CLOSE},
        {"on any at post-response do close", QN_POINT_REPLY, QN_VERDICT_CLOSE},
        {"on any do crash server", QN_POINT_POST_COMMIT, QN_VERDICT_CRASH},
        {"on any do kill instance", QN_POINT_POST_COMMIT, QN_VERDICT_PASS},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        add(cases[i].rule);
        for (int point = QN_POINT_ARRIVE; point <= QN_POINT_REPLY; point++) {
            bool here = point == (int)cases[i].point;
            cr_expect_eq(qn_plan_cares(plan, (enum qn_chaos_point)point), here);
            cr_expect_eq(at((enum qn_chaos_point)point).kind,
                         here ? cases[i].kind : QN_VERDICT_PASS, "%s", cases[i].rule);
        }
        cr_expect(same(next_event().reason, strstr(cases[i].rule, "do ") + 3));
        cr_expect(qn_plan_remove(plan, QN_STR("")));
    }
    facts.action = QN_STR("ReceiveMessage");
    add("on ReceiveMessage nth 1 do false-empty");
    add("on ReceiveMessage nth 2 do short 2");
    cr_expect_eq(at(QN_POINT_PRE_COMMIT).kind, QN_VERDICT_FALSE_EMPTY);
    struct qn_verdict verdict = at(QN_POINT_PRE_COMMIT);
    cr_expect_eq(verdict.kind, QN_VERDICT_SHORT);
    cr_expect_eq(verdict.count, 2);
}

Test(plan, verdicts_carry_their_arguments)
{
    add("on any nth 1 do error QueueDoesNotExist http 418 as gone");
    struct qn_verdict verdict = at(QN_POINT_ARRIVE);
    cr_expect_eq(verdict.error, QN_ERR_QUEUE_DOES_NOT_EXIST);
    cr_expect_eq(verdict.error_http_status, 418);
    cr_expect(verdict.error_sender);
    cr_expect(same(verdict.rule, "gone"));
    cr_expect_eq(verdict.entry_mask, UINT64_MAX);
    add("on any do 5xx 500");
    verdict = at(QN_POINT_ARRIVE);
    cr_expect_eq(verdict.error, QN_ERR_INTERNAL);
    cr_expect_not(verdict.error_sender);
    add("on any at post-commit do delay 2s");
    cr_expect_eq(at(QN_POINT_POST_COMMIT).delay_ms, 2000);
    add("on any nth 1 do reset 0.25");
    verdict = at(QN_POINT_REPLY);
    cr_expect_eq(verdict.fraction, 0.25);
    cr_expect_eq(verdict.count, -1);
    add("on any nth 1 do close 300");
    verdict = at(QN_POINT_REPLY);
    cr_expect_eq(verdict.fraction, 0);
    cr_expect_eq(verdict.count, 300);
    add("on any nth 1 do truncate 30%");
    cr_expect_eq(at(QN_POINT_REPLY).fraction, 0.3);
    add("on any nth 1 at mid-response do bandwidth 2KB/s");
    verdict = at(QN_POINT_REPLY);
    cr_expect_eq(verdict.count, 2000);
    cr_expect_eq(verdict.fraction, 0.5);
    add("on any nth 1 do slow-close 3s");
    cr_expect_eq(at(QN_POINT_REPLY).delay_ms, 3000);
    add("on any nth 1 do slow-close");
    cr_expect_eq(at(QN_POINT_REPLY).delay_ms, 1000);
    add("on any at post-response do close");
    cr_expect_eq(at(QN_POINT_REPLY).fraction, 1);
}

Test(plan, digests_are_spoilt_where_there_are_some)
{
    facts.action = QN_STR("ReceiveMessage");
    facts.code = QN_STR("OK");
    add("on ReceiveMessage once do bad-md5 as bad");
    facts.message_count = 0;
    cr_expect_eq(at(QN_POINT_POST_COMMIT).kind, QN_VERDICT_PASS, "an empty answer has none");
    facts.message_count = 2;
    facts.code = QN_STR("OverLimit");
    cr_expect_eq(at(QN_POINT_POST_COMMIT).kind, QN_VERDICT_PASS, "an error has none");
    facts.code = QN_STR("OK");
    cr_expect_eq(at(QN_POINT_POST_COMMIT).kind, QN_VERDICT_BAD_MD5, "and once is not used up");
    cr_expect_eq(at(QN_POINT_POST_COMMIT).kind, QN_VERDICT_PASS);
}

Test(plan, jitter_stays_around_the_delay_and_is_repeatable)
{
    int64_t first[50];
    bool differs = false;
    for (int round = 0; round < 2; round++) {
        add("on any do delay 100ms jitter 30ms as slow");
        for (int i = 0; i < 50; i++) {
            int64_t delay_ms = at(QN_POINT_ARRIVE).delay_ms;
            cr_expect(delay_ms >= 70 && delay_ms <= 130);
            if (round == 0) {
                first[i] = delay_ms;
                differs = differs || delay_ms != first[0];
            }
            cr_expect_eq(delay_ms, first[i]);
        }
        qn_plan_remove(plan, QN_STR("slow"));
    }
    cr_expect(differs);
}

Test(plan, entries_of_a_batch_are_picked_by_the_predicate)
{
    add("on Delete* where key in (k-1,k-3) first 1 per message do fake-success as lost");
    cr_expect_eq(at(QN_POINT_PRE_COMMIT).entry_mask, 10);
    struct qn_event event = next_event();
    cr_expect(same(event.target, "id-1,id-3"));
    cr_expect(same(event.rule, "lost"));
    cr_expect_eq(event.match, 1);
    cr_expect(same(event.code, "fake-success"));
    cr_expect(same(event.action, "DeleteMessageBatch"));
    cr_expect(same(event.request, "r-1"));
    cr_expect_eq(event.connection, 5);
    cr_expect_eq(at(QN_POINT_PRE_COMMIT).kind, QN_VERDICT_PASS);
    cr_expect_eq(events.encoded.len, 0);
}

Test(plan, fail_entries_takes_the_first_n_or_those_of_its_predicate)
{
    add("on *Batch nth 1 do fail-entries 2 OverLimit sender");
    struct qn_verdict verdict = at(QN_POINT_PRE_COMMIT);
    cr_expect_eq(verdict.entry_mask, 3);
    cr_expect(verdict.error_sender);
    add("on *Batch where key!=k-0 nth 1,2,3 do fail-entries 2 OverLimit as b");
    verdict = at(QN_POINT_PRE_COMMIT);
    cr_expect_eq(verdict.entry_mask, 6);
    cr_expect_not(verdict.error_sender);
    qn_plan_remove(plan, QN_STR(""));
    add("on *Batch do fail-entries (key=k-2 or key=k-0) InternalError");
    cr_expect_eq(at(QN_POINT_PRE_COMMIT).entry_mask, 5);
    qn_plan_remove(plan, QN_STR(""));
    add("on *Batch once do fail-entries key=none InternalError as c");
    cr_expect_eq(at(QN_POINT_PRE_COMMIT).kind, QN_VERDICT_PASS, "nothing to fail: it did not fire");
    json_t *list = qn_plan_list(plan);
    cr_expect_eq(json_integer_value(json_object_get(json_array_get(list, 0), "fired")), 0);
    json_decref(list);
}

Test(plan, the_first_rule_that_fires_wins_and_all_that_match_count)
{
    add("on any nth 2 do hold as second");
    add("on any do throttle as each");
    add("on any once do error OverLimit as last");
    cr_expect(same(at(QN_POINT_ARRIVE).rule, "each"));
    cr_expect(same(next_event().rule, "each"));
    struct qn_event shadowed = next_event();
    cr_expect(qn_str_is_none(shadowed.rule));
    cr_expect(same(shadowed.target, "rule=last"));
    cr_expect(same(shadowed.reason, "shadowed by each"));
    cr_expect_eq(events.encoded.len, 0);

    cr_expect(same(at(QN_POINT_ARRIVE).rule, "second"));
    qn_plan_remove(plan, QN_STR("second"));
    qn_plan_remove(plan, QN_STR("each"));
    cr_expect(same(at(QN_POINT_ARRIVE).rule, "last"), "what was shadowed was not used up");
    cr_expect_eq(at(QN_POINT_ARRIVE).kind, QN_VERDICT_PASS);

    json_t *list = qn_plan_list(plan);
    json_t *row = json_array_get(list, 0);
    cr_expect_str_eq(json_string_value(json_object_get(row, "name")), "last");
    cr_expect_str_eq(json_string_value(json_object_get(row, "text")),
                     "on any once do error OverLimit as last");
    cr_expect_eq(json_integer_value(json_object_get(row, "matched")), 4);
    cr_expect_eq(json_integer_value(json_object_get(row, "fired")), 1);
    cr_expect_eq(json_integer_value(json_object_get(row, "last_fired")), 1000);
    json_decref(list);
}

Test(plan, what_the_harness_must_do_is_held_and_said_in_the_trace)
{
    add("on Delete* where key=k-2 first 1 at arrive do hold then kill instance as crash");
    struct qn_verdict verdict = at(QN_POINT_ARRIVE);
    cr_expect_eq(verdict.kind, QN_VERDICT_HOLD);
    cr_expect(same(verdict.rule, "crash"));
    struct qn_event event = next_event();
    cr_expect_eq(event.kind, QN_EVENT_FAULT);
    cr_expect(same(event.rule, "crash"));
    cr_expect(same(event.target, "instance=QUERN0001"));
    cr_expect(same(event.reason, "kill instance"));
    cr_expect(same(event.code, "hold"));
    cr_expect(same(event.message_id, "id-2"));

    add("on any at post-commit do mark seen then signal instance=2 TERM then after 1s spawn 1 as "
        "s");
    cr_expect_eq(at(QN_POINT_POST_COMMIT).kind, QN_VERDICT_PASS);
    event = next_event();
    cr_expect_eq(event.kind, QN_EVENT_MARK);
    cr_expect(same(event.reason, "seen"));
    event = next_event();
    cr_expect(same(event.target, "instance=2"));
    cr_expect(same(event.reason, "signal instance=2 TERM then after 1s spawn 1"));
}

Test(plan, a_crash_says_who_starts_the_server_again)
{
    add("on Delete* nth 1 do crash server then after 1s restart server as c");
    cr_expect_eq(at(QN_POINT_POST_COMMIT).kind, QN_VERDICT_CRASH);
    struct qn_event event = next_event();
    cr_expect(same(event.code, "crash"));
    cr_expect(same(event.target, "server"));
    cr_expect(same(event.reason, "after 1s restart server"));
}

Test(plan, one_answer_per_request_and_leases_expire_beside_it)
{
    struct qn_effect effect;
    add("on Delete* where key in (k-1,k-2) at arrive do expire-lease then delay 200ms as late");
    cr_expect_eq(at(QN_POINT_ARRIVE).kind, QN_VERDICT_DELAY);
    cr_expect_eq(qn_plan_next_ms(plan), 1000);
    cr_assert(qn_plan_take_effect(plan, 1000, &effect));
    cr_expect_eq(effect.kind, QN_EFFECT_EXPIRE_LEASE);
    cr_expect(same(effect.message_id, "id-1"));
    cr_expect(same(effect.queue, "q"));
    cr_expect(same(effect.account, "000000000000"));
    cr_expect(same(effect.rule, "late"));
    cr_assert(qn_plan_take_effect(plan, 1000, &effect));
    cr_expect(same(effect.message_id, "id-2"));
    cr_expect_not(qn_plan_take_effect(plan, 1000, &effect));
}

static void refuse(const char *text, const char *expected)
{
    struct qn_error err = {.message = ""};
    cr_expect_not(qn_plan_add(plan, qn_str_from_cstr(text), &err), "accepted: %s", text);
    cr_expect_not_null(strstr(err.message, expected), "%s: %s", text, err.message);
    cr_expect_eq(qn_plan_rule_count(plan), 0);
}

Test(plan, what_this_server_does_not_carry_out_is_refused)
{
    refuse("on any do throttle then jump 1h", "column 25: a real clock cannot jump");
    refuse("on any do crash server at ring.mid_append",
           "column 11: failpoint ring.mid_append lies");
    refuse("unsound on any do restore 10s", "column 19: restore goes back to an earlier state");
    refuse("on any do restore 10s", "a send that was answered as done is stored");
    refuse("on any do crash server at ring.mid_apend", "did you mean ring.mid_append?");
    refuse("on any do crash server at begin:SendMessage",
           "begin:SendMessage is a point of requests");
    refuse("on any do after 1s throttle", "write \"delay D then error\"");
    refuse("on any do after 1s mark x", "a mark is set when the rule fires, not later");
    refuse("on work.commit do hold", "column 4: events of sink are the harness's");
    refuse("on invoke do hang", "events of lambda are the harness's");
    refuse("on spawn do mark x", "events of proc are the harness's");
    refuse("on any do throttle then hang",
           "behind \"error\" nothing more can be done to the request: \"hang\" stands before it");
    refuse("on any do throttle then delay 1s", "\"delay\" stands before it");
    refuse("on any do throttle then crash server", "\"crash\" stands before it");
    refuse("on any do crash server then expire-lease", "there is no server that could do");
    refuse("on any do kill instance then throttle", "\"kill\" before it by the harness");
    refuse("on any do crash server then restart server then redrive of d",
           "behind \"restart\" nothing more can be done: \"redrive\" stands in a rule of its own");
    refuse("on any do after 2s", "nothing waits here");
    refuse("on DeleteMesage do hang", "did you mean \"DeleteMessage\"?");
}

Test(plan, names_are_given_and_are_unique)
{
    struct qn_error err;
    add("on any do hang");
    add("on any do hang as rule-2");
    add("on any do hang");
    cr_expect_not(qn_plan_add(plan, QN_STR("on any do hold as rule-2"), &err));
    cr_expect_not_null(strstr(err.message, "there is a rule with the name \"rule-2\" already"));
    json_t *list = qn_plan_list(plan);
    static const char *const expected[] = {"rule-1", "rule-2", "rule-3"};
    for (size_t i = 0; i < 3; i++) {
        cr_expect_str_eq(json_string_value(json_object_get(json_array_get(list, i), "name")),
                         expected[i]);
        cr_expect(json_is_null(json_object_get(json_array_get(list, i), "last_fired")));
    }
    json_decref(list);
    cr_expect(qn_plan_remove(plan, QN_STR("rule-1")));
    cr_expect_not(qn_plan_remove(plan, QN_STR("rule-1")));
    cr_expect_eq(qn_plan_rule_count(plan), 2);
    cr_expect(qn_plan_remove(plan, QN_STR("")));
    cr_expect_eq(qn_plan_rule_count(plan), 0);
}

Test(plan, the_counters_of_a_crashed_server_go_on)
{
    static uint64_t slots[256][4];
    struct qn_plan_options options = {.seed = 1, .counters = slots, .start_ms = 1000};
    for (int boot = 0; boot < 2; boot++) {
        struct qn_plan *one = qn_plan_new(&options);
        struct qn_error err;
        cr_assert(qn_plan_add(one, QN_STR("on any once do crash server as c"), &err));
        struct qn_verdict verdict = qn_chaos_at(one, QN_POINT_POST_COMMIT, &facts, &events);
        cr_expect_eq(verdict.kind, boot == 0 ? QN_VERDICT_CRASH : QN_VERDICT_PASS);
        qn_plan_free(one); /* a removal would have cleared them */
    }
}

Test(plan, more_entries_than_the_mask_has_bits_are_left_alone)
{
    enum { MANY = 100 };
    static struct qn_fact_message many[MANY];
    for (size_t i = 0; i < MANY; i++) {
        many[i] = (struct qn_fact_message){.message_id = qn_str_from_cstr(ids[i % 4])};
    }
    facts.messages = many;
    facts.message_count = MANY;
    add("on *Batch where mid ~ id-* at pre-commit do fake-success unsound as x");
    cr_expect_eq(at(QN_POINT_PRE_COMMIT).entry_mask, UINT64_MAX);
}
