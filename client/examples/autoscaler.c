/* As many worker processes as the queue needs and the service behind them bears. Looks at the
 * backlog and at how long it has been there, starts workers at once and ends them one by one.
 *
 *     QUEUE_URL=... ./autoscaler MIN MAX TARGET_S WORK_MS CALLS_PER_S -- COMMAND...
 *
 * TARGET_S: how long a message may wait. WORK_MS: what one takes. CALLS_PER_S: what the service
 * behind the workers takes, one call for each message; more workers than that only make it fall
 * over, and then the backlog grows. Each worker does one message at a time, as `quern consume QUEUE
 * --workers 1 -- ...`. PERIOD_MS in the environment is the time between two looks.
 *
 * SQS tells the age of the oldest message in CloudWatch only (ApproximateAgeOfOldestMessage). What
 * stands in for it here is the time since the queue was last seen empty, which is never less. */
#include <quern_consumer.h>

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ; /* POSIX wants it declared by the program */

enum { WORKERS_MAX = 256, CALM_LOOKS = 3, PERIOD_MS = 10000, MS_PER_S = 1000 };

struct worker {
    pid_t pid;
    bool is_leaving; /* told to end; it still finishes what it has */
};

struct scaler {
    const char *queue_url;
    char **command;
    int64_t least;
    int64_t most;
    int64_t target_s;
    int64_t work_ms;
    int64_t period_ms;
    struct quern_client *client;
    struct worker workers[WORKERS_MAX];
    int64_t alive;   /* those that leave included */
    int64_t staying; /* without them */
    int64_t calm;    /* looks in a row that wanted fewer */
    int64_t empty_at_ms;
};

/* ---- what is wanted ---- */

struct look {
    int64_t backlog;
    int64_t in_flight;
    int64_t waited_s;
};

static int64_t wanted_workers(const struct scaler *scaler, const struct look *look)
{
    int64_t work_ms = (look->backlog + look->in_flight) * scaler->work_ms;
    int64_t target_ms = scaler->target_s * MS_PER_S;
    int64_t wanted = (work_ms + target_ms - 1) / target_ms;

    /* The estimate was too low: what came in meanwhile is not in it. */
    if (look->backlog > 0 && look->waited_s > scaler->target_s && wanted <= scaler->staying) {
        wanted = scaler->staying + 1;
    }
    wanted = wanted < scaler->most ? wanted : scaler->most;
    return wanted > scaler->least ? wanted : scaler->least;
}

static int64_t clock_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * MS_PER_S + now.tv_nsec / 1000000;
}

