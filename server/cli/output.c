/* A full disk, and a reader that has gone. */
#include "server/cli/output.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include "server/cli/cli.h"

bool qn_output_is_written(void)
{
    return fflush(stdout) == 0 && ferror(stdout) == 0;
}

int qn_output_end(const char *word, int code)
{
    errno = 0;
    if (qn_output_is_written()) {
        return code;
    }
    (void)fprintf(stderr, "quern%s%s: cannot write its output: %s\n", word[0] != '\0' ? " " : "",
                  word, errno != 0 ? strerror(errno) : "part of it is lost");
    return code == QN_EXIT_OK ? QN_EXIT_FAILED : code;
}

bool qn_output_is_unread(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

void qn_output_forget(void)
{
    __fpurge(stdout);
    clearerr(stdout);
}

void qn_output_end_unread(void)
{
    qn_output_forget();
    (void)signal(SIGPIPE, SIG_DFL);
    (void)raise(SIGPIPE);
}
