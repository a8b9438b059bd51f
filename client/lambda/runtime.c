/* The Runtime API: a thread of libmicrohttpd for each connection, of which there are one or two. */
#include "client/lambda/runtime.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { ANSWER_MAX = QN_LAMBDA_ANSWER_MAX, REQUEST_ID_LEN = 36 };

struct qn_lambda_runtime {
    struct MHD_Daemon *daemon;
    int port;
    int fd;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    bool is_closed;
    enum qn_lambda_state state;
    const struct qn_lambda_invocation *given; /* until it was answered */
    bool is_taken;                            /* the function has got it */
    struct qn_buf answer;
};

/* A request while its body comes. */
struct request {
    struct qn_buf body;
};

static void set_state(struct qn_lambda_runtime *runtime, enum qn_lambda_state state)
{
    const uint64_t one = 1;

    runtime->state = state;
    if (write(runtime->fd, &one, sizeof(one)) < 0) {
        return; /* it is readable already */
    }
}

/* ---- answers ---- */

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned int status,
                             struct MHD_Response *response)
{
    enum MHD_Result queued = MHD_queue_response(connection, status, response);

    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result reply_text(struct MHD_Connection *connection, unsigned int status,
                                  const char *text)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

    (void)MHD_add_response_header(response, "Content-Type", "application/json");
    return reply(connection, status, response);
}

static enum MHD_Result accepted(struct MHD_Connection *connection)
{
    return reply_text(connection, MHD_HTTP_ACCEPTED, "{\"status\":\"OK\"}\n");
}

static enum MHD_Result reply_event(struct MHD_Connection *connection,
                                   const struct qn_lambda_invocation *given)
{
    char deadline[24];
    struct MHD_Response *response = MHD_create_response_from_buffer(
        given->event.len, (void *)(uintptr_t)given->event.ptr, MHD_RESPMEM_MUST_COPY);

    (void)snprintf(deadline, sizeof(deadline), "%lld", (long long)given->deadline_ms);
    (void)MHD_add_response_header(response, "Content-Type", "application/json");
    (void)MHD_add_response_header(response, "Lambda-Runtime-Aws-Request-Id", given->request_id);
    (void)MHD_add_response_header(response, "Lambda-Runtime-Deadline-Ms", deadline);
    (void)MHD_add_response_header(response, "Lambda-Runtime-Invoked-Function-Arn",
                                  given->function_arn);
    (void)MHD_add_response_header(response, "Lambda-Runtime-Trace-Id", given->trace_id);
    return reply(connection, MHD_HTTP_OK, response);
}

/* ---- calls ---- */

/* Waits for an event as long as there is none. */
static enum MHD_Result next(struct qn_lambda_runtime *runtime, struct MHD_Connection *connection)
{
    enum MHD_Result result = MHD_NO;

    (void)pthread_mutex_lock(&runtime->lock);
    if (runtime->given == NULL || !runtime->is_taken) {
        /* How an invocation has ended stays to be seen until the next event is given. */
        if (runtime->state == QN_LAMBDA_STARTING && runtime->given == NULL) {
            set_state(runtime, QN_LAMBDA_IDLE);
        }
        while (!runtime->is_closed && runtime->given == NULL) {
            (void)pthread_cond_wait(&runtime->changed, &runtime->lock);
        }
    }
    if (!runtime->is_closed) {
        /* Who asks again before the answer gets the same event again, as with Lambda. */
        runtime->is_taken = true;
        set_state(runtime, QN_LAMBDA_RUNNING);
        result = reply_event(connection, runtime->given);
    }
    (void)pthread_mutex_unlock(&runtime->lock);
    return result;
}

static void keep_answer(struct qn_lambda_runtime *runtime, struct request *request,
                        enum qn_lambda_state state)
{
    qn_buf_clear(&runtime->answer);
    qn_buf_append_str(&runtime->answer, qn_buf_str(&request->body));
    runtime->given = NULL;
    runtime->is_taken = false;
    set_state(runtime, state);
}

