/* The ledger behind the effect sink: which effects were applied, which runs are open, what each is
 * answered and when. Pure but for the recorder: time comes in by argument, answers go out through a
 * callback. */
#ifndef QN_CHECK_EFFECTS_H
#define QN_CHECK_EFFECTS_H

#include "chaos/check/record.h"
#include "chaos/check/table.h"

/* What a run of the handler will meet. */
struct qn_effect_script {
    int64_t work_ms;
    const struct qn_str *
        outcomes; /* by attempt, the last one for all that follow; "ok", "transient", "permanent" */
    size_t outcome_count;
};

struct qn_effect_answer {
    int status;
    bool replayed;
    struct qn_str text; /* a JSON body */
};

/* One unit of work within a request; a bulk insert has several. */
struct qn_effect_item {
    struct qn_str k;  /* business key */
    uint64_t payload; /* hash of the member `payload` */
};

struct qn_effect_call {
    struct qn_str ik;   /* Idempotency-Key, or none */
    struct qn_str step; /* of /v1/steps/{name}, or none */
    struct qn_str mid;  /* X-Quern-Message-Id, or none */
    int64_t n;          /* X-Quern-Receive-Count, or QN_EVENT_NO_INT */
    struct qn_str instance;
    const struct qn_effect_item *items;
    size_t item_count; /* at least 1 */
};

/* What rules do to a run at an event of the sink. */
enum qn_effect_verdict { QN_EFFECT_GO_ON, QN_EFFECT_HELD };

struct qn_effects;

struct qn_effects_options {
    struct qn_recorder *recorder;
    /* NULL: all messages take no time and succeed. */
    const struct qn_effect_script *(*script)(void *state, struct qn_str k);
    /* Asked at work.begin and work.commit, after the event was recorded. NULL: no rules. */
    enum qn_effect_verdict (*at_event)(void *state, const struct qn_check_event *event);
    /* The answer of a run; owner is what begin was given. */
    void (*answer)(void *state, void *owner, const struct qn_effect_answer *answer);
    void *state;
    int64_t capacity; /* open runs beyond it are answered 429; 0: no limit */
    bool
        busy_is_409; /* a key that another run has open is answered 409 instead of waiting for it */
};

struct qn_effects *qn_effects_new(const struct qn_effects_options *options);
/* Open runs are dropped without an answer. Accepts NULL. */
void qn_effects_free(struct qn_effects *effects);

/* A request for work arrived. It may be answered before this returns. */
void qn_effects_begin(struct qn_effects *effects, const struct qn_effect_call *call, int64_t now_ms,
                      void *owner);
/* Does what has fallen due. */
void qn_effects_run(struct qn_effects *effects, int64_t now_ms);
/* The earliest instant at which something falls due, INT64_MAX for never. */
int64_t qn_effects_next_ms(const struct qn_effects *effects);
size_t qn_effects_open_count(const struct qn_effects *effects);
/* The instance is gone: its open runs end without an effect, and get a last answer (nobody will
 * read it). Runs whose instance is not known are taken to be its own. */
void qn_effects_abort(struct qn_effects *effects, struct qn_str instance, const char *reason);
/* The same for all. */
void qn_effects_close_all(struct qn_effects *effects);
/* Whether an effect with this idempotency key or business key was applied. */
bool qn_effects_is_applied(const struct qn_effects *effects, struct qn_str key);

#endif
