/* The table of options, for the files that read the command line and quern.json and tell of both.
 */
#ifndef QN_CHECK_OPTIONS_ROWS_H
#define QN_CHECK_OPTIONS_ROWS_H

#include "chaos/check/options.h"
#include "server/base/arena.h"

enum qn_option_kind {
    QN_OPTION_FLAG,
    QN_OPTION_TEXT,
    QN_OPTION_LIST,
    QN_OPTION_PAIRS, /* a list of NAME=TEXT, one for each name */
    QN_OPTION_CODES, /* a list of exit codes */
    QN_OPTION_NUMBER,
    QN_OPTION_DURATION,
    QN_OPTION_MINUTES, /* a number that may have a fraction; kept in milliseconds */
    QN_OPTION_CHOICE
};

/* Who takes an option. What it changes about a run is said again in the command that repeats it. */
enum qn_option_use {
    QN_OPTION_CHECK = 1,
    QN_OPTION_JUDGE = 2,
    QN_OPTION_AGAIN = 4,
    QN_OPTION_FILE = 8 /* a member of quern.json too: without the dashes, '_' for '-' */
};

/* A row: its word, what its argument is called, where it is kept. CHOICE keeps the chosen word. */
struct qn_option_row {
    const char *name;
    const char *argument; /* NULL: a flag */
    const char *help;
    enum qn_option_kind kind;
    size_t offset;
    int64_t min;
    int64_t max;
    const char *const *choices;
    int uses; /* enum qn_option_use, or-ed */
};

/* The file of declarations that is read where no other is named. */
#define QN_CONFIG_USUAL "quern.json"

extern const struct qn_option_row qn_option_rows[];
extern const size_t qn_option_row_count;

struct qn_check_options qn_options_default(void);
/* What follows from all of them together. */
void qn_options_complete(struct qn_check_options *options);
/* Keeps the text as the option's value; it must outlive the options. The name is what a complaint
 * calls it. */
QN_MUST_CHECK bool qn_options_set(const struct qn_option_row *row, const char *called,
                                  const char *text, struct qn_check_options *options,
                                  struct qn_error *err);

/* options_check.c: whether the text can be used: a name that a queue may have, a file that is
 * there.
 */
QN_MUST_CHECK bool qn_options_check_text(const struct qn_option_row *row, const char *called,
                                         const char *text, struct qn_error *err);

/* config.c: reads quern.json (the text of the file, the name for complaints) over the options; its
 * texts are copied to the arena. Fails with all that is wrong, each with its line. The scenario
 * files are those of the command line, which take the place of its own. */
QN_MUST_CHECK bool qn_config_read(struct qn_str text, const char *name,
                                  const struct qn_text_list *scenario_files,
                                  struct qn_check_options *options, struct qn_arena *arena,
                                  struct qn_error *err);

#endif
