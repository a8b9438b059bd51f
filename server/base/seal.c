/* Sealed tokens: two AES blocks chained so that one cannot be exchanged or altered without the
 * other.
 *
 *     first  = E1(plain[0..15])
 *     second = E1((plain[16..23] || 8 zeros) XOR E2(first))
 *
 * Opening asks for the zeros. A different first block changes the whole of E2(first), a different
 * second block the whole of its decryption: either way 64 unpredictable bits stand where the zeros
 * belong. Chaining with `first` itself would not do: a change in its front half would pass the
 * check. */
#include "server/base/digest.h"

#include <nettle/aes.h>
#include <nettle/memops.h>

enum { BLOCK = 16, CHECK = 8 };

struct keys {
    struct aes128_ctx encrypt;
    struct aes128_ctx decrypt;
    struct aes128_ctx chain;
};
_Static_assert(sizeof(struct keys) <= sizeof(struct qn_seal), "the key schedules fit");
_Static_assert(_Alignof(struct keys) <= _Alignof(struct qn_seal), "and are aligned");
_Static_assert(2 * BLOCK == QN_SEAL_SEALED && QN_SEAL_PLAIN + CHECK == QN_SEAL_SEALED, "sizes");

void qn_seal_init(struct qn_seal *seal, const uint8_t key[16])
{
    static const char purpose[] = "quern sealed token";
    struct keys *keys = (struct keys *)(void *)seal->opaque;
    char material[sizeof(purpose) + 16];
    uint8_t derived[32];

    memcpy(material, purpose, sizeof(purpose));
    memcpy(material + sizeof(purpose), key, 16);
    qn_digest_sha256(qn_str(material, sizeof(material)), derived);
    aes128_set_encrypt_key(&keys->encrypt, derived);
    aes128_set_decrypt_key(&keys->decrypt, derived);
    aes128_set_encrypt_key(&keys->chain, derived + 16);
}

/* Adds E2(first) to a block. */
static void chain(const struct keys *keys, const uint8_t *first, uint8_t block[BLOCK])
{
    uint8_t mask[BLOCK];

    aes128_encrypt(&keys->chain, BLOCK, mask, first);
    memxor(block, mask, BLOCK);
}

void qn_seal_close(const struct qn_seal *seal, const uint8_t plain[QN_SEAL_PLAIN],
                   uint8_t ret_sealed[QN_SEAL_SEALED])
{
    const struct keys *keys = (const struct keys *)(const void *)seal->opaque;
    uint8_t second[BLOCK] = {0};

    memcpy(second, plain + BLOCK, QN_SEAL_PLAIN - BLOCK);
    aes128_encrypt(&keys->encrypt, BLOCK, ret_sealed, plain);
    chain(keys, ret_sealed, second);
    aes128_encrypt(&keys->encrypt, BLOCK, ret_sealed + BLOCK, second);
}

bool qn_seal_open(const struct qn_seal *seal, const uint8_t sealed[QN_SEAL_SEALED],
                  uint8_t ret_plain[QN_SEAL_PLAIN])
{
    static const uint8_t zeros[CHECK];
    const struct keys *keys = (const struct keys *)(const void *)seal->opaque;
    uint8_t second[BLOCK];

    aes128_decrypt(&keys->decrypt, BLOCK, second, sealed + BLOCK);
    chain(keys, sealed, second);
    if (!memeql_sec(second + BLOCK - CHECK, zeros, CHECK)) {
        return false;
    }
    aes128_decrypt(&keys->decrypt, BLOCK, ret_plain, sealed);
    memcpy(ret_plain + BLOCK, second, BLOCK - CHECK);
    return true;
}
