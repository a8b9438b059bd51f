/* The HTTP side of the effect sink, on libmicrohttpd in external mode: no thread but the caller's.
 */
#include "chaos/check/sink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/clock.h"

enum { BODY_MAX_BYTES = 8 * 1024 * 1024, BACKLOG = 512 };

struct qn_sink {
    struct MHD_Daemon *daemon;
    struct qn_routes *routes;
    int port;
    int fd;
    int64_t mhd_due_ms; /* when libmicrohttpd wants to run again */
};

/* A request from its first byte until its connection forgets it. */
struct request {
    struct qn_sink *sink;
    struct MHD_Connection *connection;
    struct qn_buf body;
    bool is_suspended;
    bool is_answered;
    int status;
    bool replayed;
    struct qn_buf answer;
};

static enum MHD_Result queue_answer(struct request *request)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        request->answer.len, request->answer.ptr, MHD_RESPMEM_MUST_COPY);

    (void)MHD_add_response_header(response, "Content-Type", "application/json");
    if (request->replayed) {
        (void)MHD_add_response_header(response, "Idempotency-Replayed", "true");
    }
    enum MHD_Result queued =
        MHD_queue_response(request->connection, (unsigned int)request->status, response);
    MHD_destroy_response(response);
    return queued;
}

/* Called within the handler, or later for a request that was suspended. */
static void take_answer(void *state, void *owner, const struct qn_effect_answer *answer)
{
    struct request *request = owner;

    (void)state;
    request->status = answer->status;
    request->replayed = answer->replayed;
    qn_buf_init(&request->answer, BODY_MAX_BYTES);
    qn_buf_append_str(&request->answer, answer->text);
    request->is_answered = true;
    if (request->is_suspended) {
        (void)queue_answer(request);
        MHD_resume_connection(request->connection);
    }
}

static struct qn_str header(struct MHD_Connection *connection, const char *name)
{
    return qn_str_from_cstr(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name));
}

static enum MHD_Result dispatch(struct request *request, const char *method, const char *path)
{
    struct MHD_Connection *connection = request->connection;
    const struct qn_routes_request call = {
        .method = qn_str_from_cstr(method),
        .path = qn_str_from_cstr(path),
        .idempotency_key = header(connection, "Idempotency-Key"),
        .message_id = header(connection, "X-Quern-Message-Id"),
        .receive_count = header(connection, "X-Quern-Receive-Count"),
        .instance = header(connection, "X-Quern-Instance"),
        .if_version_lower = header(connection, "If-Version-Lower"),
        .body = qn_buf_str(&request->body),
    };

    if (request->body.overflow) {
        take_answer(request->sink, request,
                    &(struct qn_effect_answer){413, false, QN_STR("{\"error\":\"too large\"}")});
    } else {
        qn_routes_handle(request->sink->routes, &call, qn_clock_monotonic_ms(), request);
    }
    if (request->is_answered) {
        return queue_answer(request);
    }
    request->is_suspended = true;
    MHD_suspend_connection(connection);
    return MHD_YES;
}

static enum MHD_Result handle(void *state, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *data,
                              size_t *data_len, void **slot)
{
    struct request *request = *slot;

    (void)version;
    if (request == NULL) {
        request = qn_memory_new(sizeof(*request));
        request->sink = state;
        request->connection = connection;
        qn_buf_init(&request->body, BODY_MAX_BYTES);
        *slot = request;
        return MHD_YES;
    }
    if (*data_len > 0) {
        qn_buf_append(&request->body, data, *data_len);
        *data_len = 0;
        return MHD_YES;
    }
    return request->is_answered ? MHD_YES : dispatch(request, method, path);
}

static void forget(void *state, struct MHD_Connection *connection, void **slot,
                   enum MHD_RequestTerminationCode code)
{
    struct request *request = *slot;

    (void)state;
    (void)connection;
    (void)code;
    if (request != NULL) {
        qn_buf_done(&request->body);
        qn_buf_done(&request->answer);
        qn_memory_free(request);
        *slot = NULL;
    }
}

static int listen_on(const char *bind_address, int *ret_port, struct qn_error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (bind_address != NULL) {
        (void)inet_pton(AF_INET, bind_address, &address.sin_addr);
    }
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, BACKLOG) < 0 || getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
        (void)qn_fail(err, QN_ERR_INTERNAL, "listening for the effect sink: %s", strerror(errno));
        if (fd >= 0) {
            (void)close(fd);
        }
        return -1;
    }
    *ret_port = ntohs(address.sin_port);
    return fd;
}

bool qn_sink_open(const struct qn_routes_options *options, struct qn_sink **ret_sink,
                  struct qn_error *err)
{
    struct qn_sink *sink = qn_memory_new(sizeof(*sink));
    struct qn_routes_options own = *options;
    int listener = listen_on(options->bind, &sink->port, err);

    if (listener < 0) {
        qn_memory_free(sink);
        return false;
    }
    sink->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle,
                                    sink, MHD_OPTION_LISTEN_SOCKET, listener,
                                    MHD_OPTION_NOTIFY_COMPLETED, forget, sink, MHD_OPTION_END);
    if (sink->daemon == NULL) {
        (void)close(listener);
        qn_memory_free(sink);
        return qn_fail(err, QN_ERR_INTERNAL, "the effect sink does not start");
    }
    sink->fd = MHD_get_daemon_info(sink->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    own.effects.answer = take_answer;
    sink->routes = qn_routes_new(&own);
    *ret_sink = sink;
    return true;
}

void qn_sink_close(struct qn_sink *sink)
{
    if (sink == NULL) {
        return;
    }
    /* A suspended connection must not be there when the daemon stops. */
    qn_effects_close_all(qn_routes_effects(sink->routes));
    (void)MHD_run(sink->daemon);
    MHD_stop_daemon(sink->daemon);
    qn_routes_free(sink->routes);
    qn_memory_free(sink);
}

int qn_sink_port(const struct qn_sink *sink)
{
    return sink->port;
}

int qn_sink_fd(const struct qn_sink *sink)
{
    return sink->fd;
}

struct qn_effects *qn_sink_effects(struct qn_sink *sink)
{
    return qn_routes_effects(sink->routes);
}

void qn_sink_run(struct qn_sink *sink)
{
    MHD_UNSIGNED_LONG_LONG timeout_ms;

    (void)MHD_run(sink->daemon);
    qn_effects_run(qn_routes_effects(sink->routes), qn_clock_monotonic_ms());
    (void)MHD_run(sink->daemon); /* what was just resumed is not announced by the epoll set */
    sink->mhd_due_ms = INT64_MAX;
    if (MHD_get_timeout(sink->daemon, &timeout_ms) == MHD_YES && timeout_ms < INT32_MAX) {
        sink->mhd_due_ms = qn_clock_monotonic_ms() + (int64_t)timeout_ms;
    }
}

int64_t qn_sink_next_ms(const struct qn_sink *sink)
{
    int64_t effects_ms = qn_effects_next_ms(qn_routes_effects(sink->routes));

    return effects_ms < sink->mhd_due_ms ? effects_ms : sink->mhd_due_ms;
}