/* `rest`: "ID/response" or "ID/error". */
static enum MHD_Result end_invocation(struct qn_lambda_runtime *runtime,
                                      struct MHD_Connection *connection, const char *rest,
                                      struct request *request)
{
    bool is_error = strcmp(rest + REQUEST_ID_LEN, "/error") == 0;
    bool is_too_long = request->body.overflow;

    (void)pthread_mutex_lock(&runtime->lock);
    bool is_current = runtime->given != NULL && runtime->is_taken &&
                      strncmp(rest, runtime->given->request_id, REQUEST_ID_LEN) == 0;
    if (is_current && is_too_long) {
        qn_buf_clear(&request->body);
        qn_buf_append_literal(&request->body,
                              "{\"errorType\":\"Function.ResponseSizeTooLarge\",\"errorMessage\":"
                              "\"Response payload size exceeded maximum allowed payload size "
                              "(6291556 bytes).\"}");
    }
    if (is_current) {
        keep_answer(runtime, request,
                    is_error || is_too_long ? QN_LAMBDA_FAILED : QN_LAMBDA_RETURNED);
    }
    (void)pthread_mutex_unlock(&runtime->lock);
    if (!is_current) {
        return reply_text(
            connection, MHD_HTTP_BAD_REQUEST,
            "{\"errorMessage\":\"Invalid request ID\",\"errorType\":\"InvalidRequestID\"}\n");
    }
    if (is_too_long) {
        return reply_text(connection, MHD_HTTP_CONTENT_TOO_LARGE,
                          "{\"errorMessage\":\"Exceeded maximum allowed payload size (6291556 "
                          "bytes).\",\"errorType\":\"RequestEntityTooLarge\"}\n");
    }
    return accepted(connection);
}

static enum MHD_Result init_error(struct qn_lambda_runtime *runtime,
                                  struct MHD_Connection *connection, struct request *request)
{
    (void)pthread_mutex_lock(&runtime->lock);
    bool is_starting = runtime->state == QN_LAMBDA_STARTING;
    if (is_starting) {
        keep_answer(runtime, request, QN_LAMBDA_INIT_FAILED);
    }
    (void)pthread_mutex_unlock(&runtime->lock);
    return is_starting ? accepted(connection)
                       : reply_text(connection, MHD_HTTP_FORBIDDEN,
                                    "{\"errorMessage\":\"The function has started\",\"errorType\":"
                                    "\"InvalidStateTransition\"}\n");
}

static enum MHD_Result serve(struct qn_lambda_runtime *runtime, struct MHD_Connection *connection,
                             const char *path, const char *method, struct request *request)
{
    static const char base[] = "/2018-06-01/runtime/";
    static const char invocation[] = "invocation/";
    bool is_post = strcmp(method, MHD_HTTP_METHOD_POST) == 0;

    if (strncmp(path, base, sizeof(base) - 1) == 0) {
        const char *rest = path + sizeof(base) - 1;
        if (is_post && strcmp(rest, "init/error") == 0) {
            return init_error(runtime, connection, request);
        }
        if (strncmp(rest, invocation, sizeof(invocation) - 1) == 0) {
            const char *last = rest + sizeof(invocation) - 1;
            const char *slash = strchr(last, '/');
            if (!is_post && strcmp(last, "next") == 0) {
                return next(runtime, connection);
            }
            if (is_post && slash == last + REQUEST_ID_LEN &&
                (strcmp(slash, "/response") == 0 || strcmp(slash, "/error") == 0)) {
                return end_invocation(runtime, connection, last, request);
            }
            if (is_post && slash != NULL) {
                return reply_text(connection, MHD_HTTP_BAD_REQUEST,
                                  "{\"errorMessage\":\"Invalid request ID\",\"errorType\":"
                                  "\"InvalidRequestID\"}\n");
            }
        }
    }
    return reply_text(connection, MHD_HTTP_NOT_FOUND,
                      "{\"errorMessage\":\"No such call of the Runtime API\",\"errorType\":"
                      "\"NotFound\"}\n");
}

/* ---- libmicrohttpd ---- */

