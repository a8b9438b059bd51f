/* What the journal costs: --sync normal against memory, --sync full against the disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/bench/rows.h"

enum { SENDERS = 8, DRAINERS = 2, MIXED_FILL_PER_S = 100000 };

static const double mega = 1e6;

/* Sends from so many connections to a queue that is new. */
static bool send_to_new(struct qn_bench *bench, const struct qn_bench_server *server,
                        int connections, struct qn_bench_figures_of_load *ret)
{
    char *url = NULL;

    if (!qn_bench_new_queue(bench, server, false, NULL, &url)) {
        return false;
    }
    const struct qn_bench_plan plan = {.kind = QN_BENCH_SEND, .queue_urls = &url, .queue_count = 1};
    bool ok = qn_bench_load_plan(bench, server, &plan, connections, bench->options->seconds, ret);
    qn_bench_drop_queue(server, url);
    return ok;
}

/* Messages sent and deleted per second. */
static bool mixed(struct qn_bench *bench, const struct qn_bench_server *server, double *ret_per_s)
{
    struct qn_bench_figures_of_load figures;
    int64_t count = (int64_t)(bench->options->seconds * MIXED_FILL_PER_S);
    char *url = NULL;

    if (!qn_bench_new_queue(bench, server, false, NULL, &url)) {
        return false;
    }
    const struct qn_bench_plan plan = {
        .kind = QN_BENCH_MIXED, .queue_urls = &url, .queue_count = 1, .senders = SENDERS};
    bool ok = qn_bench_fill(bench, server, &url, count) &&
              qn_bench_load_plan(bench, server, &plan, SENDERS + DRAINERS, bench->options->seconds,
                                 &figures);
    qn_bench_drop_queue(server, url);
    *ret_per_s = ok ? figures.units_per_s : 0;
    return ok;
}

static bool normal_round(struct qn_bench *bench, const struct qn_bench_server *memory,
                         const struct qn_bench_server *normal)
{
    struct qn_bench_figures_of_load plain[2];
    struct qn_bench_figures_of_load kept[2];
    double plain_per_s;
    double kept_per_s;

    for (size_t i = 0; i < 2; i++) {
        if (!send_to_new(bench, memory, i == 0 ? 8 : 64, &plain[i]) ||
            !send_to_new(bench, normal, i == 0 ? 8 : 64, &kept[i])) {
            return false;
        }
    }
    if (!mixed(bench, memory, &plain_per_s) || !mixed(bench, normal, &kept_per_s)) {
        return false;
    }
    qn_bench_note_ratio(bench, QN_BENCH_NORMAL_CPU_8, kept[0].cpu_us, plain[0].cpu_us);
    qn_bench_note_ratio(bench, QN_BENCH_NORMAL_CPU_64, kept[1].cpu_us, plain[1].cpu_us);
    qn_bench_note_ratio(bench, QN_BENCH_NORMAL_MIXED, kept_per_s, plain_per_s);
    qn_bench_note(bench, QN_BENCH_NORMAL_US_64, kept[1].cpu_us);
    qn_bench_note(bench, QN_BENCH_NORMAL_MEMORY_US_64, plain[1].cpu_us);
    qn_bench_note(bench, QN_BENCH_NORMAL_MIXED_PER_S, kept_per_s);
    return true;
}

bool qn_bench_measure_normal(struct qn_bench *bench)
{
    struct qn_bench_server memory = {0};
    struct qn_bench_server normal = {0};
    bool ok = qn_bench_open(bench, &(struct qn_bench_setup){0}, &memory) &&
              qn_bench_open(bench, &(struct qn_bench_setup){.sync = "normal"}, &normal);

    for (int64_t round = 0; ok && round < bench->options->rounds; round++) {
        qn_bench_progress(bench, "normal", round);
        ok = normal_round(bench, &memory, &normal);
    }
    qn_bench_close(&memory);
    qn_bench_close(&normal);
    return ok;
}

/* ---- full ---- */

enum { PROBE_BYTES = 1024, PROBE_FILE_BYTES = 1024 * 1024, PROBES = 200 };

