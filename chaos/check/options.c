/* Reading the command line, over what quern.json says. */
#include "chaos/check/options.h"

#include <errno.h>
#include <stdio.h>

#include "chaos/check/bodies.h"
#include "chaos/check/options_rows.h"
#include "chaos/check/placeholders.h"

enum { CONFIG_MAX_BYTES = 1024 * 1024 };

static const char usual_config[] = QN_CONFIG_USUAL;

/* A command line while it is read. */
struct reading {
    int argc;
    char **argv;
    enum qn_option_use use;
    struct qn_check_options *options;
    struct qn_error *err;
};

static const struct qn_option_row *find_row(struct qn_str name, enum qn_option_use use)
{
    for (size_t i = 0; i < qn_option_row_count; i++) {
        if ((qn_option_rows[i].uses & (int)use) != 0 &&
            qn_str_equal(name, qn_str_from_cstr(qn_option_rows[i].name))) {
            return &qn_option_rows[i];
        }
    }
    return NULL;
}

static bool keep(struct reading *reading, const struct qn_option_row *row, const char *text)
{
    struct qn_text_list *list = (void *)((char *)reading->options + row->offset);
    bool *is_given = &reading->options->is_given[row - qn_option_rows];

    /* Lists start anew at their first flag: what quern.json has in them is replaced. */
    if ((row->kind == QN_OPTION_LIST || row->kind == QN_OPTION_CODES) && !*is_given) {
        list->count = 0;
    }
    *is_given = true;
    return qn_options_set(row, row->name, text, reading->options, reading->err);
}

/* Reads the option at argv[*at], and leaves *at at its last word. */
static bool read_option(struct reading *reading, int *at)
{
    char **argv = reading->argv;
    struct qn_str rest;
    struct qn_str name = qn_str_cut(qn_str_from_cstr(argv[*at]), '=', &rest);
    const struct qn_option_row *row = find_row(name, reading->use);
    const char *text = rest.ptr; /* NULL: the next word, or none for a flag */

    if (row == NULL && strncmp(argv[*at], "-j", 2) == 0) { /* -j8 */
        row = find_row(QN_STR("-j"), reading->use);
        text = argv[*at] + 2;
    }
    if (row == NULL) {
        return qn_fail(reading->err, QN_ERR_INVALID_PARAMETER_VALUE, "unknown option %s (%s)",
                       argv[*at],
                       reading->use == QN_OPTION_JUDGE
                           ? "quern judge --help lists them"
                           : "quern check --help lists them; the consumer's command comes after "
                             "--");
    }
    if (row->argument == NULL && text != NULL) {
        return qn_fail(reading->err, QN_ERR_INVALID_PARAMETER_VALUE, "%s takes no argument",
                       row->name);
    }
    if (row->argument != NULL && text == NULL) {
        if (*at + 1 >= reading->argc || strcmp(argv[*at + 1], "--") == 0) {
            return qn_fail(reading->err, QN_ERR_INVALID_PARAMETER_VALUE, "%s needs %s", row->name,
                           row->argument);
        }
        text = argv[++*at];
    }
    reading->options->has_seed = reading->options->has_seed || strcmp(row->name, "--seed") == 0;
    if (strcmp(row->name, "--help") == 0 && *at + 1 < reading->argc &&
        strcmp(argv[*at + 1], "all") == 0) {
        reading->options->wants_all_help = true;
        (*at)++;
    }
    return keep(reading, row, text != NULL ? text : "");
}

static bool read_words(struct reading *reading)
{
    for (int i = 1; i < reading->argc; i++) {
        if (strcmp(reading->argv[i], "--") == 0) {
            reading->options->command = &reading->argv[i + 1];
            return true;
        }
        if (!read_option(reading, &i)) {
            return false;
        }
    }
    return true;
}

static struct qn_arena *new_texts(void)
{
    struct qn_arena *texts = qn_memory_new(sizeof(*texts));

    qn_arena_init(texts, SIZE_MAX / 2);
    return texts;
}

/* The file that --config names must be there; the one in the working directory may be. */
static bool read_config(struct qn_check_options *options, const struct qn_check_options *given,
                        struct qn_error *err)
{
    bool is_usual = options->config_path == NULL;
    const char *path = is_usual ? usual_config : options->config_path;
    FILE *file = fopen(path, "re");
    struct qn_buf text;
    char block[4096];
    size_t len;

