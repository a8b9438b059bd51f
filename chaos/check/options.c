/* Reading the command line: one table of options. */
#include "chaos/check/options.h"

enum kind { FLAG, TEXT, LIST, NUMBER, DURATION, CHOICE };

static const char *const profiles[] = {"standard", "fifo", NULL};
static const char *const tempos[] = {"fast", "normal", "real", NULL};
static const char *const busy_answers[] = {"wait", "409", NULL};

#define AT(member) offsetof(struct qn_check_options, member)

/* Who takes an option; what it changes about a run is said again in the command that repeats it. */
enum use { CHECK = 1, JUDGE = 2, AGAIN = 4 };

/* A row: its word, what its argument is called, where it is kept. CHOICE keeps the chosen word. */
static const struct row {
    const char *name;
    const char *argument; /* NULL: a flag */
    const char *help;
    enum kind kind;
    size_t offset;
    int64_t min;
    int64_t max;
    const char *const *choices;
    int uses; /* enum use, or-ed */
} rows[] = {
    {"--only", "ID", "run this scenario only (repeatable, * and ? as in a shell)", LIST, AT(only),
     0, 0, NULL, CHECK},
    {"--skip", "ID", "leave this scenario out (repeatable)", LIST, AT(skip), 0, 0, NULL, CHECK},
    {"--list", NULL, "show the scenarios and end", FLAG, AT(wants_list), 0, 0, NULL, CHECK},
    {"--scenario", "FILE", "a scenario of your own beside the others (repeatable)", LIST,
     AT(scenario_files), 0, 0, NULL, CHECK | AGAIN},
    {"--tier", "N", "only scenarios of this tier: 1, or 2 for the rarer ones", NUMBER, AT(tier), 1,
     9, NULL, CHECK},
    {"--profile", "NAME", "kind of the queue: standard (default) or fifo", CHOICE, AT(profile), 0,
     0, profiles, CHECK | AGAIN},
    {"--tempo", "NAME", "visibility of 4 s (fast, default), 10 s (normal) or 30 s (real)", CHOICE,
     AT(tempo), 0, 0, tempos, CHECK | AGAIN},
    {"--visibility", "SECONDS", "visibility timeout of the queues, whatever the tempo", NUMBER,
     AT(visibility_s), 1, 43200, NULL, CHECK | AGAIN},
    {"--concurrency", "N", "how many messages the consumer works on at once (default: observed)",
     NUMBER, AT(concurrency), 1, 10000, NULL, CHECK | AGAIN},
    {"--grace", "TIME", "from SIGTERM to SIGKILL (default 10s)", DURATION, AT(grace_ms), 0, 3600000,
     NULL, CHECK | AGAIN},
    {"--startup-timeout", "TIME", "until the consumer's first call (default 60s)", DURATION,
     AT(startup_ms), 1, 3600000, NULL, CHECK | AGAIN},
    {"--env", "NAME=TEXT", "one more variable; {queue_url} and others are filled in", LIST,
     AT(environment), 0, 0, NULL, CHECK | AGAIN},
    {"--seed", "N", "of everything that the harness and the server draw (default: fresh)", NUMBER,
     AT(seed), 0, INT64_MAX, NULL, CHECK},
    {"--json", "FILE", "write the report as JSON too (- for stdout)", TEXT, AT(json_path), 0, 0,
     NULL, CHECK | JUDGE},
    {"--junit", "FILE", "write it as JUnit XML too, for a CI server", TEXT, AT(junit_path), 0, 0,
     NULL, CHECK | JUDGE},
    {"--tap", "FILE", "write it in the Test Anything Protocol too (- for stdout)", TEXT,
     AT(tap_path), 0, 0, NULL, CHECK | JUDGE},
    {"--html", "FILE", "write it as one HTML file too, with a picture of each scenario", TEXT,
     AT(html_path), 0, 0, NULL, CHECK | JUDGE},
    {"--keep", "DIR", "keep traces and logs there", TEXT, AT(keep_directory), 0, 0, NULL, CHECK},
    {"--strict", NULL, "a WARN counts as a failure", FLAG, AT(strict), 0, 0, NULL, CHECK | JUDGE},
    {"--no-skip", NULL, "a SKIP within the profile counts as a failure", FLAG, AT(no_skip), 0, 0,
     NULL, CHECK},
    {"--no-idle-skip", NULL, "never move the clock on, wait instead", FLAG, AT(no_idle_skip), 0, 0,
     NULL, CHECK | AGAIN},
    {"--sink-capacity", "N", "the sink answers 429 beyond N open calls", NUMBER, AT(sink_capacity),
     1, 10000, NULL, CHECK | AGAIN},
    {"--sink-busy", "HOW", "a key that is being worked on: wait for it (default), or answer 409",
     CHOICE, AT(sink_busy), 0, 0, busy_answers, CHECK | AGAIN},
    {"--server", "PROGRAM", "the server to run (default: this program)", TEXT, AT(server_program),
     0, 0, NULL, CHECK},
    {"-v", NULL, "tell what happens while it happens", FLAG, AT(verbose), 0, 0, NULL, CHECK},
    {"--help", NULL, "this text", FLAG, AT(wants_help), 0, 0, NULL, CHECK | JUDGE},
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

bool qn_options_duration(struct qn_str text, int64_t *ret_ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {"", 1000}};
    size_t digits = 0;
    int64_t number;

    while (digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9') {
        digits++;
    }
    if (!qn_str_to_int64(qn_str_first(text, digits), 0, INT32_MAX, &number)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (qn_str_equal(qn_str_from(text, digits), qn_str_from_cstr(units[i].unit))) {
            *ret_ms = number * units[i].ms;
            return true;
        }
    }
    return false;
}

