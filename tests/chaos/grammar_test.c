/* Every element of the grammar is understood, in both of its forms where it has two. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "chaos/rule.h"

static struct qn_rule *rule;

static void drop(void)
{
    qn_rule_free(rule);
    rule = NULL;
}

TestSuite(grammar, .fini = drop);

static struct qn_rule *parse(const char *text)
{
    struct qn_error err;
    drop();
    cr_assert(qn_rule_parse(qn_str_from_cstr(text), 1, NULL, &rule, &err), "%s: %s", text,
              err.message);
    return rule;
}

static bool same(struct qn_str text, const char *expected)
{
    return qn_str_equal(text, qn_str_from_cstr(expected));
}

Test(grammar, the_examples_of_the_documentation_are_understood)
{
    static const char *const examples[] = {
        "on Delete* where key in (m-003,m-007) first 1 per message at pre-commit do fake-success",
        "on Delete*   where  key = m-003   do	fake-success      as lost",
        "on ReceiveMessage nth 1 at post-commit do reset 0        as lost-answer",
        "on Delete* where key=m-004 first 1 at arrive do hold then kill instance as crash",
        "on work.commit where key=m-002 once do hold then kill instance",
        "on work.begin where key=m-001 once do after 300ms expire-lease",
        "on ReceiveMessage between 2s 10s at arrive do error ThrottlingException",
        "on DeleteMessageBatch nth 1 do fail-entries 2 InternalError",
        "on any prob 0.02 seed 7 at mid-response do reset 0.5",
        "on msg.delete where key=m-003 do after 500ms resurrect",
        "on tick 3s once do signal instance=2 TERM",
        "on Delete* nth 10 at post-commit do crash server then after 1s restart server",
        "on sink.work.commit where key=k-002 once do hold then kill instance as a",
        "on Delete* where key=k-004 first 1 at arrive do hold then kill instance as b",
    };
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        parse(examples[i]);
    }
}

Test(grammar, every_event_belongs_to_its_target_named_or_not)
{
    static const struct {
        const char *name;
        enum qn_rule_target target;
    } events[] = {{"SendMessage", QN_TARGET_SQS},
                  {"sqs.SendMessage", QN_TARGET_SQS},
                  {"any", QN_TARGET_SQS},
                  {"sqs.any", QN_TARGET_SQS},
                  {"lease.grant", QN_TARGET_SQS},
                  {"sqs.lease.expire", QN_TARGET_SQS},
                  {"msg.dlq", QN_TARGET_SQS},
                  {"msg.delete", QN_TARGET_SQS},
                  {"work.begin", QN_TARGET_SINK},
                  {"sink.work.begin", QN_TARGET_SINK},
                  {"work.commit", QN_TARGET_SINK},
                  {"reject", QN_TARGET_SINK},
                  {"reconcile", QN_TARGET_SINK},
                  {"sink.ready", QN_TARGET_SINK},
                  {"invoke", QN_TARGET_LAMBDA},
                  {"lambda.response", QN_TARGET_LAMBDA},
                  {"init", QN_TARGET_LAMBDA},
                  {"spawn", QN_TARGET_PROC},
                  {"proc.exit", QN_TARGET_PROC},
                  {"tick 1s", QN_TARGET_CLOCK},
                  {"clock.tick 1s", QN_TARGET_CLOCK}};
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        char text[100];
        snprintf(text, sizeof(text), "on %s do mark here", events[i].name);
        cr_expect_eq(parse(text)->target, events[i].target, "%s", text);
        cr_expect_eq(rule->is_internal,
                     strstr(text, "lease.") != NULL || strstr(text, "msg.") != NULL, "%s", text);
    }
    cr_expect_eq(parse("on tick 1500ms do mark x")->tick_ms, 1500);
}

Test(grammar, clauses_before_do_may_stand_in_any_order)
{
    parse("on Delete* at arrive first 2 where queue=q per instance do hang");
    cr_expect_eq(rule->point, QN_RULE_ARRIVE);
    cr_expect_eq(rule->when.first, 2);
    cr_expect_eq(rule->when.per, QN_PER_INSTANCE);
    cr_expect_not_null(rule->where);
}

Test(grammar, every_when_clause_is_kept)
{
    parse("on any nth 1,2,7 every 3 first 9 after 1 times 4 prob 0.25 seed 12 between 2s 1m"
          " for 1h per connection do hang");
    const struct qn_rule_when *when = &rule->when;
    cr_expect_eq(when->nth_count, 3);
    cr_expect_eq(when->nth[2], 7);
    cr_expect_eq(when->every, 3);
    cr_expect_eq(when->first, 9);
    cr_expect_eq(when->after, 1);
    cr_expect_eq(when->times, 4);
    cr_expect_eq(when->prob, 0.25);
    cr_expect(when->has_seed);
    cr_expect_eq(when->seed, 12);
    cr_expect_eq(when->from_ms, 2000);
    cr_expect_eq(when->to_ms, 60000);
    cr_expect_eq(when->for_ms, 3600000);
    cr_expect_eq(when->per, QN_PER_CONNECTION);

    cr_expect_eq(parse("on any once do hang")->when.times, 1);
    cr_expect_eq(parse("on any nth (4, 5) do hang")->when.nth[1], 5);
    static const char *const per[] = {"message", "group", "instance", "queue", "connection"};
    for (size_t i = 0; i < 5; i++) {
        char text[100];
        snprintf(text, sizeof(text), "on Delete* per %s do hang", per[i]);
        cr_expect_eq(parse(text)->when.per, QN_PER_MESSAGE + i);
    }
}

Test(grammar, a_rule_without_a_point_gets_that_of_its_first_action)
{
    static const struct {
        const char *rule;
        enum qn_rule_point point;
    } cases[] = {
        {"on any do reset", QN_RULE_POST_COMMIT},
        {"on any do close", QN_RULE_POST_COMMIT},
        {"on any do hang", QN_RULE_POST_COMMIT},
        {"on any do kill instance", QN_RULE_POST_COMMIT},
        {"on any do crash server", QN_RULE_POST_COMMIT},
        {"on ReceiveMessage do expire-lease", QN_RULE_POST_COMMIT},
        {"on Delete* do fake-success", QN_RULE_PRE_COMMIT},
        {"on *Batch do fail-entries 1 InternalError", QN_RULE_PRE_COMMIT},
        {"on ReceiveMessage do false-empty", QN_RULE_PRE_COMMIT},
        {"on ReceiveMessage do short 1", QN_RULE_PRE_COMMIT},
        {"on any do error OverLimit", QN_RULE_ARRIVE},
        {"on any do delay 1s", QN_RULE_ARRIVE},
        {"on any do hold", QN_RULE_ARRIVE},
        {"on any do mark here then reset", QN_RULE_POST_COMMIT},
        {"on any do hold then kill instance", QN_RULE_ARRIVE},
        {"on any do mark here", QN_RULE_ARRIVE},
        {"on any do reset 0.5", QN_RULE_MID_RESPONSE},
        {"on any do close 100", QN_RULE_MID_RESPONSE},
        {"on any do reset 0", QN_RULE_POST_COMMIT},
        {"on msg.delete do resurrect", QN_RULE_ANYWHERE},
        {"on work.commit do hold", QN_RULE_ANYWHERE},
        {"on work.commit at post-commit do hang", QN_RULE_POST_COMMIT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_expect_eq(parse(cases[i].rule)->point, cases[i].point, "%s", cases[i].rule);
    }
    static const char *const points[] = {"arrive", "pre-commit", "post-commit", "mid-response",
                                         "post-response"};
    for (size_t i = 0; i < 5; i++) {
        char text[100];
        snprintf(text, sizeof(text), "on any at %s do reset", points[i]);
        cr_expect_eq(parse(text)->point, QN_RULE_ARRIVE + i);
    }
}

static const struct qn_rule_action *action(const char *text)
{
    return &parse(text)->actions[0];
}

Test(grammar, error_codes_go_by_every_name_that_aws_has_for_them)
{
    cr_expect_eq(action("on any do error OverLimit")->error, QN_ERR_OVER_LIMIT);
    cr_expect_eq(rule->actions[0].http_status, -1);
    cr_expect_eq(action("on any do error QueueDoesNotExist http 418")->error,
                 QN_ERR_QUEUE_DOES_NOT_EXIST);
    cr_expect_eq(rule->actions[0].http_status, 418);
    cr_expect_eq(action("on any do error AWS.SimpleQueueService.NonExistentQueue")->error,
                 QN_ERR_QUEUE_DOES_NOT_EXIST);
    cr_expect_eq(action("on any do error internalerror")->error, QN_ERR_INTERNAL);
    cr_expect_eq(action("on any do error Throttling")->error, QN_ERR_THROTTLING);
    cr_expect_eq(action("on any do throttle")->error, QN_ERR_THROTTLING);
    cr_expect_eq(rule->actions[0].verb, QN_DO_ERROR);
    cr_expect_eq(action("on any do overlimit")->error, QN_ERR_OVER_LIMIT);
    cr_expect_eq(action("on any do 403")->error, QN_ERR_ACCESS_DENIED);
    cr_expect_eq(action("on any do 5xx 503")->error, QN_ERR_SERVICE_UNAVAILABLE);
    cr_expect_eq(action("on any do 5xx 500")->error, QN_ERR_INTERNAL);
    cr_expect_eq(rule->actions[0].http_status, 500);
}

Test(grammar, arguments_of_the_actions_that_the_server_carries_out)
{
    const struct qn_rule_action *a = action("on *Batch do fail-entries 2 OverLimit sender");
    cr_expect_eq(a->count, 2);
    cr_expect(a->sender);
    cr_expect_null(a->entries);
    a = action("on *Batch do fail-entries key=m-1 or key=m-2 OverLimit");
    cr_expect_eq(a->error, QN_ERR_OVER_LIMIT);
    cr_expect_not(a->sender);
    cr_expect_not_null(a->entries);
    cr_expect_eq(action("on ReceiveMessage do short 3")->count, 3);
    a = action("on any do delay 1.5s jitter 20ms");
    cr_expect_eq(a->duration_ms, 1500);
    cr_expect_eq(a->jitter_ms, 20);
    cr_expect_eq(action("on any do reset 25%")->fraction, 0.25);
    cr_expect_eq(action("on any do reset 1")->fraction, 1);
    a = action("on any do close 512");
    cr_expect_eq(a->bytes, 512);
    cr_expect_lt(a->fraction, 0);
    cr_expect_eq(action("on any do close 1B")->bytes, 1);
    cr_expect_eq(action("on any at mid-response do reset")->fraction, 0.5);
    cr_expect_eq(action("on any at post-response do close")->fraction, 1);
    cr_expect_eq(action("on any do reset")->fraction, 0);
    cr_expect_eq(action("on msg.delete do after 2s resurrect")->after_ms, 2000);
    cr_expect(same(action("on any do mark \"phase two\"")->text, "phase two"));
    cr_expect(same(action("on any do crash server at ring.mid_append")->text, "ring.mid_append"));
    cr_expect(same(action("on any do crash server at ring.mid_append")->value, "kill"));
    cr_expect(same(action("on any do crash server at purge.mid kill as x")->value, "kill"));
    cr_expect(same(action("on any do crash server at purge.mid abort")->value, "abort"));
    cr_expect(same(action("on any do crash server at purge.mid error")->value, "error"));
    cr_expect(same(action("on any do crash server at purge.mid delay 2s")->value, "delay 2000"));
}

Test(grammar, arguments_of_the_actions_of_the_harness)
{
    cr_expect(qn_str_is_none(action("on any do kill instance")->instance));
    cr_expect(same(action("on any do kill instance=2")->instance, "2"));
    cr_expect(same(action("on any do signal USR1")->text, "USR1"));
    const struct qn_rule_action *a = action("on any do signal instance=QUERN0003 TERM");
    cr_expect(same(a->instance, "QUERN0003"));
    cr_expect(same(a->text, "TERM"));
    a = action("on any do stop instance=1 5s");
    cr_expect(same(a->instance, "1"));
    cr_expect_eq(a->duration_ms, 5000);
    cr_expect_eq(action("on any do stop 300ms")->duration_ms, 300);
    cr_expect_eq(action("on any do spawn 3")->count, 3);
    cr_expect_eq(action("on any do respawn after 200ms")->duration_ms, 200);
    cr_expect_eq(action("on any do respawn")->duration_ms, -1);
    cr_expect_eq(action("on any do restart server after 1s")->duration_ms, 1000);
    cr_expect_eq(action("on any do after 1s restart server")->after_ms, 1000);
    cr_expect_eq(action("on any do freeze server 2s")->duration_ms, 2000);
}

Test(grammar, arguments_of_the_actions_that_come_later)
{
    static const char *const texts[] = {
        "on SendMessage do bad-md5",
        "on ReceiveMessage do no-md5",
        "on any do truncate 0.3",
        "on any do garbage",
        "on any do html",
        "on any do bandwidth 64KB/s",
        "on any do bandwidth 100/s",
        "on any do slow-close",
        "on any do refuse 3s",
        "on ReceiveMessage do shorten-lease 2s",
        "on lease.grant do extend-lease 2s",
        "on work.begin do deliver-again",
        "on lease.grant do deliver-again to other",
        "on lease.grant do deliver-again to instance=2",
        "on ReceiveMessage do dup-in-batch",
        "on ReceiveMessage do deliver-to-both",
        "on ReceiveMessage do reorder reverse",
        "on ReceiveMessage do reorder shuffle window=20",
        "on ReceiveMessage do reorder delay k-003 by 2s",
        "on tick 1s do send \"body\" to q",
        "on tick 1s do send \"body\" to q.fifo group g",
        "on tick 1s do send @bodies.jsonl to q",
        "on SendMessage do send @\"my bodies.jsonl\"",
        "on SendMessage do send \"@body\" group g then send \"b\"",
        "on SendMessage do dup-send",
        "on SendMessage do dup-send group g",
        "on SendMessage do poison-body group g",
        "on tick 1s do redrive of q",
        "on tick 1s do purge of q then purge of q.fifo",
        "on tick 1s do delete-queue of q then after 2s create-queue q",
        "on DeleteQueue do create-queue",
        "on tick 1s do set-attr VisibilityTimeout=1 of q",
        "on any do set-attr RedrivePolicy=\"\"",
        "on tick 1s do jump 1h",
        "on tick 1s do jump 1h force",
        "on work.begin do status 503",
        "on work.begin do commit-then-reset",
        "on work.begin do commit-then-status 504",
        "on work.begin do delay 1s",
        "on tick 1s do gate open",
        "on ready do gate close",
        "on ready do capacity 3",
        "on work.commit nth 12 do finish",
        "on ready do outcome transient,transient,ok for key=m-001",
        "on ready do outcome (permanent) for key ~ m-* and not key=m-2",
        "on invoke do hang",
        "on spawn where instance=2 do signal KILL",
        "on exit do respawn after 1s",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        parse(texts[i]);
    }
}

Test(grammar, arguments_of_messages_and_queues)
{
    const struct qn_rule_action *a;
    cr_expect_eq(action("on any do bandwidth 64KB/s")->count, 64000);
    cr_expect_eq(action("on ready do outcome a,b for key=1")->list_count, 2);
    cr_expect(action("on tick 1s do jump 1h force")->force);
    a = action("on tick 1s do set-attr DelaySeconds=2 of q");
    cr_expect(same(a->text, "DelaySeconds"));
    cr_expect(same(a->value, "2"));
    cr_expect(same(a->queue, "q"));
    a = action("on any do send @\"my bodies\" to q group g");
    cr_expect(a->is_file);
    cr_expect(same(a->text, "my bodies"));
    cr_expect(same(a->value, "g"));
    cr_expect_not(action("on any do send \"@x\"")->is_file);
    cr_expect(same(action("on any do create-queue q")->queue, "q"));
}

Test(grammar, pauses_add_up_and_a_last_one_is_an_action)
{
    parse("on msg.delete do after 1s then after 2s resurrect then mark back");
    cr_expect_eq(rule->action_count, 2);
    cr_expect_eq(rule->actions[0].after_ms, 3000);
    parse("on any do hold then after 2s as pause");
    cr_expect_eq(rule->action_count, 2);
    cr_expect_eq(rule->actions[1].verb, QN_DO_AFTER);
    cr_expect_eq(rule->actions[1].duration_ms, 2000);
    cr_expect(same(rule->name, "pause"));
}

Test(grammar, names_words_and_comments)
{
    parse("  on any do hang as a.b-C_9   # a comment");
    cr_expect(same(rule->name, "a.b-C_9"));
    cr_expect(same(rule->text, "on any do hang as a.b-C_9"));
    cr_expect(qn_str_is_none(parse("on any do hang")->name));
    parse("on any # the event\n  where queue = \"a b\\\"c\\\\\" # the queue\n\n do hang");
    cr_expect(same(rule->actions[0].source, "hang"));
    parse("on Delete* do hold then after 2s kill instance=1 then mark x as y");
    cr_expect(same(rule->actions[1].source, "after 2s kill instance=1"));
}

Test(grammar, unsound_stands_before_on_or_behind_the_actions)
{
    cr_expect(parse("unsound on SendMessage do fake-success")->unsound);
    cr_expect(parse("on SendMessage do fake-success unsound as x")->unsound);
    cr_expect(parse("unsound on any where queue=a.fifo do deliver-again")->unsound);
    cr_expect_not(parse("on any do hang")->unsound);
}
