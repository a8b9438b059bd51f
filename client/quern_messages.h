/* Sending, receiving and settling messages. Included by quern.h.
 *
 * Answers are the caller's: quern_answer_free takes each of them, with all that it points to. A
 * text in an answer ends in NUL and lives as long as the answer. Texts given are UTF-8 that end in
 * NUL, except where a length stands beside them, and are borrowed until the function returns. */
#ifndef QUERN_MESSAGES_H
#define QUERN_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "quern_error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct quern_client;

/* Most entries of one batch, and most messages of one receive. Source: API reference,
 * SendMessageBatch and ReceiveMessage. */
enum { QUERN_BATCH_MAX = 10 };

/* A number that is not given: the queue's own value counts. In answers: not told. */
enum { QUERN_NOT_GIVEN = -1 };

/* A name and a value: queue attributes, tags, system attributes of messages. */
struct quern_pair {
    const char *name;
    const char *value;
};

struct quern_pairs {
    const struct quern_pair *items;
    size_t count;
};

/* The value of that name, or NULL. pairs may be NULL. */
const char *quern_pairs_get(const struct quern_pairs *pairs, const char *name);

/* A message attribute. data_type is "String", "Number" or "Binary", optionally with a label of the
 * sender's own behind a dot ("Number.price"). String and Number have text, Binary has bytes; the
 * other one is NULL. Source: SQS developer guide, "Amazon SQS message metadata". */
struct quern_attribute {
    const char *name;
    const char *data_type;
    const char *text;
    const void *bytes;
    size_t byte_count;
};

/* ---- sending ---- */

/* A message to be sent. */
struct quern_message {
    const char *body;     /* UTF-8, 1 byte to the queue's MaximumMessageSize with all attributes */
    size_t body_len;      /* bytes */
    const char *group_id; /* MessageGroupId, 1 to 128 characters; NULL: none */
    const char *deduplication_id;             /* MessageDeduplicationId; NULL: none */
    int64_t delay_s;                          /* 0 to 900; QUERN_NOT_GIVEN: the queue's own */
    const struct quern_attribute *attributes; /* at most 10; NULL: none */
    size_t attribute_count;
    const char *trace_header; /* the system attribute AWSTraceHeader; NULL: none */
};

struct quern_sent {
    const char *message_id;
    const char *sequence_number; /* FIFO queues only, else NULL */
};

/* Sends one message: SendMessage. The answer's MD5 of body and attributes are compared with what
 * was sent: when they differ, that is a ChecksumMismatch, and the send is repeated like one whose
 * answer was lost, so the message may be there twice.
 * ret_sent may be NULL. Errors of the service: InvalidMessageContents, QueueDoesNotExist, KMS
 * errors, InvalidParameterValueException, MissingRequiredParameterException.
 * Source: API reference, SendMessage. */
bool quern_send_message(struct quern_client *client, const char *queue_url,
                        const struct quern_message *message, struct quern_sent **ret_sent,
                        struct quern_error *err);

/* What became of one entry of a batch. */
struct quern_batch_entry {
    bool is_done;

    /* When it is done, of sends only: */
    const char *message_id;
    const char *sequence_number; /* FIFO queues only, else NULL */

    /* When it is not done: */
    /* The service's, by the names of its older protocol: "InvalidParameterValue" where a call by
     * itself fails with InvalidParameterValueException. "UnreadableAnswer": the answer left the
     * entry out. */
    const char *code;
    const char *message;  /* for people, "" when there is none */
    bool is_sender_fault; /* the entry itself is wrong, says the service */
    bool is_retryable;
    bool is_unknown; /* it may have been done all the same */
};

struct quern_batch {
    const struct quern_batch_entry *entries; /* in the order in which they were given */
    size_t count;
    size_t failed_count;
};

/* Sends 1 to 10 messages, together at most 1 MiB: SendMessageBatch. True when the call as a whole
 * was answered; each entry then tells for itself. On FIFO queues the messages of a group keep their
 * order among those that are done. ret_batch must not be NULL.
 * Errors of the call as a whole: EmptyBatchRequest, TooManyEntriesInBatchRequest,
 * BatchRequestTooLong, QueueDoesNotExist. Source: API reference, SendMessageBatch. */
bool quern_send_message_batch(struct quern_client *client, const char *queue_url,
                              const struct quern_message *messages, size_t count,
                              struct quern_batch **ret_batch, struct quern_error *err);

/* ---- receiving ---- */

