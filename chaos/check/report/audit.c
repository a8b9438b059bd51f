/* Whether the durations that must fit each other do: the lease, the work, the heartbeat, the grace
 * that a stop leaves. */
#include "chaos/check/report/report.h"

#include <stdarg.h>

static void say(struct qn_buf *buf, bool fits, const char *format, ...) QN_PRINTF(3, 4);

static void say(struct qn_buf *buf, bool fits, const char *format, ...)
{
    char text[200];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    qn_buf_append_format(buf, "%s%s: %s", buf->len > 0 ? "; " : "", fits ? "fits" : "DOES NOT FIT",
                         text);
}

static double seconds(int64_t ms)
{
    return (double)ms / 1000;
}

/* From lease to delete: who extends the lease may take longer than it. */
static void audit_lease(const struct qn_profile *p, struct qn_buf *buf)
{
    bool fits = p->handling_p99_ms + p->handling_p99_ms / 5 < p->visibility_ms;

    if (p->heartbeat_ms > 0) {
        say(buf, p->heartbeat_ms * 2 <= p->visibility_ms,
            "a heartbeat each %.3g s for a lease of %.3g s%s", seconds(p->heartbeat_ms),
            seconds(p->visibility_ms),
            p->heartbeat_ms >= p->visibility_ms      ? ", which is over before it comes"
            : p->heartbeat_ms * 2 > p->visibility_ms ? ", where a single late one loses it"
                                                     : "");
    } else {
        say(buf, fits, "handling p99 of %.3g s in a lease of %.3g s%s", seconds(p->handling_p99_ms),
            seconds(p->visibility_ms),
            fits ? ""
                 : ", a longer lease, a heartbeat or smaller batches would leave a fifth to spare");
    }
}

void qn_report_audit(const struct qn_report *report, struct qn_buf *buf)
{
    const struct qn_profile *p = &report->profile;
    int64_t grace_ms = report->options->grace_ms;

    if (!p->is_known || p->visibility_ms == 0 || p->handling_p99_ms == 0) {
        qn_buf_append_literal(buf, "not known: no message went from lease to delete");
        return;
    }
    audit_lease(p, buf);
    if (grace_ms > 0) {
        bool fits = p->handling_p99_ms < grace_ms;
        say(buf, fits, "handling p99 of %.3g s in the %.3g s that a stop leaves%s",
            seconds(p->handling_p99_ms), seconds(grace_ms),
            fits ? "" : ", work under way will be killed");
    }
    if (p->wait_s == 0) {
        say(buf, false, "polls that do not wait, WaitTimeSeconds of 20 s costs least");
    }
}
