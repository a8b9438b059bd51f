/* What one request changed, as rows by primary key: the only thing the journal knows of the engine.
 * An entry is a sequence of rows in the byte form below; a record of the ring holds one entry. */
#ifndef QN_MODEL_ENTRY_H
#define QN_MODEL_ENTRY_H

#include "server/base/buf.h"

/* A stored message is named by queue number (high bits) and sequence (low bits), so a queue is one
 * range of keys. */
enum { QN_SEQUENCE_BITS = 40 };
#define QN_MESSAGE_KEY(queue_number, sequence)                                                     \
    ((int64_t)(((uint64_t)(queue_number) << QN_SEQUENCE_BITS) | (uint64_t)(sequence)))

enum qn_row_kind {
    QN_ROW_QUEUE_PUT = 1, /* struct qn_queue_row: insert or replace */
    QN_ROW_QUEUE_DROP, /* queue number: the queue and all that its number and older generations own
                        */
    QN_ROW_MESSAGE_INSERT, /* struct qn_message_row and the content under content_id == key */
    QN_ROW_MESSAGE_PUT,    /* struct qn_message_row: the small row again, content untouched */
    QN_ROW_MESSAGE_DELETE, /* key and content_id: row and content go */
    QN_ROW_MESSAGE_MOVE,   /* old key, new struct qn_message_row: another key, the same content */
    QN_ROW_DEDUPLICATION_PUT,  /* struct qn_deduplication_row */
    QN_ROW_DEDUPLICATION_TRIM, /* key: this one and all older ones of its queue go */
    QN_ROW_ATTEMPT_PUT,        /* struct qn_attempt_row */
    QN_ROW_ATTEMPT_TRIM,       /* key: this one and all older ones of its queue go */
    QN_ROW_TASK_PUT,           /* struct qn_task_row: insert or replace */
    QN_ROW_TASK_DROP,          /* task id */
    QN_ROW_NAME_PUT, /* struct qn_name_row: a queue name and the instant of its deletion */
    QN_ROW_NAME_DROP /* name */
};

/* settings and tags are opaque to the journal. A message, deduplication or attempt row of a lower
 * generation than its queue's is dead: skipped by the load, removed behind the scenes. */
struct qn_queue_row {
    uint32_t number;
    uint32_t generation;
    struct qn_str account;
    struct qn_str region;
    struct qn_str name;
    struct qn_str settings;
    int64_t next_sequence; /* all sequences below may have been used */
};

struct qn_message_row {
    int64_t key;
    int64_t content_id;
    uint32_t generation;
    uint8_t state; /* engine's own */
    uint8_t id[16];
    int64_t enqueued_at_ms;
    int64_t hidden_until_ms;
    int64_t first_received_at_ms; /* -1: never */
    int64_t received_at_ms;
    int64_t arrived_at_ms;
    uint32_t receive_count;  /* in this queue */
    uint32_t total_count;    /* over all queues */
    uint32_t receive_number; /* names the latest receipt handle */
    int64_t service_stamp;   /* of its message group */
    uint32_t content_size;   /* bytes of the encoded content */
    struct qn_str
        group_id; /* none when absent: repeated here so that a load need not read contents */
    struct qn_str source_arn; /* dead-letter source, or none */
};

/* key = QN_MESSAGE_KEY(queue number, counter of the queue): grows with time. */
struct qn_deduplication_row {
    int64_t key;
    uint32_t generation;
    int64_t accepted_at_ms;
    struct qn_str id; /* scope included */
    uint8_t message_id[16];
    int64_t sequence;
};

struct qn_attempt_row {
    int64_t key;
    uint32_t generation;
    int64_t received_at_ms;
    struct qn_str id;
    struct qn_str messages; /* engine's own form */
};

struct qn_task_row {
    uint8_t id[16];
    int64_t started_at_ms;
    struct qn_str task; /* engine's own form */
};

struct qn_name_row {
    struct qn_str name; /* account, region and name in one text, engine's own form */
    int64_t deleted_at_ms;
};

/* One decoded row; which member counts is said by kind. */
struct qn_row {
    enum qn_row_kind kind;
    union {
        struct qn_queue_row queue;
        struct qn_message_row message; /* INSERT, PUT, MOVE */
        struct qn_deduplication_row deduplication;
        struct qn_attempt_row attempt;
        struct qn_task_row task;
        struct qn_name_row name;
    };
    int64_t key;           /* DELETE, MOVE (the old one), TRIM */
    int64_t content_id;    /* DELETE */
    uint32_t queue_number; /* QUEUE_DROP */
    struct qn_str content; /* INSERT */
};

/* Appends one row of row->kind. */
void qn_entry_append(struct qn_buf *entry, const struct qn_row *row);
/* Takes the next row off the entry; false at its end, or when it is damaged (then reader->failed).
 * Views into the entry. */
bool qn_entry_next(struct qn_reader *reader, struct qn_row *ret_row);

/* The form of each row alone, used by the load as well. */
void qn_entry_append_message(struct qn_buf *buf, const struct qn_message_row *row);

#endif
