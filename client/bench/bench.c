/* `quern bench`: its options, the processes it starts, and where the figures go. */
#include "client/bench/bench.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/bench/measure.h"

enum { EXIT_WELL = 0, EXIT_USAGE = 2, EXIT_BROKEN = 4, PATH_ROOM = 4096 };

struct options {
    int64_t rounds;
    int64_t tenths; /* of a second, per measurement */
    const char *json_path;
    const char *program;
    const char *store;
    int64_t port; /* of a server that runs already; 0: one is started */
    int64_t pid;
    bool wants_help;
};

static const char help[] =
    "usage: quern bench [options]\n\n"
    "Measures send (300 bytes) and receive of ten with delete of ten, with 1, 8 and 64 "
    "connections, and\n"
    "beside each a bare libmicrohttpd that answers the same requests: read the ratios.\n\n"
    "  --rounds N         how often, interleaved; medians are shown (default 5)\n"
    "  --seconds S        length of one measurement (default 1)\n"
    "  --store NAME       memory (default), normal or full: --db with that --sync\n"
    "  --endpoint URL     measure a server that runs already, on the loopback\n"
    "  --pid N            its process, for its CPU time\n"
    "  --server PROGRAM   the server to start (default: this program)\n"
    "  --json FILE        write the figures as JSON too\n"
    "  --help             this text\n";

static int complain(const char *text, const char *detail)
{
    (void)fprintf(stderr, "quern bench: %s%s%s\n", text, detail[0] != '\0' ? ": " : "", detail);
    return EXIT_USAGE;
}

/* "http://127.0.0.1:9324", with or without a slash at its end. */
static bool read_endpoint(const char *text, int64_t *ret_port)
{
    static const struct qn_str heads[] = {{"http://127.0.0.1:", 17}, {"http://localhost:", 17}};
    struct qn_str url = qn_str_from_cstr(text);

    if (qn_str_ends_with(url, QN_STR("/"))) {
        url.len--;
    }
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        if (qn_str_starts_with(url, heads[i])) {
            return qn_str_to_int64(qn_str_from(url, heads[i].len), 1, 65535, ret_port);
        }
    }
    return false;
}

/* "2" or "0.5", in tenths. */
static bool read_tenths(struct qn_str text, int64_t *ret_tenths)
{
    struct qn_str fraction;
    struct qn_str whole = qn_str_cut(text, '.', &fraction);
    int64_t units;
    int64_t tenths = 0;

    if (!qn_str_to_int64(whole, 0, 3600, &units) ||
        (!qn_str_is_none(fraction) && !qn_str_to_int64(fraction, 0, 9, &tenths))) {
        return false;
    }
    *ret_tenths = units * 10 + tenths;
    return *ret_tenths > 0;
}

static bool set(struct options *options, const char *name, const char *value)
{
    struct qn_str text = qn_str_from_cstr(value);

    if (strcmp(name, "--rounds") == 0) {
        return qn_str_to_int64(text, 1, QN_BENCH_ROUNDS_MAX, &options->rounds);
    }
    if (strcmp(name, "--seconds") == 0) {
        return read_tenths(text, &options->tenths);
    }
    if (strcmp(name, "--store") == 0) {
        options->store = value;
        return strcmp(value, "memory") == 0 || strcmp(value, "normal") == 0 ||
               strcmp(value, "full") == 0;
    }
    if (strcmp(name, "--endpoint") == 0) {
        options->store = "endpoint";
        return read_endpoint(value, &options->port);
    }
    if (strcmp(name, "--pid") == 0) {
        return qn_str_to_int64(text, 1, INT32_MAX, &options->pid);
    }
    if (strcmp(name, "--server") == 0) {
        options->program = value;
        return true;
    }
    options->json_path = value;
    return true;
}