/* The time of one fdatasync after an overwrite, as a tally: what the ring's thread cannot avoid. */
static bool probe_disk(struct qn_bench *bench, struct qn_bench_tally *tally)
{
    char path[300];
    char *block = qn_memory_new(PROBE_BYTES);
    bool ok = true;

    (void)snprintf(path, sizeof(path), "%s/probe", bench->directory);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    for (off_t at = 0; ok && at < PROBE_FILE_BYTES; at += PROBE_BYTES) {
        ok = fd >= 0 && pwrite(fd, block, PROBE_BYTES, at) == PROBE_BYTES;
    }
    ok = ok && fsync(fd) == 0;
    tally->samples_ns = qn_memory_new_array(PROBES, sizeof(int64_t));
    for (int i = 0; ok && i < PROBES; i++) {
        block[0] = (char)i;
        ok = pwrite(fd, block, PROBE_BYTES, (off_t)i * PROBE_BYTES) == PROBE_BYTES;
        int64_t begin_ns = qn_bench_now_ns();
        ok = ok && fdatasync(fd) == 0;
        tally->samples_ns[tally->sample_count++] = qn_bench_now_ns() - begin_ns;
    }
    if (!ok) {
        (void)qn_bench_fail(bench, "%.200s: %s", path, strerror(errno));
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    (void)unlink(path);
    qn_memory_free(block);
    return ok;
}

static bool full_round(struct qn_bench *bench, const struct qn_bench_server *full)
{
    static char *const nowhere[] = {(char *)(uintptr_t) "http://127.0.0.1/000000000000/echo"};
    const struct qn_bench_plan echo_plan = {
        .kind = QN_BENCH_SEND, .queue_urls = nowhere, .queue_count = 1};
    double seconds = bench->options->seconds;
    struct qn_bench_figures_of_load echo[2];
    struct qn_bench_figures_of_load own[2];
    struct qn_bench_tally probe = {0};

    bool ok = qn_bench_load_plan(bench, &bench->echo, &echo_plan, 1, seconds, &echo[0]) &&
              probe_disk(bench, &probe) && send_to_new(bench, full, 1, &own[0]) &&
              qn_bench_load_plan(bench, &bench->echo, &echo_plan, 64, seconds, &echo[1]) &&
              send_to_new(bench, full, 64, &own[1]);
    double probe_us = qn_bench_tally_us(&probe, 500);
    qn_bench_tally_done(&probe);
    if (!ok) {
        return false;
    }
    qn_bench_note_ratio(bench, QN_BENCH_FULL_RATE_64, own[1].units_per_s, echo[1].units_per_s);
    qn_bench_note_ratio(bench, QN_BENCH_FULL_GAIN, own[1].units_per_s, own[0].units_per_s);
    qn_bench_note_ratio(bench, QN_BENCH_FULL_P50_1, own[0].p50_us, probe_us + echo[0].p50_us);
    qn_bench_note(bench, QN_BENCH_FULL_PER_S_64, own[1].units_per_s);
    qn_bench_note(bench, QN_BENCH_FULL_P50_US, own[0].p50_us);
    qn_bench_note(bench, QN_BENCH_FULL_PROBE_US, probe_us);
    return true;
}

bool qn_bench_measure_full(struct qn_bench *bench)
{
    struct qn_bench_server full;
    bool ok = qn_bench_open(bench, &(struct qn_bench_setup){.sync = "full"}, &full);

    for (int64_t round = 0; ok && round < bench->options->rounds; round++) {
        qn_bench_progress(bench, "full", round);
        ok = full_round(bench, &full);
    }
    qn_bench_close(&full);
    return ok;
}

/* ---- saturated ---- */

/* A workload that is watched: the log grows and shrinks while it runs. */
struct watched {
    struct qn_bench_work inner;
    char wal[340];
    int64_t wal_max;
};

static bool watched_next(void *state, int connection, struct qn_buf *buf)
{
    const struct watched *watched = state;

    return watched->inner.next(watched->inner.state, connection, buf);
}

static int64_t watched_answered(void *state, struct qn_bench_answer *answer)
{
    const struct watched *watched = state;

    return watched->inner.answered(watched->inner.state, answer);
}

static void watched_tick(void *state)
{
    struct watched *watched = state;
    struct stat status;

    if (stat(watched->wal, &status) == 0 && status.st_size > watched->wal_max) {
        watched->wal_max = status.st_size;
    }
}

static bool saturate(struct qn_bench *bench, const struct qn_bench_server *server, char *const *url)
{
    const struct qn_bench_plan plan = {.kind = QN_BENCH_SEND, .queue_urls = url, .queue_count = 1};
    double seconds = bench->options->is_quick ? 0.3 : 60;
    struct qn_bench_workload *workload = qn_bench_workload_new(&plan, server->place.host);
    struct watched watched = {.inner = qn_bench_workload_work(workload)};
    struct qn_bench_tally tally = {0};
    const struct qn_bench_work work = {&watched, watched_next, watched_answered, watched_tick};
    const struct qn_bench_run run = {.place = &server->place,
                                     .connections = 64,
                                     .limit_us = (int64_t)(seconds * 1e6),
                                     .work = &work};

    (void)snprintf(watched.wal, sizeof(watched.wal), "%s-wal", server->database);
    bool ok = qn_bench_load(&run, &tally, bench->error);
    watched_tick(&watched);
    if (ok) {
        double ring = (double)qn_bench_info(server, "journal", "ring_bytes_max_used");
        qn_bench_note(bench, QN_BENCH_SATURATED_WAL, (double)watched.wal_max / mega);
        qn_bench_note(bench, QN_BENCH_SATURATED_RING, ring * 100 / (64 * 1024 * 1024));
        qn_bench_note(bench, QN_BENCH_SATURATED_REFUSED,
                      (double)qn_bench_workload_failures(workload));
        qn_bench_note(bench, QN_BENCH_SATURATED_P999, qn_bench_tally_us(&tally, 999) / 1e3);
        qn_bench_note(bench, QN_BENCH_SATURATED_PER_S, (double)tally.units / tally.seconds);
        qn_bench_note(bench, QN_BENCH_SATURATED_RSS,
                      (double)qn_bench_rss_bytes(server->child.pid) / mega);
    }
    qn_bench_tally_done(&tally);
    qn_bench_workload_free(workload);
    return ok;
}

/* Once: a minute is long enough to meet everything that the disk does. */
bool qn_bench_measure_saturated(struct qn_bench *bench)
{
    struct qn_bench_server server;
    char *url = NULL;
    bool ok = qn_bench_open(bench, &(struct qn_bench_setup){.sync = "normal"}, &server) &&
              qn_bench_new_queue(bench, &server, false, NULL, &url);

    qn_bench_progress(bench, "saturated", 0);
    ok = ok && saturate(bench, &server, &url);
    quern_text_free(url);
    qn_bench_close(&server);
    return ok;
}
