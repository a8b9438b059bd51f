/* The one error type. It carries what AWS would answer; only server/wire turns it into bytes. */
#ifndef QN_BASE_ERROR_H
#define QN_BASE_ERROR_H

#include "server/base/str.h"

enum qn_error_code {
    QN_ERR_NONE,
#define QN_ERROR(symbol, json_type, query_code, status, sender, namespace) QN_ERR_##symbol,
#include "server/base/errors.def"
#undef QN_ERROR
    QN_ERR_COUNT
};

enum { QN_ERROR_MESSAGE_MAX = 1536 };

struct qn_error {
    enum qn_error_code code;
    char message[QN_ERROR_MESSAGE_MAX]; /* NUL-terminated UTF-8, cut at a character boundary */
};

/* One row of errors.def. */
struct qn_error_info {
    const char *json_type;  /* "com.amazonaws.sqs#QueueDoesNotExist", the whole of __type */
    const char *query_code; /* "AWS.SimpleQueueService.NonExistentQueue" */
    int http_status;
    bool sender;           /* true: Sender, false: Receiver */
    bool has_query_header; /* framework errors go without x-amzn-query-error */
};

const struct qn_error_info *qn_error_info(enum qn_error_code code);

/* The row with this query code, JSON shape name or symbol (case is ignored), or QN_ERR_NONE. For
 * fault rules. */
enum qn_error_code qn_error_code_by_name(struct qn_str name);

/* Fills err and returns false: `return qn_fail(err, QN_ERR_..., "...")`. Texts may be up to the
 * maximum. */
bool qn_fail(struct qn_error *err, enum qn_error_code code, const char *format, ...)
    QN_PRINTF(3, 4);

#endif
