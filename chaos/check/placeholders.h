/* {queue_url} and the others, which stand in the consumer's command for what only the run knows. */
#ifndef QN_CHECK_PLACEHOLDERS_H
#define QN_CHECK_PLACEHOLDERS_H

#include "server/base/error.h"

enum qn_placeholder {
    QN_PLACEHOLDER_QUEUE_URL,
    QN_PLACEHOLDER_QUEUE_NAME,
    QN_PLACEHOLDER_DLQ_URL,
    QN_PLACEHOLDER_OUTPUT_QUEUE_URL,
    QN_PLACEHOLDER_RETRY_QUEUE_URL,
    QN_PLACEHOLDER_ENDPOINT,
    QN_PLACEHOLDER_HOST,
    QN_PLACEHOLDER_PORT,
    QN_PLACEHOLDER_SINK,
    QN_PLACEHOLDER_INSTANCE,
    QN_PLACEHOLDER_SCENARIO,
    QN_PLACEHOLDER_RUN,
    QN_PLACEHOLDER_ENV_FILE,
    QN_PLACEHOLDER_COUNT /* or: it is none */
};

/* The next {name} of the text that is one, or QN_PLACEHOLDER_COUNT: then *ret_from is the length of
 * the text. Else the text from *ret_from, as long as *ret_len says, is to be replaced. Braces
 * behind '$' are the shell's. */
enum qn_placeholder qn_placeholder_next(struct qn_str text, size_t *ret_from, size_t *ret_len);

/* False: something in the text looks like one and is none, {queue_ur} or {dlq}; err names it and
 * those that there are, the nearest first. Called is what a complaint calls the text. */
QN_MUST_CHECK bool qn_placeholders_check(const char *called, const char *text,
                                         struct qn_error *err);

#endif
