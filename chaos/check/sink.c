/* The HTTP side of the effect sink, on libmicrohttpd in external mode: no thread but the caller's.
 */
#include "chaos/check/sink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/clock.h"

enum { BODY_MAX_BYTES = 8 * 1024 * 1024, BACKLOG = 512, PORT_TRIES = 20, LEFT_AT_ONCE = 32 };

struct qn_sink {
    struct MHD_Daemon *daemon;
    struct qn_routes *routes;
    const char *bind_address; /* NULL: the loopback */
    int port;
    int fd;       /* epoll: of the three below */
    int listener; /* -1 while nobody is to connect */
    int daemon_fd;
    int left_fd;           /* epoll: of the suspended requests' sockets, for those who hang up */
    int64_t mhd_due_ms;    /* when libmicrohttpd wants to run again */
    int64_t listens_at_ms; /* again; 0: it does */
};

/* A request from its first byte until its connection forgets it. */
struct request {
    struct qn_sink *sink;
    struct MHD_Connection *connection;
    struct qn_buf body;
    bool is_suspended;
    bool is_left; /* while it was suspended the client hung up */
    bool is_answered;
    bool must_break; /* no answer: the connection ends */
    int status;
    bool replayed;
    const char *type;
    struct qn_buf answer;
};

static enum MHD_Result queue_answer(struct request *request)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        request->answer.len, request->answer.ptr, MHD_RESPMEM_MUST_COPY);

    (void)MHD_add_response_header(response, "Content-Type", request->type);
    if (request->replayed) {
        (void)MHD_add_response_header(response, "Idempotency-Replayed", "true");
    }
    enum MHD_Result queued =
        MHD_queue_response(request->connection, (unsigned int)request->status, response);
    MHD_destroy_response(response);
    return queued;
}

static int socket_of(const struct request *request)
{
    return MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD)
        ->connect_fd;
}

/* The next thing that the client sees is the end of its connection. */
static void break_off(struct request *request, enum qn_effect_end end)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    request->must_break = true;
    if (end == QN_EFFECT_RESET) {
        (void)setsockopt(socket_of(request), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
}

/* While a request is suspended, nobody else looks at its connection. */
static void watch_client(struct request *request)
{
    struct epoll_event event = {.events = EPOLLRDHUP, .data = {.ptr = request}};

    (void)epoll_ctl(request->sink->left_fd, EPOLL_CTL_ADD, socket_of(request), &event);
}

static void leave_client(struct request *request)
{
    (void)epoll_ctl(request->sink->left_fd, EPOLL_CTL_DEL, socket_of(request), NULL);
}

/* Called within the handler, or later for a request that was suspended. */
static void take_answer(void *state, void *owner, const struct qn_effect_answer *answer)
{
    struct request *request = owner;

    (void)state;
    request->status = answer->status;
    request->replayed = answer->replayed;
    request->type = answer->type != NULL ? answer->type : "application/json";
    qn_buf_init(&request->answer, BODY_MAX_BYTES);
    qn_buf_append_str(&request->answer, answer->text);
    request->is_answered = true;
    if (answer->end != QN_EFFECT_ANSWERED) {
        break_off(request, answer->end);
    }
    if (request->is_suspended) {
        leave_client(request);
        if (!request->must_break) {
            (void)queue_answer(request);
        }
        MHD_resume_connection(request->connection);
    }
}

static bool is_there(void *state, void *owner)
{
    const struct request *request = owner;

    (void)state;
    return !request->is_left;
}

static void look_for_clients(struct qn_sink *sink)
{
    struct epoll_event events[LEFT_AT_ONCE];
    int count;

    do {
        count = epoll_wait(sink->left_fd, events, LEFT_AT_ONCE, 0);
        for (int i = 0; i < count; i++) {
            struct request *request = events[i].data.ptr;
            request->is_left = true;
            leave_client(request); /* it is told once */
        }
    } while (count == LEFT_AT_ONCE);
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
        .is_too_large = request->body.overflow,
    };

    qn_routes_handle(request->sink->routes, &call, qn_clock_monotonic_ms(), request);
    if (request->must_break) {
        return MHD_NO;
    }
    if (request->is_answered) {
        return queue_answer(request);
    }
    request->is_suspended = true;
    watch_client(request);
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
    if (request->must_break) {
        return MHD_NO;
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

/* On the sink's port, or on a free one at first. False: errno says why. */
static bool start_listening(struct qn_sink *sink)
{
    const int on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)sink->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (sink->bind_address != NULL) {
        (void)inet_pton(AF_INET, sink->bind_address, &address.sin_addr);
    }
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
        int reason = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        errno = reason;
        return false;
    }
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};
    (void)epoll_ctl(sink->fd, EPOLL_CTL_ADD, fd, &event);
    sink->port = ntohs(address.sin_port);
    sink->listener = fd;
    return true;
}

static void stop_listening(struct qn_sink *sink)
{
    if (sink->listener >= 0) {
        (void)close(sink->listener); /* it leaves the epoll set by itself */
        sink->listener = -1;
    }
}

