/* LEASE-COVER: the lease of a message does not lapse while its handler runs. Without the sink, by
 * the deletes: one that comes after its lease lapsed belongs to work that took longer. */
#include "chaos/check/judge/book.h"

#include <stdio.h>

enum { TEXT_ROOM = 80 };

/* What became of the handler by then: its call is open, or the consumer waits for it no longer. */
static const char *tell_handler(const struct qn_handler *run, char text[TEXT_ROOM])
{
    if (run->left == NULL || run->left->seq > run->lease->ended->seq) {
        return "and the handler was still running";
    }
    (void)snprintf(text, TEXT_ROOM, "and the consumer had given its call up after %.1f s",
                   (double)(run->left->wt - run->begin->wt) / 1000);
    return text;
}

static void judge_handlers(const struct qn_judge_input *in, struct qn_finding *finding)
{
    for (const struct qn_handler *run = in->book->handlers; run != NULL; run = run->next) {
        const struct qn_lease *lease = run->lease;
        char text[TEXT_ROOM];
        if (lease == NULL || lease->end != QN_LEASE_LAPSED || lease->is_excused ||
            qn_judge_is_excepted(in, run->begin->k)) {
            continue;
        }
        /* A run that began on a lapsed lease is for START-LIVE to say. */
        bool is_during = lease->ended->seq > run->begin->seq &&
                         (run->end == NULL || lease->ended->seq < run->end->seq);
        if (is_during &&
            qn_finding_break(finding, QN_MUST,
                             "the lease of %.*s lapsed (seq %llu) %lld ms after its handler began "
                             "(seq %llu), %s",
                             QN_STR_ARG(run->begin->k), (unsigned long long)lease->ended->seq,
                             (long long)(lease->ended->vt - run->begin->vt),
                             (unsigned long long)run->begin->seq, tell_handler(run, text))) {
            qn_finding_witness(finding, lease->grant->seq);
            qn_finding_witness(finding, run->begin->seq);
            qn_finding_witness(finding, lease->ended->seq);
        }
    }
}

static void judge_delete(const struct qn_judge_input *in, const struct qn_check_event *call,
                         struct qn_str handle, struct qn_finding *finding)
{
    const struct qn_lease *lease = qn_book_lease_of(in->book, handle);

    if (lease == NULL || lease->end != QN_LEASE_LAPSED || lease->is_excused ||
        lease->ended->seq > call->seq || qn_judge_is_excepted(in, lease->grant->k)) {
        return;
    }
    if (qn_finding_break(finding, QN_SHOULD,
                         "the delete of %.*s (seq %llu) came %lld ms after its lease had lapsed",
                         QN_STR_ARG(qn_judge_message_name(lease->grant)),
                         (unsigned long long)call->seq, (long long)(call->vt - lease->ended->vt))) {
        qn_finding_witness(finding, lease->grant->seq);
        qn_finding_witness(finding, lease->ended->seq);
        qn_finding_witness(finding, call->seq);
    }
}

/* The first request with a handle: what comes behind one that failed was done by then, too. */
static void judge_deletes(const struct qn_judge_input *in, struct qn_finding *finding)
{
    struct qn_table asked; /* bool, by handle */

    qn_table_init_for(&asked, sizeof(bool), &in->history->texts);
    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        if (!qn_judge_asks_to_delete(in, event)) {
            continue;
        }
        for (size_t j = 0; j < event->detail->handle_count; j++) {
            bool *is_asked = qn_table_at_kept(&asked, event->detail->handles[j]);
            if (!*is_asked) {
                judge_delete(in, event, event->detail->handles[j], finding);
            }
            *is_asked = true;
        }
    }
    qn_table_done(&asked);
}

void qn_judge_lease_cover(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    if (in->level >= QN_LEVEL_SINK) {
        judge_handlers(in, ret_finding);
        return;
    }
    judge_deletes(in, ret_finding);
    if (ret_finding->result == QN_RESULT_PASS) {
        qn_finding_set(ret_finding, QN_RESULT_PASS, "by the times of the deletes");
    }
}
