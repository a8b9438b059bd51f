/* Every action at every kind of event and queue: allowed, allowed only as unsound, or impossible.
 * An action without a row fails. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "chaos/verbs.h"

static const char *const events[] = {
    "SendMessage",
    "SendMessageBatch",
    "ReceiveMessage",
    "DeleteMessage",
    "DeleteMessageBatch",
    "ChangeMessageVisibility",
    "CreateQueue",
    "any",
    "lease.grant",
    "lease.expire",
    "msg.delete",
    "msg.dlq",
    "tick 1s",
    "work.begin",
};

enum { EVENTS = sizeof(events) / sizeof(events[0]), QUEUES = 3 };

/* What a rule says of its queue: a standard one, a FIFO one, nothing. */
static const char *const queues[QUEUES] = {"where queue=q", "where queue=q.fifo", ""};

/* A character per event, in their order; blanks are for the eye:
 *   +  allowed   u  only as unsound   -  can never happen, whatever the rule says */
struct row {
    enum qn_rule_verb verb;
    const char *words;
    const char *of_queue[QUEUES];
};

#define EVERY_QUEUE(pattern)                                                                       \
    {                                                                                              \
        pattern, pattern, pattern                                                                  \
    }
#define NO_FIFO(pattern, of_fifo)                                                                  \
    {                                                                                              \
        pattern, of_fifo, pattern                                                                  \
    }

