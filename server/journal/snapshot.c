/* Wanting, pinning, copying and choosing snapshots. */
#include "server/journal/snapshot.h"

#include "server/base/buf.h"
#include "server/base/log.h"
#include "server/journal/copy.h"
#include "server/journal/thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { CHOOSE_WITHIN_S = 10, STEP_PAGES = 256 };

enum state {
    FREE,
    WANTED, /* the writer has not come so far */
    PINNED, /* the view holds it */
    COPYING,
    DONE,
    GONE /* its file is not removed yet, which may take a while */
};

struct slot {
    enum state state;
    bool is_dropped; /* while it is copied */
    struct qn_copy_view view;
};

struct qn_snapshots {
    struct qn_snapshot_table *table;
    char *path;
    pthread_mutex_t mutex; /* of the slots and the table */
    pthread_cond_t changed;
    struct slot slots[QN_SNAPSHOTS_MAX];
    _Atomic uint64_t next_lsn; /* the least that is wanted; UINT64_MAX: none */
    pthread_t thread;
    bool is_started;
    bool is_stopping;
};

static char *path_of(const struct qn_snapshots *snapshots, size_t i, const char *ending)
{
    struct qn_buf buf;
    size_t len;

    qn_buf_init(&buf, SIZE_MAX);
    qn_buf_append_format(&buf, "%s-snapshot-%zu%s", snapshots->path, i + 1, ending);
    return qn_buf_take(&buf, &len);
}

static void remove_file(const struct qn_snapshots *snapshots, size_t i)
{
    static const char *const endings[] = {"", "-wal", "-shm"};

    for (size_t j = 0; j < sizeof(endings) / sizeof(endings[0]); j++) {
        char *path = path_of(snapshots, i, endings[j]);
        (void)unlink(path);
        qn_memory_free(path);
    }
}

/* Under the mutex. */
static void find_next(struct qn_snapshots *snapshots)
{
    uint64_t next_lsn = UINT64_MAX;

    for (size_t i = 0; i < QN_SNAPSHOTS_MAX; i++) {
        if (snapshots->slots[i].state == WANTED && snapshots->table->records[i].lsn < next_lsn) {
            next_lsn = snapshots->table->records[i].lsn;
        }
    }
    atomic_store(&snapshots->next_lsn, next_lsn);
}

/* Under the mutex. One that is being copied goes when the copier notices. */
static void drop(struct qn_snapshots *snapshots, size_t i)
{
    struct slot *slot = &snapshots->slots[i];

    snapshots->table->records[i].is_done = false;
    switch (slot->state) {
    case COPYING:
        slot->is_dropped = true;
        break;
    case PINNED:
        qn_copy_view_close(&slot->view);
        slot->state = FREE;
        break;
    case WANTED:
        slot->state = FREE;
        find_next(snapshots);
        break;
    case DONE:
        slot->state = GONE;
        if (!snapshots->is_started) { /* left by an earlier process, and there is no copier */
            remove_file(snapshots, i);
            slot->state = FREE;
        }
        break;
    default:
        break;
    }
    pthread_cond_broadcast(&snapshots->changed);
}

static bool is_in_use(const struct slot *slot)
{
    return slot->state != FREE && slot->state != GONE && !slot->is_dropped;
}

/* ---- life ---- */

/* What is behind the chosen one did not happen. */
static bool is_of_use(const struct qn_snapshot_table *table,
                      const struct qn_snapshot_record *record)
{
    return record->is_done &&
           (table->chosen == 0 || record->lsn <= table->records[table->chosen - 1].lsn);
}

struct qn_snapshots *qn_snapshots_new(struct qn_snapshot_table *table, const char *path)
{
    struct qn_snapshots *snapshots = qn_memory_new(sizeof(*snapshots));