static const struct row *find_row(struct qn_str name, enum use use)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if ((rows[i].uses & (int)use) != 0 && qn_str_equal(name, qn_str_from_cstr(rows[i].name))) {
            return &rows[i];
        }
    }
    return NULL;
}

static bool set_choice(const struct row *row, const char *text, void *at, struct qn_error *err)
{
    char legal[80] = "";
    size_t len = 0;

    for (size_t i = 0; row->choices[i] != NULL; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            *(const char **)at = row->choices[i];
            return true;
        }
        len += (size_t)snprintf(legal + len, sizeof(legal) - len, "%s%s", i > 0 ? ", " : "",
                                row->choices[i]);
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s is one of %s, not \"%s\"", row->name,
                   legal, text);
}

static bool set(const struct row *row, const char *text, struct qn_check_options *options,
                struct qn_error *err)
{
    void *at = (char *)options + row->offset;
    struct qn_text_list *list = at;
    int64_t *number = at;

    switch (row->kind) {
    case FLAG:
        *(bool *)at = true;
        return true;
    case TEXT:
        *(const char **)at = text;
        return true;
    case LIST:
        if (list->count == QN_OPTIONS_LIST_MAX) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s is given too often", row->name);
        }
        list->items[list->count++] = text;
        return true;
    case CHOICE:
        return set_choice(row, text, at, err);
    case NUMBER:
        if (qn_str_to_int64(qn_str_from_cstr(text), row->min, row->max, number)) {
            return true;
        }
        break;
    case DURATION:
        if (qn_options_duration(qn_str_from_cstr(text), number) && *number >= row->min &&
            *number <= row->max) {
            return true;
        }
        break;
    }
    if (row->kind == DURATION) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "%s takes a time such as 500ms or 10s, up to 1h, not \"%s\"", row->name,
                       text);
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "%s takes a number from %lld to %lld, not \"%s\"", row->name,
                   (long long)row->min, (long long)row->max, text);
}

/* Reads the option at argv[*at], and leaves *at at its last word. */
static bool read_option(int argc, char **argv, int *at, enum use use,
                        struct qn_check_options *options, struct qn_error *err)
{
    struct qn_str rest;
    struct qn_str name = qn_str_cut(qn_str_from_cstr(argv[*at]), '=', &rest);
    const struct row *row = find_row(name, use);
    const char *text = rest.ptr; /* NULL: the next word, or none for a flag */

    if (row == NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "unknown option %s (%s)", argv[*at],
                       use == JUDGE ? "quern judge --help lists them"
                                    : "quern check --help lists them; the consumer's command comes "
                                      "after --");
    }
    if (row->argument == NULL && text != NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s takes no argument", row->name);
    }
    if (row->argument != NULL && text == NULL) {
        if (*at + 1 >= argc || strcmp(argv[*at + 1], "--") == 0) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s needs %s", row->name,
                           row->argument);
        }
        text = argv[++*at];
    }
    if (!set(row, text != NULL ? text : "", options, err)) {
        return false;
    }
    if (strcmp(row->name, "--env") == 0 && strchr(text, '=') == NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "--env takes %s, not \"%s\"",
                       row->argument, text);
    }
    options->has_seed = options->has_seed || strcmp(row->name, "--seed") == 0;
    return true;
}

static struct qn_check_options default_options(void)
{
    return (struct qn_check_options){.profile = profiles[0],
                                     .tempo = tempos[0],
                                     .sink_busy = busy_answers[0],
                                     .grace_ms = 10000,
                                     .startup_ms = 60000};
}

bool qn_options_read(int argc, char **argv, struct qn_check_options *ret_options,
                     struct qn_error *err)
{
    struct qn_check_options options = default_options();

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            options.command = &argv[i + 1];
            break;
        }
        if (!read_option(argc, argv, &i, CHECK, &options, err)) {
            return false;
        }
    }
    options.is_fifo = options.profile == profiles[1];
    options.sink_busy_is_409 = options.sink_busy == busy_answers[1];
    bool needs_command = !options.wants_help && !options.wants_list;
    if (needs_command && (options.command == NULL || options.command[0] == NULL)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "no consumer given: quern check [options] -- CMD [ARGUMENTS]");
    }
    *ret_options = options;
    return true;
}

bool qn_options_read_judge(int argc, char **argv, struct qn_check_options *ret_options,
                           struct qn_error *err)
{
    struct qn_check_options options = default_options();

