/* Filter criteria of an event source mapping: the event pattern language as Lambda takes it for
 * SQS. https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html
 * https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html */
#ifndef QN_LAMBDA_FILTER_H
#define QN_LAMBDA_FILTER_H

#include <jansson.h>

#include "server/base/error.h"

/* A mapping has at most 5 filters unless its quota was raised, and 10 then. A pattern has at most
 * 4,096 characters. */
enum { QN_LAMBDA_FILTERS_MAX = 10, QN_LAMBDA_PATTERN_MAX = 4096 };

struct qn_lambda_filters {
    json_t *patterns[QN_LAMBDA_FILTERS_MAX]; /* each was checked */
    size_t count;                            /* 0: everything passes */
};

/* Reads {"Filters": [{"Pattern": "..."}]}, or null. On failure err says which filter, where in its
 * pattern, and what may stand there; filters stays empty. */
QN_MUST_CHECK bool qn_lambda_filters_read(struct qn_lambda_filters *filters, const json_t *criteria,
                                          struct qn_error *err);
/* Accepts zeroed filters. */
void qn_lambda_filters_done(struct qn_lambda_filters *filters);

/* Whether one of the patterns matches the record, as an event has it: with `body` as text. A
 * pattern for the fields of a body matches only bodies that are JSON, and one for a text only those
 * that are none. Also true, with *ret_is_too_deep, when that cannot be said because the body is
 * nested deeper than can be read: what matches nothing is deleted, and this one may match. */
bool qn_lambda_filters_match(const struct qn_lambda_filters *filters, const json_t *record,
                             bool *ret_is_too_deep);

/* Of one pattern; used by the two above. path is where it stands, for the message. */
QN_MUST_CHECK bool qn_lambda_pattern_check(const json_t *pattern, const char *path,
                                           struct qn_error *err);
bool qn_lambda_pattern_matches(const json_t *pattern, const json_t *event);

/* One rule of a leaf, such as {"prefix": "eu-"} or "paid", against one value; NULL: not there. */
QN_MUST_CHECK bool qn_lambda_rule_check(const json_t *rule, const char *path, struct qn_error *err);
bool qn_lambda_rule_matches(const json_t *rule, const json_t *value);

#endif
