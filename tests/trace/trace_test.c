/* The trace keeps what happened, in order, whatever becomes of the process. */
#include <criterion/criterion.h>

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/trace/trace.h"

enum { RING = 64 * 1024 };

static struct qn_trace *trace;
static char path[64];

static void open_memory(void)
{
    struct qn_error err;
    cr_assert(qn_trace_open(NULL, RING, &trace, &err), "%s", err.message);
}

static void make_path(void)
{
    snprintf(path, sizeof(path), "/tmp/quern-trace-%d", (int)getpid());
    unlink(path);
}

static void close_trace(void)
{
    qn_trace_close(trace);
    trace = NULL;
    if (path[0] != '\0') {
        unlink(path);
    }
}

TestSuite(trace, .init = open_memory, .fini = close_trace);
TestSuite(trace_file, .init = make_path, .fini = close_trace);

static void reopen(size_t ring_bytes)
{
    struct qn_error err;
    qn_trace_close(trace);
    trace = NULL;
    cr_assert(qn_trace_open(path, ring_bytes, &trace, &err), "%s", err.message);
}

static uint64_t append_mark(struct qn_trace *to, int64_t number)
{
    struct qn_event event;
    qn_event_init(&event, QN_EVENT_MARK);
    event.virtual_ms = number;
    event.reason = QN_STR("phase of a scenario");
    event.count = number;
    return qn_trace_append(to, &event, number);
}

static char text[4 * 1024 * 1024];

/* Everything after `since`, as one text. */
static const char *render(uint64_t since, size_t max_bytes, uint64_t *ret_last,
                          uint64_t *ret_missed)
{
    struct qn_buf buf;
    qn_buf_init(&buf, sizeof(text) - 1);
    qn_trace_render(trace, since, max_bytes, &buf, ret_last, ret_missed);
    memcpy(text, qn_buf_str(&buf).ptr, buf.len);
    text[buf.len] = '\0';
    qn_buf_done(&buf);
    return text;
}

static size_t count_lines(const char *lines)
{
    size_t n = 0;
    for (; *lines != '\0'; lines++) {
        n += *lines == '\n';
    }
    return n;
}

Test(trace, numbers_events_from_one)
{
    uint64_t last;
    uint64_t missed;

    cr_expect_eq(qn_trace_last_seq(trace), 0);
    cr_expect_eq(append_mark(trace, 10), 1);
    cr_expect_eq(append_mark(trace, 11), 2);
    cr_expect_str_eq(render(0, SIZE_MAX, &last, &missed),
                     "{\"seq\":1,\"vt\":10,\"wt\":10,\"kind\":\"mark\","
                     "\"reason\":\"phase of a scenario\",\"count\":10}\n"
                     "{\"seq\":2,\"vt\":11,\"wt\":11,\"kind\":\"mark\","
                     "\"reason\":\"phase of a scenario\",\"count\":11}\n");
    cr_expect_eq(last, 2);
    cr_expect_eq(missed, 0);
}

Test(trace, an_empty_trace_renders_nothing_and_keeps_since)
{
    uint64_t last;
    uint64_t missed;

    cr_expect_str_eq(render(7, SIZE_MAX, &last, &missed), "");
    cr_expect_eq(last, 7);
    cr_expect_eq(missed, 0);
}

Test(trace, a_reader_goes_on_where_it_stopped)
{
    uint64_t last;
    uint64_t missed;

    for (int i = 0; i < 5; i++) {
        append_mark(trace, i);
    }
    /* One byte is "about" one line. */
    cr_expect_eq(count_lines(render(0, 1, &last, &missed)), 1);
    cr_expect_eq(last, 1);
    cr_expect_eq(count_lines(render(last, 1, &last, &missed)), 1);
    cr_expect_eq(last, 2);
    cr_expect_eq(count_lines(render(last, SIZE_MAX, &last, &missed)), 3);
    cr_expect_eq(last, 5);
    /* And one that begins anew sees all of it. */
    cr_expect_eq(count_lines(render(0, SIZE_MAX, &last, &missed)), 5);
    cr_expect_eq(missed, 0);
}

