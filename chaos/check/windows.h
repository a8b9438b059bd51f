/* Faults that stay until the consumer has noticed them: windows, one after the other. An SDK tries
 * again by itself and may outlast any fixed time, so a window ends so long after the first call
 * that failed for good. This listens and decides; windows_run.c opens and ends them. */
#ifndef QN_CHECK_WINDOWS_H
#define QN_CHECK_WINDOWS_H

#include "chaos/check/faults.h"
#include "chaos/check/history.h"
#include "chaos/check/table.h"

enum {
    QN_WINDOW_CALLS = 6,      /* without invocation ids so many failures are final */
    QN_WINDOW_MOST_MS = 60000 /* so long it waits for the first final one, from its first failure */
};

struct qn_window {
    const struct qn_fault *fault;
    int64_t length_ms; /* wall, behind the first final failure */
};

struct qn_windows {
    struct qn_window *items;
    size_t count;
    size_t now; /* the one that is open, or will be the next */
    bool is_open;
    int64_t pollers;         /* that receive at once, as far as is known beforehand; at least 1 */
    int64_t first_ms;        /* wall: the first failure of the open one; 0: none so far */
    int64_t final_ms;        /* wall: the first final one; 0: none so far */
    int64_t ended_ms;        /* wall: when the last one ended */
    bool may_open;           /* the first, or a call went through since */
    struct qn_str action;    /* of the calls that failed */
    struct qn_table calls;   /* struct call, by request */
    struct qn_table tries;   /* struct try, by invocation id: its failures in the open one */
    struct qn_table callers; /* struct caller, by instance: likewise */
};

/* What is to be done now: to the rule of windows->items[windows->now]. */
enum qn_windows_step { QN_WINDOWS_WAIT, QN_WINDOWS_OPEN, QN_WINDOWS_END };

/* Those of the faults that are windows, in their order. */
void qn_windows_init(struct qn_windows *windows, const struct qn_faults *faults,
                     const struct qn_terms *terms);
/* Accepts zeroed windows. */
void qn_windows_done(struct qn_windows *windows);
/* An event: the harness's own calls are to be left out. instance is the name by which the caller is
 * known. */
void qn_windows_feed(struct qn_windows *windows, const struct qn_check_event *event,
                     struct qn_str instance);
/* now_ms: wall. */
enum qn_windows_step qn_windows_step(const struct qn_windows *windows, int64_t now_ms);
/* The step was done. */
void qn_windows_opened(struct qn_windows *windows);
void qn_windows_ended(struct qn_windows *windows, int64_t now_ms);
/* None comes behind the one that is open or will be the next. */
bool qn_windows_is_last(const struct qn_windows *windows);
/* A call has failed in the open one, which ends by itself now. */
bool qn_windows_is_noticed(const struct qn_windows *windows);
/* All of them are over, or there are none. */
bool qn_windows_are_over(const struct qn_windows *windows);

#endif
