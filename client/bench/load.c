/* The closed loop of connections over epoll. */
#include "client/bench/load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/clock.h"

enum { ANSWER_MAX = 4 * 1024 * 1024, READ_BYTES = 64 * 1024, EVENTS = 64, STALL_MS = 10000 };

struct connection {
    int fd;
    int number;
    struct qn_buf request;
    size_t written;
    struct qn_buf answer;
    int64_t begun_us;
    bool wants_write; /* registered for EPOLLOUT */
};

struct loader {
    const struct qn_bench_run *run;
    struct connection *connections;
    int open_count; /* that still have work */
    int epoll;
    int64_t begin_us;
    int64_t end_us; /* of the last answer */
    int64_t *samples;
    size_t sample_count;
    size_t sample_cap;
    int64_t units;
    char *error; /* 256 bytes */
};

static bool fail(struct loader *loader, const char *what)
{
    if (loader->error[0] == '\0') {
        (void)snprintf(loader->error, 256, "%s: %s", what, errno != 0 ? strerror(errno) : "broken");
    }
    return false;
}

static bool watch(struct loader *loader, struct connection *connection, bool wants_write, int how)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = connection}};

    event.events |= wants_write ? (uint32_t)EPOLLOUT : 0;
    connection->wants_write = wants_write;
    return epoll_ctl(loader->epoll, how, connection->fd, &event) == 0 || fail(loader, "epoll");
}

static bool open_connection(struct loader *loader, struct connection *connection, int number)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)loader->run->port)};
    int one = 1;

    connection->number = number;
    qn_buf_init(&connection->request, ANSWER_MAX);
    qn_buf_init(&connection->answer, ANSWER_MAX);
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->fd < 0 ||
        connect(connection->fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        return fail(loader, "connect");
    }
    (void)setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return watch(loader, connection, false, EPOLL_CTL_ADD);
}

static bool write_on(struct loader *loader, struct connection *connection)
{
    while (connection->written < connection->request.len) {
        ssize_t sent =
            send(connection->fd, connection->request.ptr + connection->written,
                 connection->request.len - connection->written, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            connection->written += (size_t)sent;
        } else if (errno == EAGAIN) {
            return connection->wants_write || watch(loader, connection, true, EPOLL_CTL_MOD);
        } else if (errno != EINTR) {
            return fail(loader, "send");
        }
    }
    return !connection->wants_write || watch(loader, connection, false, EPOLL_CTL_MOD);
}

/* The next request, unless time is up or the work is done. */
static bool begin(struct loader *loader, struct connection *connection)
{
    const struct qn_bench_work *work = loader->run->work;
    int64_t now_us = qn_clock_monotonic_us();
    bool is_late = loader->run->limit_us > 0 && now_us - loader->begin_us >= loader->run->limit_us;

    qn_buf_clear(&connection->request);
    qn_buf_clear(&connection->answer);
    connection->written = 0;
    connection->begun_us = now_us;
    if (is_late || !work->next(work->state, connection->number, &connection->request)) {
        loader->open_count--;
        return true;
    }
    return write_on(loader, connection);
}

static void note_sample(struct loader *loader, int64_t value)
{
    if (loader->sample_count == loader->sample_cap) {
        loader->sample_cap = loader->sample_cap > 0 ? loader->sample_cap * 2 : 65536;
        loader->samples = qn_memory_resize(loader->samples, loader->sample_cap, sizeof(int64_t));
    }
    loader->samples[loader->sample_count++] = value;
}

/* Where the body begins and how long it is; false while the head is not whole. */
static bool read_head(struct qn_str text, int *ret_status, size_t *ret_body, size_t *ret_len)
{
    static const struct qn_str name = {"Content-Length:", 15};
    size_t end = qn_str_find(text, QN_STR("\r\n\r\n"));
    struct qn_str rest = qn_str_first(text, end);
    int64_t number = 0;

    if (end == text.len) {
        return false;
    }
    *ret_status = 0;
    if (rest.len >= 12 && qn_str_to_int64(qn_str(rest.ptr + 9, 3), 100, 599, &number)) {
        *ret_status = (int)number;
    }
    *ret_body = end + 4;
    *ret_len = 0;
    while (rest.len > 0) {
        struct qn_str line = qn_str_cut(rest, '\n', &rest);
        if (qn_str_starts_with_nocase(line, name)) {
            struct qn_str value = qn_str_trim(qn_str_from(line, name.len));
            value.len -= value.len > 0 && value.ptr[value.len - 1] == '\r';
            *ret_len = qn_str_to_int64(value, 0, ANSWER_MAX, &number) ? (size_t)number : 0;
        }
    }
    return true;
}

