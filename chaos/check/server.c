/* The life of the server child and the harness's calls to it. */
#include "chaos/check/server.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/check/process.h"
#include "server/base/clock.h"

#define LOOPBACK "127.0.0.1"
#define EVERYWHERE "0.0.0.0"

enum { ARGUMENTS_MAX = 20 + 2 * QN_SERVER_PORTS_MAX };
enum { NOT_FOUND = 404 };
enum { START_LIMIT_MS = 20000, START_ATTEMPTS = 3, STOP_LIMIT_MS = 5000, PATH_ROOM = 4200 };

bool qn_server_fail(struct qn_error *err, const char *what, const struct quern_error *cause)
{
    return qn_fail(err, QN_ERR_INTERNAL, "%s: %s: %s", what, cause->code, cause->message);
}

/* A port that is free now. The server opens it a moment later. */
static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int port = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &len) == 0) {
        port = ntohs(address.sin_port);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return port;
}

/* Of the instances behind the first. Where the arguments end now. */
static size_t add_listeners(const struct qn_server *server, const char **argv, char (*binds)[80])
{
    size_t count = 0;

    while (argv[count] != NULL) {
        count++;
    }
    for (size_t i = 1; i < server->options.port_count; i++) {
        (void)snprintf(binds[i], sizeof(binds[i]), "%s:%d", server->options.bind, server->ports[i]);
        argv[count++] = "--bind";
        argv[count++] = binds[i];
    }
    return count;
}

static bool spawn(struct qn_server *server, int64_t virtual_ms, struct qn_error *err)
{
    static const char *const environment[] = {"QUERN_LOG=info", NULL};
    char bind[80];
    char binds[QN_SERVER_PORTS_MAX][80];
    char loopback[32];
    char database[PATH_ROOM];
    char clock[48];
    char seed[24];
    char log[PATH_ROOM];
    const struct qn_server_options *o = &server->options;

    (void)snprintf(bind, sizeof(bind), "%s:%d", o->bind, server->port);
    (void)snprintf(loopback, sizeof(loopback), LOOPBACK ":%d", server->port);
    (void)snprintf(database, sizeof(database), "%s/q.db", o->directory);
    (void)snprintf(clock, sizeof(clock), "virtual=%lld", (long long)virtual_ms);
    (void)snprintf(seed, sizeof(seed), "%llu", (unsigned long long)o->seed);
    (void)snprintf(log, sizeof(log), "%s/server.log", o->directory);
    /* The harness itself comes by the loopback, whatever the consumer does. */
    bool needs_both = strcmp(o->bind, LOOPBACK) != 0 && strcmp(o->bind, EVERYWHERE) != 0;
    const char *argv[ARGUMENTS_MAX] = {
        o->program, "serve",   "--bind", bind,      "--db",
        database,   "--clock", clock,    "--trace", server->trace_path,
        "--region", "any",     "--seed", seed,      NULL};
    size_t count = add_listeners(server, argv, binds);
    if (needs_both) {
        argv[count++] = "--bind";
        argv[count++] = loopback;
    }
    argv[count] = NULL;
    const struct qn_spawn child = {
        .argv = (char *const *)(const void *)argv,
        .environment = environment,
        .log_path = log,
        .dies_with_parent = true,
    };
    return qn_process_spawn(&child, &server->pid, err);
}

