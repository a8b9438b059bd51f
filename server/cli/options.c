/* Parsing and printing of options. */
#include "server/cli/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "chaos/lex.h"
#include "server/base/buf.h"
#include "server/base/wrap.h"

enum {
    NAME_MAX_BYTES = 64,
    OPTIONS_MAX = 64,
    HELP_COLUMN = 28,
    SLIPS_MAX = 2,
};

static void add_text(char ***texts, size_t *count, struct qn_str text)
{
    *texts = qn_memory_resize(*texts, *count + 1, sizeof(**texts));
    (*texts)[(*count)++] = qn_memory_copy_text(text.ptr, text.len);
}

static void add_given(struct qn_given *given, struct qn_str text)
{
    add_text(&given->texts, &given->count, text);
}

static const struct qn_option *find(const struct qn_options *options, struct qn_str name)
{
    for (size_t i = 0; i < options->count; i++) {
        if (qn_str_equal(name, qn_str_from_cstr(options->table[i].name))) {
            return &options->table[i];
        }
    }
    return NULL;
}

static bool give(struct qn_options *options, const struct qn_option *option, struct qn_str text,
                 struct qn_error *err)
{
    struct qn_given *given = &options->given[option - options->table];

    if (given->count > 0 && (option->flags & QN_OPTION_REPEATS) == 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "--%s is given twice", option->name);
    }
    add_given(given, text);
    return true;
}

static bool fail_unknown(const struct qn_options *options, struct qn_str name, const char *word,
                         struct qn_error *err)
{
    const char *names[OPTIONS_MAX];
    size_t count = options->count < OPTIONS_MAX ? options->count : OPTIONS_MAX;

    for (size_t i = 0; i < count; i++) {
        names[i] = options->table[i].name;
    }
    const char *nearest = qn_nearest_word(name, names, count);
    if (nearest != NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "unknown option --%.*s; did you mean --%s? (quern %s --help lists them)",
                       QN_STR_ARG(name), nearest, word);
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "unknown option --%.*s (quern %s --help lists them)", QN_STR_ARG(name), word);
}

/* The one short spelling that everybody expects. */
static bool is_output(const struct qn_options *options, struct qn_str argument)
{
    return qn_str_equal(argument, QN_STR("-o")) && find(options, QN_STR("output")) != NULL;
}

/* "--name", "--name VALUE", "--name=VALUE" */
static bool parse_option(struct qn_options *options, int argc, char **argv, int *at,
                         struct qn_error *err)
{
    struct qn_str argument = qn_str_from_cstr(argv[*at]);
    struct qn_str value = QN_STR_NONE;
    struct qn_str name = is_output(options, argument)
                             ? QN_STR("output")
                             : qn_str_cut(qn_str_from(argument, 2), '=', &value);
    const struct qn_option *option = find(options, name);

    if (option == NULL) {
        return fail_unknown(options, name, argv[0], err);
    }
    if (option->value == NULL) {
        if (!qn_str_is_none(value)) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "--%s takes no value",
                           option->name);
        }
        value = QN_STR("true");
    } else if (qn_str_is_none(value) && *at + 1 < argc) {
        value = qn_str_from_cstr(argv[++*at]);
    }
    if (value.len == 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "--%s needs a value: %s", option->name,
                       option->value);
    }
    return give(options, option, value, err);
}

static bool parse_arguments(struct qn_options *options, int argc, char **argv, struct qn_error *err)
{
    bool only_words = false;

    for (int i = 1; i < argc; i++) {
        struct qn_str argument = qn_str_from_cstr(argv[i]);
        if (only_words || argument.len < 2 || argument.ptr[0] != '-') {
            add_text(&options->words, &options->word_count, argument);
        } else if (qn_str_equal(argument, QN_STR("--"))) {
            only_words = true;
        } else if (qn_str_equal(argument, QN_STR("--help")) ||
                   qn_str_equal(argument, QN_STR("-h"))) {
            options->wants_help = true;
            options->wants_all_help = i + 1 < argc && strcmp(argv[i + 1], "all") == 0;
            i += options->wants_all_help;
        } else if (qn_str_equal(argument, QN_STR("--markdown"))) {
            options->wants_markdown = true;
        } else if (!qn_str_starts_with(argument, QN_STR("--")) && !is_output(options, argument)) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                           "unknown option %s (quern %s --help lists them)", argv[i], argv[0]);
        } else if (!parse_option(options, argc, argv, &i, err)) {
            return false;
        }
    }
    return true;
}

