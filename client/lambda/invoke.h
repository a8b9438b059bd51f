/* The two ways to invoke a function that keep nothing between invocations. */
#ifndef QN_LAMBDA_INVOKE_H
#define QN_LAMBDA_INVOKE_H

#include "client/lambda/environment.h"

/* POST of the event to the runtime interface emulator at function->url.
 * https://docs.aws.amazon.com/lambda/latest/dg/images-test.html */
void qn_lambda_invoke_url(const struct qn_lambda_function *function,
                          struct qn_lambda_invocation *invocation,
                          struct qn_lambda_outcome *outcome);

/* Whether anything answers there over HTTP, whatever it answers; else why not. A port that takes
 * connections is not enough: that of a container does before its emulator listens. */
QN_MUST_CHECK bool qn_lambda_url_answers(const char *url, char *ret_why, size_t size);

/* A process that gets the event on stdin and writes its answer to stdout; a status other than 0 is
 * a function error. */
void qn_lambda_invoke_stdin(const struct qn_lambda_function *function,
                            struct qn_lambda_invocation *invocation,
                            struct qn_lambda_outcome *outcome);

/* Sets how it ended, and why. */
void qn_lambda_outcome_end(struct qn_lambda_outcome *outcome, enum qn_lambda_end how,
                           const char *format, ...) QN_PRINTF(3, 4);

/* "ValueError: no such order", from {"errorType": ..., "errorMessage": ...}; else the bytes'
 * beginning.
 */
void qn_lambda_describe_error(struct qn_str said, char *text, size_t size);
/* Whether an answer is one of those objects, which is how the emulator tells of an error. */
bool qn_lambda_is_error(struct qn_str said);

#endif
