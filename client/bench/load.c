/* The closed loop of connections over epoll. */
#include "client/bench/load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

/* The longest answer: ten messages of 1 MiB whose bodies need no escapes. */
enum { ANSWER_MAX = 16 * 1024 * 1024, READ_BYTES = 64 * 1024, EVENTS = 64, STALL_MS = 20000 };

static const int64_t tick_ns = 200000000;

struct connection {
    int fd;
    int number;
    struct qn_buf request;
    size_t written;
    struct qn_buf answer;
    int64_t begun_ns;
    bool wants_write; /* registered for EPOLLOUT */
};

struct loader {
    const struct qn_bench_run *run;
    struct connection *connections;
    int open_count; /* that still have work */
    int epoll;
    int64_t begin_ns;
    int64_t end_ns; /* of the last answer */
    int64_t next_tick_ns;
    struct qn_bench_tally *tally;
    char *error; /* 256 bytes */
};

int64_t qn_bench_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void qn_bench_place_local(struct qn_bench_place *place, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)port)};

    memset(place, 0, sizeof(*place));
    memcpy(&place->address, &address, sizeof(address));
    place->address_len = sizeof(address);
    (void)snprintf(place->host, sizeof(place->host), "127.0.0.1:%d", port);
}

bool qn_bench_place_find(struct qn_bench_place *place, const char *host, const char *port)
{
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    bool is_v6 = strchr(host, ':') != NULL;
    struct addrinfo *found;

    if (getaddrinfo(host, port, &wanted, &found) != 0) {
        return false;
    }
    memset(place, 0, sizeof(*place));
    memcpy(&place->address, found->ai_addr, found->ai_addrlen);
    place->address_len = found->ai_addrlen;
    (void)snprintf(place->host, sizeof(place->host), "%s%.200s%s:%.10s", is_v6 ? "[" : "", host,
                   is_v6 ? "]" : "", port);
    freeaddrinfo(found);
    return true;
}

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
    const struct qn_bench_place *place = loader->run->place;
    int one = 1;

    connection->number = number;
    qn_buf_init(&connection->request, ANSWER_MAX);
    qn_buf_init(&connection->answer, ANSWER_MAX);
    connection->fd = socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->fd < 0 ||
        connect(connection->fd, (const struct sockaddr *)&place->address, place->address_len) < 0) {
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
    int64_t now_ns = qn_bench_now_ns();
    bool is_late =
        loader->run->limit_us > 0 && now_ns - loader->begin_ns >= loader->run->limit_us * 1000;

    qn_buf_clear(&connection->request);
    qn_buf_clear(&connection->answer);
    connection->written = 0;
    connection->begun_ns = now_ns;
    if (is_late || !work->next(work->state, connection->number, &connection->request)) {
        loader->open_count--;
        return true;
    }
    return write_on(loader, connection);
}

static void note_sample(struct qn_bench_tally *tally, int64_t value_ns)
{
    if (tally->sample_count == tally->sample_cap) {
        tally->sample_cap = tally->sample_cap > 0 ? tally->sample_cap * 2 : 65536;
        tally->samples_ns = qn_memory_resize(tally->samples_ns, tally->sample_cap, sizeof(int64_t));
    }
    tally->samples_ns[tally->sample_count++] = value_ns;
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
    loader->end_ns = qn_bench_now_ns();
    struct qn_bench_answer answer = {
        .connection = connection->number,
        .status = status,
        .body = qn_str(text.ptr + body, len),
        .took_ns = loader->end_ns - connection->begun_ns,
        .is_timed = true,
    };
    loader->tally->units += work->answered(work->state, &answer);
    if (answer.is_timed) {
        loader->tally->requests++;
        note_sample(loader->tally, answer.took_ns);
    }
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

static void tick(struct loader *loader)
{
    const struct qn_bench_work *work = loader->run->work;

    if (work->tick != NULL && loader->end_ns >= loader->next_tick_ns) {
        work->tick(work->state);
        loader->next_tick_ns = loader->end_ns + tick_ns;
    }
}

static bool run_loop(struct loader *loader)
{
    struct epoll_event events[EVENTS];

    while (loader->open_count > 0) {
        tick(loader);
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

double qn_bench_tally_us(struct qn_bench_tally *tally, int per_mille)
{
    size_t count = tally->sample_count;

    if (count == 0) {
        return 0;
    }
    size_t place = (count - 1) * (size_t)per_mille / 1000;
    qsort(tally->samples_ns, count, sizeof(int64_t), ascending);
    return (double)tally->samples_ns[place] / 1e3;
}

void qn_bench_tally_done(struct qn_bench_tally *tally)
{
    qn_memory_free(tally->samples_ns);
    *tally = (struct qn_bench_tally){0};
}

bool qn_bench_load(const struct qn_bench_run *run, struct qn_bench_tally *tally,
                   char ret_error[256])
{
    struct loader loader = {
        .run = run,
        .epoll = epoll_create1(EPOLL_CLOEXEC),
        .open_count = run->connections,
        .tally = tally,
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
    loader.begin_ns = qn_bench_now_ns();
    loader.end_ns = loader.begin_ns;
    for (int i = 0; ok && i < run->connections; i++) {
        ok = begin(&loader, &loader.connections[i]);
    }
    ok = ok && run_loop(&loader);
    tally->seconds += (double)(loader.end_ns - loader.begin_ns) / 1e9;
    for (int i = 0; i < run->connections; i++) {
        if (loader.connections[i].fd >= 0) {
            (void)close(loader.connections[i].fd);
        }
        qn_buf_done(&loader.connections[i].request);
        qn_buf_done(&loader.connections[i].answer);
    }
    qn_memory_free(loader.connections);
    (void)close(loader.epoll);
    return ok;
}