static int64_t number_of(const struct quern_pairs *attributes, const char *name)
{
    const char *text = quern_pairs_get(attributes, name);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

static bool look_at_queue(struct scaler *scaler, struct look *ret_look)
{
    static const char visible[] = "ApproximateNumberOfMessages";
    static const char in_flight[] = "ApproximateNumberOfMessagesNotVisible";
    const char *const names[] = {visible, in_flight};
    struct quern_pairs *attributes;
    struct quern_error err;

    if (!quern_get_queue_attributes(scaler->client, scaler->queue_url, names, 2, &attributes,
                                    &err)) {
        (void)fprintf(stderr, "autoscaler: %s: %s\n", err.code, err.message);
        return false;
    }
    ret_look->backlog = number_of(attributes, visible);
    ret_look->in_flight = number_of(attributes, in_flight);
    quern_answer_free(attributes);
    if (ret_look->backlog == 0) {
        scaler->empty_at_ms = clock_ms();
    }
    ret_look->waited_s = (clock_ms() - scaler->empty_at_ms) / MS_PER_S;
    return true;
}

/* ---- processes ---- */

static void start_worker(struct scaler *scaler)
{
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid;

    (void)sigemptyset(&none);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    int code = posix_spawnp(&pid, scaler->command[0], NULL, &attributes, scaler->command, environ);
    (void)posix_spawnattr_destroy(&attributes);
    if (code != 0) {
        (void)fprintf(stderr, "autoscaler: %s: %s\n", scaler->command[0], strerror(code));
        return;
    }
    scaler->workers[scaler->alive++] = (struct worker){.pid = pid};
    scaler->staying++;
}

static void end_worker(struct scaler *scaler)
{
    for (int64_t i = scaler->alive - 1; i >= 0; i--) {
        struct worker *worker = &scaler->workers[i];
        if (!worker->is_leaving) {
            worker->is_leaving = true;
            scaler->staying--;
            (void)kill(worker->pid, SIGTERM);
            return;
        }
    }
}

static void forget_the_ended(struct scaler *scaler, int how)
{
    for (int64_t i = scaler->alive - 1; i >= 0; i--) {
        if (waitpid(scaler->workers[i].pid, NULL, how) == scaler->workers[i].pid) {
            scaler->staying -= !scaler->workers[i].is_leaving;
            scaler->workers[i] = scaler->workers[--scaler->alive];
        }
    }
}

/* Up at once, down slowly: a worker that is missing costs time, one too many hardly anything. Who
 * leaves still calls the service and counts until he is gone. */
static void follow(struct scaler *scaler, int64_t wanted)
{
    scaler->calm = wanted < scaler->staying ? scaler->calm + 1 : 0;
    while (scaler->staying < wanted && scaler->alive < scaler->most) {
        int64_t before = scaler->alive;
        start_worker(scaler);
        if (scaler->alive == before) {
            return;
        }
    }
    if (scaler->calm >= CALM_LOOKS) {
        end_worker(scaler);
        scaler->calm = 0;
    }
}

/* ---- the loop ---- */

static void scale(struct scaler *scaler)
{
    const struct timespec period = {.tv_sec = scaler->period_ms / MS_PER_S,
                                    .tv_nsec = scaler->period_ms % MS_PER_S * 1000000};
    struct look look;
    sigset_t stops;

    (void)sigemptyset(&stops);
    (void)sigaddset(&stops, SIGTERM);
    (void)sigaddset(&stops, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &stops, NULL);
    scaler->empty_at_ms = clock_ms();
    do {
        forget_the_ended(scaler, WNOHANG);
        /* What cannot be seen changes nothing. */
        if (look_at_queue(scaler, &look)) {
            int64_t wanted = wanted_workers(scaler, &look);
            follow(scaler, wanted);
            (void)printf("{\"backlog\":%lld,\"inFlight\":%lld,\"waitedSeconds\":%lld,"
                         "\"wanted\":%lld,\"workers\":%lld}\n",
                         (long long)look.backlog, (long long)look.in_flight,
                         (long long)look.waited_s, (long long)wanted, (long long)scaler->alive);
            (void)fflush(stdout);
        }
    } while (sigtimedwait(&stops, NULL, &period) < 0);
    while (scaler->staying > 0) {
        end_worker(scaler);
    }
    forget_the_ended(scaler, 0); /* each drains in its own grace */
}

static bool to_number(const char *text, int64_t most, int64_t *ret_number)
{
    char *end;

    errno = 0;
    *ret_number = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *ret_number >= 0 && *ret_number <= most;
}

int main(int argc, char **argv)
{
    struct scaler scaler = {.queue_url = getenv("QUEUE_URL"), .period_ms = PERIOD_MS};
    const char *period = getenv("PERIOD_MS");
    struct quern_error err;
    int64_t calls_per_s;

    if (argc < 8 || strcmp(argv[6], "--") != 0 || scaler.queue_url == NULL ||
        !to_number(argv[1], WORKERS_MAX, &scaler.least) ||
        !to_number(argv[2], WORKERS_MAX, &scaler.most) ||
        !to_number(argv[3], INT32_MAX, &scaler.target_s) || scaler.target_s == 0 ||
        !to_number(argv[4], INT32_MAX, &scaler.work_ms) ||
        !to_number(argv[5], INT32_MAX, &calls_per_s) || scaler.least > scaler.most ||
        (period != NULL && !to_number(period, INT32_MAX, &scaler.period_ms))) {
        (void)fprintf(stderr, "usage: QUEUE_URL=URL autoscaler MIN MAX TARGET_S WORK_MS "
                              "CALLS_PER_S -- COMMAND [ARGUMENTS]\n");
        return 2;
    }
    const struct quern_capacity capacity = {.threads = scaler.most,
                                            .calls_per_s = (double)calls_per_s,
                                            .calls_per_message = 1,
                                            .work_s = (double)scaler.work_ms / MS_PER_S};
    scaler.most = quern_capacity_workers(&capacity);
    scaler.least = scaler.least < scaler.most ? scaler.least : scaler.most;
    scaler.command = argv + 7;
    if (!quern_client_new(NULL, &scaler.client, &err)) {
        (void)fprintf(stderr, "%s: %s\n", err.code, err.message);
        return 1;
    }
    scale(&scaler);
    quern_client_free(scaler.client);
    return 0;
}
