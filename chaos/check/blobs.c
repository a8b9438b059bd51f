/* Contents by digest. */
#include "chaos/check/blobs.h"

#include "chaos/check/table.h"
#include "server/base/digest.h"

struct qn_blobs {
    struct qn_table by_name; /* struct qn_buf */
};

struct qn_blobs *qn_blobs_new(void)
{
    struct qn_blobs *blobs = qn_memory_new(sizeof(*blobs));

    qn_table_init(&blobs->by_name, sizeof(struct qn_buf));
    return blobs;
}

void qn_blobs_free(struct qn_blobs *blobs)
{
    if (blobs == NULL) {
        return;
    }
    for (struct qn_table_item *item = blobs->by_name.first; item != NULL; item = item->next) {
        qn_buf_done(item->value);
    }
    qn_table_done(&blobs->by_name);
    qn_memory_free(blobs);
}

bool qn_blobs_put(struct qn_blobs *blobs, struct qn_str name, struct qn_str content)
{
    uint8_t digest[32];
    char hex[65];

    qn_digest_sha256(content, digest);
    qn_digest_hex(digest, sizeof(digest), hex);
    if (!qn_str_equal_nocase(name, qn_str_from_cstr(hex))) {
        return false;
    }
    struct qn_buf *stored = qn_table_at(&blobs->by_name, qn_str_from_cstr(hex));
    qn_buf_done(stored);
    qn_buf_init(stored, SIZE_MAX / 2);
    qn_buf_append_str(stored, content);
    return true;
}

bool qn_blobs_get(const struct qn_blobs *blobs, struct qn_str name, struct qn_str *ret_content)
{
    const struct qn_buf *stored = qn_table_find(&blobs->by_name, name);

    if (stored == NULL) {
        return false;
    }
    *ret_content = qn_buf_str(stored);
    return true;
}
