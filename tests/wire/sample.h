/* A shape with a field of each type, named as SQS names such fields, and what the tests of the
 * readers and writers do with it. */
#ifndef QN_TESTS_WIRE_SAMPLE_H
#define QN_TESTS_WIRE_SAMPLE_H

#include <criterion/criterion.h>

#include "server/wire/codec.h"

struct sample_value {
    struct qn_str name; /* the key of the map */
    struct qn_str string_value;
    struct qn_str binary_value;
    struct qn_list string_list_values;
    struct qn_str data_type;
};

struct sample_entry {
    struct qn_str id;
    struct qn_integer delay;
    struct qn_list message_attributes;
};

struct sample {
    struct qn_str body;
    struct qn_integer delay;
    struct qn_boolean fault;
    struct qn_str blob;
    struct qn_list names;
    struct qn_list attributes;
    struct qn_list tags;
    struct qn_list entries;
    struct qn_list message_attributes;
};

static const struct qn_field sample_value_fields[] = {
    {"StringValue", NULL, QN_STRING, 0, offsetof(struct sample_value, string_value), NULL, NULL,
     NULL},
    {"BinaryValue", NULL, QN_BLOB, 0, offsetof(struct sample_value, binary_value), NULL, NULL,
     NULL},
    {"StringListValues", "StringListValue", QN_STRING_LIST, 0,
     offsetof(struct sample_value, string_list_values), NULL, NULL, NULL},
    {"DataType", NULL, QN_STRING, 0, offsetof(struct sample_value, data_type), NULL, NULL, NULL},
};
static const struct qn_shape sample_value_shape =
    QN_SHAPE(struct sample_value, sample_value_fields);

static const struct qn_field sample_entry_fields[] = {
    {"Id", NULL, QN_STRING, 0, offsetof(struct sample_entry, id), NULL, NULL, NULL},
    {"DelaySeconds", NULL, QN_INTEGER, 0, offsetof(struct sample_entry, delay), NULL, NULL, NULL},
    {"MessageAttributes", "MessageAttribute", QN_STRUCT_MAP, 0,
     offsetof(struct sample_entry, message_attributes), &sample_value_shape, "Name", "Value"},
};
static const struct qn_shape sample_entry_shape =
    QN_SHAPE(struct sample_entry, sample_entry_fields);

static const struct qn_field sample_fields[] = {
    {"MessageBody", NULL, QN_STRING, 0, offsetof(struct sample, body), NULL, NULL, NULL},
    {"DelaySeconds", NULL, QN_INTEGER, 0, offsetof(struct sample, delay), NULL, NULL, NULL},
    {"SenderFault", NULL, QN_BOOLEAN, 0, offsetof(struct sample, fault), NULL, NULL, NULL},
    {"BinaryValue", NULL, QN_BLOB, 0, offsetof(struct sample, blob), NULL, NULL, NULL},
    {"AttributeNames", "AttributeName", QN_STRING_LIST, 0, offsetof(struct sample, names), NULL,
     NULL, NULL},
    {"Attributes", "Attribute", QN_STRING_MAP, 0, offsetof(struct sample, attributes), NULL, "Name",
     "Value"},
    {"Tags", "Tag", QN_STRING_MAP, 0, offsetof(struct sample, tags), NULL, "Key", "Value"},
    {"Entries", "Entry", QN_STRUCT_LIST, 0, offsetof(struct sample, entries), &sample_entry_shape,
     NULL, NULL},
    {"MessageAttributes", "MessageAttribute", QN_STRUCT_MAP, 0,
     offsetof(struct sample, message_attributes), &sample_value_shape, "Name", "Value"},
};
static const struct qn_shape sample_shape = QN_SHAPE(struct sample, sample_fields);

#define expect_text(actual, expected)                                                              \
    do {                                                                                           \
        struct qn_str text_ = (actual);                                                            \
        cr_expect(!qn_str_is_none(text_) && qn_str_equal(text_, QN_STR(expected)),                 \
                  "expected %s, got %.*s", (expected), QN_STR_ARG(text_));                         \
    } while (0)

static inline struct qn_str sample_text(const struct qn_list *list, size_t i)
{
    return ((const struct qn_str *)list->items)[i];
}

static inline const struct qn_pair *sample_pair(const struct qn_list *list, size_t i)
{
    return (const struct qn_pair *)list->items + i;
}

static inline const struct sample_value *sample_value_at(const struct qn_list *list, size_t i)
{
    return (const struct sample_value *)list->items + i;
}

static inline const struct sample_entry *sample_entry_at(const struct qn_list *list, size_t i)
{
    return (const struct sample_entry *)list->items + i;
}

#endif
