/* The options of `quern check` and `quern judge`, their defaults, and how a value is kept. */
#include "chaos/check/options_rows.h"

enum {
    GRACE_BY_TEMPO = -1,
    GRACE_MS = 10000,
    REAL_GRACE_MS = 30000 /* the default of ECS and of Kubernetes */
};

static const char *const profiles[] = {"standard", "fifo", "lambda", NULL};
static const char *const tempos[] = {"fast", "normal", "real", NULL};
static const char *const busy_answers[] = {"wait", "409", NULL};
static const char *const heartbeats[] = {"auto", "yes", "no", NULL};
static const char *const idempotencies[] = {"business-key", "message-id", "none", NULL};
static const char *const poisons[] = {"either", "dlq", "quarantine", "discard", NULL};
static const char *const fifo_failures[] = {"stop", "skip", NULL};
static const char *const restarts[] = {"always", "on-failure", "never", NULL};

#define AT(member) offsetof(struct qn_check_options, member)

#define CHECK QN_OPTION_CHECK
#define JUDGE QN_OPTION_JUDGE
#define AGAIN QN_OPTION_AGAIN
#define IN_FILE QN_OPTION_FILE
/* What is said of the consumer. */
#define DECLARES (QN_OPTION_CHECK | QN_OPTION_AGAIN | QN_OPTION_FILE)

/* Shorter rows: the kinds with nothing but a place, and those with choices. */
#define ROW_FLAG(name, help, member, uses)                                                         \
    {                                                                                              \
        (name), NULL, (help), QN_OPTION_FLAG, AT(member), 0, 0, NULL, (uses)                       \
    }
#define ROW(kind, name, argument, help, member, uses)                                              \
    {                                                                                              \
        (name), (argument), (help), QN_OPTION_##kind, AT(member), 0, 0, NULL, (uses)               \
    }
#define ROW_RANGE(kind, name, argument, help, member, min, max, uses)                              \
    {                                                                                              \
        (name), (argument), (help), QN_OPTION_##kind, AT(member), (min), (max), NULL, (uses)       \
    }
#define ROW_CHOICE(name, argument, help, member, choices, uses)                                    \
    {                                                                                              \
        (name), (argument), (help), QN_OPTION_CHOICE, AT(member), 0, 0, (choices), (uses)          \
    }

