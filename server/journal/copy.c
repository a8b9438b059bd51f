/* Copies of the database, by SQLite's backup. */
#include "server/journal/copy.h"

#include "server/base/buf.h"

#define QN_SQL_STEP(text)
#define QN_SQL_SCRIPT(name, text)
#define QN_SQL(name, text)
#define QN_SQL_READER(name, text)
#define QN_SQL_COPY(name, text) static const char copy_##name[] = text;
#include "server/journal/sql.def"
#undef QN_SQL_STEP
#undef QN_SQL_SCRIPT
#undef QN_SQL
#undef QN_SQL_READER
#undef QN_SQL_COPY

static bool fail(sqlite3 *db, const char *what, struct qn_error *err)
{
    return qn_fail(err, QN_ERR_INTERNAL, "%s: %s", what,
                   db == NULL ? "no memory" : sqlite3_errmsg(db));
}

static bool open_file(const char *path, int flags, sqlite3 **ret_db, struct qn_error *err)
{
    struct qn_buf name;
    bool ok;

    qn_buf_init(&name, SIZE_MAX);
    qn_buf_append_format(&name, "%s%s", path[0] == '/' || path[0] == '.' ? "" : "./", path);
    qn_buf_append_char(&name, '\0');
    ok = sqlite3_open_v2(name.ptr, ret_db, flags | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK ||
         fail(*ret_db, path, err);
    qn_buf_done(&name);
    return ok;
}

/* The entry that the database ends with; the first read also pins what is read from now on. */
static bool read_lsn(sqlite3 *db, uint64_t *ret_lsn)
{
    sqlite3_stmt *statement = NULL;
    bool ok = sqlite3_prepare_v2(db, copy_read_lsn, -1, &statement, NULL) == SQLITE_OK &&
              sqlite3_step(statement) == SQLITE_ROW;

    if (ok) {
        *ret_lsn = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    (void)sqlite3_finalize(statement);
    return ok;
}

bool qn_copy_view_open(struct qn_copy_view *view, const struct qn_store *store, uint64_t lsn,
                       struct qn_error *err)
{
    uint64_t found;
    bool ok = false;

    view->db = NULL;
    if (!open_file(store->path, SQLITE_OPEN_READONLY, &view->db, err)) {
        goto out;
    }
    if (sqlite3_exec(view->db, copy_begin_read, NULL, NULL, NULL) != SQLITE_OK ||
        !read_lsn(view->db, &found)) {
        (void)fail(view->db, store->path, err);
        goto out;
    }
    ok = found == lsn || qn_fail(err, QN_ERR_INTERNAL, "%s ends with entry %llu and not %llu",
                                 store->path, (unsigned long long)found, (unsigned long long)lsn);

out:
    if (!ok) {
        qn_copy_view_close(view);
    }
    return ok;
}

void qn_copy_view_close(struct qn_copy_view *view)
{
    (void)sqlite3_close(view->db); /* with it ends the transaction */
    view->db = NULL;
}

bool qn_copy_begin(struct qn_copy *copy, const struct qn_copy_view *from, const char *path,
                   struct qn_error *err)
{
    *copy = (struct qn_copy){.to = NULL};
    if (!open_file(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &copy->to, err)) {
        return false;
    }
    if (sqlite3_exec(copy->to, copy_write_fast, NULL, NULL, NULL) != SQLITE_OK) {
        return fail(copy->to, path, err);
    }
    copy->backup = sqlite3_backup_init(copy->to, "main", from->db, "main");
    return copy->backup != NULL || fail(copy->to, path, err);
}

bool qn_copy_step(struct qn_copy *copy, int pages, bool *ret_is_end, struct qn_error *err)
{
    int rc = sqlite3_backup_step(copy->backup, pages);

    *ret_is_end = rc == SQLITE_DONE;
    return rc == SQLITE_DONE || rc == SQLITE_OK ||
           qn_fail(err, QN_ERR_INTERNAL, "%s", sqlite3_errstr(rc));
}

void qn_copy_end(struct qn_copy *copy)
{
    (void)sqlite3_backup_finish(copy->backup);
    (void)sqlite3_close(copy->to);
    *copy = (struct qn_copy){.to = NULL};
}

/* Adds to the error what it was that failed. */
static bool fail_to_go_back(const char *path, const char *from_path, struct qn_error *err)
{
    struct qn_error cause = *err;

    return qn_fail(err, QN_ERR_INTERNAL, "%s cannot go back to %s: %.200s", path, from_path,
                   cause.message);
}

bool qn_copy_over(const char *from_path, const char *path, struct qn_error *err)
{
    struct qn_copy copy = {.to = NULL};
    sqlite3 *from = NULL;
    bool is_end = false;
    /* Not read-only: closing then tidies up behind itself. */
    bool ok = open_file(from_path, SQLITE_OPEN_READWRITE, &from, err) &&
              open_file(path, SQLITE_OPEN_READWRITE, &copy.to, err);

    if (ok) {
        copy.backup = sqlite3_backup_init(copy.to, "main", from, "main");
        ok = (copy.backup != NULL || fail(copy.to, path, err)) &&
             (qn_copy_step(&copy, -1, &is_end, err) || fail_to_go_back(path, from_path, err)) &&
             (is_end || qn_fail(err, QN_ERR_INTERNAL, "%s was not copied to its end", from_path));
    }
    qn_copy_end(&copy);
    (void)sqlite3_close(from);
    return ok;
}
