/* Which failures are worth another attempt, and how long to pause before it ("standard" mode of the
 * AWS SDKs). */
#include <string.h>

#include "client/internal.h"

enum { RETRY_CEILING_MS = 20000 };

/* Source: AWS SDKs and Tools Reference Guide, "Retry behavior": transient and throttling errors of
 * the standard mode. */
static const char *const retryable_codes[] = {
    "ConnectionError",
    "Timeout",
    "RequestTimeout",
    "RequestTimeoutException",
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottled",
    "RequestThrottledException",
    "RequestLimitExceeded",
    "TooManyRequestsException",
    "PriorRequestNotComplete",
    "SlowDown",
    "InternalError",
    "InternalFailure",
    "ServiceUnavailable",
    "KmsThrottled",
};

bool quern_retry_is_useful(const struct quern_error *err)
{
    if (err->http_status >= 500) {
        return true;
    }
    for (size_t i = 0; i < sizeof(retryable_codes) / sizeof(retryable_codes[0]); i++) {
        if (strcmp(err->code, retryable_codes[i]) == 0) {
            return true;
        }
    }
    return false;
}

int64_t quern_retry_delay_ms(struct qn_random *random, int64_t base_ms, int attempt)
{
    int64_t longest = base_ms < RETRY_CEILING_MS ? base_ms : RETRY_CEILING_MS;

    for (int i = 1; i < attempt && longest < RETRY_CEILING_MS; i++) {
        longest *= 2;
    }
    if (longest > RETRY_CEILING_MS) {
        longest = RETRY_CEILING_MS;
    }
    return (int64_t)qn_random_below(random, (uint64_t)longest + 1);
}