    snapshots->table = table;
    snapshots->path = qn_memory_copy_text(path, strlen(path));
    pthread_mutex_init(&snapshots->mutex, NULL);
    pthread_cond_init(&snapshots->changed, NULL);
    atomic_store(&snapshots->next_lsn, UINT64_MAX);
    for (size_t i = 0; i < QN_SNAPSHOTS_MAX; i++) {
        if (is_of_use(table, &table->records[i])) {
            snapshots->slots[i].state = DONE;
        } else {
            table->records[i].is_done = false;
            remove_file(snapshots, i);
        }
    }
    return snapshots;
}

void qn_snapshots_free(struct qn_snapshots *snapshots)
{
    if (snapshots == NULL) {
        return;
    }
    qn_snapshots_drop_all(snapshots);
    if (snapshots->is_started) {
        pthread_mutex_lock(&snapshots->mutex);
        snapshots->is_stopping = true;
        pthread_cond_broadcast(&snapshots->changed);
        pthread_mutex_unlock(&snapshots->mutex);
        (void)pthread_join(snapshots->thread, NULL);
    }
    for (size_t i = 0; i < QN_SNAPSHOTS_MAX; i++) {
        remove_file(snapshots, i);
    }
    pthread_cond_destroy(&snapshots->changed);
    pthread_mutex_destroy(&snapshots->mutex);
    qn_memory_free(snapshots->path);
    qn_memory_free(snapshots);
}

bool qn_snapshots_restore(struct qn_snapshots *snapshots, bool *ret_restored, struct qn_error *err)
{
    int chosen = snapshots->table->chosen;
    char *path;
    bool ok;

    *ret_restored = chosen > 0;
    if (chosen == 0) {
        return true;
    }
    path = path_of(snapshots, (size_t)chosen - 1, "");
    ok = qn_copy_over(path, snapshots->path, err);
    qn_memory_free(path);
    return ok;
}

void qn_snapshots_settle(struct qn_snapshots *snapshots)
{
    snapshots->table->chosen = 0;
}

/* ---- the copier ---- */

/* QN_SNAPSHOTS_MAX: there is none. */
static size_t find_oldest_of(const struct qn_snapshots *snapshots, enum state state)
{
    const struct qn_snapshot_record *records = snapshots->table->records;
    size_t found = QN_SNAPSHOTS_MAX;

    for (size_t i = 0; i < QN_SNAPSHOTS_MAX; i++) {
        if (snapshots->slots[i].state == state &&
            (found == QN_SNAPSHOTS_MAX || records[i].lsn < records[found].lsn)) {
            found = i;
        }
    }
    return found;
}

/* Under the mutex, which it gives away meanwhile. */
static void remove_one(struct qn_snapshots *snapshots, size_t i)
{
    pthread_mutex_unlock(&snapshots->mutex);
    remove_file(snapshots, i);
    pthread_mutex_lock(&snapshots->mutex);
    snapshots->slots[i].state = FREE;
}

static bool is_dropped(struct qn_snapshots *snapshots, size_t i)
{
    bool answer;

    pthread_mutex_lock(&snapshots->mutex);
    answer = snapshots->slots[i].is_dropped;
    pthread_mutex_unlock(&snapshots->mutex);
    return answer;
}

/* Without the mutex: nobody else touches the view of one that is copied. */
static bool copy(struct qn_snapshots *snapshots, size_t i, struct qn_error *err)
{
    struct qn_copy copying;
    char *path = path_of(snapshots, i, "");
    bool is_end = false;
    bool ok;

    remove_file(snapshots, i);
    ok = qn_copy_begin(&copying, &snapshots->slots[i].view, path, err);
    while (ok && !is_end && !is_dropped(snapshots, i)) {
        ok = qn_copy_step(&copying, STEP_PAGES, &is_end, err);
    }
    qn_copy_end(&copying);
    qn_memory_free(path);
    return ok && is_end;
}

