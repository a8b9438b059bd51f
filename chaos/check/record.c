/* Stamping the harness's own events. */
#include "chaos/check/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/trace/trace.h"

bool qn_recorder_map(struct qn_recorder *recorder, const char *path, struct qn_error *err)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    off_t size = file >= 0 ? lseek(file, 0, SEEK_END) : -1;
    void *mapped = MAP_FAILED;

    if (size >= (off_t)sizeof(struct qn_trace_header)) {
        mapped =
            mmap(NULL, sizeof(struct qn_trace_header), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    int reason = errno;
    if (file >= 0) {
        (void)close(file);
    }
    if (mapped == MAP_FAILED) {
        return qn_fail(err, QN_ERR_INTERNAL, "%s: %s", path, strerror(reason));
    }
    qn_recorder_unmap(recorder);
    recorder->header = mapped;
    return true;
}

void qn_recorder_unmap(struct qn_recorder *recorder)
{
    if (recorder->header != NULL) {
        (void)munmap(recorder->header, sizeof(struct qn_trace_header));
        recorder->header = NULL;
    }
}

void qn_recorder_set_clock(struct qn_recorder *recorder, int64_t virtual_ms)
{
    recorder->virtual_base_ms = virtual_ms;
    recorder->base_ms = qn_clock_monotonic_ms();
}

int64_t qn_recorder_now_ms(const struct qn_recorder *recorder)
{
    return recorder->virtual_base_ms + qn_clock_monotonic_ms() - recorder->base_ms;
}

void qn_record(struct qn_recorder *recorder, struct qn_check_event *event)
{
    struct qn_clock wall = qn_clock_system();

    event->seq = recorder->header != NULL ? atomic_fetch_add(&recorder->header->next_seq, 1)
                                          : ++recorder->own_seq;
    event->vt = qn_recorder_now_ms(recorder);
    event->wt = wall.now_ms(wall.state);
    qn_history_add(recorder->history, event);
}
