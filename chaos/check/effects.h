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
    const struct qn_str *outcomes; /* by attempt, the last one for all that follow; "ok",
                                      "transient", "permanent", "hang" */
    size_t outcome_count;
};

/* How a call ends. */
enum qn_effect_end {
    QN_EFFECT_ANSWERED,
    QN_EFFECT_RESET, /* RST instead of an answer */
    QN_EFFECT_CLOSED /* FIN instead of an answer */
};

struct qn_effect_answer {
    enum qn_effect_end end;
    int status;
    bool replayed;
    struct qn_str text;
    const char *type; /* of the text; NULL: JSON */
};

/* One unit of work within a request; a bulk insert has several. */
struct qn_effect_item {
    struct qn_str k;  /* business key */
    uint64_t payload; /* hash of the member `payload`, or of all without it */
    int64_t digest;   /* of the member alone, to be told */
};

struct qn_effect_call {
    struct qn_str ik;   /* Idempotency-Key, or none */
    struct qn_str step; /* of /v1/steps/{name}, or none */
    struct qn_str mid;  /* X-Quern-Message-Id, or none */
    int64_t n;          /* X-Quern-Receive-Count, or QN_EVENT_NO_INT */
    struct qn_str instance;
    const struct qn_effect_item *items;
    size_t item_count; /* at least 1 */
    bool rejects;      /* what can never succeed is recorded as rejected, and done by that */
};

/* What rules do to a run at an event of the sink. */
enum qn_effect_fate {
    QN_EFFECT_GO_ON,
    QN_EFFECT_HELD,   /* until qn_effects_release */
    QN_EFFECT_HUNG,   /* never answered */
    QN_EFFECT_STATUS, /* answered so, whatever else */
    QN_EFFECT_BREAK   /* its connection ends: `end` */
};

struct qn_effect_verdict {
    enum qn_effect_fate fate;
    bool commits;     /* the work is done first, and the fate is its answer's */
    int64_t delay_ms; /* so much later, before the fate */
    int status;
    enum qn_effect_end end;
};

struct qn_effects;

struct qn_effects_options {
    struct qn_recorder *recorder;
    /* NULL: all messages take no time and succeed. */
    const struct qn_effect_script *(*script)(void *state, struct qn_str k, int64_t attempt);
    /* Asked at work.begin and work.commit, after the event was recorded. NULL: no rules. */
    struct qn_effect_verdict (*at_event)(void *state, const struct qn_check_event *event);
    /* Whether the client of a call is still there; asked of all that are open. NULL: they are. */
    bool (*is_there)(void *state, void *owner);
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
/* Without those that hang: nothing will come of them. */
size_t qn_effects_open_count(const struct qn_effects *effects);
/* Lets a held run go on. False: it is not held any more. */
bool qn_effects_release(struct qn_effects *effects, int64_t run, int64_t now_ms);
/* While the gate is closed no work begins; who asks for it waits. Open at first; who waited goes on
 * with the next qn_effects_run. */
void qn_effects_set_gate(struct qn_effects *effects, bool is_open);
/* 0: no limit. */
void qn_effects_set_capacity(struct qn_effects *effects, int64_t capacity);
/* All work that is under way is over with the next qn_effects_run. */
void qn_effects_finish(struct qn_effects *effects, int64_t now_ms);
/* The instance is gone: its open runs end without an effect, and get a last answer (nobody will
 * read it). Runs whose instance is not known are taken to be its own. */
void qn_effects_abort(struct qn_effects *effects, struct qn_str instance, const char *reason);
/* The same for all. */
void qn_effects_close_all(struct qn_effects *effects);
/* Whether an effect with this idempotency key or business key was applied. */
bool qn_effects_is_applied(const struct qn_effects *effects, struct qn_str key);

#endif