Test(trace, old_events_give_way_and_are_counted_as_missed)
{
    enum { EVENTS = 5000 };
    uint64_t last;
    uint64_t missed;

    for (int i = 1; i <= EVENTS; i++) {
        append_mark(trace, i);
        if (i == 100) {
            render(0, SIZE_MAX, &last, &missed);
            cr_expect_eq(missed, 0);
        }
    }
    size_t lines = count_lines(render(0, SIZE_MAX, &last, &missed));
    cr_expect_eq(last, EVENTS);
    cr_expect_gt(lines, 100);
    cr_expect_eq(lines + missed, EVENTS);
    /* A reader that stood at 100 has missed a hundred fewer. */
    uint64_t missed_later;
    cr_expect_eq(count_lines(render(100, SIZE_MAX, &last, &missed_later)), lines);
    cr_expect_eq(missed_later, missed - 100);
    /* One who read up to the last lost event has missed none. */
    render(missed, SIZE_MAX, &last, &missed_later);
    cr_expect_eq(missed_later, 0);
}

Test(trace, records_of_all_sizes_survive_the_end_of_the_ring)
{
    static char filler[700];
    uint64_t last;
    uint64_t missed;

    memset(filler, 'x', sizeof(filler));
    for (int i = 0; i < 3000; i++) {
        struct qn_event event;
        qn_event_init(&event, QN_EVENT_MARK);
        event.reason = qn_str(filler, (size_t)(i * 37 % (int)sizeof(filler)));
        qn_trace_append(trace, &event, 0);
        if (i % 50 == 49) {
            size_t lines = count_lines(render(0, SIZE_MAX, &last, &missed));
            cr_assert_eq(last, (uint64_t)i + 1);
            cr_assert_eq(lines + missed, (uint64_t)i + 1);
        }
    }
}

Test(trace, an_event_larger_than_a_quarter_of_the_ring_loses_its_parameters)
{
    static char big[RING];
    struct qn_event event;
    uint64_t last;
    uint64_t missed;

    memset(big, 'x', sizeof(big));
    qn_event_init(&event, QN_EVENT_API_IN);
    event.action = QN_STR("SendMessage");
    event.parameters = qn_str(big, sizeof(big));
    qn_trace_append(trace, &event, 0);
    cr_expect_str_eq(
        render(0, SIZE_MAX, &last, &missed),
        "{\"seq\":1,\"vt\":0,\"wt\":0,\"kind\":\"api.in\",\"action\":\"SendMessage\"}\n");

    event.action = qn_str(big, sizeof(big));
    qn_trace_append(trace, &event, 0);
    cr_expect_lt(strlen(render(1, SIZE_MAX, &last, &missed)), 512);
    cr_expect_eq(last, 2);
}

struct seen {
    enum qn_event_kind kinds[8];
    uint64_t lsns[8];
    int64_t virtual_ms[8];
    size_t count;
};

static void see(void *state, const struct qn_event *event)
{
    struct seen *seen = state;
    seen->kinds[seen->count] = event->kind;
    seen->lsns[seen->count] = event->lsn;
    seen->virtual_ms[seen->count] = event->virtual_ms;
    seen->count++;
}

Test(trace, state_events_of_a_list_carry_the_lsn_of_their_entry_and_others_none)
{
    static const enum qn_event_kind kinds[] = {QN_EVENT_API_IN, QN_EVENT_LEASE_GRANT,
                                               QN_EVENT_MSG_DUPCOPY, QN_EVENT_API_OUT};
    struct qn_event_list list = {.wanted = true};
    struct seen seen = {0};
    uint64_t last;
    uint64_t missed;

    qn_buf_init(&list.encoded, 4096);
    for (size_t i = 0; i < 4; i++) {
        struct qn_event event;
        qn_event_init(&event, kinds[i]);
        qn_event_list_add(&list, &event);
    }
    qn_trace_append_list(trace, &list, 77, 5000, 6000, see, &seen);
    cr_expect_eq(list.encoded.len, 0);
    cr_assert_eq(seen.count, 4);
    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(seen.kinds[i], kinds[i]);
        cr_expect_eq(seen.lsns[i], i == 1 || i == 2 ? 77 : 0);
        cr_expect_eq(seen.virtual_ms[i], 5000);
    }
    cr_expect_str_eq(render(0, SIZE_MAX, &last, &missed),
                     "{\"seq\":1,\"vt\":5000,\"wt\":6000,\"kind\":\"api.in\"}\n"
                     "{\"seq\":2,\"vt\":5000,\"wt\":6000,\"kind\":\"lease.grant\",\"lsn\":77}\n"
                     "{\"seq\":3,\"vt\":5000,\"wt\":6000,\"kind\":\"msg.dupcopy\",\"lsn\":77}\n"
                     "{\"seq\":4,\"vt\":5000,\"wt\":6000,\"kind\":\"api.out\"}\n");
    qn_buf_done(&list.encoded);
}

