#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/base/digest.h"
#include "tests/support/journal_fixture.h"

static struct journal_fixture f;

static void init(void)
{
    journal_fixture_init(&f);
}

static void done(void)
{
    journal_fixture_done(&f);
}

TestSuite(journal_open, .init = init, .fini = done, .timeout = 60);

static void path_of(const char *ending, char out[128])
{
    (void)snprintf(out, 128, "%s%s", f.path, ending);
}

static void write_file(const char *ending, const void *bytes, size_t len)
{
    char path[128];
    path_of(ending, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
    (void)close(fd);
}

static bool is_there(const char *ending)
{
    char path[128];
    struct stat status;
    path_of(ending, path);
    return stat(path, &status) == 0;
}

/* One number for all names and bytes of the folder. */
static uint64_t folder_hash(void)
{
    uint64_t sum = 0;
    DIR *dir = opendir(f.folder);
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        static char bytes[1 << 16];
        uint64_t hash = qn_str_hash(qn_str_from_cstr(entry->d_name));
        int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
        ssize_t len;
        while (entry->d_name[0] != '.' && (len = read(fd, bytes, sizeof(bytes))) > 0) {
            hash = hash * 31 + qn_str_hash(qn_str(bytes, (size_t)len));
        }
        (void)close(fd);
        sum += hash;
    }
    (void)closedir(dir);
    return sum;
}

/* The open fails with one line that has this in it, and leaves everything as it was. */
static void expect_refusal(const char *word)
{
    uint64_t before = folder_hash();
    cr_assert_not(journal_fixture_open(&f));
    cr_expect_eq(f.err.code, QN_ERR_INTERNAL);
    cr_expect_not_null(strstr(f.err.message, word), "%s", f.err.message);
    cr_expect_null(strchr(f.err.message, '\n'), "one line");
    cr_expect_eq(folder_hash(), before, "something changed on disk");
}

static void make_and_close(void)
{
    struct qn_row row = queue_row(1, 0);
    cr_assert(journal_fixture_open(&f), "%s", f.err.message);
    (void)journal_fixture_append_row(&f, &row, 1000);
    journal_fixture_close(&f);
}

Test(journal_open, a_closed_database_is_two_files)
{
    make_and_close();
    cr_expect(is_there(""));
    cr_expect(is_there("-ring"));
    cr_expect_not(is_there("-wal"));
    cr_expect_not(is_there("-shm"));
}

Test(journal_open, an_empty_file_is_taken_as_new)
{
    write_file("", "", 0);
    make_and_close();
    cr_assert(journal_fixture_open(&f));
    cr_expect_eq(f.identity.boot, 2);
    cr_expect_eq(f.loaded.count, 1);
}

Test(journal_open, a_file_that_is_no_database_is_refused)
{
    write_file("", "to do: milk\n", 12);
    expect_refusal("not a database of quern");
    static char large[8192] = "large";
    write_file("", large, sizeof(large));
    expect_refusal("not a database of quern");
}

Test(journal_open, a_database_of_another_program_is_refused)
{
    cr_assert_eq(journal_fixture_sql(&f, "CREATE TABLE t (a)"), 0);
    expect_refusal("not a database of quern");
    cr_assert_eq(journal_fixture_sql(&f, "PRAGMA application_id = 252006675"), 0);
    expect_refusal("not a database of quern");
}

Test(journal_open, a_newer_schema_is_refused)
{
    make_and_close();
    cr_assert_eq(journal_fixture_sql(&f, "PRAGMA user_version = 99"), 0);
    expect_refusal("newer quern (schema 99");
}

Test(journal_open, a_newer_schema_that_only_the_log_knows_is_refused)
{
    make_and_close();
    pid_t child = fork();
    if (child == 0) { /* dies with the change in the write-ahead log */
        sqlite3 *db;
        (void)sqlite3_open(f.path, &db);
        (void)sqlite3_exec(db, "PRAGMA user_version = 99; SELECT count(*) FROM queue;", NULL, NULL,
                           NULL);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, NULL, 0), child);
    cr_assert(is_there("-wal"));
    cr_assert_not(journal_fixture_open(&f));
    cr_expect_not_null(strstr(f.err.message, "newer quern"), "%s", f.err.message);
    cr_expect_eq(journal_fixture_sql(&f, "SELECT count(*) FROM queue"), 1);
}

