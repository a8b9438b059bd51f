/* libquern: a client for Amazon SQS, and for the Quern server that stands in for it.
 *
 * It speaks AWS JSON 1.0 over libcurl, signs with Signature Version 4, repeats what may be repeated
 * as the AWS SDKs do in their standard mode, and compares the MD5 sums of messages. All 23 actions
 * of the API are here, each as one function: queues in quern_queues.h, messages in
 * quern_messages.h, move tasks in quern_move_tasks.h; this header includes them.
 *
 *     struct quern_client *client;
 *     struct quern_error err;
 *     if (!quern_client_new(NULL, &client, &err)) { ... err.message ... }
 *
 * Conventions.
 * - A function that can fail returns false and fills err, which must not be NULL; nothing else is
 *   changed then. On success err is not touched.
 * - What is given is borrowed until the function returns. What is given out belongs to the caller:
 *   an answer (a struct) goes back through quern_answer_free, a single text through
 * quern_text_free, JSON through json_decref.
 * - Times are in seconds where SQS has seconds (`_s`), else in milliseconds (`_ms`).
 * - Any number of threads may share one client. Each call has a connection of its own; connections
 *   are kept and used again.
 * - The library has no mutable state outside of its clients, installs no signal handler and prints
 *   nothing. It ends the process only when there is no memory left. */
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

/* ---- a client ---- */

/* How a client is made. Zeroed, all of it comes from the environment and the files of the AWS
 * tools, as in the AWS SDKs. Texts are copied. Source: AWS SDKs and Tools Reference Guide,
 * "Settings reference". */
struct quern_options {
    /* "https://..." or "http://...", of SQS or of a Quern server. NULL: AWS_ENDPOINT_URL_SQS,
     * AWS_ENDPOINT_URL (both unless AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is "true"), endpoint_url
     * for sqs in the section that the profile names as its services, endpoint_url of the profile,
     * else AWS's own endpoint for the region, of its partition. The certificates of https are those
     * of the system, or of the file that AWS_CA_BUNDLE or ca_bundle names. */
    const char *endpoint;

    /* NULL: AWS_REGION, AWS_DEFAULT_REGION, the profile's region, else us-east-1. */
    const char *region;

    /* Of AWS_CONFIG_FILE (else ~/.aws/config) and AWS_SHARED_CREDENTIALS_FILE (else
     * ~/.aws/credentials). NULL: AWS_PROFILE, AWS_DEFAULT_PROFILE, else "default". When it is given
     * here, its keys come before those of the environment. Keys that another program or service
     * would have to be asked for (credential_process, role_arn, sso_session,
     * web_identity_token_file) are refused. */
    const char *profile;

    /* NULL: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, else the profile's. An
     * access key of "" makes unsigned requests, as does having none; AWS itself is not called
     * without keys. */
    const char *access_key;
    const char *secret_key;
    const char *session_token;

    int64_t connect_timeout_ms; /* 0: 3,100 */
    int64_t timeout_ms;         /* of one attempt; 0: 30,000. A receive gets its wait on top. */

    /* Attempts of one call, the first included; 0: AWS_MAX_ATTEMPTS, the profile's max_attempts,
     * else 3. */
    int max_attempts;

    /* The pause after attempt n is random, between 0 and retry_base_ms * 2^(n-1), at most 20 s. 0:
     * 1,000. */
    int64_t retry_base_ms;
    uint64_t seed; /* of those pauses; 0: a fresh one */
};

/* Makes a client. options may be NULL. Connects to nothing yet. The environment is read here and
 * never again. Errors: InvalidConfiguration. */
bool quern_client_new(const struct quern_options *options, struct quern_client **ret_client,
                      struct quern_error *err);

/* Closes its connections and frees it; no call may be under way. Accepts NULL. */
void quern_client_free(struct quern_client *client);

/* Ends the calls under way at once, and all later ones, with the error Cancelled: how a program
 * stops that waits in a long poll. An answer that has begun to arrive is still read, so no message
 * is lost that the server has handed out. For any thread, not for a signal handler. */
void quern_client_cancel(struct quern_client *client);

/* The same for receives only: what has been received can still be deleted. */
void quern_client_cancel_receives(struct quern_client *client);

/* What the client talks to, without a slash at the end. Lives as long as the client. */
const char *quern_client_endpoint(const struct quern_client *client);

/* ---- retries ----
 *
 * Repeated are, in any action: lost connections and time-outs, HTTP status 500, 502, 503 and 504,
 * throttling (ThrottlingException, RequestThrottled and their kin), RequestTimeout, and an answer
 * with a wrong MD5. Each retry takes 5 tokens, after a time-out 10, of 500 that all calls of a
 * client share; a success gives back what its last retry took, or 1. When they are used up, calls
 * fail at their first failure, until the service is well again. Source: AWS SDKs and Tools
 * Reference Guide, "Retry behavior", standard mode. AWS_RETRY_MODE may also say legacy or adaptive:
 * it is the standard mode all the same. As the SDKs do, each attempt tells which it is
 * (amz-sdk-request: attempt=2; max=3), and all attempts of one call have one amz-sdk-invocation-id.
 *
 * A send whose answer was lost is repeated, too, and may so be stored twice on a standard queue. On
 * a FIFO queue its deduplication id prevents that. A receive whose answer was lost has happened:
 * its messages come again after their lease. */

/* ---- beyond the typed functions ---- */

/* Any action: its name, its input as the API model has it (NULL for none), its output. Nothing is
 * checked, MD5 sums neither. ret_output may be NULL. */
bool quern_client_call(struct quern_client *client, const char *action, const json_t *input,
                       json_t **ret_output, struct quern_error *err);

/* Plain JSON over HTTP to the same endpoint, unsigned, in one attempt: the control API of a Quern
 * server. path begins with '/'. ret_answer may be NULL. */
bool quern_http_get(struct quern_client *client, const char *path, json_t **ret_answer,
                    struct quern_error *err);
/* body may be NULL. */
bool quern_http_post(struct quern_client *client, const char *path, const json_t *body,
                     json_t **ret_answer, struct quern_error *err);
bool quern_http_delete(struct quern_client *client, const char *path, json_t **ret_answer,
                       struct quern_error *err);
/* The answer as it is, for JSON lines. Ends in NUL; ret_len may be NULL. */
bool quern_http_get_text(struct quern_client *client, const char *path, char **ret_text,
                         size_t *ret_len, struct quern_error *err);

/* Frees a text that a function gave out. Accepts NULL. */
void quern_text_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
