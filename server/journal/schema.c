/* Which files are ours, and how a database comes to its schema. */
#include "server/journal/schema.h"

#include "server/base/random.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define QN_SQL_STEP(text) text,
#define QN_SQL_SCRIPT(name, text)
#define QN_SQL(name, text)
#define QN_SQL_READER(name, text)
#define QN_SQL_COPY(name, text)
static const char *const steps[] = {
#include "server/journal/sql.def"
};
#undef QN_SQL_STEP
#undef QN_SQL_SCRIPT
#undef QN_SQL
#undef QN_SQL_READER
#undef QN_SQL_COPY

enum { SCHEMA = sizeof(steps) / sizeof(steps[0]) };

/* The header of an SQLite file. Source: SQLite, "Database File Format", section 1.3. */
enum { HEADER_SIZE = 100, HEADER_USER_VERSION = 60, HEADER_APPLICATION_ID = 68 };
static const char SQLITE_MAGIC[16] = "SQLite format 3";

/* The stream that the key of the receipt handles is drawn from: of boot 0, which no request has,
 * and the one that a server in memory draws from, so that handles do not depend on the file. */
enum { HANDLE_KEY_BOOT = 0, HANDLE_KEY_STREAM = 1, HANDLE_KEY_BYTES = 16 };

static bool fail_foreign(const char *path, struct qn_error *err)
{
    return qn_fail(err, QN_ERR_INTERNAL, "%s is not a database of quern: choose another file",
                   path);
}

static bool fail_newer(const char *path, int64_t schema, struct qn_error *err)
{
    return qn_fail(err, QN_ERR_INTERNAL,
                   "%s was written by a newer quern (schema %lld, this one knows %d): use that one",
                   path, (long long)schema, SCHEMA);
}

static uint32_t big_endian_at(const char *header, size_t offset)
{
    uint32_t value;
    memcpy(&value, header + offset, sizeof(value));
    return be32toh(value);
}

static bool look_at_header(const char *path, int fd, struct qn_error *err)
{
    char header[HEADER_SIZE];
    ssize_t len = pread(fd, header, sizeof(header), 0);
    if (len < 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "cannot read %s: %s", path, strerror(errno));
    }
    if (len != HEADER_SIZE || memcmp(header, SQLITE_MAGIC, sizeof(SQLITE_MAGIC)) != 0 ||
        big_endian_at(header, HEADER_APPLICATION_ID) != QN_STORE_APPLICATION_ID) {
        return fail_foreign(path, err);
    }
    uint32_t schema = big_endian_at(header, HEADER_USER_VERSION);
    return schema <= SCHEMA || fail_newer(path, schema, err);
}

bool qn_schema_look(const char *path, enum qn_schema_file *ret_file, struct qn_error *err)
{
    struct stat status;
    bool ok = true;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) {
        *ret_file = QN_SCHEMA_FILE_NONE;
        return true;
    }
    if (fd < 0 || fstat(fd, &status) != 0) {
        ok = qn_fail(err, QN_ERR_INTERNAL, "cannot read %s: %s", path, strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        ok = fail_foreign(path, err);
    } else if (status.st_size == 0) {
        *ret_file = QN_SCHEMA_FILE_EMPTY;
    } else {
        ok = look_at_header(path, fd, err);
        if (ok) {
            *ret_file = QN_SCHEMA_FILE_OURS;
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return ok;
}

/* The id says which ring belongs to this file: it must differ also between files of the same seed.
 */
static int insert_meta(struct qn_store *store, uint64_t seed)
{
    sqlite3_stmt *statement = store->statements[QN_SQL_meta_insert];
    struct qn_random random;
    uint8_t key[HANDLE_KEY_BYTES];

    qn_random_init(&random, seed, HANDLE_KEY_BOOT, HANDLE_KEY_STREAM);
    qn_random_uuid(&random, key);
    sqlite3_bind_int64(statement, 1, (int64_t)qn_random_fresh_seed());
    sqlite3_bind_int64(statement, 2, (int64_t)seed);
    sqlite3_bind_blob(statement, 3, key, sizeof(key), SQLITE_STATIC);
    int rc = qn_store_run(store, QN_SQL_meta_insert);
    return rc == SQLITE_OK ? qn_store_run_script(store, QN_SCRIPT_insert_position) : rc;
}

/* One transaction, in rollback mode when the file is new: afterwards the header is in the file
 * itself and not only in the write-ahead log, so that the next start can look at it. */
static bool run_steps(struct qn_store *store, int64_t from, uint64_t seed, struct qn_error *err)
{
    bool ok = qn_store_run_script(store, QN_SCRIPT_begin_exclusive) == SQLITE_OK;
    for (int64_t step = from; ok && step < SCHEMA; step++) {
        ok = sqlite3_exec(store->db, steps[step], NULL, NULL, NULL) == SQLITE_OK;
    }
    if (!ok) {
        return qn_store_fail(store, err);
    }
    if (!qn_store_prepare(store, err)) {
        return false;
    }
    if ((from == 0 && insert_meta(store, seed) != SQLITE_OK) ||
        qn_store_run_script(store, QN_SCRIPT_commit_schema) != SQLITE_OK) {
        return qn_store_fail(store, err);
    }
    return true;
}

static bool switch_to_wal(struct qn_store *store, struct qn_error *err)
{
    char mode[16];
    if (!qn_store_read_word(store, QN_SCRIPT_journal_mode_wal, mode, sizeof(mode), err)) {
        return false;
    }
    return strcmp(mode, "wal") == 0 ||
           qn_fail(err, QN_ERR_INTERNAL,
                   "%s: this file system does not offer what SQLite's write-ahead log needs",
                   store->path);
}

bool qn_schema_apply(struct qn_store *store, uint64_t seed, struct qn_error *err)
{
    int64_t application_id;
    int64_t schema;
    int64_t tables;
    if (!qn_store_read_number(store, QN_SCRIPT_application_id, &application_id, err) ||
        !qn_store_read_number(store, QN_SCRIPT_user_version, &schema, err) ||
        !qn_store_read_number(store, QN_SCRIPT_table_count, &tables, err)) {
        return false;
    }
    bool is_new = application_id == 0 && schema == 0 && tables == 0;
    if (!is_new && application_id != QN_STORE_APPLICATION_ID) {
        return fail_foreign(store->path, err);
    }
    if (schema > SCHEMA) {
        return fail_newer(store->path, schema, err);
    }
    if (schema < SCHEMA ? !run_steps(store, schema, seed, err) : !qn_store_prepare(store, err)) {
        return false;
    }
    return switch_to_wal(store, err);
}
