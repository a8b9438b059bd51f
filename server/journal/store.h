/* The SQLite database behind the ring: connections, schema, prepared statements. Used by one thread
 * at a time: by the opening one, then by the writer. */
#ifndef QN_JOURNAL_STORE_H
#define QN_JOURNAL_STORE_H

#include <sqlite3.h>

#include "server/base/arena.h"
#include "server/base/error.h"
#include "server/journal/ring.h"

/* "Qurn": marks a file as ours. As text for sql.def, as number for the header of the file. */
#define QN_SQL_APPLICATION_ID "1366651502"
#define QN_STORE_APPLICATION_ID UINT32_C(1366651502)

enum qn_sql {
#define QN_SQL_STEP(text)
#define QN_SQL_SCRIPT(name, text)
#define QN_SQL(name, text) QN_SQL_##name,
#define QN_SQL_READER(name, text)
#define QN_SQL_COPY(name, text)
#include "server/journal/sql.def"
#undef QN_SQL_STEP
#undef QN_SQL_SCRIPT
#undef QN_SQL
#undef QN_SQL_READER
#undef QN_SQL_COPY
    QN_SQL_COUNT
};

enum qn_script {
#define QN_SQL_STEP(text)
#define QN_SQL_SCRIPT(name, text) QN_SCRIPT_##name,
#define QN_SQL(name, text)
#define QN_SQL_READER(name, text)
#define QN_SQL_COPY(name, text)
#include "server/journal/sql.def"
#undef QN_SQL_STEP
#undef QN_SQL_SCRIPT
#undef QN_SQL
#undef QN_SQL_READER
#undef QN_SQL_COPY
    QN_SCRIPT_COUNT
};

/* How an open that fails leaves a new database's files: gone, or empty as found. */
enum qn_store_origin { QN_STORE_KEPT, QN_STORE_CREATED, QN_STORE_WAS_EMPTY };

struct qn_store {
    char *path; /* begins with '/' or '.', so SQLite takes it for nothing but a file */
    sqlite3 *db;
    sqlite3_stmt *statements[QN_SQL_COUNT];
    enum qn_store_origin origin;
    int wal_pages;              /* in the write-ahead log */
    int wal_checkpointed_pages; /* of these */
};

/* What the database knows of itself and of the ring. */
struct qn_store_meta {
    uint64_t database_id;
    uint8_t handle_key[16];
    uint64_t boot;
    struct qn_ring_position position;
    int64_t last_instant_ms;
};

/* Opens the database, makes it or brings its schema up to date, prepares all statements. The seed
 * is for a new one. */
QN_MUST_CHECK bool qn_store_open(const char *path, uint64_t seed, struct qn_store **ret_store,
                                 struct qn_error *err);
/* From here on the files stay, whatever happens. */
void qn_store_keep(struct qn_store *store);
/* From here on commits survive kill -9 but not surely a power cut; before, both. */
QN_MUST_CHECK bool qn_store_relax(struct qn_store *store, struct qn_error *err);
/* Accepts NULL and a half-open store. Removes the files of a new database that was not kept. */
void qn_store_close(struct qn_store *store);

/* Fills err with what SQLite said last, and returns false. */
bool qn_store_fail(const struct qn_store *store, struct qn_error *err);

/* Runs a statement that gives no rows; returns SQLite's code. Values are bound before; views need
 * to live until then. */
int qn_store_run(struct qn_store *store, enum qn_sql sql);
int qn_store_run_script(struct qn_store *store, enum qn_script script);
/* The first column of a script's first row: a number, or a text of up to size - 1 bytes. */
QN_MUST_CHECK bool qn_store_read_number(struct qn_store *store, enum qn_script script,
                                        int64_t *ret_value, struct qn_error *err);
QN_MUST_CHECK bool qn_store_read_word(struct qn_store *store, enum qn_script script, char *ret_word,
                                      size_t size, struct qn_error *err);
/* Prepares all statements; the schema must be there. */
QN_MUST_CHECK bool qn_store_prepare(struct qn_store *store, struct qn_error *err);
void qn_store_rollback(struct qn_store *store);

QN_MUST_CHECK bool qn_store_read_meta(struct qn_store *store, struct qn_store_meta *ret_meta,
                                      struct qn_error *err);
/* Part of a transaction. */
int qn_store_write_position(struct qn_store *store, struct qn_ring_position position,
                            int64_t last_instant_ms);
/* A transaction of its own: start number `boot` begins. */
QN_MUST_CHECK bool qn_store_begin_boot(struct qn_store *store, uint64_t boot,
                                       struct qn_ring_position position, int64_t last_instant_ms,
                                       struct qn_error *err);

/* Moves committed pages from the write-ahead log into the database without waiting for anybody.
 * SQLite's code. */
int qn_store_checkpoint(struct qn_store *store);
/* Whether a checkpoint would find something to do. */
bool qn_store_has_pages(const struct qn_store *store);

/* A text in a bound value or a column; no value at all is NULL on both sides. */
int qn_store_bind_text(sqlite3_stmt *statement, int index, struct qn_str text);
int qn_store_bind_blob(sqlite3_stmt *statement, int index, struct qn_str bytes);
struct qn_str qn_store_column_text(sqlite3_stmt *statement, int index);
struct qn_str qn_store_column_blob(sqlite3_stmt *statement, int index);

/* The loop's own read-only connection. */
struct qn_store_reader {
    sqlite3 *db;
    sqlite3_stmt *content_read;
};
QN_MUST_CHECK bool qn_store_reader_open(struct qn_store_reader *reader,
                                        const struct qn_store *store, struct qn_error *err);
/* Copies one content into the arena; no read transaction stays open behind it. */
QN_MUST_CHECK bool qn_store_reader_content(struct qn_store_reader *reader, int64_t content_id,
                                           struct qn_arena *arena, struct qn_str *ret_content,
                                           struct qn_error *err);
/* Accepts a zeroed reader. */
void qn_store_reader_close(struct qn_store_reader *reader);

#endif
