/* An emulated Lambda Runtime API for one execution environment: any official or custom runtime
 * client talks to it unchanged.
 * https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html */
#ifndef QN_LAMBDA_RUNTIME_H
#define QN_LAMBDA_RUNTIME_H

#include "server/base/buf.h"
#include "server/base/error.h"

/* Of AWS: 6 MB and room for the frame. */
enum { QN_LAMBDA_ANSWER_MAX = 6291556 };

struct qn_lambda_invocation {
    char request_id[40];
    char trace_id[80];
    const char *function_arn;
    int64_t deadline_ms; /* Unix epoch */
    struct qn_str event;
};

enum qn_lambda_state {
    QN_LAMBDA_STARTING,    /* has not asked for an event yet */
    QN_LAMBDA_IDLE,        /* waits for one */
    QN_LAMBDA_RUNNING,     /* has one */
    QN_LAMBDA_RETURNED,    /* has answered it */
    QN_LAMBDA_FAILED,      /* has said that it failed */
    QN_LAMBDA_INIT_FAILED, /* has said that it cannot start */
};

struct qn_lambda_runtime;

/* Listens on a free port of the loopback. Its threads end with it. */
QN_MUST_CHECK bool qn_lambda_runtime_open(struct qn_lambda_runtime **ret_runtime,
                                          struct qn_error *err);
/* Accepts NULL. Nobody may be using it any more but its own callers over HTTP, who are hung up on.
 */
void qn_lambda_runtime_close(struct qn_lambda_runtime *runtime);

int qn_lambda_runtime_port(const struct qn_lambda_runtime *runtime);
/* Readable whenever the state may have changed since the last look. */
int qn_lambda_runtime_fd(const struct qn_lambda_runtime *runtime);
/* The state now; makes the descriptor unreadable. */
enum qn_lambda_state qn_lambda_runtime_look(struct qn_lambda_runtime *runtime);

/* Gives the function its next event: now, or when it asks. The invocation and its event must live
 * until the state is no longer running, or the runtime is closed. */
void qn_lambda_runtime_give(struct qn_lambda_runtime *runtime,
                            const struct qn_lambda_invocation *invocation);
/* The answer, or what the function said of its error; after a state of returned or later. Valid
 * until the next give or the close. */
struct qn_str qn_lambda_runtime_answer(const struct qn_lambda_runtime *runtime);

#endif