static bool take_answer(struct loader *loader, struct connection *connection)
{
    const struct qn_bench_work *work = loader->run->work;
    struct qn_str text = qn_buf_str(&connection->answer);
    size_t body;
    size_t len;
    int status;

    if (!read_head(text, &status, &body, &len) || text.len < body + len) {
        return true; /* more is to come */
    }
    loader->end_us = qn_clock_monotonic_us();
    note_sample(loader, loader->end_us - connection->begun_us);
    loader->units +=
        work->answered(work->state, connection->number, status, qn_str(text.ptr + body, len));
    return begin(loader, connection);
}

static bool read_on(struct loader *loader, struct connection *connection)
{
    if (!qn_buf_reserve(&connection->answer, READ_BYTES)) {
        errno = EMSGSIZE;
        return fail(loader, "answer");
    }
    ssize_t got = recv(connection->fd, connection->answer.ptr + connection->answer.len, READ_BYTES,
                       MSG_DONTWAIT);
    if (got > 0) {
        connection->answer.len += (size_t)got;
        return take_answer(loader, connection);
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    errno = got == 0 ? ECONNRESET : errno;
    return fail(loader, "receive");
}

static bool run_loop(struct loader *loader)
{
    struct epoll_event events[EVENTS];

    while (loader->open_count > 0) {
        int count = epoll_wait(loader->epoll, events, EVENTS, STALL_MS);
        if (count == 0) {
            errno = ETIMEDOUT;
            return fail(loader, "no answer");
        }
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if ((events[i].events & EPOLLOUT) != 0 && !write_on(loader, connection)) {
                return false;
            }
            if ((events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 &&
                !read_on(loader, connection)) {
                return false;
            }
        }
    }
    return true;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void sum_up(struct loader *loader, struct qn_bench_times *times)
{
    size_t count = loader->sample_count;

    *times = (struct qn_bench_times){
        .seconds = (double)(loader->end_us - loader->begin_us) / 1e6,
        .requests = (int64_t)count,
        .units = loader->units,
    };
    if (count > 0) {
        qsort(loader->samples, count, sizeof(int64_t), ascending);
        times->p50_us = loader->samples[(count - 1) / 2];
        times->p99_us = loader->samples[(count - 1) * 99 / 100];
    }
}

bool qn_bench_load(const struct qn_bench_run *run, struct qn_bench_times *ret_times,
                   char ret_error[256])
{
    struct loader loader = {
        .run = run,
        .epoll = epoll_create1(EPOLL_CLOEXEC),
        .open_count = run->connections,
        .error = ret_error,
    };
    bool ok = true;

    ret_error[0] = '\0';
    loader.connections = qn_memory_new_array((size_t)run->connections, sizeof(struct connection));
    for (int i = 0; i < run->connections; i++) {
        loader.connections[i].fd = -1;
    }
    for (int i = 0; ok && i < run->connections; i++) {
        ok = open_connection(&loader, &loader.connections[i], i);
    }
    loader.begin_us = qn_clock_monotonic_us();
    loader.end_us = loader.begin_us;
    for (int i = 0; ok && i < run->connections; i++) {
        ok = begin(&loader, &loader.connections[i]);
    }
    ok = ok && run_loop(&loader);
    if (ok) {
        sum_up(&loader, ret_times);
    }
    for (int i = 0; i < run->connections; i++) {
        if (loader.connections[i].fd >= 0) {
            (void)close(loader.connections[i].fd);
        }
        qn_buf_done(&loader.connections[i].request);
        qn_buf_done(&loader.connections[i].answer);
    }
    qn_memory_free(loader.connections);
    qn_memory_free(loader.samples);
    (void)close(loader.epoll);
    return ok;
}
