#include "server/base/digest.h"

#include <criterion/criterion.h>

static struct qn_arena arena;

static void open_arena(void)
{
    qn_arena_init(&arena, 1 << 20);
}

static void close_arena(void)
{
    qn_arena_done(&arena);
}

TestSuite(digest, .init = open_arena, .fini = close_arena);

static const char *md5_of(struct qn_str text)
{
    static char hex[33];
    uint8_t digest[16];

    qn_digest_md5(text, digest);
    qn_digest_hex(digest, sizeof(digest), hex);
    return hex;
}

/* RFC 1321, A.5. */
Test(digest, md5_gives_the_values_of_its_specification)
{
    cr_expect_str_eq(md5_of(QN_STR("")), "d41d8cd98f00b204e9800998ecf8427e");
    cr_expect_str_eq(md5_of(QN_STR_NONE), "d41d8cd98f00b204e9800998ecf8427e");
    cr_expect_str_eq(md5_of(QN_STR("abc")), "900150983cd24fb0d6963f7d28e17f72");
    cr_expect_str_eq(md5_of(QN_STR("message digest")), "f96b697d7cb7938d525a2f31aaf161d0");
}

Test(digest, a_running_md5_equals_that_of_the_whole)
{
    uint8_t digest[16];
    char hex[33];
    struct qn_md5 md5;

    qn_md5_init(&md5);
    qn_md5_update(&md5, "message", 7);
    qn_md5_update(&md5, NULL, 0);
    qn_md5_update(&md5, " digest", 7);
    qn_md5_finish(&md5, digest);
    qn_digest_hex(digest, 16, hex);
    cr_expect_str_eq(hex, "f96b697d7cb7938d525a2f31aaf161d0");
}

/* FIPS 180-2, B.1. */
Test(digest, sha256_gives_the_values_of_its_specification)
{
    uint8_t digest[32];
    char hex[65];

    qn_digest_sha256(QN_STR("abc"), digest);
    qn_digest_hex(digest, 32, hex);
    cr_expect_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    qn_digest_sha256(QN_STR_NONE, digest);
    qn_digest_hex(digest, 32, hex);
    cr_expect_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* RFC 4648, section 10. */
Test(digest, hexadecimal_has_two_small_digits_for_each_byte)
{
    uint8_t bytes[256];
    char text[2 * sizeof(bytes) + 1];

    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)i;
    }
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        qn_digest_hex(bytes, len, text);
        cr_assert_eq(strlen(text), 2 * len);
        for (size_t i = 0; i < len; i++) {
            const char *digits = "0123456789abcdef";
            cr_assert_eq(text[2 * i], digits[i / 16], "byte %zu of %zu", i, len);
            cr_assert_eq(text[2 * i + 1], digits[i % 16], "byte %zu of %zu", i, len);
        }
    }
}

Test(digest, base64_gives_the_values_of_its_specification)
{
    static const char *const rows[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct qn_str plain = qn_str_from_cstr(rows[i][0]);
        struct qn_str coded = qn_str_from_cstr(rows[i][1]);
        struct qn_str decoded;
        struct qn_buf buf;
        cr_expect_str_eq(qn_digest_base64(&arena, plain).ptr, rows[i][1]);
        cr_expect(qn_digest_decode_base64(&arena, coded, &decoded));
        cr_expect(qn_str_equal(decoded, plain));
        qn_buf_init(&buf, 100);
        qn_digest_append_base64(&buf, plain);
        cr_expect(qn_str_equal(qn_buf_str(&buf), coded));
        qn_buf_done(&buf);
    }
    cr_expect(qn_str_is_none(qn_digest_base64(&arena, QN_STR_NONE)));
}

Test(digest, every_byte_survives_base64)
{
    char bytes[259];

    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)(i * 7);
    }
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        struct qn_str decoded;
        struct qn_str coded = qn_digest_base64(&arena, qn_str(bytes, len));
        cr_assert_eq(coded.len % 4, 0);
        cr_assert(qn_digest_decode_base64(&arena, coded, &decoded));
        cr_assert(qn_str_equal(decoded, qn_str(bytes, len)));
    }
}

