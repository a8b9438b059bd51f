/* One run: the wanted rows one after the other, then the curves, then what is written. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/bench/curves.h"
#include "client/bench/report.h"

/* Ten thousand long polls are ten thousand files. */
static void raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static bool is_named(const struct qn_bench_options *options, const char *name)
{
    for (size_t i = 0; i < options->row_count; i++) {
        if (strcmp(options->rows[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void choose_rows(struct qn_bench *bench)
{
    const struct qn_bench_options *options = bench->options;

    for (size_t r = 0; r < qn_bench_row_count; r++) {
        bool is_measurable = options->host == NULL || qn_bench_rows[r].is_plain;
        bench->is_wanted[r] =
            is_measurable && (options->wants_all || is_named(options, qn_bench_rows[r].name));
    }
}

static bool measure_rows(struct qn_bench *bench)
{
    bool ok = true;

    for (size_t r = 0; r < qn_bench_row_count; r++) {
        bench->error[0] = '\0';
        if (bench->is_wanted[r] && !qn_bench_rows[r].measure(bench)) {
            (void)snprintf(bench->reasons[r], sizeof(bench->reasons[r]), "%s", bench->error);
            ok = false;
        }
    }
    return ok;
}

static bool write_json(const struct qn_bench *bench, const char *path)
{
    json_t *root = qn_bench_json(bench);
    bool ok = json_dump_file(root, path, JSON_INDENT(1)) == 0;

    json_decref(root);
    return ok;
}

static bool write_files(struct qn_bench *bench)
{
    const struct qn_bench_options *options = bench->options;
    bool ok = true;

    if (options->json_path != NULL && !write_json(bench, options->json_path)) {
        (void)fprintf(stderr, "quern bench: %s cannot be written\n", options->json_path);
        ok = false;
    }
    if (options->markdown_path != NULL &&
        !qn_bench_write_markdown(bench, options->markdown_path, bench->error)) {
        (void)fprintf(stderr, "quern bench: %s\n", bench->error);
        ok = false;
    }
    if (options->svg_path != NULL && bench->curves != NULL &&
        !qn_bench_curves_write(bench->curves, options->svg_path)) {
        (void)fprintf(stderr, "quern bench: %s: %s\n", options->svg_path, strerror(errno));
        ok = false;
    }
    return ok;
}

static bool start_echo(struct qn_bench *bench)
{
    if (!qn_bench_start_echo(&bench->echo.child)) {
        return qn_bench_fail(bench, "the echo does not start: %s", strerror(errno));
    }
    bench->echo.is_started = true;
    qn_bench_place_local(&bench->echo.place, bench->echo.child.port);
    return true;
}

static bool measure(struct qn_bench *bench)
{
    bool ok = true;

    choose_rows(bench);
    if (!start_echo(bench)) {
        (void)fprintf(stderr, "quern bench: %s\n", bench->error);
        return false;
    }
    ok = measure_rows(bench);
    if (bench->options->wants_curves) {
        bench->curves = qn_bench_curves_new();
        if (!qn_bench_measure_curves(bench, bench->curves)) {
            (void)fprintf(stderr, "quern bench: curves: %s\n", bench->error);
            ok = false;
        }
    }
    if (bench->options->shows_progress) {
        (void)fprintf(stderr, "\r%70s\r", "");
    }
    qn_bench_print(bench, stdout);
    ok = write_files(bench) && ok;
    qn_bench_curves_free(bench->curves);
    qn_bench_close(&bench->echo);
    return ok;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

/* Servers that die with us may still make a file, so it is tried until nothing is left. */
static void remove_directory(const char *directory)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};

    for (int tries = 0; tries < 250 && access(directory, F_OK) == 0; tries++) {
        if (tries > 0) {
            (void)nanosleep(&pause, NULL);
        }
        (void)nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

/* A run that is broken off would leave its databases, up to some gigabytes. So the folder is taken
 * away by a process of its own that no signal to this one reaches: at the end of the pipe, which
 * comes however this one ends. */
static pid_t start_sweeper(const char *directory, int *ret_pipe)
{
    int ends[2];
    char nothing;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)setsid();
        (void)close(ends[1]);
        while (read(ends[0], &nothing, 1) < 0 && errno == EINTR) {
        }
        remove_directory(directory);
        _exit(0);
    }
    (void)close(ends[0]);
    *ret_pipe = ends[1];
    return pid;
}

bool qn_bench_run(const struct qn_bench_options *options)
{
    struct qn_bench *bench = qn_memory_new(sizeof(*bench));
    bool ok = false;

    raise_file_limit();
    bench->options = options;
    (void)snprintf(bench->directory, sizeof(bench->directory), "%.200s/quern-bench-XXXXXX",
                   options->directory);
    if (mkdtemp(bench->directory) == NULL) {
        (void)fprintf(stderr, "quern bench: %s: %s\n", bench->directory, strerror(errno));
    } else {
        int lifeline = -1;
        pid_t sweeper = start_sweeper(bench->directory, &lifeline);
        ok = measure(bench);
        (void)close(lifeline);
        if (sweeper > 0) {
            (void)waitpid(sweeper, NULL, 0);
        } else {
            remove_directory(bench->directory);
        }
    }
    qn_memory_free(bench);
    return ok;
}

bool qn_bench_be_echo(int64_t port)
{
    qn_bench_serve_echo((int)port);
    return false;
}