struct quern_receive_options {
    int64_t max_messages; /* 1 to 10; 0: 10. Fewer may come although there are more. */
    int64_t wait_s;       /* 0 to 20, the long poll; QUERN_NOT_GIVEN: the queue's own */
    int64_t visibility_s; /* 0 to 43,200, the lease; QUERN_NOT_GIVEN: the queue's own */
    /* ReceiveRequestAttemptId: FIFO queues give the same messages again to a receive whose answer
     * was lost, for 5 minutes. NULL: none. */
    const char *attempt_id;
    /* Names of the system attributes and message attributes wanted. NULL: all of them; a count of 0
     * behind a pointer: none. */
    const char *const *system_names;
    size_t system_name_count;
    const char *const *attribute_names;
    size_t attribute_name_count;
};

/* A message received. */
struct quern_received {
    const char *message_id;
    const char *receipt_handle; /* of this receive: the newest is the one to delete with */
    const char *body;           /* also ends in NUL */
    size_t body_len;            /* bytes */
    struct quern_pairs system;  /* as sent by the service: "SentTimestamp", "MessageGroupId" ... */
    const struct quern_attribute *attributes;
    size_t attribute_count;
};

/* The system attribute as text, or NULL. */
const char *quern_received_system(const struct quern_received *message, const char *name);
/* The system attribute as a whole number ("ApproximateReceiveCount", "SentTimestamp" in
 * milliseconds since the epoch), or QUERN_NOT_GIVEN. */
int64_t quern_received_number(const struct quern_received *message, const char *name);
/* The message attribute, or NULL. */
const struct quern_attribute *quern_received_attribute(const struct quern_received *message,
                                                       const char *name);

struct quern_messages {
    const struct quern_received *items;
    size_t count; /* 0: nothing came within the wait */
    /* Messages left out because their body or attributes are not what their MD5 says, also by
     * attempts that were repeated. They come again when their lease ends; so does, of a FIFO queue,
     * what came with them and is behind them in their group, which is left out too. */
    size_t damaged_count;
    const char *const *damaged_ids; /* their message ids */
};

/* Receives up to 10 messages: ReceiveMessage. options may be NULL: 10 messages, all attributes,
 * the queue's own wait and lease. The time limit of the call is the client's, with the wait on top.
 * When all that came is damaged, that is a ChecksumMismatch, and is repeated.
 * Errors of the service: OverLimit (120,000 in flight, standard queues), QueueDoesNotExist, KMS
 * errors. Source: API reference, ReceiveMessage. */
bool quern_receive_message(struct quern_client *client, const char *queue_url,
                           const struct quern_receive_options *options,
                           struct quern_messages **ret_messages, struct quern_error *err);

/* ---- settling ---- */

/* Deletes a message that is done: DeleteMessage. Deleting again is no error. Errors of the service:
 * ReceiptHandleIsInvalid; on FIFO queues InvalidParameterValueException when the lease is over.
 * Source: API reference, DeleteMessage. */
bool quern_delete_message(struct quern_client *client, const char *queue_url,
                          const char *receipt_handle, struct quern_error *err);

/* Deletes 1 to 10 messages: DeleteMessageBatch. True when the call as a whole was answered; each
 * entry tells for itself, in the order of the handles. Source: API reference, DeleteMessageBatch.
 */
bool quern_delete_message_batch(struct quern_client *client, const char *queue_url,
                                const char *const *receipt_handles, size_t count,
                                struct quern_batch **ret_batch, struct quern_error *err);

/* Lets the lease end visibility_s seconds from now, 0 to 43,200; 0 gives the message back at once:
 * ChangeMessageVisibility. A lease is never longer than 12 hours from the receive on. Errors of the
 * service: ReceiptHandleIsInvalid, MessageNotInflight, InvalidParameterValueException.
 * Source: API reference, ChangeMessageVisibility. */
bool quern_change_visibility(struct quern_client *client, const char *queue_url,
                             const char *receipt_handle, int64_t visibility_s,
                             struct quern_error *err);

struct quern_visibility_change {
    const char *receipt_handle;
    int64_t visibility_s; /* 0 to 43,200 */
};

/* The same for 1 to 10 messages: ChangeMessageVisibilityBatch. True when the call as a whole was
 * answered; each entry tells for itself. Source: API reference, ChangeMessageVisibilityBatch. */
bool quern_change_visibility_batch(struct quern_client *client, const char *queue_url,
                                   const struct quern_visibility_change *changes, size_t count,
                                   struct quern_batch **ret_batch, struct quern_error *err);

/* Frees an answer and all that it points to. Accepts NULL. */
void quern_answer_free(const void *answer);

#ifdef __cplusplus
}
#endif

#endif
