/* `quern tail`: the messages of a queue as they come in, without receiving them. */
#include <stdio.h>
#include <time.h>

#include "server/cli/output.h"
#include "server/cli/peeking.h"
#include "server/cli/progress.h"

enum { PAGE = 1000, LAST_MAX = 1000, INTERVAL_MIN_MS = 10, INTERVAL_MAX_MS = 60000 };

static const struct qn_option tail_options[] = {
    QN_REMOTE_OPTIONS,
    {"account", "ID", NULL, NULL, "account of the queue, where several have the name", 0},
    {"last", "N", "10", NULL, "show so many of those that are there", 0},
    {"count", "N", "0", NULL, "end after so many messages; 0: when it is interrupted", 0},
    {"interval", "N", "100", "ms",
     "how often to look; what is sent and deleted between two looks is\nnot seen", 0},
};
enum { TAIL_ACCOUNT = QN_REMOTE_COUNT, TAIL_LAST, TAIL_COUNT, TAIL_INTERVAL, TAIL_OPTIONS };

struct tail {
    struct qn_remote *remote;
    int64_t last;
    int64_t count; /* 0: no end */
    int64_t interval_ms;
    int64_t after; /* the position looked at last */
    int64_t shown;
};

static bool is_done(const struct tail *tail)
{
    return tail->count > 0 && tail->shown >= tail->count;
}

static void print_instant(int64_t at_ms)
{
    time_t seconds = (time_t)(at_ms / 1000);
    struct tm parts;

    if (localtime_r(&seconds, &parts) != NULL) {
        (void)printf("%02d:%02d:%02d.%03d", parts.tm_hour, parts.tm_min, parts.tm_sec,
                     (int)(at_ms % 1000));
    }
}

static const char *text_in(const json_t *message, const char *name)
{
    const char *text = json_string_value(json_object_get(message, name));

    return text == NULL ? "" : text;
}

static void show(struct tail *tail, json_t *message)
{
    const char *group = text_in(message, "group_id");

    if (is_done(tail)) {
        return;
    }
    tail->shown++;
    if (qn_remote_wants_json(tail->remote)) {
        qn_remote_print_json(json_incref(message));
        return;
    }
    print_instant(json_integer_value(json_object_get(message, "sent_at_ms")));
    (void)printf("  %s  ", text_in(message, "message_id"));
    if (group[0] != '\0') {
        (void)putchar('[');
        qn_columns_print_clean(group);
        (void)fputs("] ", stdout);
    }
    qn_columns_print_clean(text_in(message, "body"));
    (void)putchar('\n');
}

/* The next page, and moves behind it. */
static bool next_page(struct tail *tail, json_t **ret_page, bool *ret_more, struct quern_error *err)
{
    const char *account = qn_options_text(&tail->remote->options, TAIL_ACCOUNT);
    const json_t *messages;
    size_t count;

    if (!qn_peeking_page(tail->remote, account, tail->after, PAGE, ret_page, err)) {
        return false;
    }
    messages = json_object_get(*ret_page, "messages");
    count = json_array_size(messages);
    if (count > 0) {
        tail->after =
            json_integer_value(json_object_get(json_array_get(messages, count - 1), "position"));
    }
    *ret_more = json_is_integer(json_object_get(*ret_page, "next"));
    return true;
}

/* Those that are there: goes through all of them and keeps the last ones. */
static bool show_last(struct tail *tail, struct quern_error *err)
{
    json_t *kept = json_array();
    json_t *page = NULL;
    json_t *message;
    bool more = true;
    bool ok = true;
    size_t i;

    while (ok && more) {
        ok = next_page(tail, &page, &more, err);
        if (ok) {
            json_array_extend(kept, json_object_get(page, "messages"));
            while ((int64_t)json_array_size(kept) > tail->last) {
                json_array_remove(kept, 0);
            }
            json_decref(page);
        }
    }
    json_array_foreach(kept, i, message)
    {
        if (ok) {
            show(tail, message);
        }
    }
    json_decref(kept);
    return ok;
}

static bool show_new(struct tail *tail, struct quern_error *err)
{
    json_t *page = NULL;
    json_t *message;
    bool more = true;
    size_t i;

    while (more && !is_done(tail)) {
        if (!next_page(tail, &page, &more, err)) {
            return false;
        }
        json_array_foreach(json_object_get(page, "messages"), i, message)
        {
            show(tail, message);
        }
        json_decref(page);
    }
    return true;
}

static bool follow(struct tail *tail, struct quern_error *err)
{
    struct qn_progress progress;
    bool ok = qn_peeking_check(tail->remote, err);

    qn_progress_begin(&progress, "seen");
    ok = ok && show_last(tail, err);
    while (ok && qn_output_is_written() && !is_done(tail) && !qn_output_is_unread() &&
           !qn_progress_pause(&progress, (int)tail->interval_ms)) {
        ok = show_new(tail, err);
    }
    qn_progress_end(&progress);
    if (ok && qn_output_is_unread()) {
        qn_output_end_unread();
    }
    return ok;
}

int qn_tail_main(int argc, char **argv)
{
    struct qn_remote remote;
    struct tail tail = {.remote = &remote};
    struct quern_error failure;
    struct qn_error err;
    int code;

    if (!qn_remote_open(&remote, "tail QUEUE [OPTIONS]", tail_options, TAIL_OPTIONS, 1, 1, argc,
                        argv, &code)) {
        return code;
    }
    if (!qn_options_integer(&remote.options, TAIL_LAST, 0, LAST_MAX, &tail.last, &err) ||
        !qn_options_integer(&remote.options, TAIL_COUNT, 0, INT64_MAX, &tail.count, &err) ||
        !qn_options_integer(&remote.options, TAIL_INTERVAL, INTERVAL_MIN_MS, INTERVAL_MAX_MS,
                            &tail.interval_ms, &err)) {
        code = qn_remote_misuse(&remote, &err);
    } else {
        code = follow(&tail, &failure) ? QN_EXIT_OK : qn_remote_fail(&remote, &failure);
    }
    qn_remote_close(&remote);
    return code;
}
