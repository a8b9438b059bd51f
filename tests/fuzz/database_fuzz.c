/* A database and its ring as a killed server leaves them, with altered bytes: the header of the
 * SQLite file, the header of its log, the header and the records of the ring; or cut short. Opening
 * refuses them in one clean line, or what comes up works: it loads into an engine whose structures
 * agree, takes an entry, and closes.
 *
 * An input is steps of four bytes: where and how, a place of two bytes, a value. One byte more asks
 * for a second start on what the first one left. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/base/digest.h"
#include "server/base/failpoint.h"
#include "server/base/log.h"
#include "tests/support/engine_check.h"
#include "tests/support/fixture.h"

enum { STEP = 4, STEPS_MAX = 64, RING_PAGE = 4096, RING_KEPT = 16 * 1024 };
enum { DATABASE, LOG, RING, FILES };
static const char *const endings[FILES] = {"", "-wal", "-ring"};

/* Where a step may reach: the header of the database, of the log and its first frame, of the ring,
 * and the ring's records. */
static const struct area {
    int file;
    size_t from;
    size_t size;
} areas[] = {{DATABASE, 0, 100}, {LOG, 0, 56}, {RING, 0, 64}, {RING, RING_PAGE, 8192}};
enum { AREAS = sizeof(areas) / sizeof(areas[0]) };

enum { SET, FLIP, ADD, CUT };

struct file {
    char *bytes;
    size_t kept; /* zeros follow up to len */
    size_t len;
};

/* What the killed server left: the same for all inputs. */
static struct file killed[FILES];
static struct journal_fixture store;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "database_fuzz: %s: %s\n", what, store.err.message);
        abort();
    }
}

static void path_of(int file, char out[128])
{
    (void)snprintf(out, 128, "%s%s", store.path, endings[file]);
}

static struct file read_whole(int which)
{
    struct file file = {.len = 0};
    struct stat status;
    char path[128];

