/* Queues, their attributes, tags and permissions. Included by quern.h.
 *
 * Texts given are UTF-8 that end in NUL and are borrowed until the function returns. URLs given out
 * go back through quern_text_free, answers through quern_answer_free. A queue is always named by
 * its URL, as quern_create_queue and quern_get_queue_url give it; every call on a URL that names no
 * queue fails with QueueDoesNotExist. */
#ifndef QUERN_QUEUES_H
#define QUERN_QUEUES_H

#include "quern_messages.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a queue: CreateQueue. name: 1 to 80 letters, digits, hyphens and underscores; a FIFO queue
 * ends in ".fifo" and has the attribute FifoQueue "true". attributes and tags may be NULL. A queue
 * that is there already with the same attributes is no error. Errors: QueueNameExists (other
 * attributes), QueueDeletedRecently (less than 60 s ago), InvalidAttributeName,
 * InvalidAttributeValue. Source: API reference, CreateQueue. */
bool quern_create_queue(struct quern_client *client, const char *name,
                        const struct quern_pairs *attributes, const struct quern_pairs *tags,
                        char **ret_url, struct quern_error *err);

/* The URL of a queue: GetQueueUrl. owner_account: 12 digits of another account that shares the
 * queue; NULL: one's own. Source: API reference, GetQueueUrl. */
bool quern_get_queue_url(struct quern_client *client, const char *name, const char *owner_account,
                         char **ret_url, struct quern_error *err);

struct quern_list_options {
    const char *prefix;     /* of the names; NULL: all. ListQueues only. */
    int64_t max_results;    /* 1 to 1,000; 0: 1,000 */
    const char *next_token; /* of the page before; NULL: the first */
};

struct quern_queue_list {
    const char *const *urls; /* in no order that SQS promises */
    size_t count;
    const char *next_token; /* NULL: this was the last page */
};

/* One page of the queues of the account in the region: ListQueues. options may be NULL.
 * Source: API reference, ListQueues. */
bool quern_list_queues(struct quern_client *client, const struct quern_list_options *options,
                       struct quern_queue_list **ret_list, struct quern_error *err);

/* All of them, page by page. prefix may be NULL. A queue that is made or deleted meanwhile may be
 * missing or there. */
bool quern_list_all_queues(struct quern_client *client, const char *prefix,
                           struct quern_queue_list **ret_list, struct quern_error *err);

/* One page of the queues whose redrive policy names this one: ListDeadLetterSourceQueues. options
 * may be NULL. Source: API reference, ListDeadLetterSourceQueues. */
bool quern_list_dead_letter_source_queues(struct quern_client *client, const char *queue_url,
                                          const struct quern_list_options *options,
                                          struct quern_queue_list **ret_list,
                                          struct quern_error *err);

/* Attributes of the queue as texts: GetQueueAttributes. names: which; a count of 0: all. Those
 * without a value are left out. The three numbers of messages are approximate.
 * Errors: InvalidAttributeName. Source: API reference, GetQueueAttributes. */
bool quern_get_queue_attributes(struct quern_client *client, const char *queue_url,
                                const char *const *names, size_t name_count,
                                struct quern_pairs **ret_attributes, struct quern_error *err);

/* Sets the attributes named, leaves the others: SetQueueAttributes. May take 60 s to be in force
 * everywhere (the retention period: 15 minutes). Errors: InvalidAttributeName,
 * InvalidAttributeValue. Source: API reference, SetQueueAttributes. */
bool quern_set_queue_attributes(struct quern_client *client, const char *queue_url,
                                const struct quern_pairs *attributes, struct quern_error *err);

/* Deletes all messages of the queue; takes up to 60 s: PurgeQueue. Errors: PurgeQueueInProgress
 * (once in 60 s). Source: API reference, PurgeQueue. */
bool quern_purge_queue(struct quern_client *client, const char *queue_url, struct quern_error *err);

/* Deletes the queue with all that is in it: DeleteQueue. Source: API reference, DeleteQueue. */
bool quern_delete_queue(struct quern_client *client, const char *queue_url,
                        struct quern_error *err);

/* ---- tags ---- */

/* Adds tags or overwrites their values: TagQueue. Up to 50 of them; key 1 to 128 characters, value
 * 0 to 256. Source: API reference, TagQueue; SQS developer guide, "Cost allocation tags". */
bool quern_tag_queue(struct quern_client *client, const char *queue_url,
                     const struct quern_pairs *tags, struct quern_error *err);

/* Takes tags away by their keys; those that are not there are no error: UntagQueue.
 * Source: API reference, UntagQueue. */
bool quern_untag_queue(struct quern_client *client, const char *queue_url, const char *const *keys,
                       size_t key_count, struct quern_error *err);

/* All tags: ListQueueTags. Source: API reference, ListQueueTags. */
bool quern_list_queue_tags(struct quern_client *client, const char *queue_url,
                           struct quern_pairs **ret_tags, struct quern_error *err);

/* ---- permissions ---- */

struct quern_permission {
    const char *label;           /* 1 to 80 letters, digits, hyphens and underscores */
    const char *const *accounts; /* 12 digits each, at least 1 */
    size_t account_count;
    const char *const *actions; /* "SendMessage" ..., or "*"; 1 to 7 */
    size_t action_count;
};

/* Lets other accounts use the queue: AddPermission. Errors: OverLimit (more than 7 actions, more
 * than 20 statements). Source: API reference, AddPermission. */
bool quern_add_permission(struct quern_client *client, const char *queue_url,
                          const struct quern_permission *permission, struct quern_error *err);

/* Takes the permission of that label back: RemovePermission.
 * Source: API reference, RemovePermission. */
bool quern_remove_permission(struct quern_client *client, const char *queue_url, const char *label,
                             struct quern_error *err);

#ifdef __cplusplus
}
#endif

#endif
