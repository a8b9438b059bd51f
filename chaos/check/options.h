/* The command line of `quern check`. */
#ifndef QN_CHECK_OPTIONS_H
#define QN_CHECK_OPTIONS_H

#include <stdio.h>

#include "server/base/arena.h"
#include "server/base/buf.h"
#include "server/base/error.h"

/* Bodies that the user gives. */
enum { QN_BODY_GOOD, QN_BODY_POISON, QN_BODY_SLOW, QN_BODY_KINDS };

/* A list of all scenarios with their variants has room. */
enum { QN_OPTIONS_LIST_MAX = 256, QN_OPTIONS_JOBS_MAX = 64, QN_OPTIONS_ROWS_MAX = 64 };

struct qn_text_list {
    const char *items[QN_OPTIONS_LIST_MAX + 1]; /* ends in NULL */
    size_t count;
};

struct qn_check_options {
    struct qn_text_list only; /* scenario ids, with * and ? as in a shell */
    struct qn_text_list skip;
    struct qn_text_list scenario_files;
    int64_t tier;                    /* 0: all */
    struct qn_text_list waive;       /* ID=REASON */
    struct qn_text_list environment; /* NAME=TEMPLATE */
    uint64_t seed;
    bool has_seed;
    const char *config_path; /* of the quern.json that was read; NULL: none */
    const char *json_path;   /* of reports: NULL none, "-" stdout */
    const char *junit_path;
    const char *tap_path;
    const char *html_path;
    const char *badge_path;
    const char *tempo;    /* fast, normal, real */
    int64_t visibility_s; /* 0: by tempo */
    int64_t startup_ms;
    int64_t scenario_timeout_ms; /* of real time; 0: as long as the limits of the scenario allow */
    int64_t slack_ms;            /* below 0: measured */
    const char *ready_log;       /* NULL: not said */
    const char *ready_url;       /* with placeholders; NULL: not said */
    int64_t sink_capacity;       /* 0: no limit */
    const char *sink_busy;       /* wait, 409 */
    bool sink_busy_is_409;
    const char *queue_name;      /* NULL: q */
    const char *effects_command; /* NULL: none */
    const char *key_map;         /* command that tells the messages behind an effect; NULL: none */
    struct qn_text_list bodies;  /* KIND=FILE */
    struct qn_str body_texts[QN_BODY_KINDS];
    /* For consumers that run elsewhere. */
    const char *endpoint_host; /* what the consumer calls this machine; NULL: 127.0.0.1 */
    const char *bind_address;
    const char *start_command; /* NULL: the command after -- */
    const char *stop_command;  /* NULL: SIGTERM */
    const char *kill_command;  /* NULL: SIGKILL */
    /* Declarations. */
    const char *profile; /* standard, fifo, lambda */
    bool is_fifo;
    bool is_lambda;      /* the command is a function, and quern lambda is in front of it */
    const char *esm;     /* its event source mapping, or NULL */
    int64_t concurrency; /* 0: learned */
    int64_t prefetch;    /* 0: not said */
    int64_t grace_ms;
    bool is_grace_said;      /* else it is the tempo's */
    int64_t work_max_ms;     /* 0: not said */
    int64_t soak_ms;         /* how long a soak lasts */
    const char *heartbeat;   /* auto, yes, no */
    const char *idempotency; /* business-key, message-id, none */
    bool at_most_once;
    const char *poison;              /* either, dlq, quarantine, discard */
    const char *fifo_on_failure;     /* stop, skip */
    const char *retry_queue;         /* NULL: none */
    const char *output_queue;        /* NULL: none */
    bool references;                 /* it fetches what its messages point to */
    struct qn_text_list expect_exit; /* codes; empty: 0 and 143 */
    const char *restart;             /* always, on-failure, never */
    const char *fault_names;         /* of the only scenario: these of its rules; NULL: all */
    int64_t shrink_ms;               /* for the smallest failing set of rules; 0: not looked for */
    int64_t jobs;                    /* scenarios at once */
    bool reuse; /* a consumer is kept over several scenarios where it sees no difference */
    bool fail_fast;
    bool strict;
    bool no_skip;
    bool no_idle_skip;
    const char *keep_directory;
    const char *server;         /* as --server names it; NULL: this program */
    const char *server_program; /* what is started: filled in before the first run */
    bool verbose;
    bool wants_help;
    bool wants_all_help; /* --help all */
    bool wants_list;
    bool wants_checklist;
    char **command; /* ends in NULL */
    /* By row of the table: said by a flag, which wins over the file even with the default. */
    bool is_given[QN_OPTIONS_ROWS_MAX];
    struct qn_text_list traces; /* of quern judge */
    struct qn_arena *texts;     /* of quern.json; NULL without one */
};

/* Reads quern.json, or the file that --config names, and the command line, which wins. Texts are
 * views into argv or belong to the options. False: err says what is wrong; in one line, but for the
 * mistakes of a file, which are all listed. */
QN_MUST_CHECK bool qn_options_read(int argc, char **argv, struct qn_check_options *ret_options,
                                   struct qn_error *err);
/* The same for `quern judge`, which takes traces and few of the options. */
QN_MUST_CHECK bool qn_options_read_judge(int argc, char **argv,
                                         struct qn_check_options *ret_options,
                                         struct qn_error *err);
/* Accepts zeroed options. */
void qn_check_options_done(struct qn_check_options *options);
void qn_options_print_help(bool all, FILE *file);
void qn_options_print_judge_help(FILE *file);
/* The command's words as a shell needs them. */
void qn_options_append_command(char *const *command, struct qn_buf *buf);
/* The command line that runs one scenario again in the same way. */
void qn_options_append_again(const struct qn_check_options *options, struct qn_str scenario,
                             uint64_t seed, struct qn_buf *buf);
/* "300ms", "10s", "2m", "10" (seconds). */
QN_MUST_CHECK bool qn_options_duration(struct qn_str text, int64_t *ret_ms);

#endif
