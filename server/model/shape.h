/* How a request or an answer looks: one description from which both protocols read and write.
 *
 * A shape describes a C struct: each field names its member in AWS JSON, its key in the query
 * protocol (also the element name in XML), its type and where it lies in the struct. */
#ifndef QN_MODEL_SHAPE_H
#define QN_MODEL_SHAPE_H

#include "server/base/str.h"

enum qn_field_type {
    QN_STRING,      /* struct qn_str; ptr NULL = absent */
    QN_INTEGER,     /* struct qn_integer */
    QN_BOOLEAN,     /* struct qn_boolean */
    QN_BLOB,        /* struct qn_str holding decoded bytes; base64 on the wire */
    QN_STRING_LIST, /* struct qn_list of struct qn_str */
    QN_STRING_MAP,  /* struct qn_list of struct qn_pair */
    QN_STRUCT_LIST, /* struct qn_list of the element's struct */
    QN_STRUCT_MAP   /* struct qn_list of the element's struct, whose first field is the key (struct
                       qn_str) and is not   among the shape's fields */
};

enum {
    QN_REQUIRED = 1,         /* absent: MissingParameter, asked for before the queue is looked up */
    QN_ALWAYS_SENT = 2,      /* in answers: written even when the list is empty */
    QN_EMPTY_IS_ABSENT = 4,  /* with QN_REQUIRED: an empty text or list counts as absent */
    QN_QUERY_BY_NAME_TOO = 8 /* query: also taken under its JSON name; the SDKs for Java write that
                                where the published model names the type and not the member */
};

struct qn_shape;

struct qn_field {
    const char *name;       /* JSON member: "MaxNumberOfMessages" */
    const char *query_name; /* key segment or element: "AttributeName", "MessageAttribute"; NULL:
                               same as name */
    enum qn_field_type type;
    unsigned flags;
    size_t offset;
    const struct qn_shape *element; /* of QN_STRUCT_LIST and QN_STRUCT_MAP */
    const char *map_key;            /* QN_STRING_MAP and QN_STRUCT_MAP: "Name" or "Key" */
    const char *map_value;          /* "Value" */
};

struct qn_shape {
    size_t size;
    const struct qn_field *fields;
    size_t field_count;
};

#define QN_SHAPE(type, field_array)                                                                \
    {                                                                                              \
        sizeof(type), (field_array), sizeof(field_array) / sizeof((field_array)[0])                \
    }

struct qn_integer {
    int64_t value;
    bool present;
};

struct qn_boolean {
    bool value;
    bool present;
};

struct qn_list {
    void *items;
    size_t count;
    bool present; /* an empty list that was sent is present with count 0 */
};

struct qn_pair {
    struct qn_str key;
    struct qn_str value;
};

/* The shape of actions without input or output members. */
extern const struct qn_shape qn_empty_shape;

#endif