const struct qn_option_row qn_option_rows[] = {
    ROW(LIST, "--only", "ID", "only this scenario (repeatable; * and ? as in shells)", only, CHECK),
    ROW(LIST, "--skip", "ID", "leave this scenario out (repeatable)", skip, CHECK),
    ROW(PAIRS, "--waive", "ID=REASON", "do not run it; every report says so, with the reason",
        waive, CHECK | IN_FILE),
    ROW(LIST, "--scenario", "FILE", "a scenario of your own beside the others (repeatable)",
        scenario_files, DECLARES),
    ROW_RANGE(NUMBER, "--tier", "N", "of this tier: 1, 2 for rarer ones, 3 to 9 your own", tier, 1,
              9, CHECK | IN_FILE | AGAIN),
    ROW_FLAG("--list", "show the scenarios and end", wants_list, CHECK),
    ROW(TEXT, "--config", "FILE", "declarations (default: quern.json, if it is there)", config_path,
        CHECK | AGAIN),

    /* The run. */
    ROW_RANGE(NUMBER, "-j", "N", "run N scenarios side by side (default 1)", jobs, 1,
              QN_OPTIONS_JOBS_MAX, CHECK),
    ROW_FLAG("--reuse",
             "keep the consumer's process for the next scenario where it sees no difference", reuse,
             CHECK | IN_FILE),
    ROW_FLAG("--fail-fast", "end at the first failure", fail_fast, CHECK),
    ROW_CHOICE("--tempo", "NAME", "visibility of 4 s (fast, default), 10 s (normal) or 30 s (real)",
               tempo, tempos, DECLARES),
    ROW_RANGE(NUMBER, "--visibility", "SECONDS",
              "visibility timeout of the queues, whatever the tempo", visibility_s, 1, 43200,
              DECLARES),
    ROW_RANGE(DURATION, "--startup-timeout", "TIME",
              "until the consumer's first call (default 60s)", startup_ms, 1, 3600000, DECLARES),
    ROW_RANGE(DURATION, "--scenario-timeout", "TIME",
              "most real time that one scenario may take (default: what its own limits add up to); "
              "cut off before them it is inconclusive",
              scenario_timeout_ms, 1, 86400000, DECLARES),
    ROW(TEXT, "--ready-log", "REGEX", "it is ready too when it prints a line like this", ready_log,
        DECLARES),
    ROW(TEXT, "--ready-url", "URL", "it is ready too when this answers 200 ({instance}, {host})",
        ready_url, DECLARES),
    ROW_RANGE(DURATION, "--slack", "TIME",
              "added to each bound of real time (default: measured at the start of each scenario)",
              slack_ms, 0, 60000, DECLARES),
    ROW_RANGE(MINUTES, "--minutes", "N", "how long a soak lasts: 0.1 to 600 (default 1)", soak_ms,
              6000, 36000000, DECLARES),
    ROW(PAIRS, "--env", "NAME=TEXT",
        "one more variable; {queue_url} and others are filled in, other braces stay", environment,
        DECLARES),
    ROW_RANGE(NUMBER, "--seed", "N", "of all that harness and server draw (default: fresh)", seed,
              0, INT64_MAX, CHECK),
    ROW_FLAG("--no-idle-skip", "never move the clock on, wait instead", no_idle_skip, DECLARES),
    ROW_RANGE(NUMBER, "--sink-capacity", "N", "the sink answers 429 beyond N open calls",
              sink_capacity, 1, 10000, DECLARES),
    ROW_CHOICE("--sink-busy", "HOW",
               "a key that is being worked on: wait for it (default), or answer 409", sink_busy,
               busy_answers, DECLARES),
    ROW(TEXT, "--faults", "NAMES",
        "of one scenario: only these of its rules, with commas between them, or none", fault_names,
        CHECK | AGAIN),
    ROW_RANGE(DURATION, "--shrink", "TIME",
              "after a failed soak, look so long for the fewest rules that fail (default 10m)",
              shrink_ms, 0, 43200000, CHECK | IN_FILE),
    ROW(TEXT, "--server", "PROGRAM", "the server to run (default: this program)", server,
        CHECK | AGAIN),

    /* Consumers that nothing is changed about. */
    ROW(TEXT, "--queue-name", "NAME", "what the queue is called (default: q)", queue_name,
        DECLARES),
    ROW(PAIRS, "--body", "KIND=FILE",
        "message bodies: good, poison (always fails), slow; with {{id}} and {{n}}", bodies,
        DECLARES),
    ROW(TEXT, "--effects-cmd", "COMMAND",
        "at the end prints key<TAB>count for each effect that is there", effects_command, DECLARES),
    ROW(TEXT, "--key-map", "COMMAND",
        "reads keys of effects, prints key<TAB>key of a message for each that is in one", key_map,
        DECLARES),

    /* Consumers that run elsewhere. */
    ROW(TEXT, "--endpoint-host", "HOST",
        "what the consumer calls this machine, for example host.docker.internal", endpoint_host,
        DECLARES),
    ROW(TEXT, "--bind", "ADDRESS",
        "where server and sink listen (default 127.0.0.1; with --endpoint-host 0.0.0.0)",
        bind_address, DECLARES),
    ROW(TEXT, "--start-cmd", "COMMAND",
        "starts the consumer by a shell, and lasts as long as it does ({instance}, {env_file})",
        start_command, DECLARES),
    ROW(TEXT, "--stop-cmd", "COMMAND", "in place of SIGTERM", stop_command, DECLARES),
    ROW(TEXT, "--kill-cmd", "COMMAND", "in place of SIGKILL", kill_command, DECLARES),

    /* What the consumer is said to be. */
    ROW_CHOICE("--profile", "NAME", "of the queue: standard (default), fifo or lambda", profile,
               profiles, DECLARES),
    ROW(TEXT, "--esm", "FILE",
        "of a lambda function: its event source mapping, as quern lambda takes it", esm, DECLARES),
    ROW_RANGE(NUMBER, "--concurrency", "N", "messages that it works on at once (default: observed)",
              concurrency, 1, 10000, DECLARES),
    ROW_RANGE(NUMBER, "--prefetch", "N", "how many more it holds that it does not work on yet",
              prefetch, 1, 100000, DECLARES),
    ROW_RANGE(DURATION, "--grace", "TIME", "from SIGTERM to SIGKILL (default 10s; real: 30s)",
              grace_ms, 0, 3600000, DECLARES),
    ROW_RANGE(DURATION, "--work-max", "TIME", "longest that work on one message may take",
              work_max_ms, 1, 43200000, DECLARES),
    ROW_CHOICE("--heartbeat", "HOW",
               "it extends the visibility of what it works on: auto (default: observed), yes or no",
               heartbeat, heartbeats, DECLARES),
    ROW_CHOICE("--idempotency", "HOW",
               "what makes an effect happen once: business-key (default), message-id or none",
               idempotency, idempotencies, DECLARES),
    ROW_FLAG("--at-most-once", "it deletes before the effect, on purpose", at_most_once, DECLARES),
    ROW_CHOICE(
        "--poison", "HOW",
        "where a message ends that always fails: dlq, quarantine, either (default) or discard",
        poison, poisons, DECLARES),
    ROW_CHOICE("--fifo-on-failure", "HOW",
               "after a failure in a group: stop (default), or skip to the next message",
               fifo_on_failure, fifo_failures, DECLARES),
    ROW(TEXT, "--retry-queue", "NAME", "queue that it sends failed messages to", retry_queue,
        DECLARES),
    ROW(TEXT, "--output-queue", "NAME", "queue that it publishes to", output_queue, DECLARES),
    ROW_FLAG("--references",
             "it fetches the payloads that its messages point to, by url and sha256", references,
             DECLARES),
    ROW(CODES, "--expect-exit", "CODE", "exit code of a proper end (repeatable; default 0 and 143)",
        expect_exit, DECLARES),
    ROW_CHOICE("--restart", "HOW",
               "what its supervisor does when it ends: always (default), on-failure or never",
               restart, restarts, DECLARES),

    /* What comes out. */
    ROW(TEXT, "--json", "FILE", "write the report as JSON too (- for stdout)", json_path,
        CHECK | JUDGE),
    ROW(TEXT, "--junit", "FILE", "write it as JUnit XML too, for a CI server", junit_path,
        CHECK | JUDGE),
    ROW(TEXT, "--tap", "FILE", "write it as TAP too (- for stdout, while it runs)", tap_path,
        CHECK | JUDGE),
    ROW(TEXT, "--html", "FILE", "write it as HTML too, with a picture of each scenario", html_path,
        CHECK | JUDGE),
    ROW(TEXT, "--badge", "FILE", "write an SVG badge for a README", badge_path, CHECK),
    ROW_FLAG("--checklist", "show the three checklists at the end", wants_checklist, CHECK | JUDGE),
    ROW(TEXT, "--keep", "DIR", "keep traces and logs there", keep_directory, CHECK),
    ROW_FLAG("--strict", "a WARN counts as a failure", strict, CHECK | JUDGE | IN_FILE | AGAIN),
    ROW_FLAG("--no-skip", "a SKIP within the profile counts as a failure, unless it is waived",
             no_skip, CHECK | IN_FILE | AGAIN),
    ROW_FLAG("-v", "tell what happens while it happens", verbose, CHECK),
    ROW_FLAG("--help", "this text; --help all has every option", wants_help, CHECK | JUDGE),
};
const size_t qn_option_row_count = sizeof(qn_option_rows) / sizeof(qn_option_rows[0]);
_Static_assert(sizeof(qn_option_rows) / sizeof(qn_option_rows[0]) <= QN_OPTIONS_ROWS_MAX,
               "each row has a place in is_given");

