/* The signals that a check hears. */
#include "chaos/check/signals.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int ends[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};

enum { END_COUNT = sizeof(ends) / sizeof(ends[0]) };

/* A signal that is blocked arrives even where it is ignored. */
static bool is_wanted(int number)
{
    struct sigaction action;

    return number != SIGHUP || sigaction(number, NULL, &action) < 0 || action.sa_handler != SIG_IGN;
}

int qn_signals_open(void)
{
    sigset_t signals;

    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGCHLD);
    for (size_t i = 0; i < END_COUNT; i++) {
        if (is_wanted(ends[i])) {
            (void)sigaddset(&signals, ends[i]);
        }
    }
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

static bool is_end(uint32_t number)
{
    for (size_t i = 0; i < END_COUNT; i++) {
        if (number == (uint32_t)ends[i]) {
            return true;
        }
    }
    return false;
}

bool qn_signals_heard_end(int signal_fd)
{
    struct signalfd_siginfo info;
    bool heard = false;

    while (read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        heard = heard || is_end(info.ssi_signo);
    }
    return heard;
}
