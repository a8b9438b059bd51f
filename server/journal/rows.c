/* Rows of an entry as rows of SQLite, and back. Parameters and columns stand in the order of
 * sql.def. */
#include "server/journal/rows.h"

int qn_rows_put_queue(struct qn_store *store, const struct qn_queue_row *row)
{
    sqlite3_stmt *put = store->statements[QN_SQL_queue_put];
    sqlite3_bind_int64(put, 1, row->number);
    sqlite3_bind_int64(put, 2, row->generation);
    qn_store_bind_text(put, 3, row->account);
    qn_store_bind_text(put, 4, row->region);
    qn_store_bind_text(put, 5, row->name);
    qn_store_bind_blob(put, 6, row->settings);
    sqlite3_bind_int64(put, 7, row->next_sequence);
    return qn_store_run(store, QN_SQL_queue_put);
}

void qn_rows_read_queue(sqlite3_stmt *scan, struct qn_queue_row *row)
{
    row->number = (uint32_t)sqlite3_column_int64(scan, 0);
    row->generation = (uint32_t)sqlite3_column_int64(scan, 1);
    row->account = qn_store_column_text(scan, 2);
    row->region = qn_store_column_text(scan, 3);
    row->name = qn_store_column_text(scan, 4);
    row->settings = qn_store_column_blob(scan, 5);
    row->next_sequence = sqlite3_column_int64(scan, 6);
}

int qn_rows_put_message(struct qn_store *store, const struct qn_message_row *row)
{
    sqlite3_stmt *put = store->statements[QN_SQL_message_put];
    sqlite3_bind_int64(put, 1, row->key);
    sqlite3_bind_int64(put, 2, row->generation);
    sqlite3_bind_int64(put, 3, row->content_id);
    sqlite3_bind_int64(put, 4, row->state);
    sqlite3_bind_blob(put, 5, row->id, sizeof(row->id), SQLITE_STATIC);
    sqlite3_bind_int64(put, 6, row->enqueued_at_ms);
    sqlite3_bind_int64(put, 7, row->hidden_until_ms);
    sqlite3_bind_int64(put, 8, row->first_received_at_ms);
    sqlite3_bind_int64(put, 9, row->received_at_ms);
    sqlite3_bind_int64(put, 10, row->arrived_at_ms);
    sqlite3_bind_int64(put, 11, row->receive_count);
    sqlite3_bind_int64(put, 12, row->total_count);
    sqlite3_bind_int64(put, 13, row->receive_number);
    sqlite3_bind_int64(put, 14, row->service_stamp);
    sqlite3_bind_int64(put, 15, row->content_size);
    qn_store_bind_text(put, 16, row->group_id);
    qn_store_bind_text(put, 17, row->source_arn);
    return qn_store_run(store, QN_SQL_message_put);
}

static void read_id(sqlite3_stmt *scan, int column, uint8_t id[16])
{
    const void *bytes = sqlite3_column_blob(scan, column);
    if (sqlite3_column_bytes(scan, column) == 16) {
        memcpy(id, bytes, 16);
    } else {
        memset(id, 0, 16);
    }
}

void qn_rows_read_message(sqlite3_stmt *scan, struct qn_message_row *row)
{
    row->key = sqlite3_column_int64(scan, 0);
    row->generation = (uint32_t)sqlite3_column_int64(scan, 1);
    row->content_id = sqlite3_column_int64(scan, 2);
    row->state = (uint8_t)sqlite3_column_int(scan, 3);
    read_id(scan, 4, row->id);
    row->enqueued_at_ms = sqlite3_column_int64(scan, 5);
    row->hidden_until_ms = sqlite3_column_int64(scan, 6);
    row->first_received_at_ms = sqlite3_column_int64(scan, 7);
    row->received_at_ms = sqlite3_column_int64(scan, 8);
    row->arrived_at_ms = sqlite3_column_int64(scan, 9);
    row->receive_count = (uint32_t)sqlite3_column_int64(scan, 10);
    row->total_count = (uint32_t)sqlite3_column_int64(scan, 11);
    row->receive_number = (uint32_t)sqlite3_column_int64(scan, 12);
    row->service_stamp = sqlite3_column_int64(scan, 13);
    row->content_size = (uint32_t)sqlite3_column_int64(scan, 14);
    row->group_id = qn_store_column_text(scan, 15);
    row->source_arn = qn_store_column_text(scan, 16);
}

