/* `quern consume`: any command becomes a right consumer. */
#include "server/cli/consume.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chaos/parse.h"
#include "server/base/clock.h"
#include "server/base/program.h"
#include "server/cli/remote.h"

static const struct qn_option options[] = {
    {"endpoint", "URL", "AWS_ENDPOINT_URL or 127.0.0.1:QUERN_PORT", NULL, "the server", 0},
    {"region", "REGION", NULL, NULL, "region of the queue", 0},
    {"workers", "N", "4", NULL, "commands that run at a time", 0},
    {"max-messages", "N", "1", NULL, "messages of one receive; beyond 1, some wait for a worker",
     0},
    {"wait", "N", "20", "s", "of a long poll", 0},
    {"visibility", "N", "0", "s", "visibility timeout; 0: the queue's", 0},
    {"heartbeat", "TIME", "auto", NULL, "how often a lease is extended; or off", 0},
    {"timeout", "TIME", "10 leases", NULL, "then a command is ended and its message comes back", 0},
    {"grace", "TIME", "10s", NULL, "from SIGTERM to the end", 0},
    {"retry-delay", "N", "1", "s", "before the first retry; then twice that, and so on", 0},
    {"retry-max", "N", "0", "s", "at most; 0: the visibility timeout", 0},
    {"quarantine", "QUEUE", NULL, NULL, "where messages go that can never succeed", 0},
    {"rate", "N", "0", "1/s", "commands begun in a second; 0: any", 0},
    {"circuit", "N", "0", NULL, "pause after so many failures; 0: never", 0},
    {"tenant-workers", "N", "0", NULL, "workers of one message group; 0: all", 0},
    {"wait-for-queue", NULL, NULL, NULL, "with the URL of a queue: ask again while it is not there",
     0},
    {"quiet", NULL, NULL, NULL, "no lines on stderr", 0},
};
enum {
    ENDPOINT = QN_REMOTE_ENDPOINT,
    REGION = QN_REMOTE_REGION,
    WORKERS,
    MAX_MESSAGES,
    WAIT,
    VISIBILITY,
    HEARTBEAT,
    TIMEOUT,
    GRACE,
    RETRY_DELAY,
    RETRY_MAX,
    QUARANTINE,
    RATE,
    CIRCUIT,
    TENANT_WORKERS,
    WAIT_FOR_QUEUE,
    QUIET,
    OPTION_COUNT
};

static const char usage[] = "consume QUEUE [options] -- CMD [ARGUMENTS]";

static bool number(const struct qn_options *given, size_t row, int64_t min, int64_t max,
                   int64_t *ret_value, struct qn_error *err)
{
    return qn_options_text(given, row) == NULL ||
           qn_options_integer(given, row, min, max, ret_value, err);
}

static bool duration(const struct qn_options *given, size_t row, int64_t *ret_ms,
                     struct qn_error *err)
{
    const char *text = qn_options_text(given, row);

    if (text == NULL || (qn_value_duration(qn_str_from_cstr(text), ret_ms) && *ret_ms > 0)) {
        return true;
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "--%s must be a time such as 30s or 500ms, not %s", options[row].name, text);
}

/* One that fits the lease, however short: half of it at most, and 5 s less than a longer one. */
static bool heartbeat(const struct qn_options *given, struct quern_consumer_options *o,
                      struct qn_error *err)
{
    const char *text = qn_options_text(given, HEARTBEAT);

    o->allows_short_leases = true;
    if (text == NULL || strcmp(text, "auto") == 0) {
        return true;
    }
    if (strcmp(text, "off") == 0) {
        o->heartbeat_interval_ms = -1;
        return true;
    }
    return duration(given, HEARTBEAT, &o->heartbeat_interval_ms, err);
}

static bool rate(const struct qn_options *given, double *ret_rate, struct qn_error *err)
{
    const char *text = qn_options_text(given, RATE);

    if (text == NULL || (qn_value_number(qn_str_from_cstr(text), ret_rate) && *ret_rate >= 0)) {
        return true;
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "--rate must be a number such as 10 or 0.5, not %s", text);
}

static bool read_options(const struct qn_options *given, struct quern_consumer_options *o,
                         struct qn_error *err)
{
    o->is_quiet = qn_options_is_on(given, QUIET);
    o->needs_queue = !qn_options_is_on(given, WAIT_FOR_QUEUE);
    return number(given, WORKERS, 1, 1024, &o->workers, err) &&
           number(given, MAX_MESSAGES, 1, 10, &o->max_messages, err) &&
           number(given, WAIT, 1, 20, &o->wait_s, err) &&
           number(given, VISIBILITY, 0, 43200, &o->visibility_s, err) && heartbeat(given, o, err) &&
           duration(given, TIMEOUT, &o->work_max_ms, err) &&
           duration(given, GRACE, &o->grace_ms, err) &&
           number(given, RETRY_DELAY, 1, 43200, &o->retry_base_s, err) &&
           number(given, RETRY_MAX, 0, 43200, &o->retry_max_s, err) &&
           rate(given, &o->rate_per_s, err) &&
           number(given, CIRCUIT, 0, INT32_MAX, &o->circuit_failures, err) &&
           number(given, TENANT_WORKERS, 0, 1024, &o->tenant_workers, err);
}

/* ---- signals ---- */

enum { SAME_WISH_MS = 500 };

/* The first asks the consumer to stop. After that SIGTERM says nothing new, however often: who
 * supervises a process may tell it twice, as timeout(1) does, and has SIGKILL. A second Ctrl-C is
 * of somebody who does not want to wait; one that comes with the first is the same. */
