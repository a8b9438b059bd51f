/* One request on its way through the server: what http read, wire decoded, the action executes and
 * wire encodes. */
#ifndef QN_MODEL_REQUEST_H
#define QN_MODEL_REQUEST_H

#include "server/base/arena.h"
#include "server/base/error.h"
#include "server/model/queue_url.h"
#include "server/model/shape.h"

enum qn_protocol {
    QN_PROTOCOL_JSON,      /* AWS JSON 1.0 */
    QN_PROTOCOL_QUERY,     /* form or query string in, XML out */
    QN_PROTOCOL_QUERY_JSON /* the same in, answered in the JSON rendering of the XML structure */
};

/* Who asks and through which address: from the request's head alone. */
struct qn_caller {
    struct qn_str account;       /* 12 digits */
    struct qn_str region;        /* from the credential scope, else configured */
    struct qn_str access_key_id; /* none when unsigned */
    struct qn_str url_scheme;    /* what comes before url_base in queue URLs, or none */
    struct qn_str url_base;      /* "http://host:port", or with a scheme apart "host:port" */
    struct qn_str trace_header;  /* X-Amzn-Trace-Id, or none */
    struct qn_str invocation_id; /* amz-sdk-invocation-id, or none */
    int64_t sdk_attempt;         /* from amz-sdk-request: attempt=N, or 0 */
    struct qn_str user_agent;    /* User-Agent, or none */
};

/* The HTTP request as wire sees it. Everything is borrowed from the request's arena. */
struct qn_http_request {
    struct qn_str method;
    struct qn_str path;  /* undecoded, without the query string */
    struct qn_str query; /* behind '?', undecoded; none if there is no '?' */
    struct qn_str content_type;
    struct qn_str target; /* X-Amz-Target */
    struct qn_str accept;
    struct qn_str authorization;
    struct qn_str host;
    struct qn_str body;
};

struct qn_action;

struct qn_request {
    struct qn_arena arena;
    uint64_t sequence; /* position among all requests: names the request's random stream */
    char request_id[37];
    struct qn_http_request http;
    enum qn_protocol protocol;
    const struct qn_action *action; /* NULL until it is known */
    struct qn_caller caller;
    struct qn_str path_queue; /* path of a queue ("/000000000000/orders" or LocalStack's form), none
                                 for "/" */
    struct qn_queue_address address; /* of the QueueUrl in the input, if it has one */
    void *input;  /* of action->input->size bytes, zeroed then filled; in the arena */
    void *output; /* of action->output->size bytes, zeroed */
};

#endif
