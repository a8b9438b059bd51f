/* The thread that syncs the ring. */
#include "server/journal/syncer.h"

#include "server/base/failpoint.h"
#include "server/base/log.h"
#include "server/journal/thread.h"
#include "server/journal/waker.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { SLEEP_MS = 60000 };

struct qn_syncer {
    const struct qn_ring_file *file;
    const struct qn_ring *ring;
    struct qn_waker waker;
    pthread_t thread;
    int fd;
    _Atomic bool is_stopping;
    _Atomic uint64_t synced_lsn;
};

static bool has_work(void *state)
{
    struct qn_syncer *syncer = state;
    return qn_ring_last_lsn(syncer->ring) != atomic_load(&syncer->synced_lsn) ||
           atomic_load(&syncer->is_stopping);
}

static void sync_or_exit(const struct qn_syncer *syncer)
{
    bool is_refused = qn_failpoint("ring.before_sync");
    if (is_refused) {
        errno = EIO;
    }
    if (is_refused || !qn_ring_file_sync(syncer->file)) {
        qn_log(QN_LOG_ERROR, "journal",
               "the ring cannot be synced, ending; the next start recovers file=%s error=\"%s\"",
               syncer->file->path, strerror(errno));
        _exit(1);
    }
}

static void *run(void *state)
{
    struct qn_syncer *syncer = state;
    for (;;) {
        qn_waker_sleep(&syncer->waker, has_work, syncer, SLEEP_MS);
        uint64_t lsn = qn_ring_last_lsn(syncer->ring);
        if (lsn != atomic_load(&syncer->synced_lsn)) {
            const uint64_t one = 1;
            sync_or_exit(syncer);
            atomic_store(&syncer->synced_lsn, lsn);
            (void)!write(syncer->fd, &one, sizeof(one)); /* fails only when it is readable anyway */
        } else if (atomic_load(&syncer->is_stopping)) {
            return NULL;
        }
    }
}

static void free_syncer(struct qn_syncer *syncer)
{
    if (syncer->fd >= 0) {
        (void)close(syncer->fd);
    }
    qn_waker_done(&syncer->waker);
    qn_memory_free(syncer);
}

bool qn_syncer_start(const struct qn_ring_file *file, const struct qn_ring *ring,
                     struct qn_syncer **ret_syncer, struct qn_error *err)
{
    struct qn_syncer *syncer = qn_memory_new(sizeof(*syncer));
    syncer->file = file;
    syncer->ring = ring;
    atomic_store(&syncer->synced_lsn, qn_ring_last_lsn(ring));
    qn_waker_init(&syncer->waker);
    syncer->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (syncer->fd < 0) {
        (void)qn_fail(err, QN_ERR_INTERNAL, "cannot make an eventfd: %s", strerror(errno));
    }
    if (syncer->fd < 0 || !qn_thread_start(&syncer->thread, run, syncer, err)) {
        free_syncer(syncer);
        return false;
    }
    *ret_syncer = syncer;
    return true;
}

void qn_syncer_stop(struct qn_syncer *syncer)
{
    if (syncer == NULL) {
        return;
    }
    atomic_store(&syncer->is_stopping, true);
    qn_waker_wake(&syncer->waker);
    (void)pthread_join(syncer->thread, NULL);
    free_syncer(syncer);
}

void qn_syncer_poke(struct qn_syncer *syncer)
{
    qn_waker_poke(&syncer->waker);
}

uint64_t qn_syncer_synced_lsn(const struct qn_syncer *syncer)
{
    return atomic_load(&syncer->synced_lsn);
}

int qn_syncer_fd(const struct qn_syncer *syncer)
{
    return syncer->fd;
}
