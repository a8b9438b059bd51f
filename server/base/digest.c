/* MD5, SHA-256 and hexadecimal. */
#include "server/base/digest.h"

#include <nettle/md5.h>
#include <nettle/sha2.h>

#include "server/base/hex.h"

_Static_assert(sizeof(struct md5_ctx) <= sizeof(struct qn_md5), "nettle's state fits");
_Static_assert(_Alignof(struct md5_ctx) <= _Alignof(struct qn_md5), "nettle's state is aligned");

static struct md5_ctx *context(struct qn_md5 *md5)
{
    return (struct md5_ctx *)(void *)md5->opaque;
}

void qn_digest_md5(struct qn_str bytes, uint8_t ret_digest[16])
{
    struct qn_md5 md5;

    qn_md5_init(&md5);
    qn_md5_update(&md5, bytes.ptr, bytes.len);
    qn_md5_finish(&md5, ret_digest);
}

void qn_digest_sha256(struct qn_str bytes, uint8_t ret_digest[32])
{
    struct sha256_ctx sha;

    sha256_init(&sha);
    if (bytes.len > 0) {
        sha256_update(&sha, bytes.len, (const uint8_t *)bytes.ptr);
    }
    sha256_digest(&sha, SHA256_DIGEST_SIZE, ret_digest);
}

void qn_digest_hex(const uint8_t *bytes, size_t len, char *out)
{
    static const char hex[] = "0123456789abcdef";
    size_t fours = len / 4;

    for (size_t i = 0; i < fours; i++) {
        qn_hex_of_four(bytes + 4 * i, out + 8 * i);
    }
    for (size_t i = 4 * fours, end = i + len % 4; i < end; i++) {
        out[2 * i] = hex[bytes[i] >> 4];
        out[2 * i + 1] = hex[bytes[i] & 15];
    }
    out[2 * len] = '\0';
}

void qn_md5_init(struct qn_md5 *md5)
{
    md5_init(context(md5));
}

void qn_md5_update(struct qn_md5 *md5, const void *bytes, size_t len)
{
    if (len > 0) {
        md5_update(context(md5), len, bytes);
    }
}

void qn_md5_finish(struct qn_md5 *md5, uint8_t ret_digest[16])
{
    md5_digest(context(md5), MD5_DIGEST_SIZE, ret_digest);
}