Test(trace, an_unwanted_list_stays_empty)
{
    struct qn_event_list list = {.wanted = false};
    struct qn_event event;

    qn_buf_init(&list.encoded, 4096);
    qn_event_init(&event, QN_EVENT_MARK);
    qn_event_list_add(&list, &event);
    cr_expect_eq(list.encoded.len, 0);
    cr_expect_null(list.encoded.ptr);
}

Test(trace, a_list_at_its_ceiling_keeps_whole_events_only)
{
    struct qn_event_list list = {.wanted = true};
    struct qn_event event;
    struct seen seen = {0};

    qn_buf_init(&list.encoded, 100);
    qn_event_init(&event, QN_EVENT_MARK);
    event.reason = QN_STR("a text that fits only twice");
    for (int i = 0; i < 5; i++) {
        qn_event_list_add(&list, &event);
    }
    cr_expect(list.encoded.overflow);
    qn_trace_append_list(trace, &list, 1, 0, 0, see, &seen);
    cr_expect_eq(seen.count, 1);
    qn_buf_done(&list.encoded);
}

Test(trace_file, a_file_is_continued_with_its_events_and_its_numbers)
{
    uint64_t last;
    uint64_t missed;

    reopen(RING);
    append_mark(trace, 1);
    append_mark(trace, 2);
    qn_trace_header(trace)->rule_counters[3][1] = 9;
    reopen(4 * RING); /* the file's own size counts */
    cr_expect_eq(qn_trace_header(trace)->ring_bytes, RING);
    cr_expect_eq(qn_trace_header(trace)->rule_counters[3][1], 9);
    cr_expect_eq(qn_trace_last_seq(trace), 2);
    cr_expect_eq(append_mark(trace, 3), 3);
    cr_expect_eq(count_lines(render(0, SIZE_MAX, &last, &missed)), 3);
}

Test(trace_file, another_process_takes_numbers_of_the_same_counter)
{
    uint64_t last;
    uint64_t missed;

    reopen(RING);
    cr_expect_eq(append_mark(trace, 1), 1);
    cr_expect_eq(atomic_fetch_add(&qn_trace_header(trace)->next_seq, 3), 2);
    cr_expect_eq(append_mark(trace, 2), 5);
    cr_expect_eq(count_lines(render(1, SIZE_MAX, &last, &missed)), 1);
    cr_expect_eq(last, 5);
    cr_expect_eq(missed, 0, "the numbers of others are not missing events");
}

/* Appends for ever, until it is killed; says over the pipe which number was given. */
static void append_until_killed(int pipe_end)
{
    struct qn_error err;
    struct qn_trace *mine;

    if (!qn_trace_open(path, RING, &mine, &err)) {
        _exit(1);
    }
    for (int64_t i = 1;; i++) {
        uint64_t seq = append_mark(mine, i);
        if (i % 500 == 0 && write(pipe_end, &seq, sizeof(seq)) != (ssize_t)sizeof(seq)) {
            _exit(1);
        }
    }
}

Test(trace_file, a_killed_process_loses_no_event_and_no_order)
{
    uint64_t told = 0;

    for (int round = 0; round < 5; round++) {
        int ends[2];
        int status;
        uint64_t last;
        uint64_t missed;
        cr_assert_eq(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            append_until_killed(ends[1]);
        }
        close(ends[1]);
        for (int i = 0; i < 4; i++) {
            cr_assert_eq(read(ends[0], &told, sizeof(told)), (ssize_t)sizeof(told));
        }
        kill(child, SIGKILL);
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFSIGNALED(status));
        close(ends[0]);

        reopen(RING);
        uint64_t found = qn_trace_last_seq(trace);
        cr_expect_geq(found, told);
        cr_expect_gt(append_mark(trace, 0), found);
        size_t lines = count_lines(render(0, SIZE_MAX, &last, &missed));
        cr_expect_gt(lines, 100);
        /* A number may have been drawn for a record that was never finished, once per kill. */
        cr_expect_leq(last - (lines + missed), (uint64_t)round + 1);
    }
}

static void put_file(const char *bytes, size_t len)
{
    FILE *file = fopen(path, "wb");
    cr_assert_eq(fwrite(bytes, 1, len, file), len);
    fclose(file);
}

static size_t get_file(char *bytes, size_t max)
{
    FILE *file = fopen(path, "rb");
    size_t len = fread(bytes, 1, max, file);
    fclose(file);
    return len;
}