    path_of(which, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    require(fd >= 0 && fstat(fd, &status) == 0, path);
    file.len = (size_t)status.st_size;
    file.kept = which == RING ? RING_KEPT : file.len;
    file.bytes = qn_memory_new_array(file.kept + 1, 1);
    require(read(fd, file.bytes, file.kept) == (ssize_t)file.kept, path);
    (void)close(fd);
    return file;
}

static void write_whole(int which, const struct file *file)
{
    char path[128];

    path_of(which, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    size_t len = file->len < file->kept ? file->len : file->kept;
    require(fd >= 0 && write(fd, file->bytes, len) == (ssize_t)len, path);
    require(ftruncate(fd, (off_t)file->len) == 0, path);
    (void)close(fd);
}

/* Queues and messages as the engine writes them; the later half is in the ring only. */
static void fill(struct fixture *f, const char *suffix)
{
    struct qn_str name = qn_arena_format(&f->arena, "q%s", suffix);

    fixture_create(f, name.ptr, "");
    fixture_send(f, name.ptr, "a b c");
    (void)fixture_receive(f, name.ptr, 2);
    fixture_delete_all(f, name.ptr, "a");
    struct qn_str fifo = qn_arena_format(&f->arena, "f%s.fifo", suffix);
    fixture_create(f, fifo.ptr, "");
    fixture_send(f, fifo.ptr, "x1 x2 y1");
    (void)fixture_receive(f, fifo.ptr, 1);
}

static void wait_for_trouble(const struct qn_journal *journal)
{
    struct qn_journal_figures figures;

    do {
        (void)sched_yield();
        qn_journal_figures(journal, &figures);
    } while (figures.write_errors == 0);
}

static void remove_store(void)
{
    journal_fixture_done(&store);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct fixture f;
    struct qn_error err;

    (void)argc;
    (void)argv;
    qn_log_set_level(QN_LOG_ERROR);
    require(setenv("TMPDIR", "/dev/shm", 1) == 0, "setenv"); /* no disk has to follow */
    fixture_open(&f);
    fixture_use_file(&f);
    store = *f.file;
    fill(&f, "1");
    journal_fixture_wait_written(f.file);
    require(qn_failpoint_arm(QN_STR("writer.before_commit=error"), &err), "no such failpoint");
    fill(&f, "2");
    wait_for_trouble(f.file->journal); /* from here on the writer only tries again */
    for (int i = 0; i < FILES; i++) {
        killed[i] = read_whole(i);
    }
    qn_failpoint_clear();
    fixture_close(&f);
    journal_fixture_init(&store);
    (void)atexit(remove_store);
    return 0;
}

/* ---- what is altered ---- */

static void alter(struct file *file, const struct area *area, int how, size_t place, uint8_t value)
{
    size_t at = area->from + place % area->size;

    if (how == CUT) {
        file->len = place * 16 < file->len ? place * 16 : file->len;
    } else if (at < file->kept) {
        uint8_t *byte = (uint8_t *)file->bytes + at;
        *byte = how == SET ? value : how == FLIP ? *byte ^ value : (uint8_t)(*byte + value);
    }
}

/* The header of the ring has a checksum behind magic and version: with the right one over wrong
 * values those are looked at. */
static void seal_ring(struct file *ring)
{
    enum { CHECKSUM = 12, COVERED = 16, COVERED_LEN = 16 };

    uint32_t crc = qn_digest_crc32c(0, ring->bytes + COVERED, COVERED_LEN);
    memcpy(ring->bytes + CHECKSUM, &crc, sizeof(crc));
}

static void write_altered(const uint8_t *data, size_t size)
{
    struct file files[FILES];

    for (int i = 0; i < FILES; i++) {
        files[i] = killed[i];
        files[i].bytes = qn_memory_new_array(killed[i].kept + 1, 1);
        memcpy(files[i].bytes, killed[i].bytes, killed[i].kept);
    }
    for (size_t i = 0; i + STEP <= size && i < STEP * STEPS_MAX; i += STEP) {
        const struct area *area = &areas[data[i] % AREAS];
        alter(&files[area->file], area, data[i] / AREAS % 4, (size_t)data[i + 1] << 8 | data[i + 2],
              data[i + 3]);
        if (data[i] >= 128) {
            seal_ring(&files[RING]);
        }
    }
    for (int i = 0; i < FILES; i++) {
        write_whole(i, &files[i]);
        qn_memory_free(files[i].bytes);
    }
}

/* ---- what comes of it ---- */

static void check_refusal(void)
{
    struct qn_str message = qn_str_from_cstr(store.err.message);

    require(store.err.code == QN_ERR_INTERNAL && message.len > 0, "a refusal without a reason");
    require(qn_str_is_utf8(message) && qn_str_find_char(message, '\n') == message.len,
            "a refusal that is not one line of text");
}

static void check_loaded(void)
{
    struct qn_engine_options options = {
        .limits = {QN_IN_FLIGHT_MAX, QN_MESSAGE_SIZE_MAX, QN_RETENTION_MIN_S, QN_BATCH_ENTRIES_MAX},
        .account = QN_STR("000000000000"),
        .region = QN_STR("us-east-1"),
        .memory_max = SIZE_MAX,
        .boot = (uint32_t)store.identity.boot};
    struct qn_engine *engine = qn_engine_new(&options);
    struct qn_row row;

    for (size_t i = 0; row_set_at(&store.loaded, i, &row); i++) {
        qn_engine_restore(engine, &row, FIXTURE_START_MS);
    }
    qn_engine_restored(engine, FIXTURE_START_MS);
    const char *problem = engine_check(engine);
    require(problem == NULL, problem);
    qn_engine_free(engine);
}

static bool open_and_use(void)
{
    struct qn_row row = queue_row(77, 0);

    if (!journal_fixture_open(&store)) {
        check_refusal();
        return false;
    }
    require(store.is_in_order, "rows came out of order");
    check_loaded();
    (void)journal_fixture_append_row(&store, &row, store.identity.last_instant_ms);
    journal_fixture_close(&store);
    return true;
}

static void remove_files(void)
{
    char path[160];

    for (int i = 0; i < FILES; i++) {
        path_of(i, path);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof(path), "%s-shm", store.path);
    (void)unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    write_altered(data, size);
    if (open_and_use() && size % STEP == 1) {
        (void)open_and_use();
    }
    row_set_done(&store.loaded);
    remove_files();
    return 0;
}