static const struct row rows[] = {
    {QN_DO_ERROR, "error OverLimit", EVERY_QUEUE("+++++++ + ---- - -")},
    {QN_DO_ERROR, "throttle", EVERY_QUEUE("+++++++ + ---- - -")},
    {QN_DO_ERROR, "overlimit", EVERY_QUEUE("+++++++ + ---- - -")},
    {QN_DO_ERROR, "5xx 503", EVERY_QUEUE("+++++++ + ---- - -")},
    {QN_DO_ERROR, "403", EVERY_QUEUE("+++++++ + ---- - -")},
    {QN_DO_FAIL_ENTRIES, "fail-entries 1 OverLimit", EVERY_QUEUE("-+--+-- + ---- - -")},
    {QN_DO_FAKE_SUCCESS, "fake-success", NO_FIFO("uu-+++- u ---- - -", "uu-++u- u ---- - -")},
    {QN_DO_FALSE_EMPTY, "false-empty", EVERY_QUEUE("--+---- + ---- - -")},
    {QN_DO_SHORT, "short 1", EVERY_QUEUE("--+---- + ---- - -")},
    {QN_DO_BAD_MD5, "bad-md5", EVERY_QUEUE("+++---- + ---- - -")},
    {QN_DO_NO_MD5, "no-md5", EVERY_QUEUE("+++---- + ---- - -")},
    {QN_DO_TRUNCATE, "truncate 0.5", EVERY_QUEUE("+++++++ + ---- - +")},
    {QN_DO_GARBAGE, "garbage", EVERY_QUEUE("+++++++ + ---- - +")},
    {QN_DO_HTML, "html", EVERY_QUEUE("+++++++ + ---- - +")},
    {QN_DO_DELAY, "delay 1s", EVERY_QUEUE("+++++++ + ---- - +")},
    {QN_DO_HANG, "hang", EVERY_QUEUE("+++++++ + ---- - +")},
    {QN_DO_BANDWIDTH, "bandwidth 1KB/s", EVERY_QUEUE("+++++++ + ---- - +")},
    {QN_DO_SLOW_CLOSE, "slow-close", EVERY_QUEUE("+++++++ + ---- - +")},
    {QN_DO_RESET, "reset", EVERY_QUEUE("+++++++ + ---- - +")},
    {QN_DO_CLOSE, "close", EVERY_QUEUE("+++++++ + ---- - +")},
    {QN_DO_REFUSE, "refuse 1s", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_EXPIRE_LEASE, "expire-lease", NO_FIFO("--+--+- + +--- - +", "--u--u- u u--- - u")},
    {QN_DO_SHORTEN_LEASE, "shorten-lease 1s", NO_FIFO("--+--+- + +--- - +", "--u--u- u u--- - u")},
    {QN_DO_EXTEND_LEASE, "extend-lease 1s", EVERY_QUEUE("--+--+- + +--- - +")},
    {QN_DO_DELIVER_AGAIN, "deliver-again", NO_FIFO("--+--+- + +--- - +", "--u--u- u u--- - u")},
    {QN_DO_DUP_IN_BATCH, "dup-in-batch", NO_FIFO("--+---- + ---- - -", "--u---- u ---- - -")},
    {QN_DO_DELIVER_TO_BOTH, "deliver-to-both", NO_FIFO("--+---- + ---- - -", "--u---- u ---- - -")},
    {QN_DO_RESURRECT, "resurrect", NO_FIFO("------- - --+- - -", "------- - --u- - -")},
    {QN_DO_REORDER, "reorder reverse", NO_FIFO("+++++++ + ++++ - -", "uuuuuuu u uuuu - -")},
    {QN_DO_SEND, "send \"b\" group g", EVERY_QUEUE("+++++++ + ++++ - +")},
    {QN_DO_DUP_SEND, "dup-send", NO_FIFO("++++++- + ++++ - +", "uuuuuu- u uuuu - u")},
    {QN_DO_POISON_BODY, "poison-body", EVERY_QUEUE("++++++- + ++++ - +")},
    {QN_DO_REDRIVE, "redrive", EVERY_QUEUE("+++++++ + ++++ - +")},
    {QN_DO_PURGE, "purge", EVERY_QUEUE("+++++++ + ++++ - +")},
    {QN_DO_PURGE, "purge of q", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_DELETE_QUEUE, "delete-queue", EVERY_QUEUE("+++++++ + ++++ - +")},
    {QN_DO_CREATE_QUEUE, "create-queue", EVERY_QUEUE("+++++++ + ++++ - +")},
    {QN_DO_SET_ATTR, "set-attr DelaySeconds=1", EVERY_QUEUE("+++++++ + ++++ - +")},
    {QN_DO_KILL, "kill instance", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_SIGNAL, "signal TERM", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_STOP, "stop 1s", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_SPAWN, "spawn 1", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_RESPAWN, "respawn", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_CRASH, "crash server", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_RESTORE, "restore 1s", EVERY_QUEUE("uuuuuuu u uuuu u u")},
    {QN_DO_RESTART, "restart server", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_FREEZE, "freeze server 1s", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_JUMP, "jump 1s", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_STATUS, "status 503", EVERY_QUEUE("------- - ---- - +")},
    {QN_DO_COMMIT_THEN_RESET, "commit-then-reset", EVERY_QUEUE("------- - ---- - +")},
    {QN_DO_COMMIT_THEN_STATUS, "commit-then-status 504", EVERY_QUEUE("------- - ---- - +")},
    {QN_DO_GATE, "gate open", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_CAPACITY, "capacity 1", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_FINISH, "finish", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_OUTCOME, "outcome ok for key=k", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_HOLD, "hold", EVERY_QUEUE("+++++++ + ---- - +")},
    {QN_DO_AFTER, "after 1s", EVERY_QUEUE("+++++++ + ++++ + +")},
    {QN_DO_MARK, "mark x", EVERY_QUEUE("+++++++ + ++++ + +")},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static bool parse(const char *unsound, const char *event, const char *queue, const char *words,
                  struct qn_error *err)
{
    char text[200];
    struct qn_rule *rule = NULL;

    (void)snprintf(text, sizeof(text), "%son %s %s do %s", unsound, event, queue, words);
    bool ok = qn_rule_parse(qn_str_from_cstr(text), 1, NULL, &rule, err);
    qn_rule_free(ok ? rule : NULL);
    return ok;
}

static void check_cell(const struct row *row, size_t queue, size_t event, char expected)
{
    struct qn_error err = {.message = ""};
    struct qn_error as_unsound = {.message = ""};
    bool ok = parse("", events[event], queues[queue], row->words, &err);
    bool ok_as_unsound = parse("unsound ", events[event], queues[queue], row->words, &as_unsound);
    bool names_it = strstr(err.message, "breaks what SQS promises") != NULL &&
                    strstr(err.message, "; say \"unsound\"") != NULL;
    char found = ok ? '+' : ok_as_unsound ? 'u' : '-';

    cr_expect_eq(found, expected, "on %s %s do %s: %c and not %c: %s", events[event], queues[queue],
                 row->words, found, expected, err.message);
    cr_expect(!ok || ok_as_unsound, "`unsound` must not forbid anything");
    cr_expect_eq(names_it, found == 'u', "%s: %s", row->words, err.message);
}

Test(sound, each_action_keeps_the_promises_of_sqs_unless_it_says_unsound)
{
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t queue = 0; queue < QUEUES; queue++) {
            const char *cell = rows[i].of_queue[queue];
            for (size_t event = 0; event < EVENTS; event++) {
                cell += strspn(cell, " ");
                cr_assert_neq(*cell, '\0', "%s has no cell for %s", rows[i].words, events[event]);
                check_cell(&rows[i], queue, event, *cell++);
            }
            cr_expect_eq(*cell, '\0', "%s has too many cells", rows[i].words);
        }
    }
}

