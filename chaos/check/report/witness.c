/* The events behind a verdict, in words. */
#include "chaos/check/report/report.h"

/* A long story is told by its beginning and its end. */
enum { LINES_MAX = 16, LINES_AT_END = 8, NAMES_MAX = 2 };

const char *qn_report_instance_name(struct qn_str instance, char room[24])
{
    struct qn_str number = instance;
    int64_t n;

    if (qn_str_starts_with(instance, QN_STR("QUERN"))) {
        number = qn_str_from(instance, 5);
    }
    if (qn_str_to_int64(number, 0, 9999, &n)) {
        (void)snprintf(room, 24, "#%lld", (long long)n);
    } else {
        (void)snprintf(room, 24, "%.20s", instance.len > 0 ? instance.ptr : "?");
    }
    return room;
}

static void describe_process(const struct qn_check_event *event, const char *who,
                             struct qn_buf *buf)
{
    if (qn_str_equal(event->what, QN_STR("signal"))) {
        qn_buf_append_format(buf, "harness sends signal %lld to %s",
                             (long long)event->detail->signal, who);
    } else if (qn_str_equal(event->what, QN_STR("exit"))) {
        bool by_signal = event->detail->signal != QN_EVENT_NO_INT;
        qn_buf_append_format(
            buf, "%s ends (%s %lld)", who, by_signal ? "signal" : "exit code",
            (long long)(by_signal ? event->detail->signal : event->detail->exit_code));
    } else if (qn_str_equal(event->what, QN_STR("keep"))) {
        qn_buf_append_format(buf, "%s goes on, kept from another scenario (pid %lld)", who,
                             (long long)event->detail->pid);
    } else {
        qn_buf_append_format(buf, "%s: %.*s (pid %lld)", who, QN_STR_ARG(event->what),
                             (long long)event->detail->pid);
    }
}

static void describe_work(const struct qn_check_event *event, const char *who, struct qn_buf *buf)
{
    switch (event->kind) {
    case QN_CHECK_WORK_BEGIN:
        qn_buf_append_format(buf, "work on %.*s begins, by %s, attempt %lld", QN_STR_ARG(event->k),
                             who, (long long)event->attempt);
        break;
    case QN_CHECK_WORK_COMMIT:
        qn_buf_append_format(buf, "effect %.*s %s, by %s%s", QN_STR_ARG(event->k),
                             event->replayed ? "was there already" : "committed", who,
                             qn_str_is_none(event->ik) ? ", no Idempotency-Key" : "");
        break;
    case QN_CHECK_WORK_LEFT:
        qn_buf_append_format(buf, "%s gives up its call for %.*s, %.*s", who, QN_STR_ARG(event->k),
                             QN_STR_ARG(event->detail->reason));
        break;
    default:
        qn_buf_append_format(buf, "work on %.*s ends without an effect: %.*s", QN_STR_ARG(event->k),
                             QN_STR_ARG(event->detail->reason));
        break;
    }
}

static void describe_message(const struct qn_check_event *event, const char *who,
                             struct qn_buf *buf)
{
    struct qn_str name = qn_judge_message_name(event);

    switch (event->kind) {
    case QN_CHECK_LEASE_GRANT:
        qn_buf_append_format(buf, "lease %lld of %.*s -> %s", (long long)event->n, QN_STR_ARG(name),
                             who);
        break;
    case QN_CHECK_LEASE_EXTEND:
        qn_buf_append_format(buf, "lease of %.*s extended, by %s", QN_STR_ARG(name), who);
        break;
    case QN_CHECK_LEASE_RELEASE:
        qn_buf_append_format(buf, "lease of %.*s handed back, by %s", QN_STR_ARG(name), who);
        break;
    case QN_CHECK_LEASE_EXPIRE:
        qn_buf_append_format(buf, "lease of %.*s lapses", QN_STR_ARG(name));
        break;
    case QN_CHECK_MSG_SEND:
        qn_buf_append_format(buf, "%.*s is in the queue", QN_STR_ARG(name));
        break;
    case QN_CHECK_MSG_DELETE:
        qn_buf_append_format(buf, "%.*s deleted, by %s", QN_STR_ARG(name), who);
        break;
    case QN_CHECK_MSG_DUPCOPY:
        qn_buf_append_format(buf, "%.*s is delivered once more (the queue may do that)",
                             QN_STR_ARG(name));
        break;
    case QN_CHECK_MSG_DLQ:
        qn_buf_append_format(buf, "%.*s goes to the dead-letter queue", QN_STR_ARG(name));
        break;
    case QN_CHECK_REJECT:
        qn_buf_append_format(buf, "%.*s recorded as rejected, by %s", QN_STR_ARG(name), who);
        break;
    default:
        qn_buf_append_format(buf, "%s %.*s", qn_check_kind_name(event->kind), QN_STR_ARG(name));
        break;
    }
}