Test(journal_open, a_folder_is_refused)
{
    cr_assert_eq(mkdir(f.path, 0755), 0);
    cr_assert_not(journal_fixture_open(&f));
    cr_expect_not_null(strstr(f.err.message, f.path));
    cr_assert_eq(rmdir(f.path), 0);
}

Test(journal_open, a_missing_folder_is_an_error_with_its_path)
{
    (void)snprintf(f.path, sizeof(f.path), "%s/not/there.db", f.folder);
    expect_refusal("/not/there.db");
    expect_refusal("No such file or directory");
}

Test(journal_open, a_folder_that_cannot_be_written_is_an_error)
{
    cr_assert_eq(chmod(f.folder, 0555), 0);
    if (geteuid() == 0) { /* to whom it would be open */
        cr_assert_eq(seteuid(65534), 0);
    }
    expect_refusal("Permission denied");
    (void)!seteuid(0);
    cr_assert_eq(chmod(f.folder, 0755), 0);
}

Test(journal_open, files_that_cannot_be_read_or_written_are_an_error)
{
    make_and_close();
    char ring[128];
    path_of("-ring", ring);
    cr_assert_eq(chmod(f.folder, 0777), 0);
    cr_assert_eq(chmod(f.path, 0600), 0);
    cr_assert_eq(chmod(ring, 0666), 0);
    if (geteuid() != 0) {
        cr_assert_eq(chmod(f.path, 0000), 0);
    } else {
        cr_assert_eq(seteuid(65534), 0);
    }
    cr_assert_not(journal_fixture_open(&f));
    cr_expect_not_null(strstr(f.err.message, "cannot read"), "%s", f.err.message);
    (void)!seteuid(0);
    cr_assert_eq(chmod(f.path, 0444), 0);
    if (geteuid() == 0) {
        cr_assert_eq(seteuid(65534), 0);
    }
    cr_assert_not(journal_fixture_open(&f));
    cr_expect_not_null(strstr(f.err.message, "read-only"), "%s", f.err.message);
    (void)!seteuid(0);
    cr_assert_eq(chmod(f.path, 0644), 0);
    cr_expect(journal_fixture_open(&f), "%s", f.err.message);
}

