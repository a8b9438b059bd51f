/* The MD5 sums of messages. */
#include "client/digests.h"

#include <stdlib.h>
#include <strings.h>

#include "server/base/digest.h"

static void format(const uint8_t digest[16], char ret_text[QUERN_DIGEST_TEXT])
{
    qn_digest_hex(digest, 16, ret_text);
}

void quern_digest_body(struct qn_str body, char ret_text[QUERN_DIGEST_TEXT])
{
    uint8_t digest[16];

    qn_digest_md5(body, digest);
    format(digest, ret_text);
}

static void add_part(struct qn_md5 *md5, struct qn_str part)
{
    const uint32_t len = (uint32_t)part.len;
    const uint8_t prefix[4] = {(uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                               (uint8_t)len};

    qn_md5_update(md5, prefix, sizeof(prefix));
    qn_md5_update(md5, part.ptr, part.len);
}

static int by_name(const void *a, const void *b)
{
    const struct quern_attribute *const *left = a;
    const struct quern_attribute *const *right = b;

    return strcmp((*left)->name, (*right)->name);
}

static void add_attribute(struct qn_md5 *md5, const struct quern_attribute *attribute)
{
    const char *type = attribute->data_type != NULL ? attribute->data_type : "";
    bool is_binary = strncmp(type, "Binary", strlen("Binary")) == 0;
    const uint8_t transport = is_binary ? 2 : 1;

    add_part(md5, qn_str_from_cstr(attribute->name));
    add_part(md5, qn_str_from_cstr(type));
    qn_md5_update(md5, &transport, 1);
    add_part(md5, is_binary ? qn_str(attribute->bytes, attribute->byte_count)
                            : qn_str_from_cstr(attribute->text));
}

void quern_digest_attributes(const struct quern_attribute *attributes, size_t count,
                             char ret_text[QUERN_DIGEST_TEXT])
{
    struct qn_md5 md5;
    uint8_t digest[16];

    ret_text[0] = '\0';
    if (count == 0) {
        return;
    }
    const struct quern_attribute **sorted = qn_memory_new_array(count, sizeof(*sorted));
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &attributes[i];
    }
    qsort((void *)sorted, count, sizeof(const struct quern_attribute *), by_name);
    qn_md5_init(&md5);
    for (size_t i = 0; i < count; i++) {
        add_attribute(&md5, sorted[i]);
    }
    qn_md5_finish(&md5, digest);
    qn_memory_free((void *)sorted);
    format(digest, ret_text);
}

bool quern_digest_is_right(const char *told, const char *expected)
{
    return told == NULL || strcasecmp(told, expected) == 0;
}