static void describe_function(const struct qn_check_event *event, struct qn_buf *buf)
{
    switch (event->kind) {
    case QN_CHECK_LAMBDA_INVOKE:
        qn_buf_append_format(buf, "the function gets %lld messages", (long long)event->n);
        return;
    case QN_CHECK_LAMBDA_RETURN:
        qn_buf_append_format(buf, "the function returns, %lld come again",
                             (long long)event->detail->count);
        return;
    case QN_CHECK_LAMBDA_WRONG:
    case QN_CHECK_LAMBDA_WRONG_ID:
        qn_buf_append_literal(buf, "Lambda takes the answer for a failure of all: ");
        break;
    case QN_CHECK_LAMBDA_AUDIT:
        qn_buf_append_literal(buf, "audit: ");
        break;
    case QN_CHECK_LAMBDA_STARTED:
        qn_buf_append_literal(buf, "the function asks for its first event");
        return;
    case QN_CHECK_LAMBDA_NOT_STARTED:
        qn_buf_append_literal(buf, "the function does not start: ");
        break;
    default:
        qn_buf_append_literal(buf, "the invocation fails: ");
        break;
    }
    qn_report_clean(buf, event->detail->reason);
}

/* One that was not done does not stand under its rule, as if it had fired, but names it. */
static struct qn_str rule_of(const struct qn_check_event *event)
{
    struct qn_str target = event->detail->target;

    return event->detail->rule.len == 0 && qn_str_starts_with(target, QN_STR("rule="))
               ? qn_str_from(target, strlen("rule="))
               : event->detail->rule;
}

void qn_report_describe(const struct qn_check_event *event, struct qn_buf *buf)
{
    char room[24];
    const char *who = qn_report_instance_name(event->instance, room);

    switch (event->kind) {
    case QN_CHECK_WORK_BEGIN:
    case QN_CHECK_WORK_COMMIT:
    case QN_CHECK_WORK_LEFT:
    case QN_CHECK_WORK_ABORT:
        describe_work(event, who, buf);
        break;
    case QN_CHECK_WORK_REPLY:
        qn_buf_append_format(buf, "the sink answers %lld for %.*s", (long long)event->status,
                             QN_STR_ARG(event->k));
        break;
    case QN_CHECK_PROC:
        describe_process(event, who, buf);
        break;
    case QN_CHECK_LOG:
        qn_buf_append_format(buf, "%s prints: ", who);
        qn_report_clean(buf, event->detail->reason);
        break;
    case QN_CHECK_FAULT:
        qn_buf_append_format(buf, "fault %.*s: %.*s", QN_STR_ARG(rule_of(event)),
                             QN_STR_ARG(event->detail->reason));
        break;
    case QN_CHECK_BOOT:
        qn_buf_append_literal(buf, "the server starts");
        break;
    case QN_CHECK_CLOCK:
        qn_buf_append_format(buf, "the clock jumps by %.1f s",
                             (double)(event->detail->to - event->detail->from) / 1000);
        break;
    case QN_CHECK_MARK:
        qn_buf_append_format(buf, "%.*s of the scenario", QN_STR_ARG(event->detail->reason));
        break;
    case QN_CHECK_API_IN:
        qn_buf_append_format(buf, "%.*s arrives, from %s", QN_STR_ARG(event->action), who);
        break;
    case QN_CHECK_API_OUT:
        qn_buf_append_format(buf, "%.*s of %s is answered %.*s", QN_STR_ARG(event->action), who,
                             QN_STR_ARG(event->code));
        break;
    case QN_CHECK_LAMBDA_INVOKE:
    case QN_CHECK_LAMBDA_RETURN:
    case QN_CHECK_LAMBDA_WRONG:
    case QN_CHECK_LAMBDA_WRONG_ID:
    case QN_CHECK_LAMBDA_ERROR:
    case QN_CHECK_LAMBDA_TIMEOUT:
    case QN_CHECK_LAMBDA_AUDIT:
    case QN_CHECK_LAMBDA_STARTED:
    case QN_CHECK_LAMBDA_NOT_STARTED:
        describe_function(event, buf);
        break;
    default:
        describe_message(event, who, buf);
        break;
    }
}

