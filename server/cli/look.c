/* `quern peek`, `quern health`: looking without touching. */
#include <stdio.h>
#include <time.h>

#include "client/internal.h"
#include "server/base/clock.h"
#include "server/cli/peeking.h"

static int64_t integer(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static const char *text(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* ---- peek ---- */

static const struct qn_option peek_options[] = {
    QN_REMOTE_OPTIONS,
    {"account", "ID", NULL, NULL, "account of the queue, where several have the name", 0},
    {"limit", "N", "10", NULL, "messages to show", 0},
    {"after", "POSITION", "0", NULL, "only messages behind this position", 0},
};
enum { PEEK_ACCOUNT = QN_REMOTE_COUNT, PEEK_LIMIT, PEEK_AFTER, PEEK_COUNT };

static void print_messages(const json_t *messages)
{
    static const char *const head[] = {"POSITION", "MESSAGE ID", "STATE", "RECEIVES", "BODY"};
    struct qn_columns table;
    size_t i;
    const json_t *message;

    qn_columns_begin(&table, head, sizeof(head) / sizeof(head[0]));
    json_array_foreach(messages, i, message)
    {
        qn_columns_add_integer(&table, integer(message, "position"));
        qn_columns_add(&table, text(message, "message_id"));
        qn_columns_add(&table, text(message, "state"));
        qn_columns_add_integer(&table, integer(message, "receive_count"));
        qn_columns_add(&table, text(message, "body"));
    }
    qn_columns_print(&table);
    qn_columns_done(&table);
}

/* A name or a URL; what cannot be one is a mistake. */
static bool check_queue(const char *word, struct qn_error *err)
{
    struct qn_str text = qn_str_from_cstr(word);
    bool is_url = qn_str_find(text, QN_STR("://")) < text.len;

    for (size_t i = 0; i < text.len && !is_url; i++) {
        if (!qn_char_is_alphanumeric(text.ptr[i]) && strchr("-_.", text.ptr[i]) == NULL) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s cannot be the name of a queue",
                           word);
        }
    }
    return true;
}

static int peek(struct qn_remote *remote, int64_t after, int64_t limit)
{
    const char *account = qn_options_text(&remote->options, PEEK_ACCOUNT);
    struct quern_error err;
    json_t *answer;

    if (!qn_peeking_check(remote, &err) ||
        !qn_peeking_page(remote, account, after, limit, &answer, &err)) {
        return qn_remote_fail(remote, &err);
    }
    if (qn_remote_wants_json(remote)) {
        qn_remote_print_json(answer);
        return QN_EXIT_OK;
    }
    print_messages(json_object_get(answer, "messages"));
    json_decref(answer);
    return QN_EXIT_OK;
}

int qn_peek_main(int argc, char **argv)
{
    struct qn_remote remote;
    struct qn_error err;
    int64_t limit;
    int64_t after;
    int code;

    if (!qn_remote_open(&remote, "peek QUEUE|URL [OPTIONS]", peek_options, PEEK_COUNT, 1, 1, argc,
                        argv, &code)) {
        return code;
    }
    if (qn_options_integer(&remote.options, PEEK_LIMIT, 1, 1000, &limit, &err) &&
        qn_options_integer(&remote.options, PEEK_AFTER, 0, INT64_MAX, &after, &err) &&
        check_queue(remote.options.words[0], &err)) {
        code = peek(&remote, after, limit);
    } else {
        code = qn_remote_misuse(&remote, &err);
    }
    qn_remote_close(&remote);
    return code;
}

/* ---- health ---- */

enum { HEALTH_WAIT = QN_REMOTE_COUNT, HEALTH_OPTIONS, WAIT_MAX_S = 3600, ASK_AGAIN_MS = 50 };

static const struct qn_option health_options[] = {
    QN_REMOTE_OPTIONS,
    {"wait", "N", "0", "s", "wait so long for a server that is just starting", 0},
};

/* Asks again until wait_s are over. */
static bool ask_health(const struct qn_remote *remote, int64_t wait_s, json_t **ret_answer,
                       struct quern_error *err)
{
    int64_t until_ms = qn_clock_monotonic_ms() + wait_s * 1000;
    const struct timespec pause = {.tv_nsec = ASK_AGAIN_MS * 1000000L};

    while (!quern_http_get(remote->client, "/_quern/health", ret_answer, err)) {
        if (qn_clock_monotonic_ms() >= until_ms) {
            return false;
        }
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

/* Whether the server is well. Who answers something else is told apart from who does not answer. */
static bool is_well(struct qn_remote *remote, int64_t wait_s, json_t **ret_answer,
                    struct quern_error *err)
{
    struct quern_error other;
    json_t *answer = NULL;

    if (!ask_health(remote, wait_s, &answer, err)) {
        if (err->http_status != 0 && !qn_remote_check_quern(remote, "", &other)) {
            *err = other;
        }
        return false;
    }
    if (text(answer, "status") == NULL) {
        json_decref(answer);
        return quern_fail(err, "NoQuern", 0, "%s is no Quern",
                          quern_client_endpoint(remote->client));
    }
    *ret_answer = answer;
    return true;
}

int qn_health_main(int argc, char **argv)
{
    struct qn_remote remote;
    struct quern_error err;
    struct qn_error wrong;
    json_t *answer = NULL;
    int64_t wait_s;
    int code = QN_EXIT_OK;

    if (!qn_remote_open(&remote, "health", health_options, HEALTH_OPTIONS, 0, 0, argc, argv,
                        &code)) {
        return code;
    }
    if (!qn_options_integer(&remote.options, HEALTH_WAIT, 0, WAIT_MAX_S, &wait_s, &wrong)) {
        code = qn_remote_misuse(&remote, &wrong);
    } else if (!is_well(&remote, wait_s, &answer, &err)) {
        code = qn_remote_fail(&remote, &err);
    } else if (qn_remote_wants_json(&remote)) {
        qn_remote_print_json(answer);
    } else {
        (void)puts(text(answer, "status"));
        json_decref(answer);
    }
    qn_remote_close(&remote);
    return code;
}