static enum MHD_Result on_request(void *state, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_len, void **ret_request)
{
    struct request *request = *ret_request;

    (void)version;
    if (request == NULL) {
        request = qn_memory_new(sizeof(*request));
        qn_buf_init(&request->body, ANSWER_MAX);
        *ret_request = request;
        return MHD_YES;
    }
    if (*data_len > 0) {
        qn_buf_append(&request->body, data, *data_len);
        *data_len = 0;
        return MHD_YES;
    }
    return serve(state, connection, url, method, request);
}

static void on_done(void *state, struct MHD_Connection *connection, void **ret_request,
                    enum MHD_RequestTerminationCode code)
{
    struct request *request = *ret_request;

    (void)state;
    (void)connection;
    (void)code;
    if (request != NULL) {
        qn_buf_done(&request->body);
        qn_memory_free(request);
        *ret_request = NULL;
    }
}

bool qn_lambda_runtime_open(struct qn_lambda_runtime **ret_runtime, struct qn_error *err)
{
    struct qn_lambda_runtime *runtime = qn_memory_new(sizeof(*runtime));
    const struct sockaddr_in loopback = {.sin_family = AF_INET,
                                         .sin_addr = {htonl(INADDR_LOOPBACK)}};

    (void)pthread_mutex_init(&runtime->lock, NULL);
    (void)pthread_cond_init(&runtime->changed, NULL);
    qn_buf_init(&runtime->answer, ANSWER_MAX);
    runtime->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    runtime->daemon =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL,
                         NULL, on_request, runtime, MHD_OPTION_SOCK_ADDR, &loopback,
                         MHD_OPTION_NOTIFY_COMPLETED, on_done, runtime, MHD_OPTION_END);
    if (runtime->fd < 0 || runtime->daemon == NULL) {
        (void)qn_fail(err, QN_ERR_INTERNAL, "the Runtime API cannot listen: %s", strerror(errno));
        qn_lambda_runtime_close(runtime);
        return false;
    }
    runtime->port = MHD_get_daemon_info(runtime->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    *ret_runtime = runtime;
    return true;
}

void qn_lambda_runtime_close(struct qn_lambda_runtime *runtime)
{
    if (runtime == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&runtime->lock);
    runtime->is_closed = true;
    (void)pthread_cond_broadcast(&runtime->changed);
    (void)pthread_mutex_unlock(&runtime->lock);
    if (runtime->daemon != NULL) {
        MHD_stop_daemon(runtime->daemon);
    }
    if (runtime->fd >= 0) {
        (void)close(runtime->fd);
    }
    qn_buf_done(&runtime->answer);
    (void)pthread_cond_destroy(&runtime->changed);
    (void)pthread_mutex_destroy(&runtime->lock);
    qn_memory_free(runtime);
}

/* ---- what the environment asks ---- */

int qn_lambda_runtime_port(const struct qn_lambda_runtime *runtime)
{
    return runtime->port;
}

int qn_lambda_runtime_fd(const struct qn_lambda_runtime *runtime)
{
    return runtime->fd;
}

enum qn_lambda_state qn_lambda_runtime_look(struct qn_lambda_runtime *runtime)
{
    uint64_t count;

    (void)pthread_mutex_lock(&runtime->lock);
    ssize_t got = read(runtime->fd, &count, sizeof(count));
    enum qn_lambda_state state = runtime->state;
    (void)pthread_mutex_unlock(&runtime->lock);
    (void)got; /* nothing had changed */
    return state;
}

void qn_lambda_runtime_give(struct qn_lambda_runtime *runtime,
                            const struct qn_lambda_invocation *invocation)
{
    (void)pthread_mutex_lock(&runtime->lock);
    runtime->given = invocation;
    runtime->is_taken = false;
    set_state(runtime, QN_LAMBDA_RUNNING);
    (void)pthread_cond_broadcast(&runtime->changed);
    (void)pthread_mutex_unlock(&runtime->lock);
}

struct qn_str qn_lambda_runtime_answer(const struct qn_lambda_runtime *runtime)
{
    return qn_buf_str(&runtime->answer);
}
