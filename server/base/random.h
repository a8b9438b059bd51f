/* Seeded random streams (xoshiro256** or alike, seeded by splitmix64). Every draw that a client can
 * see comes from one. */
#ifndef QN_BASE_RANDOM_H
#define QN_BASE_RANDOM_H

#include "server/base/str.h"

struct qn_random {
    uint64_t state[4];
};

/* The stream named by (seed, a, b): the same three always give the same draws. */
void qn_random_init(struct qn_random *random, uint64_t seed, uint64_t a, uint64_t b);
uint64_t qn_random_next(struct qn_random *random);
/* 0 to bound-1; bound > 0. */
uint64_t qn_random_below(struct qn_random *random, uint64_t bound);
/* A version 4 UUID as bytes, and its 36 characters with a NUL. */
void qn_random_uuid(struct qn_random *random, uint8_t ret_uuid[16]);
void qn_random_format_uuid(const uint8_t uuid[16], char out[37]);
QN_MUST_CHECK bool qn_random_parse_uuid(struct qn_str text, uint8_t ret_uuid[16]);
/* A fresh seed from the system (libuuid). */
uint64_t qn_random_fresh_seed(void);
/* One well-mixed 64-bit value of three: for decisions that hang on an index instead of a stream. */
uint64_t qn_random_mix(uint64_t a, uint64_t b, uint64_t c);

#endif