static void accept_all(struct qn_sink *sink)
{
    struct sockaddr_in address;
    socklen_t len = sizeof(address);
    int fd;

    while (sink->listener >= 0 && (fd = accept4(sink->listener, (struct sockaddr *)&address, &len,
                                                SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        /* On failure the socket is closed there. */
        (void)MHD_add_connection(sink->daemon, fd, (struct sockaddr *)&address, len);
        len = sizeof(address);
    }
}

/* The socket stays bound, so that nobody else gets the port meanwhile. */
void qn_sink_refuse(struct qn_sink *sink, int64_t for_ms)
{
    accept_all(sink); /* who came before is not refused */
    (void)epoll_ctl(sink->fd, EPOLL_CTL_DEL, sink->listener, NULL);
    (void)shutdown(sink->listener, SHUT_RDWR);
    sink->listens_at_ms = qn_clock_monotonic_ms() + for_ms;
}

static void listen_again(struct qn_sink *sink)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = sink->listener}};

    if (sink->listens_at_ms != 0 && qn_clock_monotonic_ms() >= sink->listens_at_ms &&
        listen(sink->listener, BACKLOG) == 0) {
        (void)epoll_ctl(sink->fd, EPOLL_CTL_ADD, sink->listener, &event);
        sink->listens_at_ms = 0;
    }
}

/* A port that was asked for by its number outlives a pause in the listening. Somebody else may take
 * it between its choice and its use. */
static bool choose_port(struct qn_sink *sink)
{
    for (int attempt = 0; attempt < PORT_TRIES; attempt++) {
        sink->port = 0;
        if (!start_listening(sink)) {
            return false;
        }
        stop_listening(sink);
        if (start_listening(sink)) {
            return true;
        }
    }
    return false;
}

static bool start_daemon(struct qn_sink *sink)
{
    const unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME;

    sink->daemon = MHD_start_daemon(flags, 0, NULL, NULL, handle, sink, MHD_OPTION_NOTIFY_COMPLETED,
                                    forget, sink, MHD_OPTION_END);
    if (sink->daemon == NULL) {
        return false;
    }
    sink->daemon_fd = MHD_get_daemon_info(sink->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = sink->daemon_fd}};
    return epoll_ctl(sink->fd, EPOLL_CTL_ADD, sink->daemon_fd, &event) == 0;
}

static bool start_watching(struct qn_sink *sink)
{
    struct epoll_event event = {.events = EPOLLIN};

    sink->left_fd = epoll_create1(EPOLL_CLOEXEC);
    event.data.fd = sink->left_fd;
    return sink->left_fd >= 0 && epoll_ctl(sink->fd, EPOLL_CTL_ADD, sink->left_fd, &event) == 0;
}

static void make_routes(struct qn_sink *sink, const struct qn_routes_options *options)
{
    struct qn_routes_options own = *options;

    own.effects.answer = take_answer;
    own.effects.is_there = is_there;
    sink->routes = qn_routes_new(&own);
}

void qn_sink_renew(struct qn_sink *sink, const struct qn_routes_options *options)
{
    qn_routes_close_all(sink->routes);
    qn_routes_free(sink->routes);
    make_routes(sink, options);
}

bool qn_sink_open(const struct qn_routes_options *options, struct qn_sink **ret_sink,
                  struct qn_error *err)
{
    struct qn_sink *sink = qn_memory_new(sizeof(*sink));

    make_routes(sink, options);
    sink->bind_address = options->bind;
    sink->listener = -1;
    sink->left_fd = -1;
    sink->fd = epoll_create1(EPOLL_CLOEXEC);
    if (sink->fd < 0 || !start_watching(sink) || !start_daemon(sink) || !choose_port(sink)) {
        (void)qn_fail(err, QN_ERR_INTERNAL, "the effect sink does not start: %s", strerror(errno));
        qn_sink_close(sink);
        return false;
    }
    *ret_sink = sink;
    return true;
}

void qn_sink_close(struct qn_sink *sink)
{
    if (sink == NULL) {
        return;
    }
    stop_listening(sink);
    /* A suspended connection must not be there when the daemon stops. */
    qn_routes_close_all(sink->routes);
    if (sink->daemon != NULL) {
        (void)MHD_run(sink->daemon);
        MHD_stop_daemon(sink->daemon);
    }
    if (sink->left_fd >= 0) {
        (void)close(sink->left_fd);
    }
    if (sink->fd >= 0) {
        (void)close(sink->fd);
    }
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

void qn_sink_release(struct qn_sink *sink, int64_t run)
{
    qn_routes_release(sink->routes, run, qn_clock_monotonic_ms());
}

void qn_sink_run(struct qn_sink *sink)
{
    MHD_UNSIGNED_LONG_LONG timeout_ms;

    listen_again(sink);
    accept_all(sink);
    (void)MHD_run(sink->daemon);
    look_for_clients(sink);
    qn_routes_run(sink->routes, qn_clock_monotonic_ms());
    (void)MHD_run(sink->daemon); /* what was just resumed is not announced by the epoll set */
    sink->mhd_due_ms = INT64_MAX;
    if (MHD_get_timeout(sink->daemon, &timeout_ms) == MHD_YES && timeout_ms < INT32_MAX) {
        sink->mhd_due_ms = qn_clock_monotonic_ms() + (int64_t)timeout_ms;
    }
}

int64_t qn_sink_next_ms(const struct qn_sink *sink)
{
    int64_t next_ms = qn_routes_next_ms(sink->routes);

    next_ms = sink->mhd_due_ms < next_ms ? sink->mhd_due_ms : next_ms;
    return sink->listens_at_ms != 0 && sink->listens_at_ms < next_ms ? sink->listens_at_ms
                                                                     : next_ms;
}
