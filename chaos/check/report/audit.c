/* The profile card: what kind of consumer was seen, and beside each fact whether it fits the
 * others. The durations that must fit each other are the lease, the work, the heartbeat, and the
 * grace that a stop leaves. */
#include "chaos/check/report/report.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const fits_names[] = {
    [QN_AUDIT_FITS] = "fits", [QN_AUDIT_ADVICE] = "advice", [QN_AUDIT_MISFIT] = "DOES NOT FIT"};

const char *qn_report_audit_name(enum qn_audit_result result)
{
    return fits_names[result];
}

static double seconds(int64_t ms)
{
    return (double)ms / 1000;
}

static struct qn_audit *add(struct qn_card *card, const char *name, enum qn_audit_result result)
{
    struct qn_audit *row = &card->rows[card->count++];

    *row = (struct qn_audit){.name = name, .result = result};
    return row;
}

#define SAY(place, ...) ((void)snprintf((place), sizeof(place), __VA_ARGS__))

static void audit_polls(struct qn_card *card, const struct qn_profile *p)
{
    struct qn_audit *row =
        add(card, "long polling", p->wait_s == 0 ? QN_AUDIT_MISFIT : QN_AUDIT_FITS);

    row->is_duration = p->wait_s == 0;
    if (p->wait_s == QN_EVENT_NO_INT) {
        SAY(row->seen, "as the queue says");
        row->result = QN_AUDIT_ADVICE;
        SAY(row->text, "WaitTimeSeconds of 20 s in each call does not rest on the queue");
    } else if (p->wait_s == 0) {
        SAY(row->seen, "no wait");
        SAY(row->text, "polls that do not wait, WaitTimeSeconds of 20 s costs least");
    } else {
        SAY(row->seen, "%" PRId64 " s", p->wait_s);
        SAY(row->text, "%s", p->wait_s < 20 ? "20 s costs least" : "the longest there is");
    }
}

static void audit_batch(struct qn_card *card, const struct qn_profile *p)
{
    struct qn_audit *row = add(card, "batch size", QN_AUDIT_FITS);

    SAY(row->seen, "%" PRId64 " a receive, delete %s", p->batch,
        p->deletes_batch ? (p->deletes_single ? "single and batch" : "batch")
                         : (p->deletes_single ? "single" : "none"));
    if (p->batch > 1 && p->deletes_single && !p->deletes_batch) {
        row->result = QN_AUDIT_ADVICE;
        SAY(row->text, "DeleteMessageBatch makes one call of ten");
    } else if (p->batch == 1) {
        row->result = QN_AUDIT_ADVICE;
        SAY(row->text, "right for long work; ten a receive costs a tenth of the calls");
    }
}

/* From lease to delete: who extends the lease may take longer than it. */
static void audit_lease(struct qn_card *card, const struct qn_profile *p)
{
    bool has_beat = p->heartbeat_ms > 0;
    bool fits = has_beat ? p->heartbeat_ms * 2 <= p->visibility_ms
                         : p->handling_p99_ms + p->handling_p99_ms / 5 < p->visibility_ms;
    struct qn_audit *row = add(card, "lease", fits ? QN_AUDIT_FITS : QN_AUDIT_MISFIT);

    row->is_duration = true;
    SAY(row->seen, "%.3g s (%s), %s", seconds(p->visibility_ms),
        p->overrides_visibility ? "its own" : "the queue's",
        has_beat ? "extended" : "none extended here");
    if (has_beat) {
        SAY(row->text, "a heartbeat each %.3g s for a lease of %.3g s%s", seconds(p->heartbeat_ms),
            seconds(p->visibility_ms),
            p->heartbeat_ms >= p->visibility_ms      ? ", which is over before it comes"
            : p->heartbeat_ms * 2 > p->visibility_ms ? ", where a single late one loses it"
                                                     : "");
    } else {
        SAY(row->text, "handling p99 of %.3g s in a lease of %.3g s%s", seconds(p->handling_p99_ms),
            seconds(p->visibility_ms),
            fits ? ""
                 : ", a longer lease, a heartbeat or smaller batches would leave a fifth to spare");
    }
}

