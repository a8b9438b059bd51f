/* Digests and encodings: MD5 and SHA-256 over nettle, base64, hex, CRC-32C, and the sealed tokens
 * of receipt handles. */
#ifndef QN_BASE_DIGEST_H
#define QN_BASE_DIGEST_H

#include "server/base/arena.h"
#include "server/base/buf.h"

void qn_digest_md5(struct qn_str bytes, uint8_t ret_digest[16]);
void qn_digest_sha256(struct qn_str bytes, uint8_t ret_digest[32]);
/* Lower-case; out gets 2 * len characters and a NUL. */
void qn_digest_hex(const uint8_t *bytes, size_t len, char *out);

/* Running MD5, for the digest over message attributes. */
struct qn_md5 {
    uint64_t opaque[32];
};
void qn_md5_init(struct qn_md5 *md5);
void qn_md5_update(struct qn_md5 *md5, const void *bytes, size_t len);
void qn_md5_finish(struct qn_md5 *md5, uint8_t ret_digest[16]);

/* Standard alphabet with padding. */
void qn_digest_append_base64(struct qn_buf *buf, struct qn_str bytes);
struct qn_str qn_digest_base64(struct qn_arena *arena, struct qn_str bytes);
/* Strict: length a multiple of 4, padding right, no blanks. False on anything else, also at the
 * arena's ceiling. */
QN_MUST_CHECK bool qn_digest_decode_base64(struct qn_arena *arena, struct qn_str text,
                                           struct qn_str *ret_bytes);

/* CRC-32C (Castagnoli), continued from `crc` (0 at the start). */
uint32_t qn_digest_crc32c(uint32_t crc, const void *bytes, size_t len);

/* 64-bit keyed short digest is not enough against guessing, so a token of 24 bytes is sealed into
 * 32 with AES-128: opaque, and a forged one is refused (8 bytes of zeros must come out). The key is
 * 16 bytes. */
enum { QN_SEAL_PLAIN = 24, QN_SEAL_SEALED = 32 };
struct qn_seal {
    uint64_t opaque[72];
};
void qn_seal_init(struct qn_seal *seal, const uint8_t key[16]);
void qn_seal_close(const struct qn_seal *seal, const uint8_t plain[QN_SEAL_PLAIN],
                   uint8_t ret_sealed[QN_SEAL_SEALED]);
QN_MUST_CHECK bool qn_seal_open(const struct qn_seal *seal, const uint8_t sealed[QN_SEAL_SEALED],
                                uint8_t ret_plain[QN_SEAL_PLAIN]);

#endif
