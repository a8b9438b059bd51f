/* Log lines on stderr. Holds the log level, which any thread may read. */
#include "server/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096 };

static _Atomic int current_level = QN_LOG_INFO;

static const char *const names[] = {
    [QN_LOG_ERROR] = "error",
    [QN_LOG_WARN] = "warn",
    [QN_LOG_INFO] = "info",
    [QN_LOG_DEBUG] = "debug",
};

void qn_log_set_level(enum qn_log_level level)
{
    atomic_store_explicit(&current_level, (int)level, memory_order_relaxed);
}

bool qn_log_is_on(enum qn_log_level level)
{
    return (int)level <= atomic_load_explicit(&current_level, memory_order_relaxed);
}

bool qn_log_parse_level(struct qn_str name, enum qn_log_level *ret_level)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (qn_str_equal_nocase(name, qn_str_from_cstr(names[i]))) {
            *ret_level = (enum qn_log_level)i;
            return true;
        }
    }
    return false;
}

/* How much of a buffer snprintf filled. */
static size_t filled(int result, size_t room)
{
    if (result < 0) {
        return 0;
    }
    return (size_t)result < room ? (size_t)result : room - 1;
}

/* A value from a request must not be able to begin a line of its own or steer a terminal. */
static void blank_controls(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F) {
            text[i] = ' ';
        }
    }
}

void qn_log(enum qn_log_level level, const char *area, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    int saved_errno = errno;
    va_list args;
    size_t len;

    if (!qn_log_is_on(level)) {
        return;
    }
    len = filled(snprintf(line, sizeof(line), "%s %s: ", names[level], area), sizeof(line));
    va_start(args, format);
    len += filled(vsnprintf(line + len, sizeof(line) - len, format, args), sizeof(line) - len);
    va_end(args);
    blank_controls(line, len);
    line[len++] = '\n'; /* over the NUL */
    while (write(STDERR_FILENO, line, len) < 0 && errno == EINTR) {
    }
    errno = saved_errno;
}
