/* A message as actions see it, and the immutable part of a stored one. */
#ifndef QN_MODEL_MESSAGE_H
#define QN_MODEL_MESSAGE_H

#include "server/base/buf.h"
#include "server/model/shape.h"

/* One message attribute or message system attribute, as sent and as returned. */
struct qn_message_attribute {
    struct qn_str name;
    struct qn_str string_value;
    struct qn_str binary_value;
    struct qn_list string_list_values;
    struct qn_list binary_list_values;
    struct qn_str data_type;
};

/* What never changes about a message: kept in one block, written once. Fields with QN_STR_NONE are
 * absent. */
struct qn_content {
    struct qn_str body;
    struct qn_str attributes; /* encoded: qn_content_encode_attributes; empty when there are none */
    struct qn_str trace_header;
    struct qn_str sender_id;
    struct qn_str group_id;
    struct qn_str deduplication_id; /* FIFO; after a move to a dead-letter queue the message's id
                                       counts instead */
    uint8_t body_md5[16];
};

/* All of it as bytes (the SQLite row and the block in memory have this form), and back; the views
 * of ret_content point into bytes. False: not ours. */
void qn_content_encode(struct qn_buf *buf, const struct qn_content *content);
/* How many bytes that are. */
size_t qn_content_size(const struct qn_content *content);
QN_MUST_CHECK bool qn_content_decode(struct qn_str bytes, struct qn_content *ret_content);

/* Attributes sorted by name, each: name, data type, 'S' or 'B', value. */
void qn_content_encode_attributes(struct qn_buf *buf, const struct qn_message_attribute *sorted,
                                  size_t count);
/* Reads one attribute at a time from the encoded form; false at the end. */
bool qn_content_next_attribute(struct qn_reader *reader,
                               struct qn_message_attribute *ret_attribute);

/* The digest of SQS over attributes (sorted by name), lower-case hex with a NUL.
 * Source: SQS guide, "Calculating the MD5 message digest for message attributes". */
void qn_attributes_md5(const struct qn_message_attribute *sorted, size_t count, char out[33]);

#endif
