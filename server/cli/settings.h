/* What `quern serve` was asked to do, read from its options and checked as far as that goes without
 * touching anything. */
#ifndef QN_CLI_SETTINGS_H
#define QN_CLI_SETTINGS_H

#include <jansson.h>

#include "chaos/chaos.h"
#include "server/base/log.h"
#include "server/cli/options.h"
#include "server/journal/journal.h"
#include "server/model/limits.h"

enum qn_serve_option {
#define QN_SERVE_OPTION(symbol, name, value, fallback, unit, help, flags) QN_SERVE_##symbol,
#include "server/cli/serve.def"
#undef QN_SERVE_OPTION
    QN_SERVE_OPTION_COUNT
};

extern const struct qn_option qn_serve_options[QN_SERVE_OPTION_COUNT];

/* Texts are those of the options. */
struct qn_settings {
    int port;
    const char *db; /* NULL: in memory */
    enum qn_sync sync;
    struct qn_str account;
    struct qn_str region;
    bool one_region;
    struct qn_str public_url;
    bool auto_create;
    bool aws_waits;
    bool stale_delete;
    struct qn_limits limits;
    uint64_t seed;
    bool clock_is_virtual;
    bool fault_header;
    int64_t clock_start_ms;
    size_t memory_max;
    unsigned client_timeout_s;
    const char *record;
    const char *trace;
    bool is_supervised;
    int64_t restart_after_ms;
    bool watches_assumptions;
    enum qn_log_level log_level;
};

QN_MUST_CHECK bool qn_settings_read(const struct qn_options *options,
                                    struct qn_settings *ret_settings, struct qn_error *err);
/* For GET info. The caller owns the reference. */
json_t *qn_settings_show(const struct qn_options *options, const struct qn_settings *settings);

/* Adds the rules of --chaos and --fault, and behind them those of the shorthands: all, or none.
 * What is wrong in them is said on stderr, a line for each mistake, and leaves err without a
 * message. */
QN_MUST_CHECK bool qn_rules_add(struct qn_plan *plan, const struct qn_options *options,
                                struct qn_error *err);
/* Those of --fail-rate and so on. A wrong rule is told likewise, and *ret_right is false then. */
QN_MUST_CHECK bool qn_shorthands_add(struct qn_plan *plan, const struct qn_options *options,
                                     bool *ret_right, struct qn_error *err);
/* FILE:LINE:COLUMN: what is wrong there. */
void qn_rules_tell(const char *source, const struct qn_mistakes *mistakes);

/* Three quarters of the memory that the process may use: the cgroup's, or the machine's. */
size_t qn_memory_default(void);
/* A whole file. Fails with one line that says why. Free with qn_memory_free. */
QN_MUST_CHECK bool qn_file_read(const char *path, char **ret_text, size_t *ret_len,
                                struct qn_error *err);
/* The same of one that is open, and stays so. `name` is for messages. */
QN_MUST_CHECK bool qn_file_read_open(int fd, const char *name, char **ret_text, size_t *ret_len,
                                     struct qn_error *err);

#endif
