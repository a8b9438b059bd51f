/* libmicrohttpd's side: the daemon in external epoll mode, its callbacks, and new connections. */
#include "server/http/internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/base/log.h"

enum {
    POOL_BYTES = 16 * 1024, /* takes a head of 12 KiB */
    FILES_KEPT = 64,        /* for everything that is no connection */
    ACCEPTS_PER_PASS = 64,
    ACCEPT_PAUSE_MS = 100
};

/* The raw request line's target, before libmicrohttpd takes it apart: the call begins here. */
static void *begin_uri(void *state, const char *uri, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct qn_client *client = info->socket_context;
    struct qn_call *call;

    (void)state;
    if (client == NULL) {
        return NULL;
    }
    call = qn_call_new(client);
    call->connection = connection;
    call->request.http.path = qn_arena_copy(&call->request.arena, qn_str_from_cstr(uri));
    return call;
}

/* Arguments are left as they came: wire/ decodes them. */
static size_t keep_escapes(void *state, struct MHD_Connection *connection, char *text)
{
    (void)state;
    (void)connection;
    return strlen(text);
}

/* What the handler says at its end. A connection that was suspended must be resumed before it can
 * be given up: the handler is called again then. */
static enum MHD_Result outcome(const struct qn_call *call)
{
    return call->state == QN_CALL_DROPPED && !call->is_suspended ? MHD_NO : MHD_YES;
}

static enum MHD_Result handle(void *state, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload_data,
                              size_t *upload_data_size, void **context)
{
    struct qn_call *call = *context;

    (void)state;
    (void)connection;
    (void)url;
    (void)version;
    if (call == NULL || call->state == QN_CALL_DROPPED || call->loop->is_closed) {
        return MHD_NO;
    }
    switch (call->state) {
    case QN_CALL_NEW:
        call->state = QN_CALL_READING;
        qn_head_read(call, method);
        if (qn_body_is_hopeless(call)) {
            qn_loop_begin(call);
        }
        return outcome(call);
    case QN_CALL_READING:
        if (*upload_data_size > 0) {
            return qn_body_take(call, upload_data, upload_data_size) ? MHD_YES : MHD_NO;
        }
        call->state = QN_CALL_RUNNING;
        call->request.http.body = qn_buf_str(&call->body);
        qn_loop_begin(call);
        return outcome(call);
    default:
        /* Answered already: what is left of the body is of no interest. */
        *upload_data_size = 0;
        return MHD_YES;
    }
}

static void request_ended(void *state, struct MHD_Connection *connection, void **context,
                          enum MHD_RequestTerminationCode reason)
{
    struct qn_call *call = *context;

    (void)state;
    (void)connection;
    (void)reason;
    if (call != NULL) {
        if (!call->loop->is_closed) {
            qn_damage_do_effects(call);
        }
        if (call->cuts) {
            qn_damage_behind_answer(call);
        }
        qn_call_end(call);
        *context = NULL;
    }
}

static int local_port(int fd)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);
    uint16_t port = 0;

    if (getsockname(fd, (struct sockaddr *)&address, &len) == 0) {
        /* The port stands at the same place in both families. */
        memcpy(&port, (const char *)&address + sizeof(sa_family_t), sizeof(port));
    }
    return port >> 8 | (port & 0xFF) << 8;
}

static void connection_changed(void *state, struct MHD_Connection *connection,
                               void **socket_context, enum MHD_ConnectionNotificationCode code)
{
    struct qn_loop *loop = state;
    struct qn_client *client;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        client = qn_memory_new(sizeof(*client));
        client->watch.kind = QN_WATCH_CLIENT;
        client->loop = loop;
        client->fd = info->connect_fd;
        client->port = local_port(client->fd);
        loop->clients_open++;
        qn_client_watch(client);
        *socket_context = client;
        return;
    }
    client = *socket_context;
    if (client != NULL) {
        qn_client_forget(client);
        loop->clients_open--;
        qn_memory_free(client);
        *socket_context = NULL;
    }
}

static void log_problem(void *state, const char *format, va_list args) QN_PRINTF(2, 0);
static void log_problem(void *state, const char *format, va_list args)
{
    char text[512];
    int len;

    (void)state;
    if (!qn_log_is_on(QN_LOG_DEBUG)) {
        return;
    }
    len = vsnprintf(text, sizeof(text), format, args);
    while (len > 0 && len < (int)sizeof(text) && text[len - 1] == '\n') {
        text[--len] = '\0';
    }
    qn_log(QN_LOG_DEBUG, "http", "%s", text);
}

/* Suspended connections count as well, so there should be as many as the system lets us have. */
static unsigned connection_limit(void)
{
    struct rlimit limit;
    rlim_t files = 1024;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        (void)getrlimit(RLIMIT_NOFILE, &limit);
        files = limit.rlim_cur;
    }
    if (files > 1000000) {
        files = 1000000; /* "infinity" */
    }
    return files > 2 * FILES_KEPT ? (unsigned)files - FILES_KEPT : FILES_KEPT;
}

bool qn_http_start(struct qn_loop *loop, struct qn_error *err)
{
    const unsigned flags =
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;

    /* The logger comes first: it must be there for what the other options have to say. */
    loop->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, handle, loop, MHD_OPTION_EXTERNAL_LOGGER, log_problem, NULL,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES, MHD_OPTION_CONNECTION_LIMIT,
        connection_limit(), MHD_OPTION_CONNECTION_TIMEOUT, loop->options.client_timeout_s,
        MHD_OPTION_URI_LOG_CALLBACK, begin_uri, loop, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes,
        NULL, MHD_OPTION_NOTIFY_COMPLETED, request_ended, loop, MHD_OPTION_NOTIFY_CONNECTION,
        connection_changed, loop, MHD_OPTION_END);
    return loop->daemon != NULL ||
           qn_fail(err, QN_ERR_INTERNAL, "the HTTP server does not start: %s", strerror(errno));
}

static void watch_listeners(struct qn_loop *loop, uint32_t events)
{
    for (size_t i = 0; i < loop->parts.listeners->count; i++) {
        struct epoll_event event = {.events = events, .data.ptr = &loop->listener_watches[i]};
        (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, loop->parts.listeners->items[i].fd, &event);
    }
}

/* Without files left epoll would report the same waiting connection in every pass. */
static void pause_listeners(struct qn_loop *loop)
{
    loop->accept_again_ms = qn_clock_monotonic_ms() + ACCEPT_PAUSE_MS;
    watch_listeners(loop, 0);
}

void qn_http_accept_again(struct qn_loop *loop)
{
    loop->accept_again_ms = INT64_MAX;
    watch_listeners(loop, EPOLLIN);
}

/* Once, and not for each try of the time until it is over. */
static void note_refused(struct qn_loop *loop, int error)
{
    if (!loop->cannot_accept) {
        qn_log(QN_LOG_WARN, "http", "connections have to wait: %s", strerror(error));
    }
    loop->cannot_accept = true;
}

void qn_http_accept(struct qn_loop *loop, struct qn_listener *listener)
{
    for (int i = 0; i < ACCEPTS_PER_PASS; i++) {
        struct sockaddr_storage address;
        socklen_t len = sizeof(address);
        int fd =
            accept4(listener->fd, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
                note_refused(loop, errno);
                pause_listeners(loop);
            }
            return;
        }
        loop->cannot_accept = false;
        /* On failure the socket is closed there. */
        (void)MHD_add_connection(loop->daemon, fd, (struct sockaddr *)&address, len);
    }
}
