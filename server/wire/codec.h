/* What the parts of wire share with one another, and the fuzzers use. Not for other folders. */
#ifndef QN_WIRE_CODEC_H
#define QN_WIRE_CODEC_H

#include "server/wire/wire.h"

/* A list that grows in the arena while its length is unknown. Start with arena and item_size. */
struct qn_wire_list {
    struct qn_arena *arena;
    size_t item_size;
    char *items;
    size_t count;
    size_t cap;
};

/* A zeroed item behind the last, or NULL at the arena's ceiling. Earlier items may move. */
void *qn_wire_list_add(struct qn_wire_list *list);
struct qn_list qn_wire_list_finish(const struct qn_wire_list *list);

/* The error of a request that needs more memory than it may have. */
bool qn_wire_fail_too_large(struct qn_error *err);

/* Bytes of one item of a list or map field. */
size_t qn_wire_item_size(const struct qn_field *field);
/* The name that a field has in the query protocol and in XML. */
const char *qn_wire_query_name(const struct qn_field *field);
/* Whether text is exactly this name. */
bool qn_wire_is_name(struct qn_str text, const char *name);
/* At most max bytes of UTF-8 text, cut between characters. */
struct qn_str qn_wire_excerpt(struct qn_str text, size_t max);
/* Whether the field says nothing: no value, or a list or map without items. */
bool qn_wire_is_empty(const struct qn_field *field, const void *value);
/* Whether an answer shows the field: it says something, or is a list that is always sent. */
bool qn_wire_is_sent(const struct qn_field *field, const void *value);

/* Decodes base64. False with an error of code `bad` if the text is none. */
QN_MUST_CHECK bool qn_wire_read_blob(struct qn_arena *arena, struct qn_str text, const char *name,
                                     enum qn_error_code bad, struct qn_str *ret_bytes,
                                     struct qn_error *err);

/* Fills the zeroed struct of the shape from a JSON object; strings may be views into the body. */
QN_MUST_CHECK bool qn_wire_read_json(struct qn_arena *arena, struct qn_str body,
                                     const struct qn_shape *shape, void *value,
                                     struct qn_error *err);

/* The two places where the parameters of a query request stand, both still encoded. */
struct qn_wire_form {
    struct qn_str query; /* of the URL */
    struct qn_str body;
};

/* Takes the next pair off the front of *rest, key and value still encoded; false at the end. Empty
 * pairs are passed over; without '=' the value is empty. */
bool qn_wire_form_next(struct qn_str *rest, struct qn_str *ret_key, struct qn_str *ret_value);
/* The encoded value of the last pair with this key, or none. */
struct qn_str qn_wire_form_find(struct qn_str pairs, const char *key);
/* Resolves '+' and %XX and checks for UTF-8. A broken escape is an error of code `broken`. */
QN_MUST_CHECK bool qn_wire_form_decode(struct qn_arena *arena, struct qn_str encoded,
                                       enum qn_error_code broken, struct qn_str *ret_text,
                                       struct qn_error *err);
/* The decoded value of a parameter; the body's wins. None if it is absent. */
QN_MUST_CHECK bool qn_wire_form_get(struct qn_arena *arena, const struct qn_wire_form *form,
                                    const char *key, struct qn_str *ret_value,
                                    struct qn_error *err);

/* Fills the zeroed struct of the shape from the parameters. */
QN_MUST_CHECK bool qn_wire_read_query(struct qn_arena *arena, const struct qn_wire_form *form,
                                      const struct qn_shape *shape, void *value,
                                      struct qn_error *err);

/* Fills caller->account, region and access_key_id from the head of the request. */
void qn_wire_read_caller(struct qn_request *request, const struct qn_wire_defaults *defaults);
/* The access key of a signature of version 2, which has no scope. */
void qn_wire_use_access_key(struct qn_caller *caller, struct qn_str access_key_id);

/* qn_wire_write_json with the lists and maps that were sent without items. */
void qn_wire_write_json_as_sent(struct qn_buf *buf, const struct qn_shape *shape,
                                const void *value);
/* The pieces that all JSON writers share. */
void qn_wire_append_json_name(struct qn_buf *buf, const char *name);
void qn_wire_append_json_scalar(struct qn_buf *buf, const struct qn_field *field,
                                const void *value);

#endif