static void expect_refused(const char *why)
{
    static char before[2 * RING];
    static char after[2 * RING];
    struct qn_error err;
    size_t len = get_file(before, sizeof(before));

    cr_expect_not(qn_trace_open(path, RING, &trace, &err), "%s", why);
    cr_expect_not_null(strstr(err.message, "not a trace of Quern"), "%s", err.message);
    cr_expect_not_null(strstr(err.message, path));
    cr_expect_eq(get_file(after, sizeof(after)), len);
    cr_expect_arr_eq(before, after, len);
}

Test(trace_file, a_foreign_file_is_refused_and_left_alone)
{
    static char big[RING];

    put_file("hello", 5);
    expect_refused("short text");
    memset(big, 'x', sizeof(big));
    put_file(big, sizeof(big));
    expect_refused("large text");
    memset(big, 0, sizeof(big));
    put_file(big, sizeof(big));
    expect_refused("zeros of another size");
    memcpy(big, "QNTRACE2", 8);
    put_file(big, sizeof(big));
    expect_refused("another version");
    memcpy(big, "QNTRACE1", 8);
    put_file(big, sizeof(big));
    expect_refused("our magic, size zero");
}

Test(trace_file, a_cut_file_is_refused)
{
    reopen(RING);
    append_mark(trace, 1);
    qn_trace_close(trace);
    trace = NULL;
    cr_assert_eq(truncate(path, RING), 0);
    expect_refused("cut");
}

Test(trace_file, what_cannot_be_opened_is_named_with_the_reason)
{
    struct qn_error err;

    cr_expect_not(qn_trace_open("/nonexistent/folder/trace", RING, &trace, &err));
    cr_expect_not_null(strstr(err.message, "/nonexistent/folder/trace"));
    cr_expect_not_null(strstr(err.message, "No such file"));
    cr_expect_not(qn_trace_open("/tmp", RING, &trace, &err));
    cr_expect_not(qn_trace_open("/dev/null", RING, &trace, &err));
    cr_expect_not_null(strstr(err.message, "not a regular file"));
}

Test(trace_file, a_damaged_record_ends_the_history_but_not_the_file)
{
    uint64_t last;
    uint64_t missed;

    reopen(RING);
    append_mark(trace, 1);
    append_mark(trace, 2);
    uint64_t tail = qn_trace_header(trace)->tail;
    append_mark(trace, 3);
    memset((char *)qn_trace_header(trace) + QN_TRACE_HEADER_BYTES + tail, 0xFF, 8);
    reopen(RING);
    cr_expect_eq(count_lines(render(0, SIZE_MAX, &last, &missed)), 2);
    cr_expect_eq(append_mark(trace, 4), 4);
    cr_expect_eq(count_lines(render(0, SIZE_MAX, &last, &missed)), 3);
}

Test(trace_file, a_reader_in_another_process_never_sees_half_a_record)
{
    uint64_t last = 0;
    uint64_t missed;
    int ends[2];
    int status;
    uint64_t told;

    reopen(RING);
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        append_until_killed(ends[1]);
    }
    close(ends[1]);
    for (int i = 0; i < 40; i++) {
        cr_assert_eq(read(ends[0], &told, sizeof(told)), (ssize_t)sizeof(told));
        const char *lines = render(last, SIZE_MAX, &last, &missed);
        for (const char *line = lines; *line != '\0'; line = strchr(line, '\n') + 1) {
            cr_assert_eq(strncmp(line, "{\"seq\":", 7), 0);
            cr_assert_not_null(strstr(line, "\"reason\":\"phase of a scenario\",\"count\":"));
        }
    }
    kill(child, SIGKILL);
    cr_assert_eq(waitpid(child, &status, 0), child);
    close(ends[0]);
}

Test(trace_file, memory_of_an_earlier_process_is_continued)
{
    size_t size = QN_TRACE_HEADER_BYTES + RING;
    void *memory = calloc(1, size);
    uint64_t last;
    uint64_t missed;

    path[0] = '\0';
    trace = qn_trace_adopt(memory, size);
    cr_expect_eq(append_mark(trace, 1), 1);
    cr_expect_eq(append_mark(trace, 2), 2);
    qn_trace_header(trace)->rule_counters[3][1] = 7;
    qn_trace_close(trace);
    trace = qn_trace_adopt(memory, size);
    cr_expect_eq(append_mark(trace, 3), 3);
    cr_expect_eq(qn_trace_header(trace)->rule_counters[3][1], 7);
    cr_expect_eq(count_lines(render(0, sizeof(text), &last, &missed)), 3);
    qn_trace_close(trace);
    trace = NULL;
    free(memory);
}