Test(digest, sloppy_base64_is_refused)
{
    static const char *const wrong[] = {
        "Z",    "Zg",   "Zg=",  "Zg==Zg==", "Z===", "====",  "Zg= ",    "Zm9v\n", "Zm 9",
        "Zh==", "Zm9=", "Zm-_", "=Zg=",     "Zg=v", "Zm9vZ", "\xFFm9v", " Zg=="};
    struct qn_str decoded = QN_STR("untouched");

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_not(qn_digest_decode_base64(&arena, qn_str_from_cstr(wrong[i]), &decoded), "'%s'",
                      wrong[i]);
    }
    cr_expect_not(qn_digest_decode_base64(&arena, QN_STR_NONE, &decoded));
    cr_expect(qn_str_equal(decoded, QN_STR("untouched")));
}

/* RFC 3720, B.4. */
Test(digest, crc32c_gives_the_values_of_its_specification)
{
    char bytes[32];

    cr_expect_eq(qn_digest_crc32c(0, "123456789", 9), 0xE3069283);
    cr_expect_eq(qn_digest_crc32c(0, "", 0), 0);
    memset(bytes, 0, sizeof(bytes));
    cr_expect_eq(qn_digest_crc32c(0, bytes, sizeof(bytes)), 0x8A9136AA);
    memset(bytes, 0xFF, sizeof(bytes));
    cr_expect_eq(qn_digest_crc32c(0, bytes, sizeof(bytes)), 0x62A8AB43);
}

Test(digest, crc32c_continues_over_pieces)
{
    const char *text = "a record of the ring that is longer than one word";
    size_t len = strlen(text);

    for (size_t cut = 0; cut <= len; cut++) {
        uint32_t crc = qn_digest_crc32c(0, text, cut);
        cr_assert_eq(qn_digest_crc32c(crc, text + cut, len - cut), qn_digest_crc32c(0, text, len));
    }
}

static void seal_with(uint8_t key_byte, struct qn_seal *seal)
{
    uint8_t key[16];

    memset(key, key_byte, sizeof(key));
    qn_seal_init(seal, key);
}

static const uint8_t token[QN_SEAL_PLAIN] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                             13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24};

Test(digest, a_sealed_token_opens_with_its_key_only)
{
    struct qn_seal seal;
    struct qn_seal other;
    uint8_t sealed[QN_SEAL_SEALED];
    uint8_t plain[QN_SEAL_PLAIN];

    seal_with(1, &seal);
    seal_with(2, &other);
    qn_seal_close(&seal, token, sealed);
    cr_assert(qn_seal_open(&seal, sealed, plain));
    cr_expect_arr_eq(plain, token, QN_SEAL_PLAIN);
    cr_expect_not(qn_seal_open(&other, sealed, plain));
}

Test(digest, a_change_of_any_bit_of_a_sealed_token_is_refused)
{
    struct qn_seal seal;
    uint8_t sealed[QN_SEAL_SEALED];
    uint8_t plain[QN_SEAL_PLAIN];

    seal_with(3, &seal);
    qn_seal_close(&seal, token, sealed);
    for (size_t bit = 0; bit < 8 * sizeof(sealed); bit++) {
        sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_not(qn_seal_open(&seal, sealed, plain), "bit %zu", bit);
        sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    cr_expect(qn_seal_open(&seal, sealed, plain));
}

Test(digest, halves_of_two_sealed_tokens_do_not_make_a_third)
{
    struct qn_seal seal;
    uint8_t one[QN_SEAL_SEALED];
    uint8_t other[QN_SEAL_SEALED];
    uint8_t mixed[QN_SEAL_SEALED];
    uint8_t changed[QN_SEAL_PLAIN];
    uint8_t plain[QN_SEAL_PLAIN];

    seal_with(4, &seal);
    memcpy(changed, token, sizeof(changed));
    changed[0] = 99;
    qn_seal_close(&seal, token, one);
    qn_seal_close(&seal, changed, other);
    memcpy(mixed, one, 16);
    memcpy(mixed + 16, other + 16, 16);
    cr_expect_not(qn_seal_open(&seal, mixed, plain));
    memcpy(mixed + 16, one, 16); /* twice the same block */
    cr_expect_not(qn_seal_open(&seal, mixed, plain));
    memcpy(mixed, one + 16, 16);
    cr_expect_not(qn_seal_open(&seal, mixed, plain), "exchanged blocks");
    memset(mixed, 0, sizeof(mixed));
    cr_expect_not(qn_seal_open(&seal, mixed, plain));
}
