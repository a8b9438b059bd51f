/* SQLite into memory. One scan per table; contents are not read. */
#include "server/journal/load.h"

#include "server/journal/rows.h"

/* A queue's number and the generation that its living rows have at least. */
struct living {
    uint32_t number;
    uint32_t generation;
};

struct loading {
    const struct qn_journal_load *load;
    struct living *queues; /* by number */
    size_t count;
    size_t cap;
    struct living last; /* the queue of the row before: rows come by queue */
};

static void note_queue(struct loading *loading, const struct qn_queue_row *row)
{
    if (loading->count == loading->cap) {
        loading->cap = loading->cap == 0 ? 64 : loading->cap * 2;
        loading->queues = qn_memory_resize(loading->queues, loading->cap, sizeof(*loading->queues));
    }
    loading->queues[loading->count++] = (struct living){row->number, row->generation};
}

/* No queue: no generation is high enough. Generation UINT32_MAX itself is never reached. */
static struct living find_queue(const struct loading *loading, uint32_t number)
{
    size_t from = 0;
    size_t to = loading->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (loading->queues[middle].number < number) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    if (from < loading->count && loading->queues[from].number == number) {
        return loading->queues[from];
    }
    return (struct living){number, UINT32_MAX};
}

static bool is_living(struct loading *loading, int64_t key, uint32_t generation)
{
    uint32_t number = (uint32_t)((uint64_t)key >> QN_SEQUENCE_BITS);
    if (loading->last.number != number) {
        loading->last = find_queue(loading, number);
    }
    return generation >= loading->last.generation;
}

/* Reads the row that the scan stands at; false: it is dead. */
typedef bool read_row(struct loading *loading, sqlite3_stmt *scan, struct qn_row *row);

static bool read_name(struct loading *loading, sqlite3_stmt *scan, struct qn_row *row)
{
    (void)loading;
    row->kind = QN_ROW_NAME_PUT;
    qn_rows_read_name(scan, &row->name);
    return true;
}

static bool read_queue(struct loading *loading, sqlite3_stmt *scan, struct qn_row *row)
{
    row->kind = QN_ROW_QUEUE_PUT;
    qn_rows_read_queue(scan, &row->queue);
    note_queue(loading, &row->queue);
    return true;
}

static bool read_message(struct loading *loading, sqlite3_stmt *scan, struct qn_row *row)
{
    row->kind = QN_ROW_MESSAGE_PUT;
    if (!is_living(loading, sqlite3_column_int64(scan, 0),
                   (uint32_t)sqlite3_column_int64(scan, 1))) {
        return false; /* before the rest is unpacked: there may be a million of them */
    }
    qn_rows_read_message(scan, &row->message);
    return true;
}

static bool read_deduplication(struct loading *loading, sqlite3_stmt *scan, struct qn_row *row)
{
    row->kind = QN_ROW_DEDUPLICATION_PUT;
    qn_rows_read_deduplication(scan, &row->deduplication);
    return is_living(loading, row->deduplication.key, row->deduplication.generation);
}

static bool read_attempt(struct loading *loading, sqlite3_stmt *scan, struct qn_row *row)
{
    row->kind = QN_ROW_ATTEMPT_PUT;
    qn_rows_read_attempt(scan, &row->attempt);
    return is_living(loading, row->attempt.key, row->attempt.generation);
}

static bool read_task(struct loading *loading, sqlite3_stmt *scan, struct qn_row *row)
{
    (void)loading;
    row->kind = QN_ROW_TASK_PUT;
    qn_rows_read_task(scan, &row->task);
    return true;
}

static bool scan_table(struct qn_store *store, struct loading *loading, enum qn_sql sql,
                       read_row *read, struct qn_error *err)
{
    sqlite3_stmt *scan = store->statements[sql];
    struct qn_row row;
    int rc;

    memset(&row, 0, sizeof(row));
    while ((rc = sqlite3_step(scan)) == SQLITE_ROW) {
        if (read(loading, scan, &row)) {
            loading->load->row(loading->load->state, &row);
        }
    }
    bool ok = rc == SQLITE_DONE || qn_store_fail(store, err);
    (void)sqlite3_reset(scan);
    return ok;
}

bool qn_load_rows(struct qn_store *store, const struct qn_journal_load *load, struct qn_error *err)
{
    /* No queue has this number, because keys have only 24 bits for it. */
    struct loading loading = {.load = load, .last = {UINT32_MAX, UINT32_MAX}};
    bool ok = scan_table(store, &loading, QN_SQL_name_scan, read_name, err) &&
              scan_table(store, &loading, QN_SQL_queue_scan, read_queue, err) &&
              scan_table(store, &loading, QN_SQL_message_scan, read_message, err) &&
              scan_table(store, &loading, QN_SQL_deduplication_scan, read_deduplication, err) &&
              scan_table(store, &loading, QN_SQL_attempt_scan, read_attempt, err) &&
              scan_table(store, &loading, QN_SQL_task_scan, read_task, err);
    qn_memory_free(loading.queues);
    (void)sqlite3_db_release_memory(store->db); /* the scan has filled the page cache */
    return ok;
}
