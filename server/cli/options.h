/* Command line options from a table: the same table parses, gives the environment variables, and
 * prints the help. */
#ifndef QN_CLI_OPTIONS_H
#define QN_CLI_OPTIONS_H

#include <stdio.h>

#include "server/base/error.h"

enum { QN_OPTION_REPEATS = 1, QN_OPTION_COMMON = 2 /* on the short page */ };

struct qn_option {
    const char *name;     /* "port", without dashes */
    const char *value;    /* what stands for the value in the help; NULL: a switch */
    const char *fallback; /* the default as it is shown; NULL: none */
    const char *unit;     /* NULL: none */
    const char *help;
    unsigned flags;
};

/* What was given for one option, in order. A switch that is on has the one text "true". */
struct qn_given {
    char **texts;
    size_t count;
};

struct qn_options {
    const struct qn_option *table;
    size_t count;
    struct qn_given *given; /* one for each row */
    char **words;           /* what is no option */
    size_t word_count;
    bool wants_help;
    bool wants_all_help; /* --help all */
    bool wants_markdown;
};

/* Reads argv[1] and the following; argv[0] names the subcommand. With an environment prefix
 * ("QUERN_") what was not given comes from PREFIX and the name in capitals; there repeated values
 * are separated by ';'. Fails with one line that says what is wrong. */
QN_MUST_CHECK bool qn_options_parse(struct qn_options *options, const struct qn_option *table,
                                    size_t count, int argc, char **argv,
                                    const char *environment_prefix, struct qn_error *err);
void qn_options_done(struct qn_options *options);

/* The last text given, or NULL. */
const char *qn_options_text(const struct qn_options *options, size_t row);
bool qn_options_is_on(const struct qn_options *options, size_t row);
/* The last value within the bounds, or the row's fallback. */
QN_MUST_CHECK bool qn_options_integer(const struct qn_options *options, size_t row, int64_t min,
                                      int64_t max, int64_t *ret_value, struct qn_error *err);

/* For people, or as the rows of a Markdown table. */
void qn_options_print(const struct qn_option *table, size_t count, bool as_markdown,
                      const char *environment_prefix, FILE *out);
/* Those that are common, for people. */
void qn_options_print_common(const struct qn_option *table, size_t count, FILE *out);

#endif
