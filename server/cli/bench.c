/* `quern bench`: its options, and the server's own JSON reader, which the bench times and the
 * client side may not use. */
#include "client/bench/bench.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "chaos/lex.h"
#include "server/actions/actions.h"
#include "server/cli/cli.h"
#include "server/cli/options.h"
#include "server/wire/codec.h"

enum { EXIT_BROKEN = 4, PATH_ROOM = 4096, READS = 20000 };

static const char curves_word[] = "curves";

enum {
    LIST,
    ROUNDS,
    SECONDS,
    QUICK,
    SERVER,
    ENDPOINT,
    PID,
    DIRECTORY,
    JSON,
    TABLE,
    CURVES,
    ECHO,
    OPTION_COUNT
};

static const struct qn_option table[OPTION_COUNT] = {
    [LIST] = {"list", NULL, NULL, NULL, "name the rows and end", 0},
    [ROUNDS] = {"rounds", "N", "5", NULL, "how often, interleaved; medians are shown", 0},
    [SECONDS] = {"seconds", "S", "0.6", NULL, "length of one measurement", 0},
    [QUICK] = {"quick", NULL, NULL, NULL,
               "one round of tiny sizes: shows that a row can be measured here", 0},
    [SERVER] = {"server", "PROGRAM", "this program", NULL, "the server to start", 0},
    [ENDPOINT] = {"endpoint", "URL", NULL, NULL,
                  "measure what runs there already, any SQS over HTTP and JSON:\nrows send and "
                  "drain",
                  0},
    [PID] = {"pid", "N", NULL, NULL, "process of the endpoint, for its CPU time", 0},
    [DIRECTORY] = {"directory", "DIR", "/var/tmp", NULL, "where databases are made", 0},
    [JSON] = {"json", "FILE", NULL, NULL, "write all figures, round by round", 0},
    [TABLE] = {"table", "FILE", NULL, NULL,
               "put the table, in Markdown, between the lines \"<!-- begin bench\" and\n\"<!-- end "
               "bench\" of "
               "the file",
               0},
    [CURVES] = {"curves", "FILE", NULL, NULL, "measure the curves too and draw them as SVG", 0},
    [ECHO] = {"echo", "PORT", NULL, NULL, "be nothing but the echo, on the loopback", 0},
};

/* ---- the JSON reader ---- */

static int64_t cpu_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static double read_send_us(struct qn_str body)
{
    const struct qn_shape *shape = &qn_send_message_in;
    struct qn_arena arena;
    bool ok = true;

    qn_arena_init(&arena, SIZE_MAX / 2);
    int64_t begin_ns = cpu_ns();
    for (int i = 0; ok && i < READS; i++) {
        struct qn_error err;
        qn_arena_reset(&arena);
        void *input = qn_arena_alloc(&arena, shape->size);
        ok = input != NULL && qn_wire_read_json(&arena, body, shape, input, &err);
    }
    int64_t end_ns = cpu_ns();
    qn_arena_done(&arena);
    return ok ? (double)(end_ns - begin_ns) / 1e3 / READS : -1;
}

/* ---- the options ---- */

static bool misuse(struct qn_error *err, const char *format, const char *detail)
{
    char text[256];

    (void)snprintf(text, sizeof(text), "%s%.150s", format, detail);
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s", text);
}

/* "2" or "0.25". */
static bool read_seconds(const char *text, double *ret_seconds, struct qn_error *err)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !(value >= 0.05 && value <= 600)) {
        return misuse(err, "--seconds takes a number from 0.05 to 600, not ", text);
    }
    *ret_seconds = value;
    return true;
}

/* "http://HOST:PORT", with or without a slash at its end; without a port it is 80. */
static bool read_endpoint(const char *text, char host[256], char port[8], struct qn_error *err)
{
    struct qn_str url = qn_str_from_cstr(text);
    struct qn_str rest = qn_str_from(url, strlen("http://"));
    int64_t number = 80;

    if (qn_str_ends_with(rest, QN_STR("/"))) {
        rest.len--;
    }
    bool is_v6 = qn_str_starts_with(rest, QN_STR("["));
    size_t end = qn_str_find_char(rest, is_v6 ? ']' : ':');
    struct qn_str name = is_v6 ? qn_str_from(qn_str_first(rest, end), 1) : qn_str_first(rest, end);
    struct qn_str behind = qn_str_from(rest, is_v6 ? end + 1 : end);
    bool has_port = behind.len > 0 && behind.ptr[0] == ':';
    if (!qn_str_starts_with(url, QN_STR("http://")) || name.len == 0 || name.len > 200 ||
        qn_str_find_char(rest, '/') < rest.len || (behind.len > 0 && !has_port) ||
        (has_port && !qn_str_to_int64(qn_str_from(behind, 1), 1, 65535, &number))) {
        return misuse(err, "--endpoint takes http://HOST:PORT, such as http://127.0.0.1:9324, not ",
                      text);
    }
    (void)snprintf(host, 256, "%.*s", QN_STR_ARG(name));
    (void)snprintf(port, 8, "%d", (int)number);
    return true;
}

/* The rows that were named; the curves count as one. */
static bool read_rows(const struct qn_options *given, struct qn_bench_options *options,
                      struct qn_error *err)
{
    size_t count;
    const char *const *names = qn_bench_row_names(&count);
    const char *known[64];

