/* What the worker is told: by its environment and on its command line. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "tests/consumers/worker/worker.h"

static const char help[] =
    "usage: worker [options]\n"
    "\n"
    "A consumer of SQS that is right, or wrong in one chosen way. It works on the queue of\n"
    "QUEUE_URL and posts to the sink of QUERN_SINK_URL, as `quern check -- worker` sets them.\n"
    "\n"
    "  --bug NAME          be the mutant of this name\n"
    "  --list-bugs         name them, one a line\n"
    "  --workers N         messages worked on at a time (QUERN_CONCURRENCY, else 4)\n"
    "  --max N             messages asked for at a time, 1 to 10 (10)\n"
    "  --prefetch N        messages that wait for a worker (the above less 1)\n"
    "  --wait SECONDS      of a long poll (5)\n"
    "  --delete HOW        single or batch (single)\n"
    "  --stop-poll HOW     at SIGTERM: abort it or wait for it (abort)\n"
    "  --poison HOW        what can never succeed: quarantine it, or leave it to the dlq\n"
    "                      (quarantine)\n"
    "  --no-heartbeat      leases are not extended\n"
    "  --exit CODE         after a drained stop (0)\n"
    "  --state             keep the newest version of each entity\n"
    "  --step NAME         a keyed step before each effect\n"
    "  --publish           tell the output queue (QUERN_OUTPUT_QUEUE_URL) of each effect\n"
    "  --retry-queue URL   failed messages are sent there, with a delay\n"
    "  --at-most-once      delete first\n";

enum option_number {
    OPTION_BUG = 1,
    OPTION_LIST,
    OPTION_WORKERS,
    OPTION_MAX,
    OPTION_PREFETCH,
    OPTION_WAIT,
    OPTION_DELETE,
    OPTION_STOP_POLL,
    OPTION_POISON,
    OPTION_NO_HEARTBEAT,
    OPTION_EXIT,
    OPTION_STATE,
    OPTION_STEP,
    OPTION_PUBLISH,
    OPTION_RETRY_QUEUE,
    OPTION_AT_MOST_ONCE,
    OPTION_HELP
};

static const struct option options[] = {
    {"bug", required_argument, NULL, OPTION_BUG},
    {"list-bugs", no_argument, NULL, OPTION_LIST},
    {"workers", required_argument, NULL, OPTION_WORKERS},
    {"max", required_argument, NULL, OPTION_MAX},
    {"prefetch", required_argument, NULL, OPTION_PREFETCH},
    {"wait", required_argument, NULL, OPTION_WAIT},
    {"delete", required_argument, NULL, OPTION_DELETE},
    {"stop-poll", required_argument, NULL, OPTION_STOP_POLL},
    {"poison", required_argument, NULL, OPTION_POISON},
    {"no-heartbeat", no_argument, NULL, OPTION_NO_HEARTBEAT},
    {"exit", required_argument, NULL, OPTION_EXIT},
    {"state", no_argument, NULL, OPTION_STATE},
    {"step", required_argument, NULL, OPTION_STEP},
    {"publish", no_argument, NULL, OPTION_PUBLISH},
    {"retry-queue", required_argument, NULL, OPTION_RETRY_QUEUE},
    {"at-most-once", no_argument, NULL, OPTION_AT_MOST_ONCE},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static int64_t variable(const char *name, int64_t otherwise)
{
    int64_t value;

    return qn_str_to_int64(qn_str_from_cstr(getenv(name)), 1, INT32_MAX, &value) ? value
                                                                                 : otherwise;
}

static bool number(const char *name, const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
    if (qn_str_to_int64(qn_str_from_cstr(text), min, max, ret_value)) {
        return true;
    }
    (void)fprintf(stderr, "worker: --%s takes a number from %lld to %lld, not '%s'\n", name,
                  (long long)min, (long long)max, text);
    return false;
}

static bool choice(const char *name, const char *text, const char *yes, const char *no,
                   bool *ret_value)
{
    if (strcmp(text, yes) == 0 || strcmp(text, no) == 0) {
        *ret_value = strcmp(text, yes) == 0;
        return true;
    }
    (void)fprintf(stderr, "worker: --%s takes %s or %s, not '%s'\n", name, yes, no, text);
    return false;
}

static bool take_number(struct settings *s, int option, const char *text)
{
    switch (option) {
    case OPTION_WORKERS:
        return number("workers", text, 1, 100, &s->workers);
    case OPTION_MAX:
        return number("max", text, 1, BATCH_MAX, &s->max_messages);
    case OPTION_PREFETCH:
        return number("prefetch", text, 0, 1000, &s->prefetch);
    case OPTION_WAIT:
        return number("wait", text, 0, 20, &s->wait_s);
    default:
        return number("exit", text, 0, 255, &s->exit_code);
    }
}

static bool take(struct settings *s, int option)
{
    switch (option) {
    case OPTION_DELETE:
        return choice("delete", optarg, "batch", "single", &s->deletes_in_batches);
    case OPTION_STOP_POLL:
        return choice("stop-poll", optarg, "wait", "abort", &s->waits_for_poll);
    case OPTION_POISON:
        return choice("poison", optarg, "dlq", "quarantine", &s->leaves_poison);
    case OPTION_NO_HEARTBEAT:
        s->no_heartbeat = true;
        return true;
    case OPTION_STATE:
        s->keeps_state = true;
        return true;
    case OPTION_STEP:
        s->step = optarg;
        return true;
    case OPTION_PUBLISH:
        s->output_url = getenv("QUERN_OUTPUT_QUEUE_URL");
        return true;
    case OPTION_RETRY_QUEUE:
        s->retry_url = optarg;
        return true;
    case OPTION_AT_MOST_ONCE:
        s->is_at_most_once = true;
        return true;
    default:
        return take_number(s, option, optarg);
    }
}

static void set_defaults(struct settings *s)
{
    s->queue_url = getenv("QUEUE_URL");
    s->dlq_url = getenv("QUERN_DLQ_URL");
    s->sink_url = getenv("QUERN_SINK_URL");
    s->workers = variable("QUERN_CONCURRENCY", 4);
    s->grace_ms = variable("QUERN_GRACE", 10) * 1000;
    s->max_messages = BATCH_MAX;
    s->prefetch = -1;
    s->wait_s = 5;
    s->receive_visibility_s = -1;
    s->linger_ms = 50;
    s->work_ms = -1;
    s->call_ms = -1;
}

bool settings_read(int argc, char **argv, struct worker *w, int *ret_code)
{
    const char *bug = NULL;
    int option;

    set_defaults(&w->settings);
    *ret_code = 2;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == OPTION_HELP || option == 'h' || option == OPTION_LIST) {
            *ret_code = 0;
            if (option == OPTION_LIST) {
                bugs_list(stdout);
            } else {
                (void)fputs(help, stdout);
            }
            return false;
        }
        if (option == OPTION_BUG) {
            bug = optarg;
        } else if (option == '?' || !take(&w->settings, option)) {
            return false;
        }
    }
    if (optind < argc) {
        (void)fprintf(stderr, "worker: unknown argument '%s' (try --help)\n", argv[optind]);
        return false;
    }
    if (w->settings.queue_url == NULL || w->settings.sink_url == NULL) {
        (void)fputs("worker: QUEUE_URL and QUERN_SINK_URL must be set: start it with "
                    "`quern check -- worker`\n",
                    stderr);
        return false;
    }
    if (w->settings.is_at_most_once) {
        w->rules.work = settle_before_work;
        w->rules.settle = settle_nothing;
    }
    w->is_fifo = qn_str_ends_with(qn_str_from_cstr(w->settings.queue_url), QN_STR(".fifo"));
    if (bug != NULL && !bugs_set(w, bug)) {
        (void)fprintf(stderr, "worker: no such bug '%s' (see --list-bugs)\n", bug);
        return false;
    }
    return true;
}