    for (int i = 1; i < argc; i++) {
        bool is_trace = argv[i][0] != '-' || strcmp(argv[i], "-") == 0;
        if (!is_trace) {
            if (!read_option(argc, argv, &i, JUDGE, &options, err)) {
                return false;
            }
        } else if (options.traces.count < QN_OPTIONS_LIST_MAX) {
            options.traces.items[options.traces.count++] = argv[i];
        } else {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "at most %d traces at once",
                           QN_OPTIONS_LIST_MAX);
        }
    }
    if (options.traces.count == 0 && !options.wants_help) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "no trace given: quern judge [options] TRACE... (- for stdin)");
    }
    *ret_options = options;
    return true;
}

/* A word as a shell needs it. */
static void append_word(struct qn_buf *buf, const char *text)
{
    bool is_plain = text[0] != '\0';

    for (const char *at = text; *at != '\0'; at++) {
        is_plain = is_plain && strchr(" \t\n\"'\\$`*?[]{}()<>|&;#~!", *at) == NULL;
    }
    if (is_plain) {
        qn_buf_append_str(buf, qn_str_from_cstr(text));
        return;
    }
    qn_buf_append_char(buf, '\'');
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\'') {
            qn_buf_append_literal(buf, "'\\''");
        } else {
            qn_buf_append_char(buf, *at);
        }
    }
    qn_buf_append_char(buf, '\'');
}

void qn_options_append_command(char *const *command, struct qn_buf *buf)
{
    for (size_t i = 0; command != NULL && command[i] != NULL; i++) {
        if (i > 0) {
            qn_buf_append_char(buf, ' ');
        }
        append_word(buf, command[i]);
    }
}

/* As it was given, when it differs from the default. */
static void append_option(const struct row *row, const struct qn_check_options *options,
                          struct qn_buf *buf)
{
    const struct qn_check_options defaults = default_options();
    const void *at = (const char *)options + row->offset;
    const void *usual = (const char *)&defaults + row->offset;
    const struct qn_text_list *list = at;
    const char *const *word = at;
    const int64_t *number = at;

    switch (row->kind) {
    case FLAG:
        if (*(const bool *)at) {
            qn_buf_append_format(buf, " %s", row->name);
        }
        break;
    case LIST:
        for (size_t i = 0; i < list->count; i++) {
            qn_buf_append_format(buf, " %s ", row->name);
            append_word(buf, list->items[i]);
        }
        break;
    case TEXT:
    case CHOICE:
        if (*word != NULL && *word != *(const char *const *)usual) {
            qn_buf_append_format(buf, " %s ", row->name);
            append_word(buf, *word);
        }
        break;
    case NUMBER:
    case DURATION:
        if (*number != *(const int64_t *)usual) {
            qn_buf_append_format(buf, " %s %lld%s", row->name, (long long)*number,
                                 row->kind == DURATION ? "ms" : "");
        }
        break;
    }
}

void qn_options_append_again(const struct qn_check_options *options, struct qn_str scenario,
                             uint64_t seed, struct qn_buf *buf)
{
    qn_buf_append_format(buf, "quern check --only %.*s", QN_STR_ARG(scenario));
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if ((rows[i].uses & AGAIN) != 0) {
            append_option(&rows[i], options, buf);
        }
    }
    qn_buf_append_format(buf, " --seed %llu -- ", (unsigned long long)seed);
    if (options->command != NULL && options->command[0] != NULL) {
        qn_options_append_command(options->command, buf);
    } else {
        qn_buf_append_literal(buf, "CMD"); /* a trace that does not say who ran */
    }
}

static void print_rows(FILE *file, enum use use)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        char left[40];
        (void)snprintf(left, sizeof(left), "%s%s%s", rows[i].name,
                       rows[i].argument != NULL ? " " : "",
                       rows[i].argument != NULL ? rows[i].argument : "");
        if ((rows[i].uses & (int)use) != 0) {
            (void)fprintf(file, "  %-24s %s\n", left, rows[i].help);
        }
    }
}

void qn_options_print_help(FILE *file)
{
    (void)fputs(
        "usage: quern check [options] -- CMD [ARGUMENTS]\n\n"
        "Starts CMD once per scenario against a server of its own, breaks things on purpose, and\n"
        "judges from the trace what the consumer did. CMD finds the queue in QUEUE_URL, the\n"
        "endpoint in AWS_ENDPOINT_URL and the effect sink in QUERN_SINK_URL.\n\n",
        file);
    print_rows(file, CHECK);
    (void)fputs(
        "\nExit code: 0 all well; 1 a FAIL; 2 wrong usage; 3 inconclusive; 4 the harness or the\n"
        "server failed by itself.\n",
        file);
}

void qn_options_print_judge_help(FILE *file)
{
    (void)fputs("usage: quern judge [options] TRACE...\n\n"
                "Judges traces that `quern check --keep` stored, and writes the same reports from "
                "them (- for\nstdin).\n\n",
                file);
    print_rows(file, JUDGE);
}
