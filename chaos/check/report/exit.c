/* What is told of a process that ended by itself. */
#include "chaos/check/report/report.h"

enum { LAST_WORDS_MAX = 8 };

/* Its cause is in what the process printed, and not what the scenario is about. */
static bool is_led_by_exit(const struct qn_report_entry *entry)
{
    const struct qn_invariant *broken = qn_report_broken(&entry->result.judgement);

    return broken != NULL && strcmp(broken->name, "SURVIVES") == 0;
}

static struct qn_str advice(const struct qn_report_entry *entry, struct qn_str of_scenario,
                            struct qn_str of_exit)
{
    if (qn_report_broken(&entry->result.judgement) == NULL) {
        return QN_STR("");
    }
    return is_led_by_exit(entry) ? of_exit : of_scenario;
}

struct qn_str qn_report_why(const struct qn_report_entry *entry)
{
    return advice(entry, entry->scenario->why,
                  QN_STR("an error that ends the process takes along all that it held: each of "
                         "those messages waits for its lease to end and burns a receive, and what "
                         "ended it comes again after the restart"));
}

struct qn_str qn_report_fix(const struct qn_report_entry *entry)
{
    return advice(
        entry, entry->scenario->fix,
        QN_STR("catch what the handler raises, message by message, and what each call to SQS "
               "raises: leave that message, log the error, and go on with the others"));
}

void qn_report_last_words(const struct qn_report_entry *entry, const char *indent,
                          struct qn_buf *buf)
{
    const struct qn_history *history = &entry->result.history;
    const struct qn_check_event *words[LAST_WORDS_MAX];
    const struct qn_check_event *exit = NULL;
    size_t count = 0;

    if (!is_led_by_exit(entry)) {
        return;
    }
    uint64_t seq = qn_report_broken(&entry->result.judgement)->finding.witness[0];
    for (size_t i = 0; i < history->count && exit == NULL; i++) {
        exit = history->events[i].seq == seq ? &history->events[i] : NULL;
    }
    for (size_t i = 0; i < history->count && exit != NULL; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (!qn_str_equal(event->instance, exit->instance)) {
            continue;
        }
        if (event->kind == QN_CHECK_PROC && qn_str_equal(event->what, QN_STR("spawn"))) {
            if (event->seq > seq) {
                break; /* the next process speaks */
            }
            count = 0;
        } else if (event->kind == QN_CHECK_LOG) {
            words[count++ % LAST_WORDS_MAX] = event;
        }
    }
    for (size_t i = count > LAST_WORDS_MAX ? count - LAST_WORDS_MAX : 0; i < count; i++) {
        qn_buf_append_format(buf, "%s| ", indent);
        qn_report_describe(words[i % LAST_WORDS_MAX], buf);
        qn_buf_append_char(buf, '\n');
    }
}
