/* The events of a scenario as a table: what server and harness saw, and beside it what the consumer
 * printed at that time. Bounded: of a long history the events that matter, and the beginning. */
#include "chaos/check/report/page.h"

enum { ROWS_MAX = 400, ROWS_OF_PASS = 150, LOG_ROWS_MAX = 120 };

static bool is_witness(const struct qn_judgement *judgement, uint64_t seq)
{
    for (size_t i = 0; i < judgement->invariant_count; i++) {
        const struct qn_finding *finding = &judgement->invariants[i].finding;
        for (size_t w = 0; w < finding->witness_count; w++) {
            if (finding->witness[w] == seq) {
                return true;
            }
        }
    }
    return false;
}

/* The harness's own calls, and what another event says already. */
static bool is_noise(const struct qn_check_event *event)
{
    bool is_call = event->kind == QN_CHECK_API_IN || event->kind == QN_CHECK_API_OUT;

    return event->kind == QN_CHECK_OTHER || event->kind == QN_CHECK_LOAD ||
           (is_call && !qn_str_starts_with(event->instance, QN_STR("QUERN0")));
}

/* 0: shown in any case; 1: a line of the log; 2: while there is room. */
static int rank(const struct qn_judgement *judgement, const struct qn_check_event *event)
{
    switch (event->kind) {
    case QN_CHECK_FAULT:
    case QN_CHECK_PROC:
    case QN_CHECK_BOOT:
    case QN_CHECK_CLOCK:
    case QN_CHECK_MARK:
        return 0;
    case QN_CHECK_LOG:
        return 1;
    default:
        return is_witness(judgement, event->seq) ? 0 : 2;
    }
}

/* Witnesses first of all: links lead to them. */
static size_t choose(const struct qn_report_entry *entry, size_t most, bool *is_shown)
{
    const struct qn_history *history = &entry->result.history;
    size_t shown = 0;
    size_t logs = 0;

    for (size_t i = 0; i < history->count; i++) {
        is_shown[i] = is_witness(&entry->result.judgement, history->events[i].seq);
        shown += is_shown[i];
    }
    for (int wanted = 0; wanted <= 2; wanted++) {
        for (size_t i = 0; i < history->count && shown < most; i++) {
            const struct qn_check_event *event = &history->events[i];
            if (is_shown[i] || is_noise(event) || rank(&entry->result.judgement, event) != wanted ||
                (wanted == 1 && logs >= LOG_ROWS_MAX)) {
                continue;
            }
            is_shown[i] = true;
            shown++;
            logs += wanted == 1;
        }
    }
    return shown;
}

static void append_gap(size_t count, struct qn_buf *buf)
{
    struct qn_fill fill;

    if (count > 0) {
        qn_fill_begin(&fill, "gap");
        qn_fill_format(&fill, "count", "%zu", count);
        qn_fill_end(&fill, buf);
    }
}

static void append_event(const struct qn_report_entry *entry, const struct qn_check_event *event,
                         size_t number, struct qn_buf *buf)
{
    const struct qn_check_event *first = &entry->result.history.events[0];
    bool is_log = event->kind == QN_CHECK_LOG;
    struct qn_fill fill;
    struct qn_buf text;
    char identity[64];

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_report_describe(event, &text);
    (void)snprintf(identity, sizeof(identity), " id=\"s%zu-e%llu\"", number,
                   (unsigned long long)event->seq);
    qn_fill_begin(&fill, "event");
    qn_fill_markup(&fill, "identity", qn_str_from_cstr(identity));
    qn_fill_format(&fill, "class", "%s",
                   is_witness(&entry->result.judgement, event->seq) ? "witness" : "event");
    qn_fill_format(&fill, "seq", "%llu", (unsigned long long)event->seq);
    qn_fill_format(&fill, "virtual", "%.3f s", (double)(event->vt - first->vt) / 1000);
    qn_fill_format(&fill, "wall", "%.3f s", (double)(event->wt - first->wt) / 1000);
    qn_fill_text(&fill, "text", is_log ? QN_STR("") : qn_buf_str(&text));
    qn_fill_text(&fill, "said", is_log ? qn_buf_str(&text) : QN_STR(""));
    qn_fill_end(&fill, buf);
    qn_buf_done(&text);
}

void qn_page_events(const struct qn_report_entry *entry, size_t number, struct qn_buf *buf)
{
    const struct qn_history *history = &entry->result.history;
    bool is_fine = qn_report_is_fine(entry->result.judgement.outcome);
    bool *is_shown = qn_memory_new_array(history->count + 1, sizeof(bool));
    size_t shown = choose(entry, is_fine ? ROWS_OF_PASS : ROWS_MAX, is_shown);
    size_t hidden = 0;
    size_t noise = 0;
    struct qn_fill fill;
    struct qn_buf rows;

    qn_buf_init(&rows, SIZE_MAX / 2);
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (is_shown[i]) {
            append_gap(hidden, &rows);
            hidden = 0;
            append_event(entry, event, number, &rows);
        } else if (is_noise(event)) {
            noise++;
        } else {
            hidden++;
        }
    }
    append_gap(hidden, &rows);
    qn_fill_begin(&fill, "events");
    qn_fill_format(&fill, "open", "%s", is_fine ? "" : " open");
    qn_fill_format(&fill, "shown", "%zu", shown);
    qn_fill_format(&fill, "count", "%zu", history->count - noise);
    qn_fill_text(&fill, "id", entry->scenario->id);
    qn_fill_markup(&fill, "rows", qn_buf_str(&rows));
    qn_fill_end(&fill, buf);
    qn_buf_done(&rows);
    qn_memory_free(is_shown);
}
