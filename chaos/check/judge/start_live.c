/* START-LIVE: work never begins on a message whose lease is over. */
#include "chaos/check/judge/book.h"

/* Between the lapse and the begin lies the way of a request: less than this is no proof. */
enum { MARGIN_MS = 250 };

static const char *reason_of(const struct qn_judge_input *in, const struct qn_handler *run)
{
    const struct qn_lease *lease = run->lease;
    const struct qn_tally_key *key = qn_table_find_kept(&in->tally->keys, run->begin->k);

    if (run->is_ambiguous || key == NULL || key->sent == 0) {
        return NULL;
    }
    if (lease == NULL) {
        return "without a lease of this process: it received it in an earlier life, or never";
    }
    /* One that deletes first and works then is for ACK-AFTER-EFFECT to judge. */
    bool is_over = lease->end == QN_LEASE_LAPSED || lease->end == QN_LEASE_GONE;
    if (!is_over || lease->is_excused || lease->ended->seq > run->begin->seq ||
        run->begin->vt - lease->ended->vt < MARGIN_MS) {
        return NULL;
    }
    return "on a lease that had lapsed";
}

void qn_judge_start_live(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    if (in->level < QN_LEVEL_SINK) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE, "needs the effect sink");
        return;
    }
    for (const struct qn_handler *run = in->book->handlers; run != NULL; run = run->next) {
        const char *reason = reason_of(in, run);
        if (reason == NULL || qn_judge_is_excepted(in, run->begin->k) ||
            !qn_finding_break(ret_finding, QN_MUST, "work on %.*s began (seq %llu) %s",
                              QN_STR_ARG(run->begin->k), (unsigned long long)run->begin->seq,
                              reason)) {
            continue;
        }
        if (run->lease != NULL) {
            qn_finding_witness(ret_finding, run->lease->grant->seq);
            qn_finding_witness(ret_finding, run->lease->ended->seq);
        }
        qn_finding_witness(ret_finding, run->begin->seq);
    }
}
