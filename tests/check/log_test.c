/* What an instance prints becomes events. */
#include "chaos/check/log.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

static struct qn_history history;
static struct qn_recorder recorder;
static struct qn_log_reader reader;
static char path[] = "/tmp/quern-log-test-XXXXXX";
static FILE *file;

static void open_log(void)
{
    int handle = mkstemp(path);

    cr_assert(handle >= 0);
    file = fdopen(handle, "w");
    qn_history_init(&history);
    recorder = (struct qn_recorder){.history = &history};
    qn_log_open(&reader, path, QN_STR("QUERN0001"), &recorder);
}

static void close_log(void)
{
    qn_log_close(&reader);
    qn_history_done(&history);
    (void)fclose(file);
    (void)unlink(path);
}
TestSuite(log, .init = open_log, .fini = close_log);

static void print(const char *text)
{
    (void)fputs(text, file);
    (void)fflush(file);
}

static void expect_line(size_t i, const char *text)
{
    cr_assert_lt(i, history.count);
    cr_expect_eq(history.events[i].kind, QN_CHECK_LOG);
    cr_expect_str_eq(history.events[i].detail->reason.ptr, text);
    cr_expect_str_eq(history.events[i].instance.ptr, "QUERN0001");
}

Test(log, another_scenario_begins_with_an_empty_file)
{
    struct qn_history next;
    struct qn_recorder other = {.history = &next};

    qn_history_init(&next);
    print("one\n");
    qn_log_read(&reader, false);
    print("never read\n");
    qn_log_renew(&reader, QN_STR("QUERN0001"), &other);
    cr_expect_eq(lseek(fileno(file), 0, SEEK_END), 0);
    print("two\n");
    qn_log_read(&reader, false);
    cr_expect_eq(history.count, 1);
    cr_assert_eq(next.count, 1);
    cr_expect_str_eq(next.events[0].detail->reason.ptr, "two");
    qn_log_close(&reader);
    qn_history_done(&next);
}

Test(log, line_is_recorded_once_and_when_it_is_whole)
{
    print("one\ntw");
    qn_log_read(&reader, false);
    qn_log_read(&reader, false);
    cr_expect_eq(history.count, 1);
    expect_line(0, "one");
    print("o\n\nthree");
    qn_log_read(&reader, false);
    cr_expect_eq(history.count, 3);
    expect_line(1, "two");
    expect_line(2, "");
    qn_log_read(&reader, true);
    expect_line(3, "three");
    print(" four\n");
    qn_log_read(&reader, false);
    expect_line(4, " four");
    cr_expect_eq(history.count, 5);
}

Test(log, bytes_that_are_no_text_do_not_break_the_trace)
{
    char *written = NULL;
    size_t size = 0;
    struct qn_history again;
    struct qn_error err;

    (void)fwrite("a\xff"
                 "b\0c\x1b[0m\xc3\n\xe2\x82\xac\n",
                 1, 16, file);
    (void)fflush(file);
    qn_log_read(&reader, false);
    cr_expect_eq(history.count, 2);
    FILE *out = open_memstream(&written, &size);
    qn_history_write(&history, out);
    (void)fclose(out);
    qn_history_init(&again);
    cr_assert(qn_history_read(&again, qn_str(written, size), &err), "%s", err.message);
    cr_expect(qn_str_equal(again.events[0].detail->reason, qn_str("a?b\0c\x1b[0m?", 10)));
    cr_expect(qn_str_equal(again.events[1].detail->reason, QN_STR("\xe2\x82\xac")));
    qn_history_done(&again);
    free(written);
}

Test(log, very_long_line_is_cut)
{
    for (size_t i = 0; i < 40000; i++) {
        (void)fputc('x', file);
    }
    print("\nnext\n");
    qn_log_read(&reader, true);
    cr_expect_eq(history.events[0].detail->reason.len, 500);
    expect_line(history.count - 1, "next");
    cr_expect_lt(history.count, 6);
}

Test(log, of_a_flood_the_beginning_and_the_end_are_kept)
{
    for (int i = 0; i < 1000000; i++) {
        (void)fprintf(file, "line %d\n", i);
    }
    (void)fflush(file);
    qn_log_read(&reader, false);
    cr_expect_eq(history.count, 2000);
    qn_log_read(&reader, false);
    cr_expect_eq(history.count, 2000);
    qn_log_close(&reader);
    expect_line(0, "line 0");
    expect_line(1999, "line 1999");
    cr_expect_eq(history.count, 2100);
    expect_line(2001, "line 999901");
    expect_line(2099, "line 999999");
    cr_expect(qn_str_starts_with(history.events[2000].detail->reason, QN_STR("(11")));
    cr_expect(
        qn_str_ends_with(history.events[2000].detail->reason, QN_STR("bytes are left out here)")));
}

Test(log, file_does_not_grow_without_bounds)
{
    char line[1001];

    memset(line, 'x', 999);
    line[999] = '\n';
    line[1000] = '\0';
    /* As a child writes: at the end, wherever that is. */
    cr_assert_not_null(freopen(path, "a", file));
    for (int i = 0; i < 60000; i++) {
        (void)fputs(line, file);
        if (i % 1000 == 0) {
            (void)fflush(file);
            qn_log_read(&reader, false);
        }
    }
    print("last\n");
    (void)fflush(file);
    cr_expect_lt(lseek(reader.file, 0, SEEK_END), 20 * 1024 * 1024);
    qn_log_close(&reader);
    struct qn_check_event *last = &history.events[history.count - 1];
    cr_expect_str_eq(last->detail->reason.ptr, "last");
    bool is_told = false;
    for (size_t i = 0; i < history.count; i++) {
        is_told =
            is_told || strstr(history.events[i].detail->reason.ptr, "bytes are left out") != NULL;
    }
    cr_expect(is_told);
}
