/* What the files of the client share and its users do not see. */
#ifndef QUERN_INTERNAL_H
#define QUERN_INTERNAL_H

#include <curl/curl.h>
#include <pthread.h>

#include "client/quern.h"
#include "server/base/buf.h"
#include "server/base/random.h"

struct quern_client {
    CURL *curl; /* kept between requests: so is its connection */
    char *endpoint;
    char *region;
    char *access_key; /* NULL: unsigned */
    char *secret_key;
    char *session_token;
    int64_t connect_timeout_ms;
    int64_t timeout_ms;
    int max_attempts;
    int64_t retry_base_ms;
    struct qn_random random;
    const char *const *headers; /* lines of each signed call beside its own, or NULL; borrowed */
    size_t header_count;
    pthread_mutex_t lock; /* of the three below, which quern_client_cancel touches */
    bool is_cancelled;
    bool has_answer; /* the exchange under way has got the first of its answer */
    int socket;      /* of the newest connection; -1: none */
};

/* One exchange, without repeating it. */
struct quern_exchange {
    const char *method;
    const char *path;   /* begins with '/' */
    const char *target; /* X-Amz-Target of a signed call, or NULL: plain */
    const char *type;   /* Content-Type of a plain call; NULL: JSON */
    struct qn_str body;
    int64_t timeout_ms;
    long ret_status;
    struct qn_buf ret_answer; /* the caller frees it, also after a failure */
};

bool quern_client_is_cancelled(struct quern_client *client);

/* False when no whole answer came: err says why. An answer with an error status is a success here.
 */
bool quern_http_exchange(struct quern_client *client, struct quern_exchange *exchange,
                         struct quern_error *err);

/* Codec: jansson values to bytes and back. */
void quern_json_write(const json_t *value, struct qn_buf *buf);
/* NULL when the bytes are not one JSON value. An empty text is an empty object. */
json_t *quern_json_read(struct qn_str text);
/* Fills err from the body of an error answer. */
void quern_json_read_error(struct qn_str body, long status, struct quern_error *err);

/* The texts of an object as pairs: an answer, for quern_answer_free. Other members are left out;
 * NULL gives no pairs. */
struct quern_pairs *quern_json_pairs(const json_t *object);

/* Whether the service asks for fewer calls. */
bool quern_retry_is_throttling(const char *code);
/* Whether one more attempt may help. */
bool quern_retry_is_useful(const struct quern_error *err);
/* The pause after attempt number `attempt` (from 1): between 0 and base * 2^(attempt-1), at most 20
 * s. */
int64_t quern_retry_delay_ms(struct qn_random *random, int64_t base_ms, int attempt);

/* Always returns false. */
bool quern_fail(struct quern_error *err, const char *code, int http_status, const char *format, ...)
    QN_PRINTF(4, 5);

#endif
