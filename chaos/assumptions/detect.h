/* What a detector is, and what it may use. */
#ifndef QN_ASSUMPTIONS_DETECT_H
#define QN_ASSUMPTIONS_DETECT_H

#include "chaos/assumptions/assumptions.h"
#include "chaos/assumptions/scene.h"

enum {
    QN_DETECTOR_ENTRIES_MAX = 4096,
    QN_EXAMPLES_MAX = 5,
    QN_EXAMPLE_SIGHTS_MAX = 4,
    QN_PAUSE_MS = 1000,       /* of grace where a client was late, or a new queue needs it */
    QN_PROPAGATION_MS = 60000 /* what AWS takes for purges, deletions, attributes, counts */
};

struct qn_example {
    char queue[84];
    char text[256];
    struct qn_sight sights[QN_EXAMPLE_SIGHTS_MAX];
    size_t sight_count;
};

struct qn_finding {
    uint64_t count;
    struct qn_sight first, last; /* the newest event of the first and the last time */
    struct qn_example examples[QN_EXAMPLES_MAX];
    size_t example_count;
};

/* What a detector is called with. */
struct qn_view {
    const struct qn_scene *scene;
    struct qn_memo *memo; /* its own entries, of entry_size bytes each */
    struct qn_finding *finding;
};

/* Any function may be NULL. All see the scene as it was before. */
struct qn_detector {
    size_t entry_size; /* 0: it needs none */
    /* A call was answered. */
    void (*at_call)(struct qn_view *view, const struct qn_seen_call *call);
    /* A state event or queue.create; call: the request that did it, or NULL. */
    void (*at_event)(struct qn_view *view, const struct qn_event *event,
                     const struct qn_seen_call *call);
    /* Who asks may ask again when more has come: decides what is open, and must leave the memo as
     * it is. */
    void (*at_end)(struct qn_view *view);
};

#define QN_ASSUMPTION(symbol, name, title, promise, source, fix)                                   \
    extern const struct qn_detector qn_detect_##symbol;
#include "chaos/assumptions/assumptions.def"
#undef QN_ASSUMPTION

/* One more time. The call is the one that relied on it; the harness's are let pass. At most
 * QN_EXAMPLE_SIGHTS_MAX sights, in their order; the last names caller and instant. */
void qn_found(struct qn_view *view, const struct qn_seen_call *call, struct qn_str queue,
              const struct qn_sight *const *sights, size_t count, const char *format, ...)
    QN_PRINTF(6, 7);
/* The same with the sights listed: qn_found_by(view, call, queue, SIGHTS(&a, &b), "..."). */
#define QN_SIGHTS(...)                                                                             \
    (const struct qn_sight *const[]){__VA_ARGS__},                                                 \
        sizeof((const struct qn_sight *const[]){__VA_ARGS__}) / sizeof(const struct qn_sight *)

/* "CONN key" in room for both: an entry for one client and one queue. */
struct qn_pair_key {
    char text[224];
};
struct qn_str qn_pair_key(struct qn_pair_key *room, int64_t conn, struct qn_str key);

#endif
