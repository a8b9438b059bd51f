/* Rows of an entry as rows of SQLite, and back. */
#ifndef QN_JOURNAL_ROWS_H
#define QN_JOURNAL_ROWS_H

#include "server/journal/store.h"
#include "server/model/entry.h"

/* Insert or replace one row. SQLite's code. */
int qn_rows_put_queue(struct qn_store *store, const struct qn_queue_row *row);
int qn_rows_put_message(struct qn_store *store, const struct qn_message_row *row);
int qn_rows_put_content(struct qn_store *store, int64_t id, struct qn_str bytes);
int qn_rows_put_deduplication(struct qn_store *store, const struct qn_deduplication_row *row);
int qn_rows_put_attempt(struct qn_store *store, const struct qn_attempt_row *row);
int qn_rows_put_task(struct qn_store *store, const struct qn_task_row *row);
int qn_rows_put_name(struct qn_store *store, const struct qn_name_row *row);

/* Runs a statement whose one parameter is a number, or bytes. SQLite's code. */
int qn_rows_run_number(struct qn_store *store, enum qn_sql sql, int64_t value);
int qn_rows_run_bytes(struct qn_store *store, enum qn_sql sql, struct qn_str bytes);

/* The row that the scan of its table stands at; its views live until the scan's next step. */
void qn_rows_read_queue(sqlite3_stmt *scan, struct qn_queue_row *row);
void qn_rows_read_message(sqlite3_stmt *scan, struct qn_message_row *row);
void qn_rows_read_deduplication(sqlite3_stmt *scan, struct qn_deduplication_row *row);
void qn_rows_read_attempt(sqlite3_stmt *scan, struct qn_attempt_row *row);
void qn_rows_read_task(sqlite3_stmt *scan, struct qn_task_row *row);
void qn_rows_read_name(sqlite3_stmt *scan, struct qn_name_row *row);

#endif
