/* The few figures beside a PASS: it shows what it was earned with. */
#include <inttypes.h>
#include <stdio.h>

#include "chaos/check/judge/judge.h"

enum { ROOM = 42 /* with it a line of the console stays within 100 columns */ };

struct counts {
    int64_t messages, grants, faults, dead, rejected, replayed, failed;
};

static bool is_played(const struct qn_check_event *fault)
{
    return fault->detail->rule.len > 0 && !qn_str_equal(fault->code, QN_STR("mark")) &&
           !qn_str_starts_with(fault->detail->reason, QN_STR("shadowed"));
}

static void count(struct counts *counts, const struct qn_judge_input *in,
                  const struct qn_check_event *event)
{
    switch (event->kind) {
    case QN_CHECK_MSG_SEND:
        counts->messages += qn_judge_on_source(in, event);
        break;
    case QN_CHECK_LEASE_GRANT:
        counts->grants += qn_judge_on_source(in, event);
        break;
    case QN_CHECK_MSG_DLQ:
        counts->dead += qn_judge_on_source(in, event);
        break;
    case QN_CHECK_FAULT:
        counts->faults += is_played(event);
        break;
    case QN_CHECK_REJECT:
        counts->rejected++;
        break;
    case QN_CHECK_WORK_ABORT:
        counts->failed++;
        break;
    case QN_CHECK_WORK_COMMIT:
        counts->replayed += event->replayed;
        break;
    default:
        break;
    }
}

/* What does not fit any more is left out, whole. */
static void add(char text[ROOM], int64_t number, const char *one, const char *many)
{
    size_t len = strlen(text);
    size_t room = ROOM - len;
    int added = snprintf(text + len, room, "%s%" PRId64 " %s", len > 0 ? ", " : "", number,
                         number == 1 ? one : many);

    if (added < 0 || (size_t)added >= room) {
        text[len] = '\0';
    }
}

void qn_judge_facts(const struct qn_judge_input *in, struct qn_judgement *judgement)
{
    struct counts counts = {0};
    char text[ROOM] = "";

    for (size_t i = 0; i < judgement->invariant_count; i++) {
        const struct qn_finding *finding = &judgement->invariants[i].finding;
        if (finding->result == QN_RESULT_PASS && finding->text[0] != '\0') {
            (void)snprintf(judgement->text, sizeof(judgement->text), "%s", finding->text);
            return;
        }
    }
    for (size_t i = 0; i < in->history->count; i++) {
        count(&counts, in, &in->history->events[i]);
    }
    const struct {
        int64_t number;
        const char *one, *many;
    } parts[] = {
        {counts.messages, "message", "messages"},
        {counts.faults, "fault", "faults"},
        {counts.grants - counts.messages, "came again", "came again"},
        {counts.dead, "dead", "dead"},
        {counts.rejected, "rejected", "rejected"},
        {counts.replayed, "replayed", "replayed"},
        {counts.failed, "attempt failed", "attempts failed"},
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i].number > 0) {
            add(text, parts[i].number, parts[i].one, parts[i].many);
        }
    }
    (void)snprintf(judgement->text, sizeof(judgement->text), "%s", text);
}
