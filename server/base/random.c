/* xoshiro256** (Blackman and Vigna, public domain), seeded by splitmix64, and UUIDs drawn from it.
 */
#include "server/base/random.h"

#include <assert.h>
#include <endian.h>
#include <uuid/uuid.h>

#include "server/base/hex.h"

__extension__ typedef unsigned __int128 wide;

static uint64_t rotate_left(uint64_t value, int by)
{
    return value << by | value >> (64 - by);
}

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

uint64_t qn_random_mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t state = a;

    state = splitmix(&state) ^ b;
    state = splitmix(&state) ^ c;
    return splitmix(&state);
}

void qn_random_init(struct qn_random *random, uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t state = qn_random_mix(seed, a, b);

    for (int i = 0; i < 4; i++) {
        random->state[i] = splitmix(&state);
    }
}

uint64_t qn_random_next(struct qn_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

/* Lemire's method: the upper half of a product is nearly uniform; the few values that would favour
 * some results are drawn again. */
uint64_t qn_random_below(struct qn_random *random, uint64_t bound)
{
    wide product;
    uint64_t unfair;

    assert(bound > 0);
    unfair = (0 - bound) % bound;
    do {
        product = (wide)qn_random_next(random) * bound;
    } while ((uint64_t)product < unfair);
    return (uint64_t)(product >> 64);
}

void qn_random_uuid(struct qn_random *random, uint8_t ret_uuid[16])
{
    for (int i = 0; i < 16; i += 8) {
        uint64_t draw = htole64(qn_random_next(random));
        memcpy(ret_uuid + i, &draw, sizeof(draw));
    }
    ret_uuid[6] = (uint8_t)(0x40 | (ret_uuid[6] & 0x0F)); /* version 4 */
    ret_uuid[8] = (uint8_t)(0x80 | (ret_uuid[8] & 0x3F)); /* RFC 4122 variant */
}

/* Where the two digits of each byte stand. */
static const uint8_t positions[16] = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};

void qn_random_format_uuid(const uint8_t uuid[16], char out[37])
{
    char digits[32];

    for (size_t i = 0; i < 16; i += 4) {
        qn_hex_of_four(uuid + i, digits + 2 * i);
    }
    memcpy(out, digits, 8);
    memcpy(out + 9, digits + 8, 4);
    memcpy(out + 14, digits + 12, 4);
    memcpy(out + 19, digits + 16, 4);
    memcpy(out + 24, digits + 20, 12);
    out[8] = out[13] = out[18] = out[23] = '-';
    out[36] = '\0';
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

bool qn_random_parse_uuid(struct qn_str text, uint8_t ret_uuid[16])
{
    uint8_t uuid[16];

    if (text.len != 36 || text.ptr[8] != '-' || text.ptr[13] != '-' || text.ptr[18] != '-' ||
        text.ptr[23] != '-') {
        return false;
    }
    for (int i = 0; i < 16; i++) {
        int high = hex_value(text.ptr[positions[i]]);
        int low = hex_value(text.ptr[positions[i] + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        uuid[i] = (uint8_t)(high << 4 | low);
    }
    memcpy(ret_uuid, uuid, sizeof(uuid));
    return true;
}

uint64_t qn_random_fresh_seed(void)
{
    uuid_t uuid;
    uint64_t halves[2];

    uuid_generate_random(uuid);
    memcpy(halves, uuid, sizeof(halves));
    /* Version and variant are the same in every UUID; mixing spreads the random bits over all 64.
     */
    return qn_random_mix(halves[0], halves[1], 0);
}