    if (file == NULL) {
        return (is_usual && errno == ENOENT) ||
               qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s%s: %s", is_usual ? "" : "--config ",
                       path, strerror(errno));
    }
    qn_buf_init(&text, CONFIG_MAX_BYTES);
    while ((len = fread(block, 1, sizeof(block), file)) > 0) {
        qn_buf_append(&text, block, len);
    }
    bool ok = ferror(file) == 0 && !text.overflow;
    (void)fclose(file);
    if (!ok) {
        qn_buf_done(&text);
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s cannot be read", path);
    }
    options->config_path = path;
    options->texts = new_texts();
    ok = qn_config_read(qn_buf_str(&text), path, &given->scenario_files, options, options->texts,
                        err);
    qn_buf_done(&text);
    return ok;
}

/* What the command line says, and quern.json once more. */
static bool check_texts(const struct qn_check_options *options, struct qn_error *err)
{
    for (size_t i = 0; i < qn_option_row_count; i++) {
        const struct qn_option_row *row = &qn_option_rows[i];
        const void *at = (const char *)options + row->offset;
        const char *const *text = at;
        const struct qn_text_list *pairs = at;
        if (row->kind == QN_OPTION_TEXT && *text != NULL &&
            !qn_options_check_text(row, row->name, *text, err)) {
            return false;
        }
        for (size_t j = 0; row->kind == QN_OPTION_PAIRS && j < pairs->count; j++) {
            if (!qn_options_check_text(row, row->name, pairs->items[j], err)) {
                return false;
            }
        }
    }
    return true;
}

/* Which words start the consumer. */
static bool settle_command(struct qn_check_options *options, bool is_given, struct qn_error *err)
{
    if (options->start_command != NULL && is_given) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--start-cmd stands for the command after --: give one of the two");
    }
    for (size_t i = 0; is_given && options->command[i] != NULL; i++) {
        if (!qn_placeholders_check("the command", options->command[i], err)) {
            return false;
        }
    }
    if (options->start_command != NULL) {
        if (options->texts == NULL) {
            options->texts = new_texts();
        }
        options->command = qn_arena_alloc(options->texts, 4 * sizeof(*options->command));
        const char *const words[] = {"sh", "-c", options->start_command, NULL};
        memcpy(options->command, words, sizeof(words));
    }
    if (!check_texts(options, err)) {
        return false;
    }
    if (options->bodies.count > 0 && options->texts == NULL) {
        options->texts = new_texts();
    }
    if (!qn_bodies_load(options, err)) {
        return false;
    }
    bool needs_command = !options->wants_help && !options->wants_list;
    if (needs_command && (options->command == NULL || options->command[0] == NULL)) {
        return qn_fail(
            err, QN_ERR_INVALID_PARAMETER_VALUE,
            "no consumer given: quern check [options] -- CMD [ARGUMENTS], or a quern.json "
            "here (quern check init writes one)");
    }
    return true;
}

bool qn_options_read(int argc, char **argv, struct qn_check_options *ret_options,
                     struct qn_error *err)
{
    struct qn_check_options options = qn_options_default();
    struct qn_check_options given = options;
    struct reading reading = {argc, argv, QN_OPTION_CHECK, &given, err};

    /* Once to see which file counts, and again because flags win over it. */
    if (!read_words(&reading)) {
        return false;
    }
    options.config_path = given.config_path;
    if (!given.wants_help && !read_config(&options, &given, err)) {
        qn_check_options_done(&options);
        return false;
    }
    const char *config_path = options.config_path;
    reading = (struct reading){argc, argv, QN_OPTION_CHECK, &options, err};
    bool ok = read_words(&reading);
    options.config_path = config_path;
    ok = ok && settle_command(&options, given.command != NULL, err);
    qn_options_complete(&options);
    if (!ok) {
        qn_check_options_done(&options);
        return false;
    }
    *ret_options = options;
    return true;
}

bool qn_options_read_judge(int argc, char **argv, struct qn_check_options *ret_options,
                           struct qn_error *err)
{
    struct qn_check_options options = qn_options_default();
    struct reading reading = {argc, argv, QN_OPTION_JUDGE, &options, err};

    for (int i = 1; i < argc; i++) {
        bool is_trace = argv[i][0] != '-' || strcmp(argv[i], "-") == 0;
        if (!is_trace) {
            if (!read_option(&reading, &i)) {
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

void qn_check_options_done(struct qn_check_options *options)
{
    if (options->texts != NULL) {
        qn_arena_done(options->texts);
        qn_memory_free(options->texts);
        options->texts = NULL;
    }
}
