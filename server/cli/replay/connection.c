/* Connections: a thread each with a client of its own, so that those of one connection stay in
 * their order and connections run side by side. A job goes to the thread and back through pipes;
 * whoever holds its pointer owns it. */
#include "server/cli/replay/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "server/journal/thread.h"

static void free_job(struct qn_replay_job *job)
{
    for (size_t i = 0; i < job->header_count; i++) {
        qn_memory_free(job->headers[i]);
    }
    json_decref(job->input);
    json_decref(job->output);
    qn_memory_free(job->action);
    qn_memory_free(job);
}

/* ---- the thread ---- */

struct post {
    int jobs;
    int results;
};

static bool take_pointer(int fd, struct qn_replay_job **ret_job)
{
    ssize_t got;

    do {
        got = read(fd, ret_job, sizeof(*ret_job));
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(*ret_job);
}

static void give_pointer(int fd, struct qn_replay_job *job)
{
    while (write(fd, &job, sizeof(job)) < 0 && errno == EINTR) {
    }
}

static void *run(void *state)
{
    struct post post = *(struct post *)state;
    struct qn_replay_job *job;

    qn_memory_free(state);
    while (take_pointer(post.jobs, &job) && job != NULL) {
        job->client->headers = (const char *const *)job->headers;
        job->client->header_count = job->header_count;
        job->is_answered =
            quern_client_call(job->client, job->action, job->input, &job->output, &job->err);
        job->client->header_count = 0;
        give_pointer(post.results, job);
    }
    return NULL;
}

static bool start_thread(struct qn_replay *replay, struct qn_replay_connection *connection,
                         struct qn_error *err)
{
    struct post *post;

    if (connection->has_thread) {
        return true;
    }
    if (pipe2(connection->jobs, O_CLOEXEC) != 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "cannot open another connection: %s", strerror(errno));
    }
    post = qn_memory_new(sizeof(*post));
    *post = (struct post){connection->jobs[0], replay->results[1]};
    if (!qn_thread_start(&connection->thread, run, post, err)) {
        qn_memory_free(post);
        (void)close(connection->jobs[0]);
        (void)close(connection->jobs[1]);
        return false;
    }
    connection->has_thread = true;
    return true;
}

static void forget_client(struct qn_replay_connection *connection)
{
    quern_client_free(connection->client);
    qn_memory_free(connection->access_key);
    qn_memory_free(connection->region);
    connection->client = NULL;
    connection->access_key = NULL;
    connection->region = NULL;
}

/* The thread is idle. */
static void end_connection(struct qn_replay_connection *connection)
{
    if (connection->has_thread) {
        give_pointer(connection->jobs[1], NULL);
        (void)pthread_join(connection->thread, NULL);
        (void)close(connection->jobs[0]);
        (void)close(connection->jobs[1]);
        connection->has_thread = false;
    }
    forget_client(connection);
}

/* ---- clients ---- */

static bool is_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static char *copy(const char *text)
{
    return text == NULL ? NULL : qn_memory_copy_text(text, strlen(text));
}

/* A client for the caller that the request came from. On Amazon it can only be ourselves. */
static bool use_client(struct qn_replay *replay, struct qn_replay_connection *connection,
                       const json_t *request, struct qn_error *err)
{
    const char *key = replay->options.account != NULL
                          ? replay->options.account
                          : json_string_value(json_object_get(request, "instance"));
    const char *region = replay->options.region != NULL
                             ? replay->options.region
                             : json_string_value(json_object_get(request, "region"));
    struct quern_options options = {
        .endpoint = quern_client_endpoint(replay->remote->client),
        .region = region,
        .timeout_ms = replay->options.timeout_ms,
        .max_attempts = 1,
    };
    struct quern_error failure;

    if (!replay->target.is_amazon) {
        options.access_key = key != NULL ? key : ""; /* unsigned */
        options.secret_key = "replay";
        options.session_token = "";
    }
    if (connection->client != NULL && is_same(key, connection->access_key) &&
        is_same(region, connection->region)) {
        return true;
    }
    forget_client(connection);
    if (!quern_client_new(&options, &connection->client, &failure)) {
        return qn_fail(err, QN_ERR_INTERNAL, "%s", failure.message);
    }
    connection->client->are_invocations_told =
        false; /* those of the recording are, if it has any */
    connection->access_key = copy(key);
    connection->region = copy(region);
    return true;
}

/* ---- sending ---- */

static bool is_plain(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text < 0x20 || *text > 0x7E) {
            return false;
        }
    }
    return true;
}

static void add_header(struct qn_replay_job *job, const char *name, const json_t *value)
{
    const char *text = json_string_value(value);
    struct qn_buf line;

    if (text == NULL || !is_plain(text)) {
        return;
    }
    qn_buf_init(&line, SIZE_MAX / 2);
    qn_buf_append_format(&line, "%s: %s", name, text);
    job->headers[job->header_count++] = qn_buf_take(&line, NULL);
    qn_buf_done(&line);
}

static void add_headers(struct qn_replay_job *job, const json_t *request)
{
    const json_t *attempt = json_object_get(request, "attempt");

    add_header(job, "X-Amzn-Trace-Id", json_object_get(request, "trace_header"));
    add_header(job, "amz-sdk-invocation-id", json_object_get(request, "invocation"));
    if (attempt != NULL) {
        json_t *text = json_sprintf("attempt=%lld", (long long)json_integer_value(attempt));
        add_header(job, "amz-sdk-request", text);
        json_decref(text);
    }
}