/* Under the mutex, which it gives away meanwhile. */
static void copy_one(struct qn_snapshots *snapshots, size_t i)
{
    struct slot *slot = &snapshots->slots[i];
    struct qn_error err = {.message = ""};
    bool ok;

    slot->state = COPYING;
    pthread_mutex_unlock(&snapshots->mutex);
    ok = copy(snapshots, i, &err);
    qn_copy_view_close(&slot->view);
    if (!ok && err.message[0] != '\0') {
        qn_log(QN_LOG_ERROR, "journal", "a snapshot cannot be taken error=\"%s\"", err.message);
    }
    pthread_mutex_lock(&snapshots->mutex);
    slot->state = DONE;
    if (!ok || slot->is_dropped) {
        slot->is_dropped = false;
        drop(snapshots, i);
    } else {
        snapshots->table->records[i].is_done = true;
    }
    pthread_cond_broadcast(&snapshots->changed);
}

static void *run(void *state)
{
    struct qn_snapshots *snapshots = state;

    pthread_mutex_lock(&snapshots->mutex);
    while (!snapshots->is_stopping) {
        size_t pinned = find_oldest_of(snapshots, PINNED);
        size_t gone = find_oldest_of(snapshots, GONE);
        if (pinned < QN_SNAPSHOTS_MAX) {
            copy_one(snapshots, pinned);
        } else if (gone < QN_SNAPSHOTS_MAX) {
            remove_one(snapshots, gone);
        } else {
            (void)pthread_cond_wait(&snapshots->changed, &snapshots->mutex);
        }
    }
    pthread_mutex_unlock(&snapshots->mutex);
    return NULL;
}

/* ---- the loop ---- */

/* The youngest in use without a change behind the instant; QN_SNAPSHOTS_MAX: none. */
static size_t find_youngest(const struct qn_snapshots *snapshots, int64_t until_ms)
{
    const struct qn_snapshot_record *records = snapshots->table->records;
    size_t found = QN_SNAPSHOTS_MAX;

    for (size_t i = 0; i < QN_SNAPSHOTS_MAX; i++) {
        if (is_in_use(&snapshots->slots[i]) && records[i].at_ms <= until_ms &&
            (found == QN_SNAPSHOTS_MAX || records[i].lsn > records[found].lsn)) {
            found = i;
        }
    }
    return found;
}

static size_t find_oldest(const struct qn_snapshots *snapshots)
{
    const struct qn_snapshot_record *records = snapshots->table->records;
    size_t found = QN_SNAPSHOTS_MAX;

    for (size_t i = 0; i < QN_SNAPSHOTS_MAX; i++) {
        if (is_in_use(&snapshots->slots[i]) &&
            (found == QN_SNAPSHOTS_MAX || records[i].lsn < records[found].lsn)) {
            found = i;
        }
    }
    return found;
}

static size_t find_free(const struct qn_snapshots *snapshots)
{
    size_t i = 0;

    while (i < QN_SNAPSHOTS_MAX && snapshots->slots[i].state != FREE) {
        i++;
    }
    return i;
}

static void drop_older(struct qn_snapshots *snapshots, int64_t keep_from_ms)
{
    const struct qn_snapshot_record *records = snapshots->table->records;
    size_t kept = find_youngest(snapshots, keep_from_ms);

    for (size_t i = 0; kept < QN_SNAPSHOTS_MAX && i < QN_SNAPSHOTS_MAX; i++) {
        if (is_in_use(&snapshots->slots[i]) && records[i].lsn < records[kept].lsn) {
            drop(snapshots, i);
        }
    }
}

static bool start_copier(struct qn_snapshots *snapshots)
{
    struct qn_error err;

    if (!snapshots->is_started) {
        snapshots->is_started = qn_thread_start(&snapshots->thread, run, snapshots, &err);
        if (!snapshots->is_started) {
            qn_log(QN_LOG_ERROR, "journal", "no snapshots: %s", err.message);
        }
    }
    return snapshots->is_started;
}

bool qn_snapshots_want(struct qn_snapshots *snapshots, uint64_t lsn, int64_t at_ms,
                       int64_t keep_from_ms)
{
    size_t i;

    if (!start_copier(snapshots)) {
        return false;
    }
    pthread_mutex_lock(&snapshots->mutex);
    drop_older(snapshots, keep_from_ms);
    i = find_free(snapshots);
    if (i < QN_SNAPSHOTS_MAX) {
        snapshots->table->records[i] = (struct qn_snapshot_record){.lsn = lsn, .at_ms = at_ms};
        snapshots->slots[i].state = WANTED;
        find_next(snapshots);
    }
    pthread_mutex_unlock(&snapshots->mutex);
    return i < QN_SNAPSHOTS_MAX;
}

