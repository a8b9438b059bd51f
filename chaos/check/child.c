/* A scenario's process: its start, what it tells while it runs, and its result. */
#include "chaos/check/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/check/files.h"
#include "chaos/check/kept.h"
#include "chaos/check/process.h"
#include "chaos/check/signals.h"

/* What the child says: one packet each. */
struct packet {
    bool is_result;
    struct qn_run_progress progress;
    /* Of the result: all that is not in the trace. */
    enum qn_outcome outcome;
    char text[QN_FINDING_TEXT];
    char log_tail[1024];
    struct qn_profile profile;
    struct qn_run_process process;
    bool waits; /* for another scenario */
    int64_t wall_ms;
    int64_t virtual_ms;
    bool is_interrupted;
    bool never_got_going;
    bool cannot_start;
};

static void tell_progress(void *state, const struct qn_run_progress *progress)
{
    const int *socket = state;
    const struct packet packet = {.progress = *progress};

    /* One that is lost is followed by another. */
    (void)send(*socket, &packet, sizeof(packet), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* What a child that waits is told: one packet. The scenario is older than the child, which has it
 * at the same place. */
struct order {
    const struct qn_scenario *scenario;
    struct qn_profile learned;
    uint64_t seed;
};

/* False: nothing more is to be run. */
static bool next_order(int socket, int signal_fd, struct order *order)
{
    struct pollfd fds[] = {{.fd = socket, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};

    while (poll(fds, 2, -1) > 0 || errno == EINTR) {
        if (qn_signals_heard_end(signal_fd)) {
            return false;
        }
        ssize_t got = recv(socket, order, sizeof(*order), MSG_DONTWAIT);
        if (got >= 0 || (errno != EAGAIN && errno != EINTR)) {
            return got == (ssize_t)sizeof(*order);
        }
    }
    return false;
}

static void tell_result(int socket, const struct qn_run_result *result, bool waits)
{
    struct packet packet = {
        .is_result = true,
        .outcome = result->judgement.outcome,
        .profile = result->profile,
        .process = result->process,
        .waits = waits,
        .wall_ms = result->wall_ms,
        .virtual_ms = result->virtual_ms,
        .is_interrupted = result->is_interrupted,
        .never_got_going = result->never_got_going,
        .cannot_start = result->cannot_start,
    };

    (void)snprintf(packet.text, sizeof(packet.text), "%s", result->judgement.text);
    (void)snprintf(packet.log_tail, sizeof(packet.log_tail), "%s", result->log_tail);
    (void)send(socket, &packet, sizeof(packet), MSG_NOSIGNAL);
}

/* One scenario; whether there may be another one behind it. */
static bool run_one(const struct qn_scenario *scenario, const struct qn_run_options *options,
                    int socket)
{
    struct qn_run_result result;

    qn_run_scenario(scenario, options, &result);
    if (options->keeper == NULL || options->keeper->run == NULL) {
        qn_process_kill_orphans(NULL, 0); /* what went away from its group, out of its session */
    }
    bool waits = options->keeper != NULL && !result.is_interrupted && !result.cannot_start;
    tell_result(socket, &result, waits);
    qn_run_result_done(&result);
    return waits;
}

/* In the child; never returns. */
static void run(const struct qn_scenario *scenario, const struct qn_run_options *options,
                const char *directory, int socket, pid_t parent)
{
    struct qn_run_options own = *options;
    struct qn_keeper keeper = {.refusal = "nothing was kept so far"};
    struct order order = {.scenario = scenario, .seed = options->seed};

    /* Whatever ends the parent, nothing is left behind. */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(0);
    }
    qn_process_adopt_orphans();
    own.directory = directory;
    own.signal_fd = qn_signals_open();
    own.keeper = options->is_series ? &keeper : NULL;
    own.watcher = tell_progress;
    own.watcher_state = &socket;
    while (run_one(order.scenario, &own, socket) && next_order(socket, own.signal_fd, &order)) {
        own.learned = &order.learned;
        own.seed = order.seed;
    }
    qn_kept_give_up(&keeper);
    qn_process_kill_orphans(NULL, 0);
    (void)close(own.signal_fd);
    exit(0);
}

bool qn_child_start(struct qn_child *child, const struct qn_scenario *scenario,
                    const struct qn_run_options *options, const char *directory,
                    struct qn_error *err)
{
    int sockets[2];
    pid_t parent = getpid();

    if (mkdir(directory, 0700) < 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "%.200s: %s", directory, strerror(errno));
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "socketpair: %s", strerror(errno));
    }
    (void)fflush(NULL); /* what waits in buffers is to be written once */
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(sockets[0]);
        run(scenario, options, directory, sockets[1], parent);
    }
    (void)close(sockets[1]);
    if (pid < 0) {
        (void)close(sockets[0]);
        return qn_fail(err, QN_ERR_INTERNAL, "fork: %s", strerror(errno));
    }
    *child = (struct qn_child){.pid = pid, .socket = sockets[0], .scenario = scenario};
    (void)snprintf(child->directory, sizeof(child->directory), "%s", directory);
    return true;
}

