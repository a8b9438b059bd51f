/* `quern chaos log`: the faults that fired, from the trace. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "server/base/clock.h"
#include "server/cli/faults/faults.h"
#include "server/cli/output.h"

enum {
    WAIT_MS = 2000, /* less than the client waits for an answer; a reader may go meanwhile */
    PAUSE_MS = 200,
    ATTEMPTS = 150 /* a server that crashed, or refuses connections, is back after half a minute */
};

static const struct qn_option options[] = {
    QN_REMOTE_OPTIONS,
    {"follow", NULL, NULL, NULL, "go on with what fires later, until it is interrupted", 0},
};
enum { FOLLOW = QN_REMOTE_COUNT, OPTION_COUNT };

static const char *const head[] = {"TIME", "RULE", "MATCH", "ACTION", "QUEUE", "TARGET", "DONE"};
static const size_t least[] = {24, 16, 5, 14, 10, 7, 0};

enum { COLUMNS = sizeof(head) / sizeof(head[0]) };

/* Where the reading of the trace has come to. */
struct reader {
    struct qn_remote *remote;
    json_int_t since;
    bool has_head;
};

/* Of a fault that came to nothing the rule stands in the target. */
static const char *rule_of(const json_t *event, const char **ret_target)
{
    static const char mark[] = "rule=";
    const char *target = qn_chaos_text(event, "target");

    if (json_object_get(event, "rule") != NULL || strncmp(target, mark, strlen(mark)) != 0) {
        *ret_target = target;
        return qn_chaos_text(event, "rule");
    }
    *ret_target = qn_chaos_text(event, "mid");
    return target + strlen(mark);
}

/* Those that another rule got ahead of did not fire. */
static bool has_fired(const json_t *event)
{
    static const char shadowed[] = "shadowed by ";

    return strcmp(qn_chaos_text(event, "kind"), "fault") == 0 &&
           strncmp(qn_chaos_text(event, "reason"), shadowed, strlen(shadowed)) != 0;
}

static void add_row(struct qn_columns *table, const json_t *event)
{
    const json_t *match = json_object_get(event, "match");
    const char *target;
    const char *rule = rule_of(event, &target);
    char at[32];

    qn_clock_format_instant(json_integer_value(json_object_get(event, "vt")), at);
    qn_columns_add(table, at);
    qn_columns_add(table, rule);
    if (match == NULL) {
        qn_columns_add(table, "");
    } else {
        qn_columns_add_integer(table, json_integer_value(match));
    }
    qn_columns_add(table, qn_chaos_text(event, "action"));
    qn_columns_add(table, qn_chaos_text(event, "queue"));
    qn_columns_add(table, target);
    qn_columns_add(table, qn_chaos_text(event, "reason"));
}

/* ---- the trace ---- */

static void look_at(struct reader *reader, json_t *event, struct qn_columns *table)
{
    const json_t *seq = json_object_get(event, "seq");

    if (json_is_integer(seq)) {
        if (reader->since == 0 && json_integer_value(seq) > 1) {
            (void)fputs("note: the trace holds the latest events only, older faults are gone\n",
                        stderr);
        }
        reader->since = json_integer_value(seq);
    }
    if (!has_fired(event)) {
        return;
    }
    if (qn_remote_wants_json(reader->remote)) {
        qn_remote_print_json(json_incref(event));
    } else {
        add_row(table, event);
    }
}

static void look_at_lines(struct reader *reader, struct qn_str lines)
{
    struct qn_columns table;

    qn_columns_begin(&table, reader->has_head ? NULL : head, COLUMNS);
    table.least = least;
    while (lines.len > 0) {
        struct qn_str line = qn_str_cut(lines, '\n', &lines);
        json_t *event = json_loadb(line.ptr, line.len, 0, NULL);
        if (event != NULL) {
            look_at(reader, event, &table);
            json_decref(event);
        }
    }
    if (!qn_remote_wants_json(reader->remote)) {
        qn_columns_print(&table);
    }
    reader->has_head = true;
    qn_columns_done(&table);
    (void)fflush(stdout);
}

/* The next part of the trace; *ret_ended when there is none, at least for so long. */
static bool read_part(struct reader *reader, int wait_ms, bool *ret_ended, struct quern_error *err)
{
    char path[96];
    char *text;
    size_t len;

    (void)snprintf(path, sizeof(path), "/_quern/trace?since=%lld&wait_ms=%d",
                   (long long)reader->since, wait_ms);
    if (!quern_http_get_text(reader->remote->client, path, &text, &len, err)) {
        return false;
    }
    *ret_ended = len == 0;
    if (len > 0 || !reader->has_head) {
        look_at_lines(reader, qn_str(text, len));
    }
    quern_text_free(text);
    return true;
}

static int show(struct reader *reader)
{
    struct quern_error err;
    bool ended = false;

    if (!qn_chaos_check_quern(reader->remote, &err)) {
        return qn_remote_fail(reader->remote, &err);
    }
    while (!ended) {
        if (!read_part(reader, 0, &ended, &err)) {
            return qn_remote_fail(reader->remote, &err);
        }
    }
    return QN_EXIT_OK;
}

static void pause_shortly(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};

    (void)nanosleep(&pause, NULL);
}

/* Whether what was read is a part of this trace: a server that was started anew has one of its own,
 * which is shorter. */
static bool goes_on(struct reader *reader, bool *ret_goes_on, struct quern_error *err)
{
    char path[96];
    char *text;
    size_t len;

    (void)snprintf(path, sizeof(path), "/_quern/trace?since=%lld", (long long)reader->since - 1);
    if (!quern_http_get_text(reader->remote->client, path, &text, &len, err)) {
        return false;
    }
    *ret_goes_on = len > 0;
    quern_text_free(text);
    return true;
}

static bool read_again(struct reader *reader, bool *was_lost, struct quern_error *err)
{
    bool same = true;
    bool ended;

    if (*was_lost && reader->since > 0 && !goes_on(reader, &same, err)) {
        return false;
    }
    reader->since = same ? reader->since : 0;
    *was_lost = false;
    return read_part(reader, WAIT_MS, &ended, err);
}

/* Faults may be what ends the connection: a server that was there is asked again for a while. */
static int follow(struct reader *reader)
{
    struct quern_error err;
    bool was_there = false;
    bool was_lost = false;
    int left = ATTEMPTS;

    if (!qn_chaos_check_quern(reader->remote, &err)) {
        return qn_remote_fail(reader->remote, &err);
    }
    for (;;) {
        if (!qn_output_is_written()) {
            return QN_EXIT_FAILED;
        }
        if (qn_output_is_unread()) {
            qn_output_end_unread();
            return QN_EXIT_FAILED;
        }
        if (read_again(reader, &was_lost, &err)) {
            was_there = true;
            left = ATTEMPTS;
        } else if (!was_there || err.http_status != 0 || left-- == 0) {
            return qn_remote_fail(reader->remote, &err);
        } else {
            was_lost = true;
            pause_shortly();
        }
    }
}

int qn_chaos_log_main(int argc, char **argv)
{
    struct qn_remote remote;
    struct reader reader = {.remote = &remote};
    int code;

    if (!qn_remote_open(&remote, "chaos log [OPTIONS]", options, OPTION_COUNT, 0, 0, argc, argv,
                        &code)) {
        return code;
    }
    code = qn_options_is_on(&remote.options, FOLLOW) ? follow(&reader) : show(&reader);
    qn_remote_close(&remote);
    return code;
}
