/* How instances ended that were asked to by SIGTERM: a code that is no proper end is told of, and
 * no verdict rests on it. */
#include "chaos/check/report/report.h"

#include <signal.h>

enum { USUAL = 128 + SIGTERM, ASKED_MAX = 64 };

/* Those that have been asked and are still there. */
struct asked {
    struct qn_str instances[ASKED_MAX];
    size_t count;
};

static bool is_proper(const json_t *codes, const struct qn_check_event *event)
{
    int64_t code =
        event->detail->signal > 0 ? 128 + event->detail->signal : event->detail->exit_code;
    size_t i;
    const json_t *one;

    if (!json_is_array(codes)) {
        return code == 0 || code == USUAL;
    }
    json_array_foreach(codes, i, one)
    {
        if (json_integer_value(one) == code) {
            return true;
        }
    }
    return false;
}

static bool take(struct asked *asked, struct qn_str instance)
{
    for (size_t i = 0; i < asked->count; i++) {
        if (qn_str_equal(asked->instances[i], instance)) {
            asked->instances[i] = asked->instances[--asked->count];
            return true;
        }
    }
    return false;
}

static void add(struct asked *asked, struct qn_str instance)
{
    (void)take(asked, instance);
    if (asked->count < ASKED_MAX) {
        asked->instances[asked->count++] = instance;
    }
}

static void append_exit(const struct qn_check_event *event, const char *indent, struct qn_buf *buf)
{
    char room[24];

    qn_buf_append_format(buf, "%s%s ", indent, qn_report_instance_name(event->instance, room));
    if (event->detail->signal == SIGKILL) {
        qn_buf_append_literal(buf, "did not end after SIGTERM, and was killed\n");
    } else if (event->detail->signal > 0) {
        qn_buf_append_format(buf, "ended by signal %lld after SIGTERM\n",
                             (long long)event->detail->signal);
    } else {
        qn_buf_append_format(buf,
                             "ended with exit code %lld after SIGTERM (--expect-exit says which "
                             "are proper)\n",
                             (long long)event->detail->exit_code);
    }
}

void qn_report_exits(const struct qn_report_entry *entry, const char *indent, struct qn_buf *buf)
{
    const struct qn_history *history = &entry->result.history;
    struct qn_report_queues queues;
    struct asked asked = {.count = 0};

    qn_report_queues(entry, &queues);
    const json_t *declared = json_object_get(json_object_get(queues.header, "run"), "declared");
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (event->kind != QN_CHECK_PROC) {
            continue;
        }
        if (qn_str_equal(event->what, QN_STR("signal"))) {
            if (event->detail->signal == SIGTERM) {
                add(&asked, event->instance);
            }
        } else if (qn_str_equal(event->what, QN_STR("exit")) && take(&asked, event->instance) &&
                   !is_proper(json_object_get(declared, "expect_exit"), event)) {
            append_exit(event, indent, buf);
        }
    }
    qn_report_queues_done(&queues);
}
