/* A trace that is many pieces long, read by two threads: each event is there once and in order,
 * however lines and pieces meet, and a line that is none ends it. Run under TSan. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/check/read_ahead.h"

enum { EVENTS = 60000, LONG_LINE = 3 * 1024 * 1024 };

static void check(bool is_right, const char *what)
{
    if (!is_right) {
        (void)fprintf(stderr, "read_ahead_test: %s\n", what);
        abort();
    }
}

static FILE *new_file(void)
{
    FILE *file = tmpfile();

    check(file != NULL, "no temporary file");
    return file;
}

/* Each with a key and a detail of its own. */
static void write_event(FILE *file, int number)
{
    (void)fprintf(file,
                  "{\"seq\":%d,\"vt\":%d,\"wt\":7,\"kind\":\"work.abort\",\"k\":\"k-%d\",\"n\":1,"
                  "\"reason\":\"caf\\u00e9 %d\"}\n",
                  number, 1000 + number, number, number % 100);
}

static void check_events(const struct qn_history *history, size_t count)
{
    char key[32];
    char reason[32];

    check(history->count == count, "not so many events as there were lines");
    for (size_t i = 0; i < count; i++) {
        const struct qn_check_event *event = &history->events[i];
        (void)snprintf(key, sizeof(key), "k-%zu", i);
        (void)snprintf(reason, sizeof(reason), "caf\xC3\xA9 %zu", i % 100);
        check(event->seq == i && event->vt == (int64_t)(1000 + i), "out of order");
        check(qn_str_equal(event->k, qn_str_from_cstr(key)), "another key");
        check(qn_str_equal(event->detail->reason, qn_str_from_cstr(reason)), "another reason");
    }
}

static bool read_again(FILE *file, struct qn_history *history, struct qn_error *err)
{
    rewind(file);
    qn_history_init(history);
    bool ok = qn_history_read_file(history, file, err);
    (void)fclose(file);
    return ok;
}

static void read_whole(void)
{
    FILE *file = new_file();
    struct qn_history history;
    struct qn_error err;

    for (int i = 0; i < EVENTS; i++) {
        write_event(file, i);
    }
    check(read_again(file, &history, &err), "a whole trace");
    check_events(&history, EVENTS);
    qn_history_done(&history);
}

/* The first that is wrong ends it, whatever was parsed behind it by then. */
static void read_to_a_wrong_line(int at)
{
    FILE *file = new_file();
    struct qn_history history;
    struct qn_error err;

    for (int i = 0; i < EVENTS; i++) {
        if (i == at || i == EVENTS - 1) {
            (void)fprintf(file, "wrong at %d\n", i);
        }
        write_event(file, i);
    }
    char wanted[64];
    (void)snprintf(wanted, sizeof(wanted), "not an event: wrong at %d", at);
    check(!read_again(file, &history, &err), "a line that is none was read");
    check(strcmp(err.message, wanted) == 0, err.message);
    check_events(&history, (size_t)at);
    qn_history_done(&history);
}

/* Longer than a piece, behind others and without an end of line. */
static void read_long_line(void)
{
    FILE *file = new_file();
    struct qn_history history;
    struct qn_error err;
    char *text = malloc(LONG_LINE);

    check(text != NULL, "no memory");
    memset(text, 'x', LONG_LINE);
    write_event(file, 0);
    (void)fprintf(file, "{\"seq\":1,\"kind\":\"log\",\"reason\":\"%.*s\"}", LONG_LINE, text);
    check(read_again(file, &history, &err), "a long line");
    check(history.count == 2 && history.events[1].detail->reason.len == LONG_LINE,
          "the long line is not whole");
    free(text);
    qn_history_done(&history);
}

static void read_nothing(void)
{
    struct qn_history history;
    struct qn_error err;

    check(read_again(new_file(), &history, &err) && history.count == 0, "an empty file");
    qn_history_done(&history);
}

int main(void)
{
    read_whole();
    read_to_a_wrong_line(0);
    read_to_a_wrong_line(EVENTS / 2);
    read_to_a_wrong_line(EVENTS - 1);
    read_long_line();
    read_nothing();
    return 0;
}