static void audit_grace(struct qn_card *card, const struct qn_profile *p, int64_t grace_ms)
{
    bool fits = p->handling_p99_ms < grace_ms;

    if (grace_ms > 0) {
        struct qn_audit *row = add(card, "stop", fits ? QN_AUDIT_FITS : QN_AUDIT_MISFIT);
        row->is_duration = true;
        SAY(row->seen, "%.3g s of grace", seconds(grace_ms));
        SAY(row->text, "handling p99 of %.3g s in the %.3g s that a stop leaves%s",
            seconds(p->handling_p99_ms), seconds(grace_ms),
            fits ? "" : ", work under way will be killed");
    }
}

static bool asks_for(struct qn_str asked, struct qn_str wanted)
{
    while (asked.len > 0) {
        struct qn_str name = qn_str_cut(asked, ',', &asked);
        if (qn_str_equal(name, wanted) || qn_str_equal(name, QN_STR("All"))) {
            return true;
        }
    }
    return false;
}

static void audit_attributes(struct qn_card *card, const struct qn_profile *p)
{
    bool knows_count = asks_for(qn_str_from_cstr(p->asked), QN_STR("ApproximateReceiveCount"));
    struct qn_audit *row = add(card, "attributes", knows_count ? QN_AUDIT_FITS : QN_AUDIT_ADVICE);

    SAY(row->seen, "%s", p->asked[0] != '\0' ? p->asked : "none");
    if (!knows_count) {
        SAY(row->text,
            "without ApproximateReceiveCount nobody can tell a tenth attempt from a first");
    }
}

static void audit_sdk(struct qn_card *card, const struct qn_profile *p)
{
    bool is_legacy = strcmp(p->retry_mode, "legacy") == 0;
    struct qn_audit *row = add(card, "program", is_legacy ? QN_AUDIT_ADVICE : QN_AUDIT_FITS);
    char tries[48] = "";

    if (p->sdk_attempts > 1) {
        SAY(tries, ", %" PRId64 " attempts seen", p->sdk_attempts);
    }
    SAY(row->seen, "%s%s%s%s", p->agent[0] != '\0' ? p->agent : "it does not say",
        p->retry_mode[0] != '\0' ? ", retries " : "", p->retry_mode, tries);
    if (is_legacy) {
        SAY(row->text, "retry mode standard knows more errors, and stops when all calls fail");
    }
}

static void audit_work(struct qn_card *card, const struct qn_profile *p)
{
    struct qn_audit *row = add(card, "work", QN_AUDIT_FITS);

    SAY(row->seen, "p50 %" PRId64 " ms, p99 %" PRId64 " ms", p->handling_p50_ms,
        p->handling_p99_ms);
    if (p->concurrency > 0) {
        SAY(row->text, "%" PRId64 " at once, %" PRId64 " more held", p->concurrency, p->prefetch);
    }
}

void qn_report_audit_card(const struct qn_report *report, struct qn_card *card)
{
    const struct qn_profile *p = &report->profile;

    card->count = 0;
    if (!p->is_known) {
        return;
    }
    if (p->visibility_ms > 0 && p->handling_p99_ms > 0) {
        audit_lease(card, p);
        audit_grace(card, p, report->options->grace_ms);
        audit_work(card, p);
    }
    if (p->batch == 0) { /* nobody asked for a message */
        return;
    }
    audit_polls(card, p);
    audit_batch(card, p);
    audit_attributes(card, p);
    audit_sdk(card, p);
}

void qn_report_audit(const struct qn_report *report, struct qn_buf *buf)
{
    const struct qn_profile *p = &report->profile;
    struct qn_card card;
    size_t start = buf->len;

    if (!p->is_known || p->visibility_ms == 0 || p->handling_p99_ms == 0) {
        qn_buf_append_literal(buf, "not known: no message went from lease to delete");
        return;
    }
    qn_report_audit_card(report, &card);
    for (size_t i = 0; i < card.count; i++) {
        if (card.rows[i].is_duration) {
            qn_buf_append_format(buf, "%s%s: %s", buf->len > start ? "; " : "",
                                 qn_report_audit_name(card.rows[i].result), card.rows[i].text);
        }
    }
}
