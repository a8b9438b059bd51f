/* What is known of snapshots, in memory that may outlive the process. */
#ifndef QN_JOURNAL_SNAPSHOT_TABLE_H
#define QN_JOURNAL_SNAPSHOT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum { QN_SNAPSHOTS_MAX = 12 };

/* The last entry that has rows: nothing has changed since. */
struct qn_snapshot_change {
    uint64_t lsn;
    int64_t at_ms;
};

struct qn_snapshot_record {
    bool is_done;
    uint64_t lsn;
    int64_t at_ms; /* instant of the last change in it */
};

/* Zeroed at first. */
struct qn_snapshot_table {
    struct qn_snapshot_record records[QN_SNAPSHOTS_MAX];
    struct qn_snapshot_change change;
    int chosen;          /* place of the one that the next start goes back to, from 1; 0: none */
    uint64_t least_boot; /* of the next start: none is counted twice */
};

#endif