/* QUERN_CLIENT_TIMEOUT for client-timeout. */
static void name_variable(const char *prefix, const char *name, char out[NAME_MAX_BYTES])
{
    (void)snprintf(out, NAME_MAX_BYTES, "%s%s", prefix, name);
    for (char *at = out; *at != '\0'; at++) {
        if (*at >= 'a' && *at <= 'z') {
            *at = (char)(*at - 'a' + 'A');
        } else if (*at == '-') {
            *at = '_';
        }
    }
}

static bool is_yes(struct qn_str text)
{
    return qn_str_equal_nocase(text, QN_STR("true")) || qn_str_equal_nocase(text, QN_STR("yes")) ||
           qn_str_equal_nocase(text, QN_STR("on")) || qn_str_equal(text, QN_STR("1"));
}

static bool is_no(struct qn_str text)
{
    return qn_str_equal_nocase(text, QN_STR("false")) || qn_str_equal_nocase(text, QN_STR("no")) ||
           qn_str_equal_nocase(text, QN_STR("off")) || qn_str_equal(text, QN_STR("0"));
}

static bool take_variable(const struct qn_option *option, const char *variable, struct qn_str text,
                          struct qn_given *given, struct qn_error *err)
{
    if (option->value == NULL) {
        if (!is_yes(text) && !is_no(text)) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s must be true or false",
                           variable);
        }
        if (is_yes(text)) {
            add_given(given, QN_STR("true"));
        }
        return true;
    }
    if ((option->flags & QN_OPTION_REPEATS) == 0) {
        add_given(given, text);
        return true;
    }
    while (text.len > 0) {
        struct qn_str part = qn_str_trim(qn_str_cut(text, ';', &text));
        if (part.len > 0) {
            add_given(given, part);
        }
    }
    return true;
}

/* A variable that nobody reads and that is nearly the name of an option is a slip. Others may be
 * anybody's. */
static bool check_variable(const struct qn_options *options, const char *prefix,
                           struct qn_str variable, struct qn_error *err)
{
    const char *nearest = NULL;
    size_t fewest = SLIPS_MAX + 1;
    char name[NAME_MAX_BYTES];

    for (size_t i = 0; i < options->count; i++) {
        name_variable(prefix, options->table[i].name, name);
        size_t slips = qn_word_slips(variable, qn_str_from_cstr(name));
        if (slips < fewest) {
            fewest = slips;
            nearest = options->table[i].name;
        }
    }
    if (nearest == NULL || fewest == 0) {
        return true;
    }
    name_variable(prefix, nearest, name);
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%.*s is no option; did you mean %s?",
                   QN_STR_ARG(variable), name);
}

static bool check_environment(const struct qn_options *options, const char *prefix,
                              struct qn_error *err)
{
    for (char **variable = environ; *variable != NULL; variable++) {
        struct qn_str value;
        struct qn_str name = qn_str_cut(qn_str_from_cstr(*variable), '=', &value);
        if (value.len > 0 && qn_str_starts_with(name, qn_str_from_cstr(prefix)) &&
            !check_variable(options, prefix, name, err)) {
            return false;
        }
    }
    return true;
}

static bool parse_environment(struct qn_options *options, const char *prefix, struct qn_error *err)
{
    char variable[NAME_MAX_BYTES];

    for (size_t i = 0; i < options->count; i++) {
        const char *text;
        name_variable(prefix, options->table[i].name, variable);
        text = getenv(variable);
        /* An empty one is as good as none: that is how a compose file leaves one out. */
        if (options->given[i].count > 0 || text == NULL || text[0] == '\0') {
            continue;
        }
        if (!take_variable(&options->table[i], variable, qn_str_from_cstr(text), &options->given[i],
                           err)) {
            return false;
        }
    }
    return check_environment(options, prefix, err);
}

bool qn_options_parse(struct qn_options *options, const struct qn_option *table, size_t count,
                      int argc, char **argv, const char *environment_prefix, struct qn_error *err)
{
    *options = (struct qn_options){
        .table = table,
        .count = count,
        .given = qn_memory_new_array(count, sizeof(struct qn_given)),
    };
    if (parse_arguments(options, argc, argv, err) &&
        (environment_prefix == NULL || parse_environment(options, environment_prefix, err))) {
        return true;
    }
    qn_options_done(options);
    return false;
}

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        qn_memory_free(texts[i]);
    }
    qn_memory_free(texts);
}

