/* Inside the ledger of the effect sink: runs, and the keys that they have open. */
#ifndef QN_CHECK_EFFECTS_RUN_H
#define QN_CHECK_EFFECTS_RUN_H

#include "chaos/check/effects.h"

enum qn_run_state {
    RUN_WORKING, /* until due_ms */
    RUN_WAITING, /* for the run that has its idempotency key open */
    RUN_GATED,   /* for the gate */
    RUN_DELAYED, /* by a rule, until due_ms; then it starts, or is answered if it is committed */
    RUN_HELD,    /* by a rule; likewise, when it is released */
    RUN_HUNG     /* for ever */
};

struct qn_run {
    struct qn_run *next;
    enum qn_run_state state;
    int64_t number;
    int64_t due_ms;
    int64_t begun_ms;
    bool is_left; /* its client has hung up */
    int64_t attempt;
    void *owner;
    struct qn_arena arena; /* of the texts below */
    struct qn_effect_call call;
    struct qn_effect_item *items;
    struct qn_str outcome;
    bool is_committed;
    bool is_rejected; /* its call rejects, and nothing can come of it */
    bool is_replayed;
    bool is_refused;               /* by a rule: it has no effect */
    struct qn_effect_verdict fate; /* what a rule wants its answer to be */
};

/* An idempotency key that was applied, or that a run has open. */
struct qn_ledger_entry {
    uint64_t payload;
    bool is_applied;
    const struct qn_run *open;
};

struct qn_effects {
    struct qn_effects_options options;
    struct qn_run *runs; /* oldest first */
    size_t open_count;
    size_t hung_count;
    bool is_gate_closed;
    int64_t last_number;
    struct qn_table by_key;   /* struct qn_ledger_entry, by step and idempotency key */
    struct qn_table applied;  /* by business key and by idempotency key: present when applied */
    struct qn_table attempts; /* int64_t per business key */
};

/* A run for the call, counted as an attempt of each of its keys. */
struct qn_run *qn_run_new(struct qn_effects *effects, const struct qn_effect_call *call,
                          void *owner);
void qn_run_free(struct qn_run *run);
void qn_run_unlink(struct qn_effects *effects, struct qn_run *run);
/* NULL without an idempotency key: then every call is an application of its own. */
struct qn_ledger_entry *qn_run_entry(struct qn_effects *effects, const struct qn_effect_call *call);
/* An event of one of its units of work. */
/* It borrows the detail. */
struct qn_check_event qn_run_event(const struct qn_run *run, enum qn_check_kind kind, size_t item,
                                   struct qn_check_detail *detail);
/* Records an event for each unit, of a reply one for all; status 0: none. */
void qn_run_record(struct qn_effects *effects, const struct qn_run *run, enum qn_check_kind kind,
                   const char *reason, bool replayed, int status);

#endif
