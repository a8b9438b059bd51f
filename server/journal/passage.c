/* Failpoints beside an append. */
#include "server/journal/passage.h"

#include "server/base/failpoint.h"
#include "server/model/entry.h"

#include <stdio.h>

/* How many rows of each kind an entry has. */
struct rows {
    int inserts;
    int moves;
    int deduplications;
    int tasks;
};

static struct rows count_rows(struct qn_str entry)
{
    struct rows rows = {.inserts = 0};
    struct qn_reader reader;
    struct qn_row row;

    qn_reader_init(&reader, entry);
    while (qn_entry_next(&reader, &row)) {
        rows.inserts += row.kind == QN_ROW_MESSAGE_INSERT;
        rows.moves += row.kind == QN_ROW_MESSAGE_MOVE;
        rows.deduplications += row.kind == QN_ROW_DEDUPLICATION_PUT;
        rows.tasks += row.kind == QN_ROW_TASK_PUT;
    }
    return rows;
}

/* A move task writes its own row with each of its chunks. */
static bool is_redrive(const struct rows *rows)
{
    return rows->moves > 0 && rows->tasks == 0;
}

void qn_passage_before(struct qn_str entry)
{
    struct rows rows = count_rows(entry);

    if (is_redrive(&rows)) {
        (void)qn_failpoint("redrive.before_commit");
    }
    for (int i = 1; rows.inserts > 1 && rows.tasks == 0 && i <= rows.inserts; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "send_batch.entry:%d", i);
        (void)qn_failpoint(name);
    }
}

void qn_passage_after(struct qn_str entry)
{
    struct rows rows = count_rows(entry);

    if (is_redrive(&rows)) {
        (void)qn_failpoint("redrive.after_commit");
    }
    if (rows.tasks > 0 && rows.moves + rows.inserts > 0) {
        (void)qn_failpoint("movetask.after_chunk");
    }
    if (rows.deduplications > 0) {
        (void)qn_failpoint("dedup.after_insert");
    }
}