    memcpy(known, names, count * sizeof(*known));
    known[count] = curves_word;
    options->rows = (const char *const *)given->words;
    options->row_count = given->word_count;
    for (size_t i = 0; i < given->word_count; i++) {
        const char *word = given->words[i];
        bool is_known = false;
        for (size_t n = 0; n <= count; n++) {
            is_known = is_known || strcmp(known[n], word) == 0;
        }
        if (!is_known) {
            const char *nearest = qn_nearest_word(qn_str_from_cstr(word), known, count + 1);
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                           "no such row: %.60s%s%s%s (quern bench --list names them)", word,
                           nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                           nearest != NULL ? "?" : "");
        }
        if (options->host != NULL && !qn_bench_row_is_plain(word)) {
            return misuse(err, "at an endpoint only send and drain can be measured, not ", word);
        }
        options->wants_curves = options->wants_curves || strcmp(word, curves_word) == 0;
    }
    options->wants_all = given->word_count == 0;
    options->wants_curves =
        options->wants_curves || (given->word_count == 0 && options->host == NULL);
    return true;
}

static bool read_numbers(const struct qn_options *given, struct qn_bench_options *options,
                         struct qn_error *err)
{
    const char *seconds = qn_options_text(given, SECONDS);

    if (!qn_options_integer(given, ROUNDS, 1, QN_BENCH_ROUNDS_MAX, &options->rounds, err)) {
        return false;
    }
    options->is_quick = qn_options_is_on(given, QUICK);
    options->rounds = options->is_quick ? 1 : options->rounds;
    options->seconds = options->is_quick ? 0.05 : 0.6;
    if (qn_options_text(given, PID) != NULL) {
        if (options->host == NULL) {
            return misuse(err, "--pid is the process of an --endpoint; give --endpoint too", "");
        }
        if (!qn_options_integer(given, PID, 1, INT32_MAX, &options->pid, err)) {
            return false;
        }
    }
    return seconds == NULL || read_seconds(seconds, &options->seconds, err);
}

static bool check_files(const struct qn_bench_options *options, struct qn_error *err)
{
    char reason[256];

    return qn_bench_check_files(options, reason) ||
           qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s", reason);
}

/* What is named once and kept as long as the run. */
struct texts {
    char program[PATH_ROOM];
    char host[256];
    char port[8];
};

static bool read_options(const struct qn_options *given, struct texts *texts,
                         struct qn_bench_options *options, struct qn_error *err)
{
    const char *endpoint = qn_options_text(given, ENDPOINT);
    const char *program = qn_options_text(given, SERVER);
    const char *directory = qn_options_text(given, DIRECTORY);

    *options = (struct qn_bench_options){
        .json_path = qn_options_text(given, JSON),
        .markdown_path = qn_options_text(given, TABLE),
        .svg_path = qn_options_text(given, CURVES),
        .directory = directory != NULL ? directory : table[DIRECTORY].fallback,
        .shows_progress = isatty(STDERR_FILENO) == 1,
        .read_send_us = read_send_us,
    };
    options->wants_curves = options->svg_path != NULL;
    if (endpoint != NULL) {
        if (program != NULL || options->svg_path != NULL) {
            return misuse(err,
                          "--endpoint measures what runs already; leave out --server and "
                          "--curves",
                          "");
        }
        if (!read_endpoint(endpoint, texts->host, texts->port, err)) {
            return false;
        }
        options->host = texts->host;
        options->port = texts->port;
    }
    ssize_t len = readlink("/proc/self/exe", texts->program, sizeof(texts->program) - 1);
    texts->program[len > 0 ? len : 0] = '\0';
    options->program = program != NULL ? program : texts->program;
    if (access(options->program, X_OK) != 0) {
        return misuse(err, "--server takes a program that can be run, not ", options->program);
    }
    if (access(options->directory, W_OK) != 0) {
        return misuse(err, "--directory takes a folder that can be written, not ",
                      options->directory);
    }
    return read_numbers(given, options, err) && read_rows(given, options, err) &&
           check_files(options, err);
}

static void print_help(void)
{
    (void)fputs("usage: quern bench [options] [ROW...]\n\n"
                "Measures the rows (all without names; curves counts as one), each with its\n"
                "servers, the bare libmicrohttpd (the echo) and probes. Read the ratios.\n\n",
                stdout);
    qn_options_print(table, OPTION_COUNT, false, "", stdout);
    (void)fputs(
        "\nExit code: 0 measured (a missed bar is no error), 2 wrong use, 4 something could\n"
        "not be measured.\n",
        stdout);
}

static int run(const struct qn_options *given)
{
    struct qn_bench_options options;
    struct texts texts;
    struct qn_error err;
    int64_t port;

    if (qn_options_text(given, ECHO) != NULL) {
        if (!qn_options_integer(given, ECHO, 1, 65535, &port, &err)) {
            (void)fprintf(stderr, "quern bench: %s\n", err.message);
            return QN_EXIT_USAGE;
        }
        (void)qn_bench_be_echo(port);
        (void)fprintf(stderr, "quern bench: port %d cannot be listened on\n", (int)port);
        return EXIT_BROKEN;
    }
    if (!read_options(given, &texts, &options, &err)) {
        (void)fprintf(stderr, "quern bench: %s\n", err.message);
        return QN_EXIT_USAGE;
    }
    return qn_bench_run(&options) ? QN_EXIT_OK : EXIT_BROKEN;
}

int qn_bench_main(int argc, char **argv)
{
    struct qn_options given;
    struct qn_error err;
    int code = QN_EXIT_OK;

    if (!qn_options_parse(&given, table, OPTION_COUNT, argc, argv, NULL, &err)) {
        (void)fprintf(stderr, "quern bench: %s\n", err.message);
        return QN_EXIT_USAGE;
    }
    if (given.wants_help) {
        print_help();
    } else if (qn_options_is_on(&given, LIST)) {
        qn_bench_list(stdout);
        (void)printf("%-13s %s\n", curves_word,
                     "how send and drain move with messages, queues, connections, bodies");
    } else {
        code = run(&given);
    }
    qn_options_done(&given);
    return code;
}
