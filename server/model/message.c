/* The byte form of what never changes about a message, and the digest over its attributes. */
#include "server/model/message.h"

#include "server/base/digest.h"

enum { CONTENT_VERSION = 1 };

/* In the order of their bits. */
#define OPTIONAL_TEXTS(content)                                                                    \
    {                                                                                              \
        (content)->trace_header, (content)->sender_id, (content)->group_id,                        \
            (content)->deduplication_id                                                            \
    }

size_t qn_content_size(const struct qn_content *content)
{
    const struct qn_str optional[] = OPTIONAL_TEXTS(content);
    size_t size = 2 + sizeof(content->body_md5) + sizeof(uint32_t) + content->body.len +
                  sizeof(uint32_t) + content->attributes.len;

    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
        if (!qn_str_is_none(optional[i])) {
            size += sizeof(uint32_t) + optional[i].len;
        }
    }
    return size;
}

void qn_content_encode(struct qn_buf *buf, const struct qn_content *content)
{
    uint8_t present = 0;
    const struct qn_str optional[] = OPTIONAL_TEXTS(content);

    (void)qn_buf_reserve(buf, qn_content_size(content));

    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
        if (!qn_str_is_none(optional[i])) {
            present = (uint8_t)(present | (1U << i));
        }
    }
    qn_buf_append_u8(buf, CONTENT_VERSION);
    qn_buf_append_u8(buf, present);
    qn_buf_append(buf, content->body_md5, sizeof(content->body_md5));
    qn_buf_append_bytes(buf, content->body);
    qn_buf_append_bytes(buf, content->attributes);
    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
        if (!qn_str_is_none(optional[i])) {
            qn_buf_append_bytes(buf, optional[i]);
        }
    }
}

bool qn_content_decode(struct qn_str bytes, struct qn_content *ret_content)
{
    struct qn_reader reader;
    struct qn_content content = {0};
    struct qn_str *optional[] = {&content.trace_header, &content.sender_id, &content.group_id,
                                 &content.deduplication_id};

    qn_reader_init(&reader, bytes);
    if (qn_reader_u8(&reader) != CONTENT_VERSION) {
        return false;
    }
    uint8_t present = qn_reader_u8(&reader);
    struct qn_str md5 = qn_reader_raw(&reader, sizeof(content.body_md5));
    content.body = qn_reader_bytes(&reader);
    content.attributes = qn_reader_bytes(&reader);
    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
        if ((present & (1U << i)) != 0) {
            *optional[i] = qn_reader_bytes(&reader);
        }
    }
    if (reader.failed || reader.at != reader.end) {
        return false;
    }
    memcpy(content.body_md5, md5.ptr, sizeof(content.body_md5));
    *ret_content = content;
    return true;
}

static bool is_binary(const struct qn_message_attribute *attribute)
{
    return qn_str_starts_with(attribute->data_type, QN_STR("Binary"));
}

void qn_content_encode_attributes(struct qn_buf *buf, const struct qn_message_attribute *sorted,
                                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool binary = is_binary(&sorted[i]);
        qn_buf_append_bytes(buf, sorted[i].name);
        qn_buf_append_bytes(buf, sorted[i].data_type);
        qn_buf_append_u8(buf, binary ? 'B' : 'S');
        qn_buf_append_bytes(buf, binary ? sorted[i].binary_value : sorted[i].string_value);
    }
}

bool qn_content_next_attribute(struct qn_reader *reader, struct qn_message_attribute *ret_attribute)
{
    struct qn_message_attribute attribute = {0};

    if (reader->at == reader->end || reader->failed) {
        return false;
    }
    attribute.name = qn_reader_bytes(reader);
    attribute.data_type = qn_reader_bytes(reader);
    uint8_t kind = qn_reader_u8(reader);
    struct qn_str value = qn_reader_bytes(reader);
    if (reader->failed) {
        return false;
    }
    if (kind == 'B') {
        attribute.binary_value = value;
    } else {
        attribute.string_value = value;
    }
    *ret_attribute = attribute;
    return true;
}

static void update_part(struct qn_md5 *md5, struct qn_str part)
{
    const uint8_t len[4] = {(uint8_t)(part.len >> 24), (uint8_t)(part.len >> 16),
                            (uint8_t)(part.len >> 8), (uint8_t)part.len};
    qn_md5_update(md5, len, sizeof(len));
    qn_md5_update(md5, part.ptr, part.len);
}

void qn_attributes_md5(const struct qn_message_attribute *sorted, size_t count, char out[33])
{
    struct qn_md5 md5;
    uint8_t digest[16];

    qn_md5_init(&md5);
    for (size_t i = 0; i < count; i++) {
        bool binary = is_binary(&sorted[i]);
        uint8_t transport = binary ? 2 : 1;
        update_part(&md5, sorted[i].name);
        update_part(&md5, sorted[i].data_type);
        qn_md5_update(&md5, &transport, 1);
        update_part(&md5, binary ? sorted[i].binary_value : sorted[i].string_value);
    }
    qn_md5_finish(&md5, digest);
    qn_digest_hex(digest, sizeof(digest), out);
}
