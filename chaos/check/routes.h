/* What the calls of the effect sink mean, apart from HTTP. */
#ifndef QN_CHECK_ROUTES_H
#define QN_CHECK_ROUTES_H

#include "chaos/check/effects.h"

struct qn_routes_request {
    struct qn_str method;
    struct qn_str path;
    struct qn_str idempotency_key; /* headers; none when absent */
    struct qn_str message_id;
    struct qn_str receive_count;
    struct qn_str instance;
    struct qn_str if_version_lower;
    struct qn_str body;
    bool is_too_large; /* the body: only its beginning is here */
};

struct qn_routes_options {
    const char *bind;                  /* IPv4 address that the sink listens on; NULL: 127.0.0.1 */
    struct qn_effects_options effects; /* also its recorder, answer and state are used here */
    /* The access key of the instance that called: by the header X-Quern-Instance if there is one,
     * else by the key. None: unknown. */
    struct qn_str (*instance_of)(void *state, struct qn_str header, struct qn_str k);
    /* What lies under a name that a message of the load points to, and the message's key. A status;
     * 0: no message does. NULL: none does. */
    int (*object_of)(void *state, struct qn_str name, struct qn_str *ret_k,
                     struct qn_str *ret_content);
    /* The business key of a message that is named by payload.id. None: unknown. */
    struct qn_str (*key_of_id)(void *state, struct qn_str id);
    /* The business key of the only message with this body, and whether it can be read. None: none
     * has it, or several. NULL: nobody knows. */
    struct qn_str (*key_of_body)(void *state, struct qn_str body, bool *ret_is_readable);
};

struct qn_routes;

struct qn_routes *qn_routes_new(const struct qn_routes_options *options);
void qn_routes_free(struct qn_routes *routes);
struct qn_effects *qn_routes_effects(struct qn_routes *routes);
/* Does what has fallen due, in the ledger too. */
void qn_routes_run(struct qn_routes *routes, int64_t now_ms);
/* INT64_MAX: never. */
int64_t qn_routes_next_ms(const struct qn_routes *routes);
/* Lets go what a rule holds, by the number that its event named. */
void qn_routes_release(struct qn_routes *routes, int64_t run, int64_t now_ms);
/* Ends all calls that are open. */
void qn_routes_close_all(struct qn_routes *routes);
/* The answer goes to options.effects.answer, at once or when the work is over. */
void qn_routes_handle(struct qn_routes *routes, const struct qn_routes_request *request,
                      int64_t now_ms, void *owner);

#endif
