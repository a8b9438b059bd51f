/* Bytes to request and back, for both protocols. Pure: no clock, no state, no engine. */
#ifndef QN_WIRE_WIRE_H
#define QN_WIRE_WIRE_H

#include "server/base/buf.h"
#include "server/model/request.h"

/* What an SQS path means. */
enum qn_path_kind {
    QN_PATH_ROOT,  /* "/" or "" */
    QN_PATH_QUEUE, /* "/<account>/<queue>", "/queue/<region>/<account>/<queue>" (LocalStack),
                      "/queue/<name>" (ElasticMQ) */
    QN_PATH_OTHER
};

/* Decides the protocol (Content-Type first: AWS JSON only with the JSON content type, POST and
 * X-Amz-Target), fills request->protocol, caller (account, region, access key from the
 * Authorization header or X-Amz-Credential; unsigned gives the defaults), path_queue, action, and
 * decodes the input into request->input with required members checked. request->http and
 * request->arena must be set; request->caller.url_base too. On failure err holds AWS's error and
 * request->protocol says how to write it; action is set if it was known. Unknown members are
 * ignored, null is absent, the last of equal keys wins. A QueueUrl that is missing is the path; one
 * that has none of the forms of a queue URL is refused (InvalidAddress). */
struct qn_wire_defaults {
    struct qn_str account;
    struct qn_str region;
};
QN_MUST_CHECK bool qn_wire_decode(struct qn_request *request,
                                  const struct qn_wire_defaults *defaults, struct qn_error *err);

/* The protocol that the head asks for: for errors that come before qn_wire_decode, as of a body
 * that is too large to be read. */
enum qn_protocol qn_wire_protocol(const struct qn_http_request *http);

/* The answer's body for request->output in request->protocol (appends to buf; empty for a JSON
 * action without output members). Content type by qn_wire_content_type. */
void qn_wire_encode_output(const struct qn_request *request, struct qn_buf *buf);

/* The body of an error in request->protocol. For QUERY protocols QueueDoesNotExist's text gets its
 * query wording. */
void qn_wire_encode_error(const struct qn_request *request, const struct qn_error *err,
                          struct qn_buf *buf);

/* What a fault does to digests. */
struct qn_digest_fault {
    bool takes_out; /* else they become wrong ones */
    uint64_t draw;  /* says which */
    /* Whether the item at an index of the answer's list is meant; `id` is that of a batch entry, or
     * none. Of an answer without a list: item 0. */
    bool (*is_hit)(const void *state, size_t index, struct qn_str id);
    const void *state;
};
/* Changes all MD5 members in the answer that qn_wire_encode_output has just written; of the output
 * only texts of the arena are looked at. Returns how many it changed. */
size_t qn_wire_spoil_digests(const struct qn_request *request, const struct qn_digest_fault *fault,
                             struct qn_buf *answer);

const char *qn_wire_content_type(const struct qn_request *request);

/* Longest body that can still hold a legal request, in bytes; beyond it: REQUEST_TOO_LARGE. */
size_t qn_wire_body_max(int64_t message_size_limit);

/* qn_queue_url_split. */
QN_MUST_CHECK bool qn_wire_split_queue_url(struct qn_str url, bool bare_names,
                                           struct qn_str *ret_account, struct qn_str *ret_name);
enum qn_path_kind qn_wire_path_kind(struct qn_str path);

/* The members of the input as compact JSON, for the trace and the control API: nothing longer than
 * 256 bytes, bodies left out. */
void qn_wire_describe_input(const struct qn_request *request, struct qn_buf *buf);

/* The whole input on one line of AWS JSON, from which the same can be asked again. Of a request
 * that could not be decoded (`is_decoded` false) its body, if that is a JSON object. False: there
 * is nothing to write. */
QN_MUST_CHECK bool qn_wire_write_input(const struct qn_request *request, bool is_decoded,
                                       struct qn_buf *buf);
/* What later requests may refer to of the output, and which entries failed: its members QueueUrl,
 * MessageId, ReceiptHandle, TaskHandle, NextToken, Id and Code, where they stand, as JSON. */
void qn_wire_write_references(const struct qn_request *request, struct qn_buf *buf);

/* Encoders by shape, also used by the case tests. */
void qn_wire_write_json(struct qn_buf *buf, const struct qn_shape *shape, const void *value);
void qn_wire_write_xml(struct qn_buf *buf, const struct qn_shape *shape, const void *value);
void qn_wire_write_query_json(struct qn_buf *buf, const struct qn_shape *shape, const void *value);

#endif