Test(sound, each_action_has_a_row)
{
    for (int verb = 0; verb < QN_DO_COUNT; verb++) {
        bool found = false;
        for (size_t i = 0; i < ROWS; i++) {
            const char *word = qn_rule_verb_name((enum qn_rule_verb)verb);
            size_t len = strlen(word);
            found = found || (strncmp(rows[i].words, word, len) == 0 &&
                              (rows[i].words[len] == '\0' || rows[i].words[len] == ' '));
        }
        cr_expect(found, "%s has no row: say at which events it keeps what SQS promises",
                  qn_rule_verb_name((enum qn_rule_verb)verb));
    }
}

/* A rule that does not say for which queue. */
static bool applies(const struct row *row, size_t event, bool is_fifo)
{
    struct qn_rule_subject subject;
    struct qn_rule *rule;
    struct qn_error err;
    char text[200];
    bool is_of_sink = event == EVENTS - 1;
    struct qn_fact_message message = {.message_id = QN_STR("id"), .receive_count = 1};

    (void)snprintf(text, sizeof(text), "on %s do %s", events[event], row->words);
    cr_assert(qn_rule_parse(qn_str_from_cstr(text), 1, NULL, &rule, &err), "%s", err.message);
    qn_rule_subject_init(&subject, is_of_sink ? QN_TARGET_SINK : QN_TARGET_SQS,
                         qn_str_from_cstr(events[event]), &rule->arena);
    subject.queue = is_fifo ? QN_STR("q.fifo") : QN_STR("q");
    subject.is_fifo = is_fifo;
    subject.messages = &message;
    subject.message_count = 1;
    bool matches = qn_rule_match(rule, &subject) != 0;
    qn_rule_free(rule);
    return matches;
}

Test(sound, what_would_break_a_promise_of_fifo_is_not_done_to_fifo_queues)
{
    for (size_t i = 0; i < ROWS; i++) {
        const char *of_any = rows[i].of_queue[2];
        const char *of_fifo = rows[i].of_queue[1];
        for (size_t event = 0; event < EVENTS; event++, of_any++, of_fifo++) {
            of_any += strspn(of_any, " ");
            of_fifo += strspn(of_fifo, " ");
            bool is_event = strcmp(events[event], "any") != 0 && strchr(events[event], ' ') == NULL;
            if (*of_any == '+' && is_event) {
                cr_expect(applies(&rows[i], event, false), "on %s do %s", events[event],
                          rows[i].words);
                cr_expect_eq(applies(&rows[i], event, true), *of_fifo == '+',
                             "on %s do %s, of a FIFO queue", events[event], rows[i].words);
            }
        }
    }
}
