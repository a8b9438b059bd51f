/* What holds a consumer back: a token bucket, and a circuit breaker. */
#ifndef QUERN_CONSUMER_LIMITS_H
#define QUERN_CONSUMER_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct quern_bucket {
    double rate_per_s; /* 0: no limit */
    double burst;
    double tokens;
    int64_t filled_at_ms;
};

/* Full. */
void quern_bucket_init(struct quern_bucket *bucket, double rate_per_s, int64_t burst,
                       int64_t now_ms);
/* Milliseconds until there is a token; 0: now. */
int64_t quern_bucket_wait_ms(struct quern_bucket *bucket, int64_t now_ms);
/* Takes one; there must be one. */
void quern_bucket_take(struct quern_bucket *bucket);

/* Closed: all is well. Open: nothing begins. After a while one may be tried. */
struct quern_circuit {
    int64_t failures_max; /* in a row; 0: never opens */
    int64_t open_ms;
    int64_t failures;
    int64_t open_until_ms;
    bool is_open;
    bool is_trying;
};

/* Milliseconds until something may begin; 0: now; below 0: when what is tried has ended. */
int64_t quern_circuit_wait_ms(const struct quern_circuit *circuit, int64_t now_ms);
void quern_circuit_begin(struct quern_circuit *circuit);
/* Work has ended. True when this opened the circuit. */
bool quern_circuit_note(struct quern_circuit *circuit, bool has_failed, int64_t now_ms);
/* Work has ended that tells nothing: if it was what was tried, another may be. */
void quern_circuit_pass(struct quern_circuit *circuit);

#endif
