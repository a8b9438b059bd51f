/* What several actions share: finding the queue, and the checks of names that AWS words alike. */
#ifndef QN_ACTIONS_COMMON_H
#define QN_ACTIONS_COMMON_H

#include "server/actions/actions.h"

/* Puts the queue that the URL names into tx->queue: that of the path's account if there is one,
 * else the caller's. With
 * --auto-create a missing one is made. Fails with QueueDoesNotExist. */
QN_MUST_CHECK bool qn_resolve_queue(struct qn_tx *tx, struct qn_str queue_url,
                                    struct qn_error *err);

/* The URL that the caller can use for the queue, in the arena. */
struct qn_str qn_queue_url_of(struct qn_tx *tx, const struct qn_queue *queue);

/* `Value <value> for parameter <name> is invalid. Reason: <reason>`; false. */
bool qn_fail_value(struct qn_error *err, struct qn_str value, const char *parameter,
                   const char *reason);

/* 1 to max of letters, digits, hyphen, underscore. */
bool qn_is_plain_name(struct qn_str text, size_t max);
/* Group id, deduplication id, attempt id: 1 to 128 of letters, digits and ASCII punctuation
 * (ID-15). */
bool qn_is_fifo_id(struct qn_str text);
/* Characters, not bytes. */
size_t qn_count_characters(struct qn_str text);
/* A queue name that may be created: standard, or with the .fifo suffix. */
bool qn_is_queue_name(struct qn_str name, bool is_fifo);

/* Room for the digest text of outputs. */
struct qn_str qn_md5_hex(struct qn_tx *tx, const uint8_t digest[16]);
struct qn_str qn_uuid_text(struct qn_tx *tx, const uint8_t uuid[16]);

/* A list of count items of the element size, or false with INTERNAL at the arena's ceiling. */
QN_MUST_CHECK bool qn_list_new(struct qn_tx *tx, size_t count, size_t element_size,
                               struct qn_list *ret_list, struct qn_error *err);

/* Limits of a range, with the words of section 9 to 11: `Reason: <reason>`. */
QN_MUST_CHECK bool qn_check_range(struct qn_integer value, int64_t min, int64_t max,
                                  const char *parameter, const char *reason, struct qn_error *err);

#endif