Test(journal_open, a_second_process_is_refused_while_the_first_lives)
{
    struct qn_row row = queue_row(1, 0);
    cr_assert(journal_fixture_open(&f));
    (void)journal_fixture_append_row(&f, &row, 1);
    pid_t child = fork();
    if (child == 0) {
        struct journal_fixture second = {.ring_bytes = 1 << 20};
        (void)memcpy(second.path, f.path, sizeof(second.path));
        bool is_refused = !journal_fixture_open(&second) &&
                          strstr(second.err.message, "in use by another quern") != NULL;
        _exit(is_refused ? 0 : 1);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    journal_fixture_close(&f);
    cr_assert(journal_fixture_open(&f), "%s", f.err.message);
    cr_expect_eq(f.loaded.count, 1);
}

Test(journal_open, of_two_that_make_a_new_file_at_once_one_wins)
{
    char ring[128];
    path_of("-ring", ring);
    write_file("-ring", "", 0);
    int fd = open(ring, O_RDWR | O_CLOEXEC);
    cr_assert_eq(flock(fd, LOCK_EX), 0);
    expect_refusal("in use by another quern");
    (void)close(fd);
    cr_expect(journal_fixture_open(&f), "what the other had begun is no hindrance");
}

Test(journal_open, a_database_without_its_ring_goes_on_where_SQLite_stands)
{
    make_and_close();
    char ring[128];
    path_of("-ring", ring);
    cr_assert_eq(unlink(ring), 0);
    f.ring_bytes = 1 << 16; /* the position stored may lie beyond it */
    cr_assert(journal_fixture_open(&f), "%s", f.err.message);
    cr_expect_eq(f.identity.lsn, 1);
    cr_expect_eq(f.loaded.count, 1);
    struct qn_row row = queue_row(2, 0);
    cr_expect_eq(journal_fixture_append_row(&f, &row, 1000), 2);
    journal_fixture_close(&f);
    cr_assert(journal_fixture_open(&f));
    cr_expect_eq(f.loaded.count, 2);
}

Test(journal_open, a_ring_without_its_database_is_refused)
{
    make_and_close();
    cr_assert_eq(unlink(f.path), 0);
    expect_refusal("bring it back, or remove the ring");
}

Test(journal_open, the_ring_of_another_database_is_refused)
{
    struct journal_fixture other;
    char ring[128];
    char ring_of_other[128];
    make_and_close();
    path_of("-ring", ring);
    journal_fixture_init(&other);
    cr_assert(journal_fixture_open(&other));
    journal_fixture_close(&other);
    (void)snprintf(ring_of_other, sizeof(ring_of_other), "%s-ring", other.path);
    cr_assert_eq(rename(ring_of_other, ring), 0);
    journal_fixture_done(&other);
    expect_refusal("belongs to another database");
}

Test(journal_open, a_file_in_the_place_of_the_ring_is_refused)
{
    make_and_close();
    write_file("-ring", "something quite different, of some length, in the place of the ring", 67);
    expect_refusal("not a ring of quern");
}

Test(journal_open, a_ring_with_a_damaged_header_is_refused)
{
    make_and_close();
    char ring[128];
    path_of("-ring", ring);
    int fd = open(ring, O_RDWR | O_CLOEXEC);
    cr_assert_eq(pwrite(fd, "x", 1, 20), 1);
    (void)close(fd);
    expect_refusal("is damaged");
}

/* The checksum says that the header is whole, not that its size can be. */
Test(journal_open, a_ring_of_an_impossible_size_is_refused)
{
    const uint64_t sizes[] = {0, 1 << 21, UINT64_MAX - 4095, UINT64_C(1) << 63};
    uint64_t header[2]; /* database and size, behind magic, version and checksum */
    char ring[128];

    make_and_close();
    path_of("-ring", ring);
    int fd = open(ring, O_RDWR | O_CLOEXEC);
    cr_assert_eq(pread(fd, header, sizeof(header), 16), (ssize_t)sizeof(header));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        header[1] = sizes[i];
        uint32_t checksum = qn_digest_crc32c(0, header, sizeof(header));
        cr_assert_eq(pwrite(fd, header, sizeof(header), 16), (ssize_t)sizeof(header));
        cr_assert_eq(pwrite(fd, &checksum, sizeof(checksum), 12), (ssize_t)sizeof(checksum));
        expect_refusal("is damaged");
    }
    (void)close(fd);
}

Test(journal_open, an_existing_ring_keeps_its_size)
{
    make_and_close();
    char ring[128];
    struct stat before;
    struct stat after;
    path_of("-ring", ring);
    cr_assert_eq(stat(ring, &before), 0);
    f.ring_bytes = 4 << 20;
    cr_assert(journal_fixture_open(&f));
    cr_assert_eq(stat(ring, &after), 0);
    cr_expect_eq(before.st_size, after.st_size);
}

Test(journal_open, what_fails_while_a_new_file_is_made_leaves_nothing_behind)
{
    f.ring_bytes = SIZE_MAX / 4; /* no disk has it */
    expect_refusal("-ring");
    write_file("", "", 0);
    expect_refusal("-ring");
    f.ring_bytes = 1 << 20;
    cr_expect(journal_fixture_open(&f), "%s", f.err.message);
}

Test(journal_open, a_name_that_SQLite_would_read_as_something_else_is_a_file)
{
    cr_assert_eq(chdir(f.folder), 0);
    (void)snprintf(f.path, sizeof(f.path), ":memory:");
    make_and_close();
    cr_expect(is_there(""));
    cr_assert(journal_fixture_open(&f));
    cr_expect_eq(f.loaded.count, 1);
}
