/* Instructions by callgrind: they do not depend on what else the machine does. Two runs that differ
 * only in the number of requests are subtracted, so that start and end drop out. */
#include <errno.h>
#include <unistd.h>

#include "client/bench/rows.h"

enum { FEW = 200, MANY = 700, PAIR = 10 };

/* What is run under callgrind. */
enum subject { ECHO, SEND, DRAIN };

static bool has_valgrind(void)
{
    static const char *const folders[] = {"/usr/bin", "/usr/local/bin", "/bin"};
    char path[64];
    bool found = false;

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/valgrind", folders[i]);
        found = found || access(path, X_OK) == 0;
    }
    return found;
}

/* The line "totals: N" at the end of callgrind's file; -1 without it. */
static int64_t read_total(const char *path)
{
    char line[4096];
    FILE *file = fopen(path, "re");
    int64_t total = -1;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        struct qn_str text = qn_str_from_cstr(line);
        if (qn_str_starts_with(text, QN_STR("totals: "))) {
            struct qn_str rest;
            text = qn_str_cut(qn_str_from(text, strlen("totals: ")), '\n', &rest);
            total = qn_str_to_int64(text, 0, INT64_MAX, &total) ? total : -1;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return total;
}

static bool open_echo(struct qn_bench *bench, const char *counts, struct qn_bench_server *ret)
{
    struct qn_bench_words words = {0};
    char out[400];
    char text[16];
    int port = qn_bench_free_port();

    (void)snprintf(out, sizeof(out), "--callgrind-out-file=%.300s", counts);
    (void)snprintf(text, sizeof(text), "%d", port);
    for (const char *const *word =
             (const char *const[]){"valgrind", "-q", "--tool=callgrind", out,
                                   bench->options->program, "bench", "--echo", text, NULL};
         *word != NULL; word++) {
        qn_bench_words_add(&words, *word);
    }
    *ret = (struct qn_bench_server){.is_started = true};
    qn_bench_place_local(&ret->place, port);
    return qn_bench_start(&words, port, &ret->child) ||
           qn_bench_fail(bench, "the echo does not start under valgrind");
}

static bool load_subject(struct qn_bench *bench, const struct qn_bench_server *server,
                         enum subject subject, int64_t count)
{
    char *url = NULL;
    char *const nowhere =
        (char *)(uintptr_t) "http://127.0.0.1:12345/000000000000/quern-bench-1234";

    if (subject != ECHO && !qn_bench_new_queue(bench, server, false, NULL, &url)) {
        return false;
    }
    const struct qn_bench_plan plan = {.kind = subject == DRAIN ? QN_BENCH_DRAIN : QN_BENCH_SEND,
                                       .queue_urls = subject == ECHO ? &nowhere : &url,
                                       .queue_count = 1,
                                       .count = subject == DRAIN ? count * PAIR : count};
    const struct qn_bench_plan fill = {
        .kind = QN_BENCH_FILL, .queue_urls = &url, .queue_count = 1, .count = MANY * PAIR};
    bool ok = (subject != DRAIN || qn_bench_load_plan(bench, server, &fill, 1, 0, NULL)) &&
              qn_bench_load_plan(bench, server, &plan, 1, 0, NULL);
    quern_text_free(url);
    return ok;
}

static bool count_instructions(struct qn_bench *bench, enum subject subject, int64_t requests,
                               int64_t *ret_total)
{
    struct qn_bench_server server = {0};
    char counts[300];

    (void)snprintf(counts, sizeof(counts), "%s/callgrind.out", bench->directory);
    (void)unlink(counts);
    bool ok = subject == ECHO ? open_echo(bench, counts, &server)
                              : qn_bench_open(bench,
                                              &(struct qn_bench_setup){.has_virtual_clock = true,
                                                                       .callgrind = counts},
                                              &server);
    ok = ok && load_subject(bench, &server, subject, requests);
    qn_bench_close(&server); /* the counts are written at the end */
    *ret_total = ok ? read_total(counts) : -1;
    (void)unlink(counts);
    return ok && (*ret_total >= 0 || qn_bench_fail(bench, "callgrind left no counts"));
}

static bool count_one(struct qn_bench *bench, enum subject subject, double *ret_instructions)
{
    int64_t few;
    int64_t many;

    if (!count_instructions(bench, subject, FEW, &few) ||
        !count_instructions(bench, subject, MANY, &many)) {
        return false;
    }
    *ret_instructions = (double)(many - few) / (MANY - FEW);
    return true;
}

/* Once: it gives the same figure every time. */
bool qn_bench_measure_instructions(struct qn_bench *bench)
{
    double echo;
    double send;
    double drain;

    if (!has_valgrind()) {
        return qn_bench_fail(bench, "valgrind is not installed");
    }
    qn_bench_progress(bench, "instructions", 0);
    if (!count_one(bench, ECHO, &echo) || !count_one(bench, SEND, &send) ||
        !count_one(bench, DRAIN, &drain)) {
        return false;
    }
    qn_bench_note(bench, QN_BENCH_INSTRUCTIONS_BEYOND, send - echo);
    qn_bench_note(bench, QN_BENCH_INSTRUCTIONS_SEND, send);
    qn_bench_note(bench, QN_BENCH_INSTRUCTIONS_ECHO, echo);
    qn_bench_note(bench, QN_BENCH_INSTRUCTIONS_DRAIN, drain);
    qn_bench_note(bench, QN_BENCH_INSTRUCTIONS_DRAIN_BEYOND, drain - 2 * echo);
    return true;
}
