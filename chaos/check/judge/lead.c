/* Which broken invariant of several a verdict is about. */
#include "chaos/check/judge/judge.h"

const struct qn_invariant *qn_judgement_first_broken(const struct qn_judgement *judgement,
                                                     enum qn_severity severity)
{
    for (size_t i = 0; i < judgement->invariant_count; i++) {
        const struct qn_invariant *invariant = &judgement->invariants[i];
        if (invariant->severity == severity && invariant->finding.result == QN_RESULT_FAIL) {
            return invariant;
        }
    }
    return NULL;
}

const struct qn_invariant *qn_judgement_decider(const struct qn_judgement *judgement)
{
    const struct qn_invariant *broken = qn_judgement_first_broken(judgement, QN_MUST);

    return broken != NULL ? broken : qn_judgement_first_broken(judgement, QN_SHOULD);
}

/* Leases that lapse, letters that die and work that stays are what a dead process leaves: but only
 * when it was dead before. A double effect, say, is wrong whoever died. */
const struct qn_invariant *qn_judgement_lead(const struct qn_judgement *judgement)
{
    const struct qn_invariant *decider = qn_judgement_decider(judgement);

    for (size_t i = 0; decider != NULL && i < judgement->invariant_count; i++) {
        const struct qn_invariant *exit = &judgement->invariants[i];
        const struct qn_finding *finding = &decider->finding;
        if (strcmp(exit->name, "SURVIVES") == 0 && exit->severity != QN_INFO &&
            exit->finding.result == QN_RESULT_FAIL && exit->finding.witness_count > 0 &&
            decider->may_follow_an_exit &&
            (finding->witness_count == 0 ||
             exit->finding.witness[0] < finding->witness[finding->witness_count - 1])) {
            return exit;
        }
    }
    return decider;
}
