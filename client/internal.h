/* What the files of the client share and its users do not see. */
#ifndef QUERN_INTERNAL_H
#define QUERN_INTERNAL_H

#include <curl/curl.h>
#include <pthread.h>
#include <sys/queue.h>

#include "client/quern.h"
#include "client/retry.h"
#include "client/settings.h"
#include "server/base/buf.h"

enum { QUERN_INVOCATION_MAX = 37 };

/* One easy handle of libcurl, which keeps its connection between requests. */
struct quern_connection {
    CURL *curl;
    struct quern_client *client;        /* whose lock it is under */
    LIST_ENTRY(quern_connection) among; /* the idle or the busy ones */
    bool is_receive;                    /* what it is busy with */
    bool has_answer;                    /* the exchange under way has got the first of its answer */
    int socket;                         /* of the newest connection; -1: none */
};

LIST_HEAD(quern_connections, quern_connection);

struct quern_client {
    struct quern_settings settings; /* as they are from the start */
    int64_t connect_timeout_ms;
    int64_t timeout_ms;
    int64_t retry_base_ms;
    const char *const *headers; /* lines of each signed call beside its own, or NULL; borrowed */
    size_t header_count;
    bool are_invocations_told; /* by a header of their own in each signed call */
    /* Waits between attempts; a test puts in its own. False: it was cut short. */
    bool (*pause)(struct quern_client *client, bool is_receive, int64_t pause_ms);

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t cancelled;
    struct qn_random random; /* of the jitter */
    struct qn_random ids; /* of invocations; never of the caller's seed, which others may share */
    struct quern_quota quota;
    struct quern_connections idle; /* the one used last comes first */
    size_t idle_count;
    struct quern_connections busy;
    bool is_cancelled;
    bool are_receives_cancelled;
};

/* One exchange, without repeating it. */
struct quern_exchange {
    const char *method;
    const char *path;   /* begins with '/' */
    const char *target; /* X-Amz-Target of a signed call, or NULL: plain */
    const char *type;   /* Content-Type of a plain call; NULL: JSON */
    struct qn_str body;
    int64_t timeout_ms;
    bool is_receive;
    char invocation[QUERN_INVOCATION_MAX]; /* the same in all attempts; "": not told */
    int attempt;                           /* from 1 */
    long ret_status;
    char ret_request_id[QUERN_REQUEST_ID_MAX];
    struct qn_buf ret_answer; /* the caller frees it, also after a failure */
};

/* Whether calls of that kind have been ended. */
bool quern_client_is_cancelled(struct quern_client *client, bool is_receive);

/* A connection of one's own until it is given back; NULL when libcurl has none. */
struct quern_connection *quern_pool_take(struct quern_client *client, bool is_receive);
void quern_pool_give(struct quern_client *client, struct quern_connection *connection);
/* Closes the idle ones; none may be busy. */
void quern_pool_done(struct quern_client *client);

/* False when no whole answer came: err says why. An answer with an error status is a success here.
 */
bool quern_http_exchange(struct quern_client *client, struct quern_exchange *exchange,
                         struct quern_error *err);

/* Codec: jansson values to bytes and back. */
void quern_json_write(const json_t *value, struct qn_buf *buf);
/* The same for any order of the members. */
void quern_json_write_sorted(const json_t *value, struct qn_buf *buf);
/* NULL when the bytes are not one JSON value. An empty text is an empty object. */
json_t *quern_json_read(struct qn_str text);
/* Fills err from the body of an error answer. */
void quern_json_read_error(struct qn_str body, long status, struct quern_error *err);

/* The texts of an object as pairs: an answer, for quern_answer_free. Other members are left out;
 * NULL gives no pairs. */
struct quern_pairs *quern_json_pairs(const json_t *object);

/* Always returns false. */
bool quern_fail(struct quern_error *err, const char *code, int http_status, const char *format, ...)
    QN_PRINTF(4, 5);

#endif