int qn_rows_put_content(struct qn_store *store, int64_t id, struct qn_str bytes)
{
    sqlite3_bind_int64(store->statements[QN_SQL_content_put], 1, id);
    qn_store_bind_blob(store->statements[QN_SQL_content_put], 2, bytes);
    return qn_store_run(store, QN_SQL_content_put);
}

int qn_rows_put_deduplication(struct qn_store *store, const struct qn_deduplication_row *row)
{
    sqlite3_stmt *put = store->statements[QN_SQL_deduplication_put];
    sqlite3_bind_int64(put, 1, row->key);
    sqlite3_bind_int64(put, 2, row->generation);
    sqlite3_bind_int64(put, 3, row->accepted_at_ms);
    qn_store_bind_blob(put, 4, row->id);
    sqlite3_bind_blob(put, 5, row->message_id, sizeof(row->message_id), SQLITE_STATIC);
    sqlite3_bind_int64(put, 6, row->sequence);
    return qn_store_run(store, QN_SQL_deduplication_put);
}

void qn_rows_read_deduplication(sqlite3_stmt *scan, struct qn_deduplication_row *row)
{
    row->key = sqlite3_column_int64(scan, 0);
    row->generation = (uint32_t)sqlite3_column_int64(scan, 1);
    row->accepted_at_ms = sqlite3_column_int64(scan, 2);
    row->id = qn_store_column_blob(scan, 3);
    read_id(scan, 4, row->message_id);
    row->sequence = sqlite3_column_int64(scan, 5);
}

int qn_rows_put_attempt(struct qn_store *store, const struct qn_attempt_row *row)
{
    sqlite3_stmt *put = store->statements[QN_SQL_attempt_put];
    sqlite3_bind_int64(put, 1, row->key);
    sqlite3_bind_int64(put, 2, row->generation);
    sqlite3_bind_int64(put, 3, row->received_at_ms);
    qn_store_bind_blob(put, 4, row->id);
    qn_store_bind_blob(put, 5, row->messages);
    return qn_store_run(store, QN_SQL_attempt_put);
}

void qn_rows_read_attempt(sqlite3_stmt *scan, struct qn_attempt_row *row)
{
    row->key = sqlite3_column_int64(scan, 0);
    row->generation = (uint32_t)sqlite3_column_int64(scan, 1);
    row->received_at_ms = sqlite3_column_int64(scan, 2);
    row->id = qn_store_column_blob(scan, 3);
    row->messages = qn_store_column_blob(scan, 4);
}

/* A primary key of bytes cannot be NULL in SQLite. */
static struct qn_str key_bytes(struct qn_str bytes)
{
    return qn_str_is_none(bytes) ? QN_STR("") : bytes;
}

int qn_rows_put_task(struct qn_store *store, const struct qn_task_row *row)
{
    sqlite3_stmt *put = store->statements[QN_SQL_task_put];
    sqlite3_bind_blob(put, 1, row->id, sizeof(row->id), SQLITE_STATIC);
    sqlite3_bind_int64(put, 2, row->started_at_ms);
    qn_store_bind_blob(put, 3, row->task);
    return qn_store_run(store, QN_SQL_task_put);
}

void qn_rows_read_task(sqlite3_stmt *scan, struct qn_task_row *row)
{
    read_id(scan, 0, row->id);
    row->started_at_ms = sqlite3_column_int64(scan, 1);
    row->task = qn_store_column_blob(scan, 2);
}

int qn_rows_put_name(struct qn_store *store, const struct qn_name_row *row)
{
    sqlite3_stmt *put = store->statements[QN_SQL_name_put];
    qn_store_bind_blob(put, 1, key_bytes(row->name));
    sqlite3_bind_int64(put, 2, row->deleted_at_ms);
    return qn_store_run(store, QN_SQL_name_put);
}

void qn_rows_read_name(sqlite3_stmt *scan, struct qn_name_row *row)
{
    row->name = qn_store_column_blob(scan, 0);
    row->deleted_at_ms = sqlite3_column_int64(scan, 1);
}

int qn_rows_run_number(struct qn_store *store, enum qn_sql sql, int64_t value)
{
    sqlite3_bind_int64(store->statements[sql], 1, value);
    return qn_store_run(store, sql);
}

int qn_rows_run_bytes(struct qn_store *store, enum qn_sql sql, struct qn_str bytes)
{
    qn_store_bind_blob(store->statements[sql], 1, key_bytes(bytes));
    return qn_store_run(store, sql);
}