/* What the story is told about: messages, by their names. */
struct story {
    struct qn_str names[NAMES_MAX];
    size_t name_count;
    uint64_t first;
    uint64_t last;
};

static bool is_witness(const struct qn_finding *finding, uint64_t seq)
{
    for (size_t i = 0; i < finding->witness_count; i++) {
        if (finding->witness[i] == seq) {
            return true;
        }
    }
    return false;
}

static bool is_about(const struct story *story, const struct qn_check_event *event)
{
    struct qn_str name = qn_judge_message_name(event);

    for (size_t i = 0; i < story->name_count; i++) {
        if (qn_str_equal(story->names[i], name)) {
            return true;
        }
    }
    return false;
}

static bool is_told(const struct story *story, const struct qn_check_event *event)
{
    bool is_between = event->seq >= story->first && event->seq <= story->last;

    switch (event->kind) {
    case QN_CHECK_LEASE_GRANT:
    case QN_CHECK_LEASE_EXPIRE:
    case QN_CHECK_MSG_DELETE:
    case QN_CHECK_MSG_DLQ:
    case QN_CHECK_MSG_DUPCOPY:
    case QN_CHECK_WORK_BEGIN:
    case QN_CHECK_WORK_COMMIT:
    case QN_CHECK_WORK_LEFT:
    case QN_CHECK_WORK_ABORT:
    case QN_CHECK_REJECT:
        return !event->undone && is_about(story, event);
    case QN_CHECK_FAULT:
    case QN_CHECK_BOOT:
        return is_between;
    case QN_CHECK_PROC:
        return is_between && !qn_str_equal(event->what, QN_STR("ready"));
    default:
        return false;
    }
}

static void append_line(struct qn_buf *buf, const char *indent, const struct qn_check_event *event,
                        bool marks)
{
    qn_buf_append_format(buf, "%s%c %llu ", indent, marks ? '>' : '|',
                         (unsigned long long)event->seq);
    qn_report_describe(event, buf);
    qn_buf_append_char(buf, '\n');
}

/* Whether the event belongs to the story. */
static bool belongs(const struct story *story, const struct qn_finding *finding,
                    const struct qn_check_event *event)
{
    bool is_of_story = qn_judge_message_name(event).len == 0 || is_about(story, event);

    return (is_witness(finding, event->seq) && is_of_story) || is_told(story, event);
}

static void add_name(struct story *story, const struct qn_check_event *event, size_t most)
{
    struct qn_str name = qn_judge_message_name(event);

    if (name.len > 0 && !is_about(story, event) && story->name_count < most) {
        story->names[story->name_count++] = name;
    }
}

static struct story story_of(const struct qn_history *history, const struct qn_finding *finding)
{
    /* The stories of many messages would hide each other: that of the first one tells enough. */
    size_t most = finding->witness_count > 2 ? 1 : NAMES_MAX;
    struct story story = {.first = UINT64_MAX};

    for (size_t w = 0; w < finding->witness_count; w++) {
        for (size_t i = 0; i < history->count; i++) {
            const struct qn_check_event *event = &history->events[i];
            if (event->seq == finding->witness[w]) {
                add_name(&story, event, most);
                story.first = event->seq < story.first ? event->seq : story.first;
                story.last = event->seq > story.last ? event->seq : story.last;
            }
        }
    }
    return story;
}

void qn_report_witness(struct qn_buf *buf, const char *indent, const struct qn_history *history,
                       const struct qn_finding *finding)
{
    const struct story story = story_of(history, finding);
    size_t lines = 0;
    size_t line = 0;

    for (size_t i = 0; i < history->count; i++) {
        lines += belongs(&story, finding, &history->events[i]);
    }
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (!belongs(&story, finding, event)) {
            continue;
        }
        line++;
        if (lines <= LINES_MAX || line <= LINES_MAX - LINES_AT_END || line > lines - LINES_AT_END) {
            append_line(buf, indent, event, is_witness(finding, event->seq));
        } else if (line == LINES_MAX - LINES_AT_END + 1) {
            qn_buf_append_format(buf, "%s| ... %zu more\n", indent, lines - LINES_MAX);
        }
    }
}
