/* Which failures are worth another attempt, how long to pause before it, and how many attempts
 * there may be altogether: the "standard" mode of the AWS SDKs. No clock and no thread: whoever
 * waits, waits elsewhere. */
#ifndef QUERN_RETRY_H
#define QUERN_RETRY_H

#include "client/quern_error.h"
#include "server/base/random.h"

/* Whether the service asks for fewer calls. */
bool quern_retry_is_throttling(const char *code);
/* Whether one more attempt may help. */
bool quern_retry_is_useful(const struct quern_error *err);
/* The pause after attempt number `attempt` (from 1): between 0 and base * 2^(attempt-1), at most 20
 * s. */
int64_t quern_retry_delay_ms(struct qn_random *random, int64_t base_ms, int attempt);

/* What all calls of a client may spend on repeating: when the service is down, attempts are not
 * multiplied for long. Source: AWS SDKs and Tools Reference Guide, "Retry behavior", retry quota.
 */
enum {
    QUERN_QUOTA_MAX = 500,
    QUERN_QUOTA_RETRY = 5,
    QUERN_QUOTA_TIMEOUT = 10,
    QUERN_QUOTA_CALL = 1
};

struct quern_quota {
    int64_t tokens;
};

void quern_quota_init(struct quern_quota *quota);
/* What one more attempt after this failure costs. */
int64_t quern_quota_cost(const struct quern_error *err);
/* False, and nothing is taken, when not so much is left. */
bool quern_quota_take(struct quern_quota *quota, int64_t cost);
/* After a success: what its last attempt cost, or QUERN_QUOTA_CALL when it was the first. */
void quern_quota_give(struct quern_quota *quota, int64_t amount);

#endif