static void *wait_for_signals(void *consumer)
{
    sigset_t stops;
    int number;

    (void)sigemptyset(&stops);
    (void)sigaddset(&stops, SIGTERM);
    (void)sigaddset(&stops, SIGINT);
    (void)sigwait(&stops, &number);
    int64_t told_at_ms = qn_clock_monotonic_ms();
    quern_consumer_stop(consumer);
    do {
        (void)sigwait(&stops, &number);
    } while (number != SIGINT || qn_clock_monotonic_ms() - told_at_ms < SAME_WISH_MS);
    _exit(128 + number); /* its commands end with it, and their messages come again */
}

static void block_signals(void)
{
    sigset_t stops;

    (void)sigemptyset(&stops);
    (void)sigaddset(&stops, SIGTERM);
    (void)sigaddset(&stops, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &stops, NULL); /* in all threads to come */
    (void)signal(SIGPIPE, SIG_IGN);                 /* of a command that does not read */
}

/* The exit code. */
static int tell_end(const struct qn_remote *remote, struct qn_consume *consume, bool ok,
                    const struct quern_error *err)
{
    int reason = atomic_load(&consume->start_error);

    if (!ok) {
        return qn_remote_fail(remote, err);
    }
    if (reason != 0) {
        (void)fprintf(stderr, "quern consume: ended, because it cannot start %s: %s\n",
                      consume->command[0], strerror(reason));
        return QN_EXIT_FAILED;
    }
    return QN_EXIT_OK;
}

static int run(const struct qn_remote *remote, struct qn_consume *consume,
               const struct quern_consumer_options *o)
{
    struct quern_error err;
    pthread_t thread;

    block_signals();
    if (!quern_consumer_new(o, &consume->consumer, &err)) {
        int failed = qn_remote_fail(remote, &err);
        return strcmp(err.code, "InvalidParameterValue") == 0 ? QN_EXIT_USAGE : failed;
    }
    struct quern_consumer *consumer = consume->consumer;
    bool has_thread = pthread_create(&thread, NULL, wait_for_signals, consumer) == 0;
    bool ok = has_thread && quern_consumer_run(consumer, &err);
    int code = has_thread ? tell_end(remote, consume, ok, &err) : QN_EXIT_FAILED;
    if (has_thread) {
        (void)pthread_cancel(thread);
        (void)pthread_join(thread, NULL);
    }
    if (quern_consumer_unfinished(consumer) > 0) {
        (void)fflush(NULL);
        _exit(code); /* their commands end with this process */
    }
    quern_consumer_free(consumer);
    return code;
}

/* The exit code; QN_EXIT_OK: the URLs are found, and they are two. */
static int find_queues(struct qn_remote *remote, char **ret_url, char **ret_quarantine)
{
    const char *kept = qn_options_text(&remote->options, QUARANTINE);
    struct quern_error err;
    struct qn_error wrong;
    bool are_same = false;

    if (!qn_remote_find_url(remote, remote->options.words[0], ret_url, &err) ||
        (kept != NULL &&
         (!qn_remote_find_url(remote, kept, ret_quarantine, &err) ||
          !qn_remote_compare(remote, *ret_url, *ret_quarantine, &are_same, &err)))) {
        return qn_remote_fail(remote, &err);
    }
    if (are_same) {
        (void)qn_fail(&wrong, QN_ERR_INVALID_PARAMETER_VALUE,
                      "--quarantine %s is the queue that is consumed: say another one", kept);
        return qn_remote_misuse(remote, &wrong);
    }
    remote->queue = remote->options.words[0]; /* what errors are about from here on */
    return QN_EXIT_OK;
}

int qn_consume_main(int argc, char **argv)
{
    struct quern_consumer_options o = {.handler = qn_consume_handle, .max_messages = 1};
    struct qn_consume consume = {0};
    struct qn_remote remote;
    struct qn_error wrong;
    char *url = NULL;
    char *quarantine = NULL;
    int code;

    if (!qn_remote_open(&remote, usage, options, OPTION_COUNT, 2, SIZE_MAX, argc, argv, &code)) {
        return code;
    }
    if (!read_options(&remote.options, &o, &wrong) ||
        !qn_program_check(remote.options.words[1], &wrong)) {
        code = qn_remote_misuse(&remote, &wrong);
    } else if ((code = find_queues(&remote, &url, &quarantine)) == QN_EXIT_OK) {
        consume = (struct qn_consume){
            .queue_url = url,
            .endpoint = quern_client_endpoint(remote.client),
            .region = qn_options_text(&remote.options, REGION),
            .command = qn_memory_new_array(remote.options.word_count, sizeof(char *)),
            .quarantine = quarantine,
            .guard.fd = -1,
        };
        memcpy(consume.command, remote.options.words + 1,
               (remote.options.word_count - 1) * sizeof(char *));
        o.queue_url = url;
        o.state = &consume;
        o.client = (struct quern_options){.endpoint = consume.endpoint, .region = consume.region};
        o.quarantine = quarantine != NULL ? qn_consume_quarantine : NULL;
        code = qn_guard_open(&consume.guard, &wrong) ? run(&remote, &consume, &o)
                                                     : qn_remote_misuse(&remote, &wrong);
        qn_guard_close(&consume.guard);
        qn_memory_free(consume.command);
    }
    quern_text_free(url);
    quern_text_free(quarantine);
    qn_remote_close(&remote);
    return code;
}
