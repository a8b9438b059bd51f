/* A journal in a fresh folder, and what it loaded. */
#include "tests/support/journal_fixture.h"

#include <dirent.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void journal_fixture_init(struct journal_fixture *fixture)
{
    const char *base = getenv("TMPDIR");
    *fixture = (struct journal_fixture){.sync = QN_SYNC_NORMAL, .ring_bytes = 1 << 20, .seed = 7};
    (void)snprintf(fixture->folder, sizeof(fixture->folder), "%s/quern-journal-XXXXXX",
                   base != NULL && strlen(base) < 32 ? base : "/tmp");
    if (mkdtemp(fixture->folder) == NULL) {
        abort();
    }
    (void)snprintf(fixture->path, sizeof(fixture->path), "%s/queues.db", fixture->folder);
}

static void remove_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    (void)rmdir(folder);
}

void journal_fixture_done(struct journal_fixture *fixture)
{
    journal_fixture_close(fixture);
    row_set_done(&fixture->loaded);
    remove_folder(fixture->folder);
}

static void note_identity(void *state, const struct qn_journal_identity *identity)
{
    struct journal_fixture *fixture = state;
    fixture->identity = *identity;
}

/* Puts the row where it belongs; it came in order when that is the end. */
static void note_row(void *state, const struct qn_row *row)
{
    struct journal_fixture *fixture = state;
    struct qn_buf entry;

    qn_buf_init(&entry, SIZE_MAX);
    qn_entry_append(&entry, row);
    size_t before = fixture->loaded.count;
    row_set_apply(&fixture->loaded, qn_buf_str(&entry));
    if (fixture->loaded.count != before + 1 ||
        !row_set_ends_with(&fixture->loaded, qn_buf_str(&entry))) {
        fixture->is_in_order = false;
    }
    qn_buf_done(&entry);
}

bool journal_fixture_open(struct journal_fixture *fixture)
{
    const struct qn_journal_load load = {
        .state = fixture, .identity = note_identity, .row = note_row};
    const struct qn_journal_options options = {
        .path = fixture->path,
        .sync = fixture->sync,
        .ring_bytes = fixture->ring_bytes,
        .seed = fixture->seed,
        .snapshots = fixture->snapshots,
    };
    row_set_done(&fixture->loaded);
    fixture->is_in_order = true;
    return qn_journal_open(&options, &load, &fixture->journal, &fixture->err);
}

void journal_fixture_close(struct journal_fixture *fixture)
{
    qn_journal_close(fixture->journal);
    fixture->journal = NULL;
}

uint64_t journal_fixture_append(struct journal_fixture *fixture, struct qn_str entry,
                                int64_t now_ms)
{
    while (!qn_journal_has_room(fixture->journal)) {
        (void)sched_yield();
    }
    return qn_journal_append(fixture->journal, entry, now_ms);
}

uint64_t journal_fixture_append_row(struct journal_fixture *fixture, const struct qn_row *row,
                                    int64_t now_ms)
{
    struct qn_buf entry;
    qn_buf_init(&entry, SIZE_MAX);
    qn_entry_append(&entry, row);
    uint64_t lsn = journal_fixture_append(fixture, qn_buf_str(&entry), now_ms);
    qn_buf_done(&entry);
    return lsn;
}

void journal_fixture_wait_written(const struct journal_fixture *fixture)
{
    while (qn_journal_written_lsn(fixture->journal) != qn_journal_last_lsn(fixture->journal)) {
        (void)sched_yield();
    }
}

const char *journal_fixture_check_contents(struct journal_fixture *fixture,
                                           const struct row_set *expected)
{
    static char text[QN_ERROR_MESSAGE_MAX];
    const char *problem = NULL;
    struct qn_arena arena;
    struct qn_row row;

    qn_arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; problem == NULL && row_set_at(expected, i, &row); i++) {
        struct qn_str content;
        struct qn_error err;
        if (row.kind != QN_ROW_MESSAGE_INSERT) {
            continue;
        }
        if (!qn_journal_read_content(fixture->journal, row.message.content_id, &arena, &content,
                                     &err)) {
            (void)snprintf(text, sizeof(text), "%s", err.message);
            problem = text;
        } else if (!qn_str_equal(content, row.content)) {
            problem = "a content differs";
        }
        qn_arena_reset(&arena);
    }
    qn_arena_done(&arena);
    return problem;
}

int64_t journal_fixture_sql(const struct journal_fixture *fixture, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    int64_t value = -1;
    if (sqlite3_open_v2(fixture->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) ==
            SQLITE_OK &&
        sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK) {
        int rc = sqlite3_step(statement);
        value = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : rc == SQLITE_DONE ? 0 : -1;
    }
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return value;
}
