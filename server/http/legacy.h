/* What one life of a server leaves to the next one under the same supervisor. It lies in memory
 * that both processes have: the server writes, the supervisor reads when the server is gone. A life
 * may end at any instruction, so every change is whole at each of them. */
#ifndef QN_HTTP_LEGACY_H
#define QN_HTTP_LEGACY_H

#include "chaos/chaos.h"
#include "server/base/failpoint.h"
#include "server/journal/snapshot_table.h"

/* Of the rules, with the messages that they read from files: more than those of any one rule. */
enum { QN_LEGACY_RULES_MAX = 128 * 1024 * 1024, QN_LEGACY_REASON_MAX = 128 };

struct qn_legacy {
    uint64_t life; /* from 1 */
    bool is_up;    /* this life has listened */
    /* The end of this life. */
    bool is_planned;    /* a rule or a failpoint ends it */
    int64_t restart_ms; /* real, until the next one begins; -1: the supervisor's own */
    char reason[QN_LEGACY_REASON_MAX];
    /* The clock of the server, if it is a virtual one. */
    int64_t now_ms;
    double rate;
    bool trace_is_wanted;
    struct qn_failpoint_table failpoints;
    struct qn_snapshot_table snapshots;
    int saved_rules; /* which of the two is whole, from 1; 0: none */
    size_t rules_len[2];
    char rules[2][QN_LEGACY_RULES_MAX];
};

/* Shared with the processes that are forked. Free with qn_legacy_free. */
QN_MUST_CHECK bool qn_legacy_new(struct qn_legacy **ret_legacy, struct qn_error *err);
/* Accepts NULL. */
void qn_legacy_free(struct qn_legacy *legacy);

/* For the supervisor: another life. */
void qn_legacy_begin_life(struct qn_legacy *legacy);

/* The life is about to end by a rule. NULL is accepted: nobody will come behind. */
void qn_legacy_announce(struct qn_legacy *legacy, struct qn_str rule, int64_t restart_ms);
/* False: they are too long. */
QN_MUST_CHECK bool qn_legacy_save_rules(struct qn_legacy *legacy, const struct qn_plan *plan,
                                        int64_t now_ms);
/* What was saved last; none: nothing was. */
struct qn_str qn_legacy_rules(const struct qn_legacy *legacy);

#endif
