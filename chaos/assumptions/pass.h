/* The state of a pass, for its own files. */
#ifndef QN_ASSUMPTIONS_PASS_H
#define QN_ASSUMPTIONS_PASS_H

#include "chaos/assumptions/detect.h"

struct qn_assumptions {
    struct qn_scene scene;
    struct qn_memo memos[QN_ASSUMPTION_COUNT];
    struct qn_finding findings[QN_ASSUMPTION_COUNT];
    char harness[64]; /* as a header named it */
    uint64_t events;
    uint64_t missed;       /* events that were gone */
    uint64_t undetailed;   /* calls without parameters */
    struct qn_sight from;  /* the first event of what is known without a gap */
    struct qn_sight until; /* the last one */
};

/* The findings, with what is open decided as if nothing followed. Free with qn_memory_free. */
struct qn_finding *qn_assumptions_decide(const struct qn_assumptions *self);

#endif