struct qn_check_options qn_options_default(void)
{
    return (struct qn_check_options){.profile = profiles[0],
                                     .tempo = tempos[0],
                                     .sink_busy = busy_answers[0],
                                     .heartbeat = heartbeats[0],
                                     .idempotency = idempotencies[0],
                                     .poison = poisons[0],
                                     .fifo_on_failure = fifo_failures[0],
                                     .restart = restarts[0],
                                     .grace_ms = GRACE_BY_TEMPO,
                                     .jobs = 1,
                                     .startup_ms = 60000,
                                     .slack_ms = -1,
                                     .soak_ms = 60000,
                                     .shrink_ms = 600000};
}

void qn_options_complete(struct qn_check_options *options)
{
    options->is_fifo = options->profile == profiles[1];
    options->is_lambda = options->profile == profiles[2];
    if (options->bind_address == NULL) {
        options->bind_address = options->endpoint_host != NULL ? "0.0.0.0" : "127.0.0.1";
    }
    options->sink_busy_is_409 = options->sink_busy == busy_answers[1];
    options->is_grace_said = options->grace_ms != GRACE_BY_TEMPO;
    if (!options->is_grace_said) {
        options->grace_ms = options->tempo == tempos[2] ? REAL_GRACE_MS : GRACE_MS;
    }
}
