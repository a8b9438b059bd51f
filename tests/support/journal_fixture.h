/* A journal in a fresh folder, what it loaded, and a reference that says what it should have
 * loaded. */
#ifndef QN_TESTS_JOURNAL_FIXTURE_H
#define QN_TESTS_JOURNAL_FIXTURE_H

#include "server/base/random.h"
#include "server/journal/journal.h"

/* Rows by sort key: class, then primary key. Both what the reference holds and what a load gave. */
struct row_set {
    struct row_item *items;
    size_t count;
    size_t cap;
};

void row_set_done(struct row_set *set);
/* Applies the rows of one entry, as journal.h says. Contents are rows too. */
void row_set_apply(struct row_set *set, struct qn_str entry);
/* How many rows of this kind (QN_ROW_MESSAGE_INSERT: contents). */
size_t row_set_count(const struct row_set *set, enum qn_row_kind kind);
/* The row at this place in the order; false behind the last. Its views point into the set. */
bool row_set_at(const struct row_set *set, size_t index, struct qn_row *ret_row);
/* Whether the row that comes last is this one. */
bool row_set_ends_with(const struct row_set *set, struct qn_str entry);
/* NULL when both hold the same rows but for contents, else a text that says where they differ
 * (static storage). */
const char *row_set_difference(const struct row_set *a, const struct row_set *b);

struct journal_fixture {
    char folder[64];
    char path[96];
    enum qn_sync sync;
    size_t ring_bytes;
    uint64_t seed;
    struct qn_snapshot_table *snapshots; /* or NULL */
    struct qn_journal *journal;
    struct qn_journal_identity identity; /* of the last open */
    struct row_set loaded;               /* of the last open */
    bool is_in_order;                    /* each row came behind the one before */
    struct qn_error err;                 /* of the last open that failed */
};

/* A fresh folder; nothing is opened. Sync normal, a ring of 1 MiB. */
void journal_fixture_init(struct journal_fixture *fixture);
/* Closes, removes the folder. */
void journal_fixture_done(struct journal_fixture *fixture);
/* False: err says why. */
bool journal_fixture_open(struct journal_fixture *fixture);
void journal_fixture_close(struct journal_fixture *fixture);
/* Appends one row as an entry of its own. Waits for room. */
uint64_t journal_fixture_append_row(struct journal_fixture *fixture, const struct qn_row *row,
                                    int64_t now_ms);
uint64_t journal_fixture_append(struct journal_fixture *fixture, struct qn_str entry,
                                int64_t now_ms);
/* Until SQLite holds all that was appended. */
void journal_fixture_wait_written(const struct journal_fixture *fixture);
/* NULL when every message's content in `expected` can be read and is the same, else what is wrong.
 */
const char *journal_fixture_check_contents(struct journal_fixture *fixture,
                                           const struct row_set *expected);
/* One number that SQL gives on the closed (or open) database, -1 when it cannot. */
int64_t journal_fixture_sql(const struct journal_fixture *fixture, const char *sql);

/* Rows as tests need them: everything else is zero, or derived from the key. */
struct qn_row queue_row(uint32_t number, uint32_t generation);
struct qn_row message_row(uint32_t queue, int64_t sequence, const char *content);

/* An endless stream of entries like those of a busy server, and what is left after them. The same
 * seed gives the same. */
struct workload {
    struct qn_random random;
    struct row_set expected;
    struct qn_buf entry;
    int64_t next_sequence;
    uint32_t next_queue;
    uint32_t generations[4]; /* of the queues in use */
    uint32_t numbers[4];
};

void workload_init(struct workload *workload, uint64_t seed);
void workload_done(struct workload *workload);
/* The next entry, valid until the next call; already applied to `expected`. */
struct qn_str workload_next(struct workload *workload);

#endif