static void hand_over(struct qn_replay *replay, struct qn_replay_connection *connection,
                      const json_t *request, json_t *input)
{
    struct qn_replay_job *job = qn_memory_new(sizeof(*job));

    job->request = connection->next;
    job->action = copy(json_string_value(json_object_get(request, "action")));
    job->input = json_incref(input);
    job->client = connection->client;
    add_headers(job, request);
    replay->states[connection->next] = QN_REPLAY_SENT;
    replay->sent++;
    replay->under_way++;
    connection->is_busy = true;
    connection->waiting--;
    give_pointer(connection->jobs[1], job);
}

static void step_on(struct qn_replay *replay, struct qn_replay_connection *connection)
{
    connection->next = replay->session.requests[connection->next].next;
    if (connection->next == QN_SESSION_NONE) {
        end_connection(connection);
    }
}

static void leave_out(struct qn_replay *replay, struct qn_replay_connection *connection,
                      const json_t *request)
{
    qn_replay_count_left_out(replay, request);
    replay->states[connection->next] = QN_REPLAY_DONE;
    replay->done++;
    connection->waiting--;
    step_on(replay, connection);
}

static bool try_one(struct qn_replay *replay, struct qn_replay_connection *connection,
                    bool *ret_stuck, struct qn_error *err)
{
    const struct qn_session_request *at = &replay->session.requests[connection->next];
    json_t *request = qn_session_load(&replay->session, at->item);
    json_t *answer =
        at->answer == QN_SESSION_NONE ? NULL : qn_session_load(&replay->session, at->answer);
    json_t *input = json_object_get(request, "input");
    bool ok = true;

    *ret_stuck = false;
    if (input == NULL) {
        replay->unsendable++;
        leave_out(replay, connection, request);
    } else {
        switch (qn_replay_rewrite(replay, input, answer, replay->options.region)) {
        case QN_REPLAY_FITS:
            ok = use_client(replay, connection, request, err) &&
                 start_thread(replay, connection, err);
            if (ok) {
                hand_over(replay, connection, request, input);
            }
            break;
        case QN_REPLAY_HOMELESS:
            leave_out(replay, connection, request);
            break;
        case QN_REPLAY_TOO_EARLY:
            *ret_stuck = true;
            break;
        }
    }
    json_decref(request);
    json_decref(answer);
    return ok;
}

bool qn_replay_try(struct qn_replay *replay, struct qn_replay_connection *connection,
                   struct qn_error *err)
{
    bool is_stuck = false;
    bool ok = true;

    while (ok && !is_stuck && !connection->is_busy && connection->waiting > 0) {
        ok = try_one(replay, connection, &is_stuck, err);
    }
    return ok;
}

/* ---- what comes back ---- */

static void take_result(struct qn_replay *replay, struct qn_replay_job *job)
{
    const struct qn_session_request *at = &replay->session.requests[job->request];
    struct qn_replay_connection *connection = &replay->connections[at->connection];
    json_t *request = qn_session_load(&replay->session, at->item);
    json_t *answer =
        at->answer == QN_SESSION_NONE ? NULL : qn_session_load(&replay->session, at->answer);

    if (job->is_answered) {
        qn_replay_note_output(replay, json_object_get(answer, "output"), job->output);
    }
    qn_replay_compare(replay, request, answer, job);
    json_decref(request);
    json_decref(answer);
    replay->states[job->request] = QN_REPLAY_DONE;
    replay->under_way--;
    replay->done++;
    connection->is_busy = false;
    if (quern_client_is_cancelled(connection->client, false)) {
        forget_client(connection);
    }
    free_job(job);
    step_on(replay, connection);
}

static void read_signals(struct qn_replay *replay)
{
    struct signalfd_siginfo info;

    while (read(replay->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        replay->is_interrupted = true;
    }
}

bool qn_replay_wait(struct qn_replay *replay, int wait_ms, struct qn_error *err)
{
    struct pollfd fds[2] = {{.fd = replay->results[0], .events = POLLIN},
                            {.fd = replay->signals, .events = POLLIN}};
    int ready = poll(fds, 2, wait_ms);
    struct qn_replay_job *job;

    if (ready < 0 && errno != EINTR) {
        return qn_fail(err, QN_ERR_INTERNAL, "poll: %s", strerror(errno));
    }
    if (ready > 0 && fds[1].revents != 0) {
        read_signals(replay);
    }
    if (ready > 0 && fds[0].revents != 0 && take_pointer(replay->results[0], &job)) {
        take_result(replay, job);
    }
    return true;
}

void qn_replay_hang_up(struct qn_replay *replay, uint32_t request)
{
    struct qn_replay_connection *connection =
        &replay->connections[replay->session.requests[request].connection];

    if (replay->states[request] == QN_REPLAY_SENT) {
        quern_client_cancel(connection->client);
    }
}

void qn_replay_disconnect(struct qn_replay *replay)
{
    struct qn_error ignored;

    for (size_t i = 0; i < replay->session.connection_count; i++) {
        if (replay->connections[i].is_busy) {
            quern_client_cancel(replay->connections[i].client);
        }
    }
    while (replay->under_way > 0 && qn_replay_wait(replay, -1, &ignored)) {
    }
    for (size_t i = 0; i < replay->session.connection_count; i++) {
        end_connection(&replay->connections[i]);
    }
}
