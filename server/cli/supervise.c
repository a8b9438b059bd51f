/* The supervisor: waits for its server to end, and forks the next. It keeps the ports bound but
 * does not listen, so clients are refused while no server is there. */
#include "server/cli/supervise.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/cli/cli.h"

/* So many deaths that nobody asked for, within so long, are no chaos but a fault of ours. */
enum { DEATHS_MAX = 5, DEATHS_WITHIN_MS = 10000 };

struct supervisor {
    struct qn_service *service;
    struct qn_legacy *legacy;
    sigset_t signals;
    pid_t server;     /* 0: none runs */
    bool is_stopping; /* the server was told */
    int wish;         /* the signal to end by that came when no server was there any more, or 0 */
    int64_t deaths_ms[DEATHS_MAX]; /* the last ones, monotonic */
    size_t death_count;
    size_t starts_in_vain; /* in a row */
};

static void block_signals(struct supervisor *supervisor, int how)
{
    (void)sigprocmask(how, &supervisor->signals, NULL);
}

/* In the child. */
static void become_server(struct supervisor *supervisor, pid_t parent)
{
    sigset_t child;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(QN_EXIT_FAILED); /* it was gone before */
    }
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_UNBLOCK, &child, NULL);
    qn_listeners_close(&supervisor->service->reserve); /* its ports and addresses stay known */
    qn_failpoint_share(&supervisor->legacy->failpoints);
}

/* True in the child. */
static bool start(struct supervisor *supervisor)
{
    pid_t parent = getpid();

    qn_legacy_begin_life(supervisor->legacy);
    supervisor->server = fork();
    if (supervisor->server == 0) {
        become_server(supervisor, parent);
        return true;
    }
    return false;
}

/* Everybody who has ended: as the first process of a container it inherits orphans. True: the
 * server is among them. */
static bool reap(struct supervisor *supervisor, int *ret_status)
{
    bool is_gone = false;
    pid_t pid;
    int status;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == supervisor->server) {
            supervisor->server = 0;
            *ret_status = status;
            is_gone = true;
        }
    }
    return is_gone;
}

/* Takes one signal, waiting at most so long (-1: for ever). 0: none came. */
static int take_signal(const struct supervisor *supervisor, int64_t within_ms)
{
    struct timespec within = {.tv_sec = within_ms / 1000, .tv_nsec = within_ms % 1000 * 1000000};
    int number = within_ms < 0 ? sigwaitinfo(&supervisor->signals, NULL)
                               : sigtimedwait(&supervisor->signals, NULL, &within);

    return number > 0 ? number : 0;
}

static int wait_for_end(struct supervisor *supervisor)
{
    int status = 0;

    while (!reap(supervisor, &status)) {
        int number = take_signal(supervisor, -1);
        if (number != SIGTERM && number != SIGINT) {
            continue;
        }
        if (reap(supervisor, &status)) {
            supervisor->wish = number;
            return status;
        }
        supervisor->is_stopping = true;
        (void)kill(supervisor->server, number);
    }
    return status;
}

/* No server is there. False: the supervisor is to end. */
static bool stay_down(struct supervisor *supervisor, int64_t pause_ms)
{
    int64_t end_ms = qn_clock_monotonic_ms() + pause_ms;
    int64_t left_ms;

    while (supervisor->wish == 0 && (left_ms = end_ms - qn_clock_monotonic_ms()) > 0) {
        int number = take_signal(supervisor, left_ms);
        if (number == SIGTERM || number == SIGINT) {
            supervisor->wish = number;
        }
    }
    if (supervisor->wish != 0) {
        qn_log(QN_LOG_INFO, "supervise", "stopping, no server is there signal=%d",
               supervisor->wish);
    }
    return supervisor->wish == 0;
}

/* What the server left about its end. */
struct death {
    int signal;
    bool is_planned;
    const char *by;
    int64_t pause_ms;
};

static struct death look_at(const struct supervisor *supervisor, int status)
{
    const struct qn_legacy *legacy = supervisor->legacy;
    struct death death = {.signal = WTERMSIG(status), .by = "-", .pause_ms = -1};

