/* Which failures are worth another attempt, and how long to pause before it ("standard" mode of the
 * AWS SDKs). */
#include "client/retry.h"

#include <string.h>

enum { RETRY_CEILING_MS = 20000 };

/* Source: AWS SDKs and Tools Reference Guide, "Retry behavior": what the standard mode takes for
 * throttling. KmsThrottled is what SQS makes of the throttling of its key service. */
static const char *const throttling_codes[] = {
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "KmsThrottled",
    "LimitExceededException",
    "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "TransactionInProgressException",
};

/* The same source: what it takes for transient. The first two are the library's own. */
static const char *const transient_codes[] = {
    "ConnectionError",  "Timeout",       "RequestTimeout",  "RequestTimeoutException",
    "ChecksumMismatch", "InternalError", "InternalFailure", "ServiceUnavailable",
};

static bool is_among(const char *code, const char *const *codes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(code, codes[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_transient_status(int status)
{
    return status == 500 || status == 502 || status == 503 || status == 504;
}

bool quern_retry_is_throttling(const char *code)
{
    return is_among(code, throttling_codes, sizeof(throttling_codes) / sizeof(throttling_codes[0]));
}

bool quern_retry_is_useful(const struct quern_error *err)
{
    /* 501 and 505 say that it will never be otherwise. */
    return is_transient_status(err->http_status) || quern_retry_is_throttling(err->code) ||
           is_among(err->code, transient_codes,
                    sizeof(transient_codes) / sizeof(transient_codes[0]));
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
