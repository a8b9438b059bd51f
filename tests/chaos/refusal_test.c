/* What is wrong in a rule is said with its place, what was expected, and the word that was probably
 * meant. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "chaos/rule.h"

static const char *const actions[] = {"SendMessage", "DeleteMessage", "DeleteMessageBatch",
                                      "ReceiveMessage", "GetQueueUrl"};
static const struct qn_rule_names names = {actions, 5};

static void refused(const char *text, const char *expected)
{
    struct qn_rule *rule = NULL;
    struct qn_error err = {.message = ""};
    bool ok = qn_rule_parse(qn_str_from_cstr(text), 1, &names, &rule, &err);

    cr_expect_not(ok, "accepted: %s", text);
    qn_rule_free(ok ? rule : NULL);
    cr_expect_not_null(strstr(err.message, expected), "%s\n  says   %s\n  not    %s", text,
                       err.message, expected);
    cr_expect(ok || err.code == QN_ERR_INVALID_PARAMETER_VALUE);
}

Test(refusal, names_line_and_column_in_characters)
{
    refused("on any do hagn", "line 1, column 11: expected an action, found \"hagn\"; did you mean "
                              "\"hang\"?");
    refused("on any\n  where queue=\"\xc3\xa9\xc3\xa9\" do hagn", "line 2, column 23: ");
    refused("on any\n\n\nwher", "line 4, column 1: ");

    struct qn_rule *rule;
    struct qn_error err;
    cr_expect_not(qn_rule_parse(QN_STR("on any\ndu hang"), 7, NULL, &rule, &err));
    cr_expect_not_null(strstr(err.message, "line 8, column 1: "), "%s", err.message);
}

Test(refusal, offers_the_nearest_legal_word)
{
    refused("onn any do hang", "expected \"on\", found \"onn\"; did you mean \"on\"?");
    refused("on RecieveMessage do hang", "did you mean \"ReceiveMessage\"?");
    refused("on DeleteMesageBatch do hang", "did you mean \"DeleteMessageBatch\"?");
    refused("on deletemessage do hang", "did you mean \"DeleteMessage\"?");
    refused("on Delte* do hang", "expected an event or an API action, found \"Delte*\"");
    refused("on work.comit do hang", "did you mean \"work.commit\"?");
    refused("on any were queue=q do hang", "did you mean \"where\"?");
    refused("on any where quee=q do hang", "did you mean \"queue\"?");
    refused("on any frist 1 do hang", "did you mean \"first\"?");
    refused("on any betwen 1s 2s do hang", "did you mean \"between\"?");
    refused("on any at post-comit do hang", "did you mean \"post-commit\"?");
    refused("on any at mid do hang", "did you mean \"mid-response\"?");
    refused("on any per instnace do hang", "did you mean \"instance\"?");
    refused("on any do fake-succes", "did you mean \"fake-success\"?");
    refused("on any do error OverLimt", "did you mean \"OverLimit\"?");
    refused("on any do error ThrotlingException", "did you mean \"ThrottlingException\"?");
    refused("on any do error InternalEror", "did you mean \"InternalError\"?");
    refused("on any do signal TREM", "did you mean \"TERM\"?");
    refused("on any do crash sevrer", "did you mean \"server\"?");
    refused("on any do hang thne mark x", "did you mean \"then\"?");
    refused("on any do hang ass x", "did you mean \"as\"?");
    refused("on ready do gate opne", "did you mean \"open\"?");
}

Test(refusal, lists_the_legal_words_when_none_is_near)
{
    refused("on any at 7 do hang", "expected a point (arrive, pre-commit, post-commit, "
                                   "mid-response or post-response), found \"7\"");
    refused("on any per x do hang",
            "expected what to count by (message, group, instance, queue or connection)");
    refused("on any where queue do hang", "expected a comparison (=, !=, <, <=, >, >=, ~ or in)");
    refused("on any do hang 7", "expected the end of the rule or one of (then, as or unsound)");
}

Test(refusal, a_word_at_the_wrong_place_is_told_the_right_one)
{
    refused("on any do hang once", "column 16: \"once\" stands before `do`");
    refused("on any do hang where queue=q", "column 16: \"where\" stands before `do`");
    refused("on any do hang at arrive", "column 16: \"at\" stands before `do`");
    refused("on any do hang as x nth 3", "column 21: \"nth\" stands before `do`");
    refused("on any do hang unsound unsound", "column 24: \"unsound\" is said already");
    refused("unsound on any do hang unsound", "column 24: \"unsound\" is said already");
    refused("on any do hang as x then hang",
            "column 21: expected the end of the rule behind its name, found \"then\"");
    refused("on any do hang as x as y",
            "column 21: expected the end of the rule behind its name, found \"as\"");
}

Test(refusal, says_what_was_expected_where_the_text_ends)
{
    refused("", "line 1, column 1: expected \"on\", found the end");
    refused("# nothing", "expected \"on\", found the end");
    refused("on", "column 3: expected an event or an API action");
    refused("on any", "column 7: expected \"do\" or a condition before it");
    refused("on any do", "expected an action");
    refused("on any do error", "expected an error code of SQS, found the end");
    refused("on any do hang then", "expected an action");
    refused("on any do hang as", "expected a name");
    refused("on any where", "expected a field");
    refused("on any where queue=", "expected a value");
    refused("on any where (queue=q do hang", "expected `and`, `or` or \")\", found \"do\"");
    refused("on any where queue in (a do hang", "expected \",\" or \")\"");
    refused("on any where queue in a do hang", "expected \"(\" and a list");
    refused("on any where queue=\"a do hang", "column 20: a quoted text begins here");
    refused("on any where body=1 do hang", "body needs what to look at");
    refused("on any where body.=1 do hang", "expected a path such as body.\"payload.id\"");
    refused("on any where attr. \"x\"=1 do hang", "expected a name such as attr.\"kind\"");
}

Test(refusal, numbers_and_durations_are_checked)
{
    refused("on any nth 0 do hang", "nth counts from 1: \"0\"");
    refused("on any nth 1,x do hang", "nth counts from 1: \"x\"");
    refused("on any first 0 do hang", "expected a number from 1 on, found \"0\"");
    refused("on any every -1 do hang", "expected a number from 1 on");
    refused("on any after 5s do hang", "expected a number of matches from 1 on");
    refused("on any prob 0 do hang", "expected a probability above 0 and up to 1");
    refused("on any prob 1.01 do hang", "expected a probability");
    refused("on any prob nan do hang", "expected a probability");
    refused("on any between 2 3s do hang", "expected a duration such as 300ms");
    refused("on any between 3s 3s do hang", "column 19: between ends before it begins");
    refused("on any for 0s do hang", "for 0 is never");
    refused("on tick 0s do mark x", "a tick of 0 never ends");
    refused("on tick do mark x", "expected a duration");
    refused("on any do delay 5", "expected a duration");
    refused("on any do delay 99999999999h", "expected a duration");
    refused("on any do 5xx 404", "expected an HTTP status from 500 to 599");
    refused("on any do error OverLimit http 200", "expected an HTTP status from 400 to 599");
    refused("on any do reset 1.5", "expected a part of the answer");
    refused("on any do reset 120%", "expected a part of the answer");
    refused("on any do bandwidth 100", "expected bytes per second");
    refused("on any do slow-close 5", "expected a duration");
    refused("on any do truncate 100%", "behind all of the answer nothing is missing");
    refused("on any do truncate 1", "behind all of the answer nothing is missing");
    refused("on any where rc=x do hang", "rc is compared with a number, not with \"x\"");
    refused("on any where t>1x do hang", "t is compared with a number or a duration");
    refused("on any where size ~ 1* do hang", "size is a number: \"~\" compares texts");
}

Test(refusal, nothing_is_said_twice)
{
    refused("on any first 1 first 2 do hang", "column 16: \"first\" is said already");
    refused("on any once times 2 do hang", "\"times\" is said already");
    refused("on any where queue=a where queue=b do hang", "\"where\" is said already");
    refused("on any at arrive at arrive do hang", "\"at\" is said already");
}

Test(refusal, events_and_targets_belong_together)
{
    refused("on sqs.work.begin do hang", "work.begin is an event of sink, not of sqs");
    refused("on sink.SendMessage do hang", "expected an event of this target");
    refused("on clock.any do hang", "expected an event of this target");
    refused("on work.begin do fake-success", "fake-success is no action for an event of sink");
    refused("on tick 1s do reset", "reset is no action for an event of clock");
    refused("on spawn where key=k do mark x", "an event of proc has no message to look at");
    refused("on tick 1s per message do mark x", "an event of clock has no message to look at");
}

Test(refusal, what_can_never_happen_is_not_accepted)
{
    refused("on msg.delete at arrive do resurrect", "column 15: msg.delete has no points");
    refused("on lease.expire do hold", "hold needs a request, and lease.expire is none");
    refused("on GetQueueUrl do fail-entries 1 OverLimit", "fail-entries can be done to no request");
    refused("on Delete* do short 1", "short can be done to no request that \"Delete*\" names");
    refused("on ReceiveMessage do fake-success", "fake-success can be done to no request");
    refused("on Delete* at arrive do fake-success", "fake-success cannot be done at arrive");
    refused("on any at post-response do hold", "hold cannot be done at post-response");
    refused("on any at arrive do reset 0.5", "at arrive nothing of the answer is sent yet");
    refused("on any at post-response do reset 0.5", "at post-response all of the answer is sent");
    refused("on ReceiveMessage where key=k at arrive do hold",
            "at arrive the messages of a ReceiveMessage are not known");
    refused("on any where code=OK at arrive do hold", "code is known from post-commit on");
    refused("on Delete* do resurrect", "resurrect is for `on msg.delete`");
    refused("on msg.delete do expire-lease", "only lease.grant has a lease");
    refused("on lease.expire do extend-lease 1s", "only lease.grant has a lease");
    refused("on msg.delete do deliver-again", "only lease.grant has a lease");
    refused("unsound on lease.grant where queue=q.fifo do reorder delay k by 1s",
            "a FIFO queue delays no single message");
    refused("unsound on lease.grant where queue=q.fifo do deliver-again to other",
            "a FIFO queue keeps no single message back");
    refused("on ReceiveMessage at pre-commit do expire-lease",
            "at pre-commit there is nothing that expire-lease could be done to; say `at "
            "post-commit`");
    refused("on Delete* do shorten-lease 1s", "say `at pre-commit`");
    refused("on SendMessage do extend-lease 1s",
            "extend-lease can be done to no request that \"SendMessage\" names");
    refused("on tick 1s do shorten-lease 1s", "shorten-lease is no action for an event of clock");
    refused("on tick 1s do dup-send", "dup-send is no action for an event of clock");
    refused("on SendMessage at pre-commit do dup-send",
            "at pre-commit there is nothing that dup-send could be done to; say `at post-commit`");
    refused("on tick 1s do send \"x\"", "tick has no queue that send could be for; say which: send "
                                        "\"...\" to QUEUE");
    refused("on tick 1s do redrive", "say which: redrive of QUEUE");
    refused("on tick 1s do purge", "say which: purge of QUEUE");
    refused("on tick 1s do delete-queue", "say which: delete-queue of QUEUE");
    refused("on tick 1s do create-queue", "say which: create-queue QUEUE");
    refused("on tick 1s do set-attr DelaySeconds=1", "say which: set-attr NAME=VALUE of QUEUE");
}

Test(refusal, promises_of_aws_are_kept_unless_the_rule_says_unsound)
{
    refused("on SendMessage do fake-success", "say \"unsound\"");
    refused("on Send* do fake-success", "a send that was answered as done is stored");
    refused("on any do fake-success", "fake-success is for Delete*");
    refused("on lease.grant where queue=q.fifo do deliver-again", "deliver-again breaks what SQS "
                                                                  "promises for FIFO queues");
    refused("on ReceiveMessage where queue ~ *.fifo do dup-in-batch", "breaks what SQS promises");
    refused("on ReceiveMessage where max>1 and queue in (a,b.fifo) do reorder reverse",
            "reorder breaks what SQS promises");
    refused("on msg.delete where queue=q.fifo do resurrect", "resurrect breaks");

    struct qn_rule *rule;
    struct qn_error err;
    cr_assert(qn_rule_parse(QN_STR("on msg.delete where not queue ~ *.fifo do resurrect"), 1, NULL,
                            &rule, &err),
              "%s", err.message);
    qn_rule_free(rule);
}

Test(refusal, messages_and_queues_are_checked_as_far_as_the_rule_knows_them)
{
    refused("on any do send body", "expected a \"quoted body\" or @FILE, found \"body\"");
    refused("on any do send \"\"", "expected a \"quoted body\" or @FILE");
    refused("on any do send @", "expected the name of a file");
    refused("on any do send \"x\" to q.fifo", "needs a group: say `group G` behind it");
    refused("on SendMessage where queue=q.fifo do send \"x\"", "needs a group");
    refused("on any do send \"x\" group \"a b\"", "a message group has 1 to 128");
    refused("on any do purge of a/b", "a queue's name has 1 to 80 letters");
    refused("on any do purge of .fifo", "a queue's name has 1 to 80 letters");
    refused("on any do set-attr VisibilityTimout=1", "did you mean \"VisibilityTimeout\"?");
    refused("on any do set-attr QueueArn=x", "expected an attribute that can be set");
    refused("on any do set-attr DelaySeconds=901", "refuses this value for DelaySeconds");
    refused("on any do set-attr DelaySeconds", "expected \"=\"");
    refused("on any do set-attr SqsManagedSseEnabled=yes", "refuses this value");
    refused("on any do set-attr RedrivePolicy=x", "refuses this value");
    refused("on any do set-attr DeduplicationScope=x of q.fifo", "refuses this value");
    refused("on any do set-attr ContentBasedDeduplication=true of q", "is an attribute of FIFO");
}

Test(refusal, hostile_text_is_answered_too)
{
    static char text[40000];

    refused("on any do hang \xff", "the rule is not UTF-8");
    refused("on any do ha\x01ng", "a control character is part of no rule");
    refused("on any where queue ! q do hang", "expected \"!=\", found \"!\"");
    refused("on any where queue=\"a\\t\" do hang", "a backslash stands before");
    memset(text, 'x', sizeof(text) - 1);
    refused(text, "a rule has 32768 bytes at most");
    text[32000] = '\0';
    refused(text, "expected \"on\", found \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\"");

    char *end = text + snprintf(text, sizeof(text), "on any where ");
    memset(end, '(', 1000);
    end[1000] = '\0';
    refused(text, "nest 32 deep at most");
    memset(end, ' ', 1000);
    for (int i = 0; i < 200; i++) {
        memcpy(end + 4 * i, "not ", 4);
    }
    refused(text, "nest 32 deep at most");

    end = text + snprintf(text, sizeof(text), "on any do hang");
    for (int i = 0; i < 40; i++) {
        end += snprintf(end, 20, " then mark x");
    }
    refused(text, "a chain has 32 actions at most");
    refused("on any do hang as bad/name", "a rule's name has 1 to 80 letters");
    refused("on any do hang as \"\"", "a rule's name has 1 to 80 letters");
}
