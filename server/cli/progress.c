/* How far long work is. */
#include "server/cli/progress.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "server/base/clock.h"

enum { BAR_WIDTH = 30, SHOW_EVERY_MS = 100, PERCENT = 100 };

void qn_progress_init(struct qn_progress *progress, const char *what)
{
    *progress =
        (struct qn_progress){.what = what, .signals = -1, .is_shown = isatty(STDERR_FILENO) == 1};
}

void qn_progress_begin(struct qn_progress *progress, const char *what)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    qn_progress_init(progress, what);
    progress->signals = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

void qn_progress_show(struct qn_progress *progress, int64_t done, int64_t total)
{
    int64_t now_ms = qn_clock_monotonic_ms();

    if (!progress->is_shown ||
        (progress->shown_at_ms != 0 && now_ms - progress->shown_at_ms < SHOW_EVERY_MS)) {
        return;
    }
    progress->shown_at_ms = now_ms;
    if (total <= 0) {
        (void)fprintf(stderr, "\r%s %lld\033[K", progress->what, (long long)done);
    } else {
        int64_t part = done < total ? done : total; /* the total was a guess */
        int filled = (int)((double)part / (double)total * BAR_WIDTH);
        (void)fprintf(stderr, "\r[%.*s%*s] %3d%% %s %lld of %lld\033[K", filled,
                      "##############################", BAR_WIDTH - filled, "",
                      (int)((double)part / (double)total * PERCENT), progress->what,
                      (long long)done, (long long)total);
    }
    (void)fflush(stderr);
}

void qn_progress_end(struct qn_progress *progress)
{
    if (progress->shown_at_ms != 0) {
        (void)fputs("\r\033[K", stderr);
        progress->shown_at_ms = 0;
    }
    if (progress->signals >= 0) {
        (void)close(progress->signals);
        progress->signals = -1;
    }
}

bool qn_progress_is_interrupted(struct qn_progress *progress)
{
    struct signalfd_siginfo info;

    while (read(progress->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        progress->is_interrupted = true;
    }
    return progress->is_interrupted;
}

bool qn_progress_pause(struct qn_progress *progress, int pause_ms)
{
    struct pollfd waiting = {.fd = progress->signals, .events = POLLIN};

    (void)poll(&waiting, 1, pause_ms);
    return qn_progress_is_interrupted(progress);
}
