/* Places at which a crash test may stop the process. Always compiled in; one predictable branch
 * while none is armed. */
#ifndef QN_BASE_FAILPOINT_H
#define QN_BASE_FAILPOINT_H

#include "server/base/error.h"

enum qn_failpoint_mode {
    QN_FAILPOINT_KILL,
    QN_FAILPOINT_ABORT,
    QN_FAILPOINT_ERROR,
    QN_FAILPOINT_DELAY
};

/* What must be so that a failpoint is ever passed. */
enum qn_failpoint_need {
    QN_FAILPOINT_ALWAYS,
    QN_FAILPOINT_DB,
    QN_FAILPOINT_SYNC,
    QN_FAILPOINT_START
};

enum { QN_FAILPOINTS_MAX = 32, QN_FAILPOINT_NAME_MAX = 64 };

struct qn_failpoint_state {
    char name[QN_FAILPOINT_NAME_MAX];
    enum qn_failpoint_mode mode;
    bool is_armed;
    int64_t delay_ms;
    int64_t at_passage; /* 0: each */
    int64_t passages;   /* since it was armed */
    int64_t restart_ms; /* for a supervisor: real, -1: its own */
};

/* All that is armed. It may lie in memory that outlives the process. */
struct qn_failpoint_table {
    struct qn_failpoint_state points[QN_FAILPOINTS_MAX];
    int fatal; /* place of the one that ended the process, from 1; 0: none has */
};

extern bool qn_failpoint_any_armed;

/* One row of failpoint.def. */
struct qn_failpoint_row {
    const char *name;
    enum qn_failpoint_need need;
    const char *proves;
};

/* NULL behind the last. */
const struct qn_failpoint_row *qn_failpoint_row(size_t i);

/* From here on the table is this one, with all that is armed in it. It must live as long as the
 * process. Before any thread is started. */
void qn_failpoint_share(struct qn_failpoint_table *table);

/* Each spec: "NAME=kill", "NAME=kill:3" (the third passage), "NAME=error", "NAME=delay 50" (ms).
 * All or none. What is armed already begins anew. The first only says whether the second would do
 * it. */
QN_MUST_CHECK bool qn_failpoint_check_all(const struct qn_str *specs, size_t count,
                                          struct qn_error *err);
QN_MUST_CHECK bool qn_failpoint_arm_all(const struct qn_str *specs, size_t count,
                                        struct qn_error *err);
QN_MUST_CHECK bool qn_failpoint_arm(struct qn_str spec, struct qn_error *err);
/* The next passage alone, with a word for the supervisor. mode: "kill", "abort", "error", "delay
 * 50". */
QN_MUST_CHECK bool qn_failpoint_arm_once(struct qn_str name, struct qn_str mode, int64_t restart_ms,
                                         struct qn_error *err);
/* False: it is not armed. */
bool qn_failpoint_disarm(struct qn_str name);
void qn_failpoint_clear(void);
/* A copy; false: it is not armed. */
bool qn_failpoint_find(struct qn_str name, struct qn_failpoint_state *ret_state);
/* "kill", "delay 50" ... */
struct qn_str qn_failpoint_mode_text(const struct qn_failpoint_state *state, char out[32]);

/* Does what is armed under this name; true in mode error: the caller then fails as the disk would.
 * Thread-safe. */
bool qn_failpoint_hit(const char *name);
/* As kill -9 would: nothing is put in order first. */
_Noreturn void qn_failpoint_die(void);

#define qn_failpoint_is_any_armed()                                                                \
    __builtin_expect(__atomic_load_n(&qn_failpoint_any_armed, __ATOMIC_RELAXED), 0)
#define qn_failpoint(name) (qn_failpoint_is_any_armed() && qn_failpoint_hit(name))

#endif
