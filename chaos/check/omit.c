/* Why a scenario is not run: it is for others, the user does not want it, nothing can come of it,
 * or the consumer has not what it needs. */
#include "chaos/check/omit.h"

#include <stdio.h>

#include "chaos/check/declared.h"

bool qn_omit(const struct qn_check_options *options, const struct qn_report *report,
             struct qn_str stuck, struct qn_report_entry *entry)
{
    struct qn_judgement *judgement = &entry->result.judgement;
    struct qn_buf reason;

    qn_buf_init(&reason, SIZE_MAX / 2);
    entry->is_of_profile = qn_scenario_is_for(entry->scenario, options->profile);
    entry->waiver = entry->is_of_profile ? qn_waiver_of(options, entry->scenario) : NULL;
    if (!entry->is_of_profile) {
        qn_buf_append_format(&reason, "profile %s", options->profile);
    } else if (entry->waiver != NULL) {
        qn_buf_append_format(&reason, "waived: %s", entry->waiver);
    } else if (!qn_str_is_none(stuck)) {
        qn_buf_append_format(&reason, "not run: the consumer never got going in %.*s",
                             QN_STR_ARG(stuck));
    } else if (qn_needs_are_met(qn_needs_form(entry->scenario, options, &report->profile), options,
                                &report->profile, &reason)) {
        qn_buf_done(&reason);
        return false;
    }
    judgement->outcome = QN_OUTCOME_SKIP;
    (void)snprintf(judgement->text, sizeof(judgement->text), "%.*s",
                   QN_STR_ARG(qn_buf_str(&reason)));
    qn_buf_done(&reason);
    return true;
}
