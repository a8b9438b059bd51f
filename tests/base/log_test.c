#include "server/base/log.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int saved_stderr;
static int reading_end;

/* Criterion speaks on stderr too, so it is ours only between these two. */
static void begin_capture(void)
{
    int ends[2];

    cr_assert_eq(pipe(ends), 0);
    saved_stderr = dup(STDERR_FILENO);
    cr_assert_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
    reading_end = ends[0];
}

static size_t end_capture(char *text, size_t room)
{
    size_t len = 0;
    ssize_t got;

    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    while ((got = read(reading_end, text + len, room - 1 - len)) > 0) {
        len += (size_t)got;
    }
    text[len] = '\0';
    close(reading_end);
    return len;
}

Test(log, a_line_has_level_area_and_sentence)
{
    char text[200];

    begin_capture();
    qn_log(QN_LOG_WARN, "journal", "ring is three quarters full bytes=%d", 42);
    end_capture(text, sizeof(text));
    cr_expect_str_eq(text, "warn journal: ring is three quarters full bytes=42\n");
}

Test(log, what_lies_below_the_level_is_not_written)
{
    char text[200];

    begin_capture();
    qn_log(QN_LOG_DEBUG, "http", "not by default");
    qn_log_set_level(QN_LOG_ERROR);
    qn_log(QN_LOG_WARN, "http", "not at error");
    qn_log(QN_LOG_ERROR, "http", "always");
    end_capture(text, sizeof(text));
    cr_expect_str_eq(text, "error http: always\n");
    cr_expect(qn_log_is_on(QN_LOG_ERROR));
    cr_expect_not(qn_log_is_on(QN_LOG_INFO));
}

Test(log, a_value_cannot_begin_a_line_of_its_own)
{
    char text[200];

    begin_capture();
    qn_log(QN_LOG_INFO, "http", "name=%s", "x\nerror forged: line\x1B[2J");
    end_capture(text, sizeof(text));
    cr_expect_str_eq(text, "info http: name=x error forged: line [2J\n");
}

Test(log, a_line_that_is_too_long_is_cut_and_still_ends)
{
    static char text[10000];
    size_t len;

    begin_capture();
    qn_log(QN_LOG_INFO, "http", "%09000d", 1);
    len = end_capture(text, sizeof(text));
    cr_expect_eq(len, 4096);
    cr_expect_eq(text[len - 1], '\n');
}

Test(log, logging_keeps_errno)
{
    char text[200];
    int kept;

    begin_capture();
    errno = ENOSPC;
    qn_log(QN_LOG_INFO, "http", "x");
    kept = errno;
    end_capture(text, sizeof(text));
    cr_expect_eq(kept, ENOSPC);
}

Test(log, levels_are_known_by_name)
{
    enum qn_log_level level = QN_LOG_INFO;

    cr_expect(qn_log_parse_level(QN_STR("DEBUG"), &level));
    cr_expect_eq(level, QN_LOG_DEBUG);
    cr_expect(qn_log_parse_level(QN_STR("error"), &level));
    cr_expect_eq(level, QN_LOG_ERROR);
    cr_expect_not(qn_log_parse_level(QN_STR("loud"), &level));
    cr_expect_eq(level, QN_LOG_ERROR);
}
