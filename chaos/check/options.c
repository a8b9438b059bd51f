/* Reading the command line: one table of options. */
#include "chaos/check/options.h"

enum kind { FLAG, TEXT, LIST, NUMBER, DURATION, CHOICE };

static const char *const profiles[] = {"standard", "fifo", NULL};
static const char *const tempos[] = {"fast", "normal", "real", NULL};
static const char *const busy_answers[] = {"wait", "409", NULL};

/* A row: its word, what its argument is called, where it is kept. CHOICE keeps the chosen word. */
struct choice_values {
    const char *profile;
    const char *sink_busy;
};

struct all_values {
    struct qn_check_options options;
    struct choice_values choices;
};

#define AT(member) offsetof(struct all_values, member)

static const struct row {
    const char *name;
    const char *argument; /* NULL: a flag */
    const char *help;
    enum kind kind;
    size_t offset;
    int64_t min;
    int64_t max;
    const char *const *choices;
} rows[] = {
    {"--only", "ID", "run this scenario only (repeatable, * and ? as in a shell)", LIST,
     AT(options.only), 0, 0, NULL},
    {"--skip", "ID", "leave this scenario out (repeatable)", LIST, AT(options.skip), 0, 0, NULL},
    {"--list", NULL, "show the scenarios and end", FLAG, AT(options.wants_list), 0, 0, NULL},
    {"--profile", "NAME", "kind of the queue: standard (default) or fifo", CHOICE,
     AT(choices.profile), 0, 0, profiles},
    {"--tempo", "NAME", "visibility of 4 s (fast, default), 10 s (normal) or 30 s (real)", CHOICE,
     AT(options.tempo), 0, 0, tempos},
    {"--visibility", "SECONDS", "visibility timeout of the queues, whatever the tempo", NUMBER,
     AT(options.visibility_s), 1, 43200, NULL},
    {"--concurrency", "N", "how many messages the consumer works on at once (default: observed)",
     NUMBER, AT(options.concurrency), 1, 10000, NULL},
    {"--grace", "TIME", "from SIGTERM to SIGKILL (default 10s)", DURATION, AT(options.grace_ms), 0,
     3600000, NULL},
    {"--startup-timeout", "TIME", "until the consumer's first call (default 60s)", DURATION,
     AT(options.startup_ms), 1, 3600000, NULL},
    {"--env", "NAME=TEXT", "one more variable; {queue_url} and others are filled in", LIST,
     AT(options.environment), 0, 0, NULL},
    {"--seed", "N", "of everything that the harness and the server draw (default: fresh)", NUMBER,
     AT(options.seed), 0, INT64_MAX, NULL},
    {"--json", "FILE", "write the report as JSON too", TEXT, AT(options.json_path), 0, 0, NULL},
    {"--keep", "DIR", "keep traces and logs there", TEXT, AT(options.keep_directory), 0, 0, NULL},
    {"--strict", NULL, "a WARN counts as a failure", FLAG, AT(options.strict), 0, 0, NULL},
    {"--no-skip", NULL, "a SKIP within the profile counts as a failure", FLAG, AT(options.no_skip),
     0, 0, NULL},
    {"--no-idle-skip", NULL, "never move the clock on, wait instead", FLAG,
     AT(options.no_idle_skip), 0, 0, NULL},
    {"--sink-capacity", "N", "the sink answers 429 beyond N open calls", NUMBER,
     AT(options.sink_capacity), 1, 10000, NULL},
    {"--sink-busy", "HOW", "a key that is being worked on: wait for it (default), or answer 409",
     CHOICE, AT(choices.sink_busy), 0, 0, busy_answers},
    {"--server", "PROGRAM", "the server to run (default: this program)", TEXT,
     AT(options.server_program), 0, 0, NULL},
    {"-v", NULL, "tell what happens while it happens", FLAG, AT(options.verbose), 0, 0, NULL},
    {"--help", NULL, "this text", FLAG, AT(options.wants_help), 0, 0, NULL},
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

static const struct row *find_row(struct qn_str name)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (qn_str_equal(name, qn_str_from_cstr(rows[i].name))) {
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

static bool set(const struct row *row, const char *text, struct all_values *values,
                struct qn_error *err)
{
    void *at = (char *)values + row->offset;
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

bool qn_options_read(int argc, char **argv, struct qn_check_options *ret_options,
                     struct qn_error *err)
{
    struct all_values values = {
        .options = {.tempo = tempos[0], .grace_ms = 10000, .startup_ms = 60000},
        .choices = {.profile = profiles[0], .sink_busy = busy_answers[0]},
    };

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            values.options.command = &argv[i + 1];
            break;
        }
        struct qn_str rest;
        struct qn_str name = qn_str_cut(qn_str_from_cstr(argv[i]), '=', &rest);
        const struct row *row = find_row(name);
        const char *text = rest.ptr; /* NULL: the next word, or none for a flag */
        if (row == NULL) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                           "unknown option %s (quern check --help lists them; the consumer's "
                           "command comes after --)",
                           argv[i]);
        }
        if (row->argument == NULL && text != NULL) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s takes no argument", row->name);
        }
        if (row->argument != NULL && text == NULL) {
            if (i + 1 >= argc || strcmp(argv[i + 1], "--") == 0) {
                return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s needs %s", row->name,
                               row->argument);
            }
            text = argv[++i];
        }
        if (!set(row, text != NULL ? text : "", &values, err)) {
            return false;
        }
        if (strcmp(row->name, "--env") == 0 && strchr(text, '=') == NULL) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "--env takes %s, not \"%s\"",
                           row->argument, text);
        }
        values.options.has_seed = values.options.has_seed || strcmp(row->name, "--seed") == 0;
    }
    values.options.is_fifo = values.choices.profile == profiles[1];
    values.options.sink_busy_is_409 = values.choices.sink_busy == busy_answers[1];
    bool needs_command = !values.options.wants_help && !values.options.wants_list;
    if (needs_command && (values.options.command == NULL || values.options.command[0] == NULL)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "no consumer given: quern check [options] -- CMD [ARGUMENTS]");
    }
    *ret_options = values.options;
    return true;
}

void qn_options_print_help(FILE *file)
{
    (void)fputs(
        "usage: quern check [options] -- CMD [ARGUMENTS]\n\n"
        "Starts CMD once per scenario against a server of its own, breaks things on purpose, and\n"
        "judges from the trace what the consumer did. CMD finds the queue in QUEUE_URL, the\n"
        "endpoint in AWS_ENDPOINT_URL and the effect sink in QUERN_SINK_URL.\n\n",
        file);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        char left[40];
        (void)snprintf(left, sizeof(left), "%s%s%s", rows[i].name,
                       rows[i].argument != NULL ? " " : "",
                       rows[i].argument != NULL ? rows[i].argument : "");
        (void)fprintf(file, "  %-24s %s\n", left, rows[i].help);
    }
    (void)fputs(
        "\nExit code: 0 all well; 1 a FAIL; 2 wrong usage; 3 inconclusive; 4 the harness or the\n"
        "server failed by itself.\n",
        file);
}