void qn_snapshots_drop_all(struct qn_snapshots *snapshots)
{
    pthread_mutex_lock(&snapshots->mutex);
    for (size_t i = 0; i < QN_SNAPSHOTS_MAX; i++) {
        drop(snapshots, i);
    }
    pthread_mutex_unlock(&snapshots->mutex);
}

size_t qn_snapshots_count(struct qn_snapshots *snapshots)
{
    size_t count = 0;

    pthread_mutex_lock(&snapshots->mutex);
    for (size_t i = 0; i < QN_SNAPSHOTS_MAX; i++) {
        count += snapshots->slots[i].state == DONE;
    }
    pthread_mutex_unlock(&snapshots->mutex);
    return count;
}

/* Under the mutex: waits until it is copied, or known not to be. */
static bool await(struct qn_snapshots *snapshots, size_t i)
{
    struct timespec deadline;

    (void)clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += CHOOSE_WITHIN_S;
    while (snapshots->slots[i].state != DONE && is_in_use(&snapshots->slots[i])) {
        if (pthread_cond_timedwait(&snapshots->changed, &snapshots->mutex, &deadline) ==
            ETIMEDOUT) {
            drop(snapshots, i);
            return false;
        }
    }
    return snapshots->slots[i].state == DONE;
}

bool qn_snapshots_choose(struct qn_snapshots *snapshots, int64_t until_ms, uint64_t next_boot,
                         uint64_t *ret_lsn)
{
    size_t found;

    pthread_mutex_lock(&snapshots->mutex);
    do {
        found = find_youngest(snapshots, until_ms);
        if (found == QN_SNAPSHOTS_MAX) {
            found = find_oldest(snapshots);
        }
    } while (found < QN_SNAPSHOTS_MAX && !await(snapshots, found));
    if (found < QN_SNAPSHOTS_MAX) {
        snapshots->table->chosen = (int)found + 1;
        snapshots->table->least_boot = next_boot;
        *ret_lsn = snapshots->table->records[found].lsn;
    }
    pthread_mutex_unlock(&snapshots->mutex);
    return found < QN_SNAPSHOTS_MAX;
}

/* ---- the writer ---- */

bool qn_snapshots_stop_at(const struct qn_snapshots *snapshots, uint64_t lsn)
{
    return snapshots != NULL && atomic_load(&snapshots->next_lsn) <= lsn;
}

static void pin(struct qn_snapshots *snapshots, size_t i, const struct qn_store *store,
                uint64_t lsn)
{
    struct slot *slot = &snapshots->slots[i];
    struct qn_error err;

    if (snapshots->table->records[i].lsn == lsn &&
        qn_copy_view_open(&slot->view, store, lsn, &err)) {
        slot->state = PINNED;
        return;
    }
    if (snapshots->table->records[i].lsn == lsn) {
        qn_log(QN_LOG_ERROR, "journal", "a snapshot cannot be taken error=\"%s\"", err.message);
    }
    drop(snapshots, i);
}

void qn_snapshots_reach(struct qn_snapshots *snapshots, const struct qn_store *store, uint64_t lsn)
{
    if (!qn_snapshots_stop_at(snapshots, lsn)) {
        return;
    }
    pthread_mutex_lock(&snapshots->mutex);
    for (size_t i = 0; i < QN_SNAPSHOTS_MAX; i++) {
        if (snapshots->slots[i].state == WANTED && snapshots->table->records[i].lsn <= lsn) {
            pin(snapshots, i, store, lsn);
        }
    }
    find_next(snapshots);
    pthread_cond_broadcast(&snapshots->changed);
    pthread_mutex_unlock(&snapshots->mutex);
}