static void set_error(struct qn_run_result *result, const char *text)
{
    result->judgement.outcome = QN_OUTCOME_ERROR;
    (void)snprintf(result->judgement.text, sizeof(result->judgement.text), "%.300s", text);
}

/* The verdict is a pure function of the trace, so it is not carried over but found anew. */
static void judge(const struct qn_child *child, struct qn_run_result *result,
                  const struct packet *packet)
{
    char path[sizeof(child->directory) + 16];
    struct qn_error err;
    struct qn_buf text;

    (void)snprintf(path, sizeof(path), "%s/trace.jsonl", child->directory);
    qn_buf_init(&text, SIZE_MAX / 2);
    qn_history_init(&result->history);
    bool ok = qn_files_read(path, &text, &err) &&
              qn_history_read(&result->history, qn_buf_str(&text), &err);
    qn_buf_done(&text);
    qn_history_settle(&result->history);
    if (packet->outcome == QN_OUTCOME_ERROR) {
        set_error(result, packet->text);
    } else if (!ok || !qn_judge(&result->history, &result->judgement, &err)) {
        set_error(result, err.message);
    } else {
        (void)snprintf(result->judgement.text, sizeof(result->judgement.text), "%s", packet->text);
    }
}

static void take_result(struct qn_child *child, const struct packet *packet,
                        struct qn_run_result *result)
{
    *result = (struct qn_run_result){
        .profile = packet->profile,
        .process = packet->process,
        .wall_ms = packet->wall_ms,
        .virtual_ms = packet->virtual_ms,
        .is_interrupted = packet->is_interrupted,
        .never_got_going = packet->never_got_going,
        .cannot_start = packet->cannot_start,
    };
    (void)snprintf(result->log_tail, sizeof(result->log_tail), "%s", packet->log_tail);
    judge(child, result, packet);
    child->has_result = true;
    child->waits = packet->waits;
}

/* It ended; the packets that it sent before are read already. */
static void finish(struct qn_child *child, struct qn_run_result *result)
{
    char text[128];
    int status = 0;

    (void)waitpid(child->pid, &status, 0);
    (void)close(child->socket);
    child->is_over = true;
    if (child->has_result && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return;
    }
    (void)snprintf(text, sizeof(text), "the scenario's process ended by itself (%s %d)",
                   WIFSIGNALED(status) ? "signal" : "exit code",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    set_error(result, text);
}

void qn_child_read(struct qn_child *child, struct qn_run_progress *progress,
                   struct qn_run_result *result)
{
    struct packet packet;
    ssize_t got;

    while (!child->is_over) {
        got = recv(child->socket, &packet, sizeof(packet), MSG_DONTWAIT);
        if (got == (ssize_t)sizeof(packet) && packet.is_result) {
            take_result(child, &packet, result);
        } else if (got == (ssize_t)sizeof(packet)) {
            *progress = packet.progress;
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            finish(child, result);
        } else if (errno == EAGAIN) {
            break;
        }
    }
}

bool qn_child_go_on(struct qn_child *child, const struct qn_scenario *scenario,
                    const struct qn_run_options *options)
{
    const struct order order = {scenario, *options->learned, options->seed};

    if (send(child->socket, &order, sizeof(order), MSG_NOSIGNAL) != (ssize_t)sizeof(order)) {
        return false;
    }
    child->scenario = scenario;
    child->has_result = false;
    child->waits = false;
    return true;
}

void qn_child_dismiss(const struct qn_child *child)
{
    (void)shutdown(child->socket, SHUT_WR);
}

void qn_child_signal(const struct qn_child *child, int number)
{
    if (child->pid != 0 && !child->is_over) {
        (void)kill(child->pid, number);
    }
}