    if (legacy->failpoints.fatal > 0) {
        const struct qn_failpoint_state *point =
            &legacy->failpoints.points[legacy->failpoints.fatal - 1];
        death.is_planned = true;
        death.by = point->name;
        death.pause_ms = point->restart_ms;
    } else if (legacy->is_planned) {
        death.is_planned = true;
        death.by = legacy->reason;
        death.pause_ms = legacy->restart_ms;
    }
    if (death.pause_ms < 0) {
        death.pause_ms = supervisor->service->settings.restart_after_ms;
    }
    return death;
}

/* Whether to go on after such a death. */
static bool is_bearable(struct supervisor *supervisor, const struct death *death)
{
    int64_t now_ms = qn_clock_monotonic_ms();
    bool was_up = supervisor->legacy->is_up;

    supervisor->starts_in_vain = was_up ? 0 : supervisor->starts_in_vain + 1;
    if (supervisor->starts_in_vain >= DEATHS_MAX) {
        qn_log(QN_LOG_ERROR, "supervise", "%d starts in a row came to nothing, giving up signal=%d",
               DEATHS_MAX, death->signal);
        return false;
    }
    if (death->is_planned) {
        return true;
    }
    int64_t *slot = &supervisor->deaths_ms[supervisor->death_count++ % DEATHS_MAX];
    int64_t oldest_ms = supervisor->death_count >= DEATHS_MAX
                            ? supervisor->deaths_ms[supervisor->death_count % DEATHS_MAX]
                            : INT64_MIN;
    *slot = now_ms;
    if (supervisor->death_count >= DEATHS_MAX && now_ms - oldest_ms < DEATHS_WITHIN_MS) {
        qn_log(QN_LOG_ERROR, "supervise",
               "the server died %d times within %d s and no rule wanted it, giving up signal=%d",
               DEATHS_MAX, DEATHS_WITHIN_MS / 1000, death->signal);
        return false;
    }
    return true;
}

/* The server has ended. True: another one is to be started; else *ret_code. */
static bool goes_on(struct supervisor *supervisor, int status, int *ret_code)
{
    if (WIFEXITED(status)) {
        *ret_code = WEXITSTATUS(status);
        return false;
    }
    struct death death = look_at(supervisor, status);
    qn_log(death.is_planned ? QN_LOG_INFO : QN_LOG_WARN, "supervise",
           "the server was killed signal=%d by=%s life=%llu down_ms=%lld", death.signal, death.by,
           (unsigned long long)supervisor->legacy->life, (long long)death.pause_ms);
    if (supervisor->is_stopping) {
        *ret_code = 128 + death.signal;
        return false;
    }
    *ret_code = QN_EXIT_FAILED;
    if (!is_bearable(supervisor, &death)) {
        return false;
    }
    *ret_code = QN_EXIT_OK;
    return stay_down(supervisor, death.pause_ms);
}

static void init(struct supervisor *supervisor, struct qn_service *service)
{
    *supervisor = (struct supervisor){.service = service, .legacy = service->legacy};
    sigemptyset(&supervisor->signals);
    sigaddset(&supervisor->signals, SIGTERM);
    sigaddset(&supervisor->signals, SIGINT);
    sigaddset(&supervisor->signals, SIGCHLD);
    block_signals(supervisor, SIG_BLOCK);
    if (service->settings.db == NULL) {
        qn_log(QN_LOG_WARN, "supervise",
               "without --db a server that was killed comes back empty, with its rules only");
    }
}

bool qn_supervise(struct qn_service *service, int *ret_code)
{
    struct supervisor supervisor;

    init(&supervisor, service);
    do {
        if (start(&supervisor)) {
            return true;
        }
        if (supervisor.server < 0) {
            qn_log(QN_LOG_ERROR, "supervise", "cannot start a server: %s", strerror(errno));
            *ret_code = QN_EXIT_FAILED;
            return false;
        }
    } while (goes_on(&supervisor, wait_for_end(&supervisor), ret_code));
    return false;
}
