/* Deleting and changing visibility by receipt handle. Source: SQS API reference, DeleteMessage and
 * ChangeMessageVisibility. */
#include "server/actions/handles.h"

#include <inttypes.h>

/* Finds what the handle names; refuses what is no handle, or one of another queue. */
static bool find(struct qn_tx *tx, struct qn_str receipt_handle, enum qn_handle_state *ret_state,
                 struct qn_lease *ret_lease, struct qn_error *err)
{
    struct qn_str shown = qn_str_first(receipt_handle, QN_RECEIPT_HANDLE_MAX);

    if (receipt_handle.len == 0) {
        return qn_fail(err, QN_ERR_MISSING_PARAMETER,
                       "The request must contain the parameter ReceiptHandle.");
    }
    *ret_state = qn_engine_find_lease(tx, tx->queue, receipt_handle, ret_lease);
    if (*ret_state == QN_HANDLE_MALFORMED) {
        return qn_fail(err, QN_ERR_RECEIPT_HANDLE_IS_INVALID,
                       "The input receipt handle \"%.*s\" is not a valid receipt handle.",
                       QN_STR_ARG(shown));
    }
    if (*ret_state == QN_HANDLE_OTHER_QUEUE) {
        return qn_fail(err, QN_ERR_RECEIPT_HANDLE_IS_INVALID,
                       "The receipt handle \"%.*s\" is not valid for this queue.",
                       QN_STR_ARG(shown));
    }
    return true;
}

/* FIFO: a handle counts only while its own lease lasts. */
static bool check_fifo(const struct qn_tx *tx, struct qn_str receipt_handle,
                       enum qn_handle_state state, const struct qn_lease *lease,
                       struct qn_error *err)
{
    if (!qn_queue_is_fifo(tx->queue) || (state == QN_HANDLE_LATEST && lease->is_in_flight)) {
        return true;
    }
    return qn_fail_value(err, receipt_handle, "ReceiptHandle", "The receipt handle has expired.");
}

bool qn_handle_delete(struct qn_tx *tx, struct qn_str receipt_handle, bool pretend,
                      struct qn_error *err)
{
    enum qn_handle_state state;
    struct qn_lease lease;

    if (!find(tx, receipt_handle, &state, &lease, err)) {
        return false;
    }
    /* Deleting twice succeeds, any number of times. */
    if (state != QN_HANDLE_GONE && !check_fifo(tx, receipt_handle, state, &lease, err)) {
        return false;
    }
    if (pretend) {
        return true;
    }
    if (state == QN_HANDLE_LATEST ||
        (state == QN_HANDLE_OLDER && qn_engine_options_of(tx->engine)->stale_delete)) {
        qn_engine_delete_message(tx, tx->queue, lease.slot, receipt_handle);
    } else {
        qn_engine_count_vain_delete(tx->queue);
    }
    return true;
}

bool qn_check_visibility(struct qn_integer visibility_timeout, struct qn_error *err)
{
    return qn_check_range(visibility_timeout, 0, QN_VISIBILITY_MAX_S, "VisibilityTimeout",
                          "VisibilityTimeout must be an integer between 0 and 43200", err);
}

bool qn_handle_change(struct qn_tx *tx, struct qn_str receipt_handle,
                      struct qn_integer visibility_timeout, bool pretend, struct qn_error *err)
{
    enum qn_handle_state state;
    struct qn_lease lease;

    if (!visibility_timeout.present) {
        return qn_fail(err, QN_ERR_MISSING_PARAMETER,
                       "The request must contain the parameter VisibilityTimeout.");
    }
    if (!qn_check_visibility(visibility_timeout, err) ||
        !find(tx, receipt_handle, &state, &lease, err)) {
        return false;
    }
    if (state == QN_HANDLE_GONE) {
        return qn_fail_value(
            err, receipt_handle, "ReceiptHandle",
            "Message does not exist or is not available for visibility timeout change.");
    }
    if (!check_fifo(tx, receipt_handle, state, &lease, err)) {
        return false;
    }
    int64_t visible_at_ms = tx->now_ms + visibility_timeout.value * 1000;
    /* The ceiling counts from the receive, so that extending for ever is impossible. */
    if (visibility_timeout.value > 0 &&
        visible_at_ms - lease.received_at_ms > QN_VISIBILITY_MAX_S * INT64_C(1000)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "Value %" PRId64
                       " for parameter VisibilityTimeout is invalid. Reason: Total "
                       "VisibilityTimeout for the message is beyond the limit [43200 seconds]",
                       visibility_timeout.value);
    }
    /* SM-20: nothing to end when it is visible already. */
    bool changes = lease.is_in_flight || visibility_timeout.value > 0;
    if (changes && !pretend) {
        qn_engine_set_visible_at(tx, tx->queue, lease.slot, visible_at_ms, receipt_handle);
    }
    return true;
}
