/* The engine and the reference side by side: requests that both get, and what is compared. */
#ifndef QN_TESTS_MODEL_BOTH_H
#define QN_TESTS_MODEL_BOTH_H

#include "tests/support/fixture.h"
#include "tests/support/model_step.h"

/* A handle as both sides know it. */
struct named_handle {
    struct reference_handle handle;
    const char *text;
};

/* What a step brought. */
struct result {
    struct named_handle handles[QN_RECEIVE_MAX];
    size_t count;
    struct fixture_poll *poll; /* while it waits */
    const char *task;
};

struct both {
    struct fixture f;
    struct reference r;
    const struct model_step *step; /* under way */
    struct result *results;        /* by number of step */
    int result_count;
    int polls[REFERENCE_WAITERS]; /* that wait */
    int poll_count;
    char problem[700]; /* the first difference, "" for none */
};

struct both *both_new(const struct model_options *options);
void both_free(struct both *both);

QN_PRINTF(2, 3) void both_differ(struct both *both, const char *format, ...);
void both_expect_code(struct both *both, enum qn_error_code code, enum qn_error_code expected);
void both_expect_number(struct both *both, const char *what, int64_t is, int64_t expected);

void both_create_queue(struct both *both, int queue);
void both_send(struct both *both, const struct model_step *step);
void both_receive(struct both *both, const struct model_step *step);
void both_poll(struct both *both, const struct model_step *step);
void both_end_poll(struct both *both, int number);

void both_compare_polls(struct both *both);
void both_compare_counts(struct both *both);
void both_compare_tasks(struct both *both, int queue);
/* Every message, as a look at the engine shows it. */
void both_compare_stored(struct both *both);

#endif