static int read_options(int argc, char **argv, struct options *options)
{
    static const char *const names[] = {"--rounds", "--seconds", "--store", "--endpoint",
                                        "--pid",    "--server",  "--json"};

    *options = (struct options){.rounds = 5, .tenths = 10, .store = "memory"};
    for (int i = 1; i < argc; i++) {
        bool is_known = false;
        if (strcmp(argv[i], "--help") == 0) {
            options->wants_help = true;
            continue;
        }
        for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
            is_known = is_known || strcmp(argv[i], names[n]) == 0;
        }
        if (!is_known) {
            return complain("unknown option", argv[i]);
        }
        if (i + 1 >= argc) {
            return complain("a value is missing behind", argv[i]);
        }
        if (!set(options, argv[i], argv[i + 1])) {
            return complain(argv[i], "not a value that it takes (see --help)");
        }
        i++;
    }
    return EXIT_WELL;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static bool start(struct qn_bench *bench, const struct options *options, const char *directory)
{
    char program[PATH_ROOM] = "";
    char database[PATH_ROOM + 16];
    bool has_store = strcmp(options->store, "memory") != 0;

    if (!qn_bench_start_echo(&bench->echo.child)) {
        return false;
    }
    if (options->port != 0) {
        bench->server.child = (struct qn_bench_child){(pid_t)options->pid, (int)options->port};
        return true;
    }
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[len > 0 ? len : 0] = '\0';
    (void)snprintf(database, sizeof(database), "%s/bench.db", directory);
    return qn_bench_start_server(options->program != NULL ? options->program : program,
                                 has_store ? database : NULL, options->store, &bench->server.child);
}

static bool prepare_queue(struct qn_bench *bench, char error[256])
{
    char endpoint[96];
    struct quern_error err;

    (void)snprintf(bench->host, sizeof(bench->host), "127.0.0.1:%d", bench->server.child.port);
    (void)snprintf(endpoint, sizeof(endpoint), "http://%s", bench->host);
    const struct quern_options options = {
        .endpoint = endpoint, .access_key = "QUERNBENCH", .secret_key = "quern"};
    if (quern_client_new(&options, &bench->client, &err) &&
        quern_create_queue(bench->client, "quern-bench", NULL, &bench->queue_url, &err)) {
        return true;
    }
    (void)snprintf(error, 256, "%.100s: %.100s", err.code, err.message);
    return false;
}

static bool write_json(const struct qn_bench *bench, const char *path)
{
    json_t *root = qn_bench_json(bench);
    bool ok = json_dump_file(root, path, JSON_INDENT(1)) == 0;

    json_decref(root);
    return ok;
}

static int measure(struct qn_bench *bench, const struct options *options)
{
    char error[256] = "";
    char directory[] = "/tmp/quern-bench-XXXXXX";
    int code = EXIT_BROKEN;

    if (mkdtemp(directory) == NULL) {
        return complain(directory, strerror(errno));
    }
    if (!start(bench, options, directory)) {
        (void)complain("the server or the echo does not start", "");
    } else if (!prepare_queue(bench, error) ||
               !qn_bench_measure(bench, isatty(STDERR_FILENO) ? stderr : NULL, error)) {
        (void)complain("measuring failed", error);
    } else if (qn_bench_print(bench, stdout),
               options->json_path != NULL && !write_json(bench, options->json_path)) {
        (void)complain(options->json_path, "cannot be written");
    } else {
        code = EXIT_WELL;
    }
    if (bench->client != NULL && bench->queue_url != NULL) {
        struct quern_error err;
        (void)quern_delete_queue(bench->client, bench->queue_url, &err);
    }
    quern_client_free(bench->client);
    quern_text_free(bench->queue_url);
    if (options->port == 0) {
        qn_bench_stop(&bench->server.child);
    }
    qn_bench_stop(&bench->echo.child);
    (void)nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return code;
}

int qn_bench_main(int argc, char **argv)
{
    struct options options;
    int code = read_options(argc, argv, &options);

    if (code != EXIT_WELL) {
        return code;
    }
    if (options.wants_help) {
        (void)fputs(help, stdout);
        return EXIT_WELL;
    }
    struct qn_bench *bench = qn_memory_new(sizeof(*bench));
    bench->rounds = options.rounds;
    bench->seconds = (double)options.tenths / 10;
    bench->store = options.store;
    code = measure(bench, &options);
    qn_memory_free(bench);
    return code;
}
