/* The one limit of AWS that `--limit` can lift: how short messages may be kept. */
#include "chaos/assumptions/detect.h"

#include "server/model/limits.h"

static void retention_at_call(struct qn_view *view, const struct qn_seen_call *call)
{
    int64_t retention_s;

    if (call->ok &&
        (call->action == QN_SEEN_CREATE_QUEUE || call->action == QN_SEEN_SET_ATTRIBUTES) &&
        qn_str_to_int64(qn_seen_attribute_of(call, "MessageRetentionPeriod"), 0,
                        QN_RETENTION_MIN_S - 1, &retention_s)) {
        qn_found(view, call, call->queue, QN_SIGHTS(&call->in),
                 "%.*s with a MessageRetentionPeriod of %lld seconds",
                 QN_STR_ARG(call->action_name), (long long)retention_s);
    }
}

const struct qn_detector qn_detect_short_retention = {.at_call = retention_at_call};
