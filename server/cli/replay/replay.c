/* `quern replay`: the requests of a recording, sent again. */
#include "server/cli/replay/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "server/base/clock.h"

static const struct qn_option replay_options[] = {
    QN_REMOTE_OPTIONS,
    {"speed", "N|max", "1", NULL,
     "N times as fast as recorded; max: each request as soon as the one\nbefore it was answered or "
     "parked",
     0},
    {"account", "ID|recorded", "recorded", NULL,
     "access key of all calls, which emulators take for the account;\nrecorded: those of the "
     "recording. For Amazon your own count",
     0},
    {"timeout", "N", "30", "s", "give up waiting for an answer, beyond the wait of a poll", 0},
    {"cut-ok", NULL, NULL, NULL, "leave out a last line that a crash cut off", 0},
};
enum { SPEED = QN_REMOTE_COUNT, ACCOUNT, TIMEOUT, CUT_OK, COUNT };

enum { SPEED_MAX = 1000000 };

static bool read_speed(const struct qn_options *options, double *ret_speed, struct qn_error *err)
{
    const char *text = qn_options_text(options, SPEED);
    char *end;

    text = text != NULL ? text : replay_options[SPEED].fallback;
    if (strcmp(text, "max") == 0) {
        *ret_speed = 0;
        return true;
    }
    *ret_speed = strtod(text, &end);
    return (*end == '\0' && *ret_speed > 0 && *ret_speed <= SPEED_MAX && text[0] >= '0' &&
            text[0] <= '9') ||
           qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "--speed must be a number above 0, such as 2 or 0.5, or max, not %s", text);
}

static bool read_options(struct qn_replay *replay, struct qn_error *err)
{
    const struct qn_options *options = &replay->remote->options;
    const char *account = qn_options_text(options, ACCOUNT);
    int64_t timeout_s;

    if (!read_speed(options, &replay->options.speed, err) ||
        !qn_options_integer(options, TIMEOUT, 1, 86400, &timeout_s, err)) {
        return false;
    }
    replay->options.timeout_ms = timeout_s * 1000;
    replay->options.region = qn_options_text(options, QN_REMOTE_REGION);
    replay->options.account = account != NULL && strcmp(account, "recorded") != 0 ? account : NULL;
    return true;
}

/* Read twice, so it has to be a file: what comes through a pipe could only be kept in memory. */
static bool read_session(struct qn_replay *replay, int *ret_fd, struct qn_error *err)
{
    const struct qn_options *options = &replay->remote->options;
    const char *path = options->words[0];
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "cannot open %s: %s", path, strerror(errno));
    }
    *ret_fd = fd;
    if (lseek(fd, 0, SEEK_CUR) < 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "%s is read twice: a file is needed, not a pipe", path);
    }
    return qn_session_read(fd, path, qn_options_is_on(options, CUT_OK), &replay->session, err);
}

static bool prepare(struct qn_replay *replay, struct qn_error *err)
{
    size_t connections = replay->session.connection_count;
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    replay->signals = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (replay->signals < 0 || pipe2(replay->results, O_CLOEXEC) != 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "cannot begin: %s", strerror(errno));
    }
    replay->states =
        qn_memory_new_array(replay->session.request_count + 1, sizeof(*replay->states));
    replay->connections = qn_memory_new_array(connections + 1, sizeof(*replay->connections));
    for (size_t i = 0; i < connections; i++) {
        replay->connections[i].next = replay->session.connections[i].first;
    }
    replay->shows_progress = isatty(STDERR_FILENO) == 1;
    return true;
}

static void close_fd(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

static void clean_up(struct qn_replay *replay, int fd)
{
    if (replay->connections != NULL) {
        qn_replay_disconnect(replay);
    }
    for (size_t i = 0; i < replay->queue_count; i++) {
        qn_memory_free(replay->queues[i].account);
        qn_memory_free(replay->queues[i].name);
        qn_memory_free(replay->queues[i].replayed_account);
    }
    qn_memory_free(replay->queues);
    qn_replay_forget_tally(replay);
    qn_buf_done(&replay->queues_made);
    qn_memory_free(replay->states);
    qn_memory_free(replay->connections);
    qn_session_done(&replay->session);
    close_fd(replay->signals);
    close_fd(replay->results[0]);
    close_fd(replay->results[1]);
    close_fd(fd);
}

static void say_what_was_made(const struct qn_replay *replay)
{
    if (replay->queues_made.len > 0) {
        (void)fprintf(stderr, "made the queues that the recording began with: %.*s\n",
                      (int)replay->queues_made.len, replay->queues_made.ptr);
    }
}

static int replay_all(struct qn_replay *replay)
{
    struct quern_error failure;
    struct qn_error err;
    int64_t begin_ms;
    bool ok;

    if (!qn_replay_meet(replay, &failure)) {
        return qn_remote_fail(replay->remote, &failure);
    }
    say_what_was_made(replay);
    begin_ms = qn_clock_monotonic_ms();
    ok = qn_replay_run(replay, &err);
    qn_replay_disconnect(replay);
    if (!ok) {
        (void)fprintf(stderr, "quern %s: %s\n", replay->remote->word, err.message);
        (void)qn_replay_report(replay, qn_clock_monotonic_ms() - begin_ms);
        return QN_EXIT_FAILED;
    }
    return qn_replay_report(replay, qn_clock_monotonic_ms() - begin_ms);
}

int qn_replay_main(int argc, char **argv)
{
    struct qn_remote remote;
    struct qn_replay replay = {
        .remote = &remote, .session = {.fd = -1}, .signals = -1, .results = {-1, -1}};
    struct qn_error err;
    int fd = -1;
    int code;

    if (!qn_remote_open(&remote, "replay FILE [OPTIONS]", replay_options, COUNT, 1, 1, argc, argv,
                        &code)) {
        return code;
    }
    qn_buf_init(&replay.queues_made, 64 * 1024);
    if (read_options(&replay, &err) && read_session(&replay, &fd, &err) && prepare(&replay, &err)) {
        code = replay_all(&replay);
    } else {
        code = qn_remote_misuse(&remote, &err);
    }
    clean_up(&replay, fd);
    qn_remote_close(&remote);
    return code;
}