void qn_options_done(struct qn_options *options)
{
    for (size_t i = 0; options->given != NULL && i < options->count; i++) {
        free_texts(options->given[i].texts, options->given[i].count);
    }
    qn_memory_free(options->given);
    free_texts(options->words, options->word_count);
    *options = (struct qn_options){0};
}

const char *qn_options_text(const struct qn_options *options, size_t row)
{
    const struct qn_given *given = &options->given[row];

    return given->count == 0 ? NULL : given->texts[given->count - 1];
}

bool qn_options_is_on(const struct qn_options *options, size_t row)
{
    return options->given[row].count > 0;
}

bool qn_options_integer(const struct qn_options *options, size_t row, int64_t min, int64_t max,
                        int64_t *ret_value, struct qn_error *err)
{
    const struct qn_option *option = &options->table[row];
    const char *text = qn_options_text(options, row);

    if (text == NULL) {
        text = option->fallback;
    }
    return qn_str_to_int64(qn_str_from_cstr(text), min, max, ret_value) ||
           qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "--%s must be an integer from %" PRId64 " to %" PRId64 ", not %s", option->name,
                   min, max, text);
}

static void print_row(const struct qn_option *option, FILE *out)
{
    bool repeats = (option->flags & QN_OPTION_REPEATS) != 0;
    int width = fprintf(out, "  --%s%s%s", option->name, option->value == NULL ? "" : " ",
                        option->value == NULL ? "" : option->value);
    struct qn_buf text;

    if (width > HELP_COLUMN - 2) { /* two blanks part it from its help */
        (void)fputc('\n', out);
        width = 0;
    }
    (void)fprintf(out, "%*s", HELP_COLUMN - width, "");
    qn_buf_init(&text, SIZE_MAX / 2);
    for (const char *help = option->help; *help != '\0'; help++) {
        qn_buf_append_char(&text, *help == '\n' ? ' ' : *help);
    }
    if (option->fallback != NULL) {
        qn_buf_append_format(&text, " (%sdefault %s%s%s)", repeats ? "repeatable; " : "",
                             option->fallback, option->unit == NULL ? "" : " ",
                             option->unit == NULL ? "" : option->unit);
    } else if (repeats) {
        qn_buf_append_literal(&text, " (repeatable)");
    }
    qn_wrap_print(qn_buf_str(&text), HELP_COLUMN, out);
    qn_buf_done(&text);
}

/* A bar would end the cell. */
static void print_cell(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '|') {
            (void)fputc('\\', out);
        }
        (void)fputc(*text == '\n' ? ' ' : *text, out);
    }
}

static void print_markdown_row(const struct qn_option *option, const char *prefix, FILE *out)
{
    char variable[NAME_MAX_BYTES];

    name_variable(prefix, option->name, variable);
    (void)fprintf(out, "| `--%s", option->name);
    if (option->value != NULL) {
        (void)fputc(' ', out);
        print_cell(option->value, out);
    }
    (void)fprintf(out, "` | `%s` | %s%s%s | ", variable,
                  option->fallback == NULL ? "" : option->fallback, option->unit == NULL ? "" : " ",
                  option->unit == NULL ? "" : option->unit);
    print_cell(option->help, out);
    (void)fprintf(out, "%s |\n", (option->flags & QN_OPTION_REPEATS) != 0 ? "; repeatable" : "");
}

void qn_options_print(const struct qn_option *table, size_t count, bool as_markdown,
                      const char *environment_prefix, FILE *out)
{
    if (as_markdown) {
        (void)fputs("| option | variable | default | |\n| --- | --- | --- | --- |\n", out);
    }
    for (size_t i = 0; i < count; i++) {
        if (as_markdown) {
            print_markdown_row(&table[i], environment_prefix, out);
        } else {
            print_row(&table[i], out);
        }
    }
}

void qn_options_print_common(const struct qn_option *table, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        if ((table[i].flags & QN_OPTION_COMMON) != 0) {
            print_row(&table[i], out);
        }
    }
}
