/* What all calls of a client may spend on repeating. */
#include <string.h>

#include "client/retry.h"

void quern_quota_init(struct quern_quota *quota)
{
    quota->tokens = QUERN_QUOTA_MAX;
}

int64_t quern_quota_cost(const struct quern_error *err)
{
    return strcmp(err->code, "Timeout") == 0 ? QUERN_QUOTA_TIMEOUT : QUERN_QUOTA_RETRY;
}

bool quern_quota_take(struct quern_quota *quota, int64_t cost)
{
    if (quota->tokens < cost) {
        return false;
    }
    quota->tokens -= cost;
    return true;
}

void quern_quota_give(struct quern_quota *quota, int64_t amount)
{
    quota->tokens += amount;
    if (quota->tokens > QUERN_QUOTA_MAX) {
        quota->tokens = QUERN_QUOTA_MAX;
    }
}
