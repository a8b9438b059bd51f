/* quern: a client for Amazon SQS and for the Quern server. Speaks AWS JSON 1.0 over libcurl, signs
 * with Signature Version 4 and repeats what may be repeated.
 *
 * A client belongs to one thread at a time. Every function that can fail returns false and fills
 * err; what a function gives out belongs to the caller: texts go back through quern_text_free, JSON
 * through json_decref. */
#ifndef QUERN_H
#define QUERN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quern_error.h"
#include "quern_messages.h"
#include "quern_move_tasks.h"
#include "quern_queues.h"

#ifdef __cplusplus
extern "C" {
#endif

struct quern_client;

/* Zeroed, it takes everything from the environment as the AWS SDKs do. Texts are copied. */
struct quern_options {
    const char
        *endpoint; /* NULL: AWS_ENDPOINT_URL_SQS, AWS_ENDPOINT_URL, else AWS's own for the region */
    const char *region;     /* NULL: AWS_REGION, AWS_DEFAULT_REGION, else us-east-1 */
    const char *access_key; /* NULL: AWS_ACCESS_KEY_ID; requests go unsigned when there is none */
    const char *secret_key; /* NULL: AWS_SECRET_ACCESS_KEY */
    const char *session_token;  /* NULL: AWS_SESSION_TOKEN */
    int64_t connect_timeout_ms; /* 0: 3,100 */
    int64_t timeout_ms;         /* of one attempt; 0: 30,000. A long poll gets its wait on top. */
    int max_attempts;           /* 0: 3 */
    int64_t retry_base_ms; /* 0: 1,000; the longest pause after attempt n is base * 2^(n-1), at most
                              20 s */
    uint64_t seed;         /* of the jitter; 0: a fresh one */
};

bool quern_client_new(const struct quern_options *options, struct quern_client **ret_client,
                      struct quern_error *err);
/* Accepts NULL. */
void quern_client_free(struct quern_client *client);
/* Ends the call under way at once, and all later ones, with a ConnectionError. The one function for
 * another thread than the client's: how a long poll ends when the process is told to stop. An
 * answer that has begun to arrive is still read, so no message is lost that the server has handed
 * out. */
void quern_client_cancel(struct quern_client *client);
/* What the client talks to, without a slash at the end. Lives as long as the client. */
const char *quern_client_endpoint(const struct quern_client *client);

/* Any action: its name, its input as the API model has it (borrowed; NULL for none), its output.
 * ret_output may be NULL. */
bool quern_client_call(struct quern_client *client, const char *action, const json_t *input,
                       json_t **ret_output, struct quern_error *err);

/* Plain JSON over HTTP to the same endpoint, unsigned, in one attempt: the control API of a Quern
 * server. path begins with '/'. */
bool quern_http_get(struct quern_client *client, const char *path, json_t **ret_answer,
                    struct quern_error *err);
bool quern_http_post(struct quern_client *client, const char *path, const json_t *body,
                     json_t **ret_answer, struct quern_error *err);
bool quern_http_delete(struct quern_client *client, const char *path, json_t **ret_answer,
                       struct quern_error *err);
/* The answer as it is, for JSON lines. NUL-terminated; ret_len may be NULL. */
bool quern_http_get_text(struct quern_client *client, const char *path, char **ret_text,
                         size_t *ret_len, struct quern_error *err);

/* Accepts NULL. */
void quern_text_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