static bool wait_until_healthy(struct qn_server *server, struct qn_error *err)
{
    int64_t begin_ms = qn_clock_monotonic_ms();
    int64_t end_ms = begin_ms + START_LIMIT_MS;
    struct quern_error cause;
    int status;

    while (!quern_http_get(server->client, "/_quern/health", NULL, &cause)) {
        if (qn_process_has_ended(server->pid, &status)) {
            server->pid = 0;
            return qn_fail(err, QN_ERR_INTERNAL, "the server ended at its start (%s %d)",
                           WIFSIGNALED(status) ? "signal" : "exit code",
                           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        }
        if (qn_clock_monotonic_ms() > end_ms) {
            return qn_server_fail(err, "the server does not answer", &cause);
        }
        (void)poll(NULL, 0, 5);
    }
    server->start_ms = qn_clock_monotonic_ms() - begin_ms;
    return true;
}

/* Spawns it and brings it into the state in which scenarios run. */
static bool bring_up(struct qn_server *server, int64_t virtual_ms, struct qn_error *err)
{
    struct quern_error cause;
    size_t i;
    json_t *rule;

    if (!spawn(server, virtual_ms, err) || !wait_until_healthy(server, err)) {
        return false;
    }
    json_array_foreach(server->rules, i, rule)
    {
        json_t *body = json_pack("{s:O}", "rule", rule);
        bool ok = quern_http_post(server->client, "/_quern/rules", body, NULL, &cause);
        json_decref(body);
        if (!ok) {
            return qn_server_fail(err, "setting a rule", &cause);
        }
    }
    json_t *rate = json_pack("{s:i}", "rate", 1);
    bool ok = quern_http_post(server->client, "/_quern/clock", rate, NULL, &cause);
    json_decref(rate);
    if (!ok) {
        return qn_server_fail(err, "starting the clock", &cause);
    }
    qn_recorder_set_clock(server->recorder, virtual_ms);
    return qn_recorder_map(server->recorder, server->trace_path, err);
}

/* A client for the port that the server is going to have. */
static bool aim(struct qn_server *server, struct qn_error *err)
{
    struct quern_error cause;

    quern_client_free(server->client);
    server->client = NULL;
    for (size_t i = 0; i < server->options.port_count; i++) {
        server->ports[i] = free_port();
    }
    server->port = server->ports[0];
    (void)snprintf(server->endpoint, sizeof(server->endpoint), "http://" LOOPBACK ":%d",
                   server->port);
    const struct quern_options client = {
        .endpoint = server->endpoint,
        .region = "us-east-1",
        .access_key = QN_SERVER_SELF,
        .secret_key = "quern",
        .timeout_ms = 10000,
        .retry_base_ms = 50,
        .seed = server->options.seed + 1,
    };
    return quern_client_new(&client, &server->client, &cause) ||
           qn_server_fail(err, "client", &cause);
}

bool qn_server_start(struct qn_server *server, const struct qn_server_options *options,
                     struct qn_recorder *recorder, struct qn_error *err)
{
    struct qn_clock wall = qn_clock_system();

    *server = (struct qn_server){
        .options = *options,
        .rules = json_array(),
        .recorder = recorder,
    };
    (void)snprintf(server->trace_path, sizeof(server->trace_path), "%s/trace", options->directory);
    /* Somebody else may take the port between its choice and its use. */
    for (int attempt = 1; attempt <= START_ATTEMPTS; attempt++) {
        if (!aim(server, err)) {
            return false;
        }
        if (bring_up(server, wall.now_ms(wall.state), err)) {
            return true;
        }
        if (server->pid != 0) {
            return false;
        }
    }
    return false;
}

bool qn_server_restart(struct qn_server *server, struct qn_error *err)
{
    return bring_up(server, qn_recorder_now_ms(server->recorder), err);
}

void qn_server_stop(struct qn_server *server)
{
    int64_t end_ms = qn_clock_monotonic_ms() + STOP_LIMIT_MS;
    int status;

    if (server->pid != 0) {
        (void)kill(server->pid, SIGTERM);
        while (!qn_process_has_ended(server->pid, &status)) {
            if (qn_clock_monotonic_ms() > end_ms) {
                qn_process_kill_group(server->pid, &status);
                break;
            }
            (void)poll(NULL, 0, 2);
        }
    }
    quern_client_free(server->client);
    json_decref(server->rules);
    *server = (struct qn_server){0};
}

bool qn_server_add_rule(struct qn_server *server, const char *text, struct qn_error *err)
{
    struct quern_error cause;
    json_t *body = json_pack("{s:s}", "rule", text);
    bool ok = quern_http_post(server->client, "/_quern/rules", body, NULL, &cause);

    if (ok) {
        json_array_append_new(server->rules, json_string(text));
    } else {
        (void)qn_server_fail(err, text, &cause);
    }
    json_decref(body);
    return ok;
}

static void forget_rule(struct qn_server *server, const char *text)
{
    size_t i = json_array_size(server->rules);

    while (i > 0 && strcmp(json_string_value(json_array_get(server->rules, i - 1)), text) != 0) {
        i--;
    }
    if (i > 0) {
        json_array_remove(server->rules, i - 1);
    }
}

bool qn_server_remove_rule(struct qn_server *server, const char *text, const char *name,
                           struct qn_error *err)
{
    struct quern_error cause;
    char path[256];

    (void)snprintf(path, sizeof(path), "/_quern/rules?name=%s", name);
    /* Not found: it was removed by a try whose answer was lost. */
    if (!quern_http_delete(server->client, path, NULL, &cause) && cause.http_status != NOT_FOUND) {
        return qn_server_fail(err, name, &cause);
    }
    forget_rule(server, text);
    return true;
}

bool qn_server_remove_rules(struct qn_server *server, struct qn_error *err)
{
    struct quern_error cause;

    json_array_clear(server->rules);
    return quern_http_delete(server->client, "/_quern/rules", NULL, &cause) ||
           qn_server_fail(err, "removing the rules", &cause);
}

bool qn_server_empty(struct qn_server *server, const char *queue, struct qn_error *err)
{
    struct quern_error cause;
    json_t *body = json_pack("{s:s}", "queue", queue);
    bool ok = quern_http_post(server->client, "/_quern/reset", body, NULL, &cause);

    json_decref(body);
    return ok || qn_server_fail(err, queue, &cause);
}

bool qn_server_release(struct qn_server *server, const char *rule)
{
    struct quern_error cause;
    char path[256];

    (void)snprintf(path, sizeof(path), "/_quern/rules/%s/release", rule);
    return quern_http_post(server->client, path, NULL, NULL, &cause);
}

bool qn_server_do(struct qn_server *server, const struct qn_server_act *act, struct qn_error *err)
{
    struct quern_error cause;
    json_t *body = json_pack("{s:s, s:s, s:s*, s:s*, s:s*}", "do", act->action, "as", act->rule,
                             "queue", act->queue, "mid", act->message_id, "handle", act->handle);

    if (act->receive_count >= 0) {
        json_object_set_new(body, "n", json_integer(act->receive_count));
    }
    if (!qn_str_is_none(act->instance)) {
        json_object_set_new(body, "instance", json_stringn(act->instance.ptr, act->instance.len));
    }
    bool ok = quern_http_post(server->client, "/_quern/act", body, NULL, &cause);
    json_decref(body);
    return ok || qn_server_fail(err, act->action, &cause);
}

bool qn_server_mark(struct qn_server *server, const char *name)
{
    struct quern_error cause;
    json_t *body = json_pack("{s:s}", "name", name);
    bool ok = quern_http_post(server->client, "/_quern/mark", body, NULL, &cause);

    json_decref(body);
    return ok;
}

bool qn_server_advance(struct qn_server *server, int64_t by_ms, bool keeps_polls)
{
    struct quern_error cause;
    json_t *body =
        json_pack("{s:I, s:b}", "advance_ms", (json_int_t)by_ms, "keep_polls", keeps_polls);
    bool ok = quern_http_post(server->client, "/_quern/clock", body, NULL, &cause);

    json_decref(body);
    if (ok) {
        qn_recorder_set_clock(server->recorder, qn_recorder_now_ms(server->recorder) + by_ms);
    }
    return ok;
}

/* A rule moved the server's clock: ours goes with it, or our events would stand in its past. */
static void follow_clock(struct qn_server *server, const struct qn_check_event *event)
{
    struct qn_clock wall = qn_clock_system();
    int64_t now_ms = event->detail->to + wall.now_ms(wall.state) - event->wt;

    if (event->kind == QN_CHECK_CLOCK && event->detail->to != QN_EVENT_NO_INT &&
        now_ms > qn_recorder_now_ms(server->recorder)) {
        qn_recorder_set_clock(server->recorder, now_ms);
    }
}

bool qn_server_read_trace(struct qn_server *server, struct qn_error *err)
{
    struct qn_history *history = server->recorder->history;
    struct quern_error cause;
    char path[96];
    char *text;
    size_t len;
    size_t before = history->count;

    (void)snprintf(path, sizeof(path), "/_quern/trace?since=%llu",
                   (unsigned long long)server->last_seq);
    if (!quern_http_get_text(server->client, path, &text, &len, &cause)) {
        return qn_server_fail(err, "reading the trace", &cause);
    }
    bool ok = qn_history_read(history, qn_str(text, len), err);
    for (size_t i = before; i < history->count; i++) {
        if (history->events[i].seq > server->last_seq) {
            server->last_seq = history->events[i].seq;
        }
        follow_clock(server, &history->events[i]);
    }
    quern_text_free(text);
    return ok;
}

bool qn_server_skip_trace(struct qn_server *server, struct qn_error *err)
{
    struct qn_history *history = server->recorder->history;
    struct qn_history past;

    qn_history_init(&past);
    server->recorder->history = &past;
    bool ok = qn_server_read_trace(server, err);
    server->recorder->history = history;
    qn_history_done(&past);
    return ok;
}
