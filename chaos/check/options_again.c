/* Options told to people: the help, and the command that repeats a run. */
#include <stdio.h>

#include "chaos/check/declared.h"
#include "chaos/check/options_rows.h"
#include "server/base/wrap.h"

enum { HELP_COLUMN = 27 };

/* Characters that mean nothing to any shell, wherever they stand. */
static bool is_plain(char c)
{
    return qn_char_is_alphanumeric(c) || (c != '\0' && strchr("_-./:@%+,", c) != NULL);
}

/* A word as a shell needs it. zsh looks for a program where a word begins with '='. */
static void append_word(struct qn_buf *buf, const char *text)
{
    bool needs_quotes = text[0] == '\0' || text[0] == '=';

    for (const char *at = text; *at != '\0'; at++) {
        needs_quotes = needs_quotes || !(is_plain(*at) || *at == '=');
    }
    if (!needs_quotes) {
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

/* What would hold if nothing but these were said. */
static struct qn_check_options usual_options(const struct qn_check_options *options)
{
    struct qn_check_options usual = qn_options_default();

    usual.endpoint_host = options->endpoint_host;
    usual.tempo = options->tempo; /* some defaults follow from it */
    qn_options_complete(&usual);
    usual.tempo = qn_options_default().tempo;
    usual.endpoint_host = NULL;
    usual.config_path = QN_CONFIG_USUAL;
    return usual;
}

static bool is_usual(const struct qn_option_row *row, const struct qn_check_options *options)
{
    const struct qn_check_options defaults = usual_options(options);
    const void *at = (const char *)options + row->offset;
    const void *usual = (const char *)&defaults + row->offset;
    const char *word;
    const char *usual_word;

    switch (row->kind) {
    case QN_OPTION_FLAG:
        return !*(const bool *)at;
    case QN_OPTION_LIST:
    case QN_OPTION_PAIRS:
        return ((const struct qn_text_list *)at)->count == 0;
    case QN_OPTION_CODES:
        return qn_declared_exits_are_usual(options);
    case QN_OPTION_TEXT:
    case QN_OPTION_CHOICE:
        word = *(const char *const *)at;
        usual_word = *(const char *const *)usual;
        return word == NULL || (usual_word != NULL && strcmp(word, usual_word) == 0);
    case QN_OPTION_MINUTES:
    case QN_OPTION_NUMBER:
    case QN_OPTION_DURATION:
        break;
    }
    return *(const int64_t *)at == *(const int64_t *)usual;
}

/* As it was given, when it differs from what holds without it: the default, or what the file of
 * declarations says, over which a flag with the default has won. */
static void append_option(const struct qn_option_row *row, const struct qn_check_options *options,
                          struct qn_buf *buf)
{
    const void *at = (const char *)options + row->offset;
    const struct qn_text_list *list = at;
    const int64_t *number = at;
    bool wins_over_file = options->config_path != NULL && options->is_given[row - qn_option_rows] &&
                          row->offset != offsetof(struct qn_check_options, config_path);

    if (is_usual(row, options) && !wins_over_file) {
        return;
    }
    switch (row->kind) {
    case QN_OPTION_FLAG:
        qn_buf_append_format(buf, " %s", row->name);
        break;
    case QN_OPTION_LIST:
    case QN_OPTION_PAIRS:
    case QN_OPTION_CODES:
        for (size_t i = 0; i < list->count; i++) {
            qn_buf_append_format(buf, " %s ", row->name);
            append_word(buf, list->items[i]);
        }
        break;
    case QN_OPTION_TEXT:
    case QN_OPTION_CHOICE:
        qn_buf_append_format(buf, " %s ", row->name);
        append_word(buf, *(const char *const *)at);
        break;
    case QN_OPTION_MINUTES:
        qn_buf_append_format(buf, " %s %.6g", row->name, (double)*number / 60000);
        break;
    case QN_OPTION_NUMBER:
    case QN_OPTION_DURATION:
        qn_buf_append_format(buf, " %s %lld%s", row->name, (long long)*number,
                             row->kind == QN_OPTION_DURATION ? "ms" : "");
        break;
    }
}

void qn_options_append_again(const struct qn_check_options *options, struct qn_str scenario,
                             uint64_t seed, struct qn_buf *buf)
{
    qn_buf_append_format(buf, "quern check --only %.*s", QN_STR_ARG(scenario));
    for (size_t i = 0; i < qn_option_row_count; i++) {
        if ((qn_option_rows[i].uses & QN_OPTION_AGAIN) != 0) {
            append_option(&qn_option_rows[i], options, buf);
        }
    }
    qn_buf_append_format(buf, " --seed %llu", (unsigned long long)seed);
    if (options->start_command != NULL) {
        return; /* said already */
    }
    qn_buf_append_literal(buf, " -- ");
    if (options->command != NULL && options->command[0] != NULL) {
        qn_options_append_command(options->command, buf);
    } else {
        qn_buf_append_literal(buf, "CMD"); /* a trace that does not say who ran */
    }
}

static void print_row(const struct qn_option_row *row, FILE *file)
{
    char left[40];

    (void)snprintf(left, sizeof(left), "%s%s%s", row->name, row->argument != NULL ? " " : "",
                   row->argument != NULL ? row->argument : "");
    (void)fprintf(file, "  %-*s ", HELP_COLUMN - 3, left);
    qn_wrap_print(qn_str_from_cstr(row->help), HELP_COLUMN, file);
}

static void print_rows(FILE *file, enum qn_option_use use)
{
    for (size_t i = 0; i < qn_option_row_count; i++) {
        if ((qn_option_rows[i].uses & (int)use) != 0) {
            print_row(&qn_option_rows[i], file);
        }
    }
}

static void print_common_rows(FILE *file)
{
    static const char *const common[] = {
        "--only", "--skip",    "--tier",        "--list", "-j",      "--fail-fast", "--seed",
        "--json", "--profile", "--concurrency", "--html", "--junit", "--help"};

    for (size_t i = 0; i < qn_option_row_count; i++) {
        for (size_t j = 0; j < sizeof(common) / sizeof(common[0]); j++) {
            if (strcmp(qn_option_rows[i].name, common[j]) == 0) {
                print_row(&qn_option_rows[i], file);
            }
        }
    }
}

void qn_options_print_help(bool all, FILE *file)
{
    (void)fputs(
        "usage: quern check [options] -- CMD [ARGUMENTS]\n"
        "       quern check init [LANGUAGE]   writes quern.json and an adapter\n\n"
        "Starts CMD once per scenario against a server of its own, breaks things on\n"
        "purpose, and judges from the trace what the consumer did. CMD finds the queue in\n"
        "QUEUE_URL, the endpoint in AWS_ENDPOINT_URL, the effect sink in QUERN_SINK_URL.\n\n",
        file);
    if (all) {
        print_rows(file, QN_OPTION_CHECK);
    } else {
        print_common_rows(file);
    }
    (void)fputs(
        "\nExit code: 0 all well; 1 a FAIL; 2 wrong usage; 3 inconclusive; 4 the harness or\n"
        "the server failed by itself.\n",
        file);
}

void qn_options_print_judge_help(FILE *file)
{
    (void)fputs("usage: quern judge [options] TRACE...\n\n"
                "Judges traces that `quern check --keep` stored, and writes the same reports from\n"
                "them (- for stdin, a folder for all traces in it).\n\n",
                file);
    print_rows(file, QN_OPTION_JUDGE);
}
