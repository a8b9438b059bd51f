/* One call of the effect sink, for the files that handle some. */
#ifndef QN_CHECK_ROUTES_CALL_H
#define QN_CHECK_ROUTES_CALL_H

#include <jansson.h>

#include "chaos/check/routes.h"

/* A request with its body read. */
struct qn_call {
    struct qn_routes *routes;
    const struct qn_routes_request *request;
    const struct qn_routes_options *options;
    json_t *body;       /* NULL: none, or not JSON */
    struct qn_str rest; /* of the path, behind the route's prefix */
    int64_t now_ms;
    void *owner;
};

/* Answers what the sink cannot take, and records it unless it only asked for something: who calls
 * to tell has chosen to be judged by the sink, and told nothing. why: a literal without quotes. */
void qn_call_refuse(const struct qn_call *call, int status, const char *why);
/* Asks the rules about a call that is answered at once, records the event, and answers with its
 * status and the text, which must outlive the routes. */
void qn_call_conclude(const struct qn_call *call, struct qn_check_event *event, const char *text);
/* Whose call it is; k: the message that it is about, or none. */
struct qn_str qn_call_instance(const struct qn_call *call, struct qn_str k);

/* POST /v1/lambda: routes_lambda.c. */
void qn_call_lambda(const struct qn_call *call);

#endif
