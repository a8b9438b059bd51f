/* Parked long polls. Each connection has its poll under way at all times; an answer is followed by
 * the next poll. */
#include "client/bench/polls.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "client/bench/rows.h"

enum { EVENTS = 256, ANSWER_BYTES = 8192, BATCH = 10, WAKE_LIMIT_MS = 20000 };

static const int64_t limit_ns = 15 * INT64_C(1000000000);

static int connect_to(const struct qn_bench_place *place)
{
    int one = 1;
    int fd = socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&place->address, place->address_len) < 0) {
        (void)close(fd);
        return -1;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

static bool write_all(int fd, struct qn_str text)
{
    return send(fd, text.ptr, text.len, MSG_NOSIGNAL) == (ssize_t)text.len;
}

/* An answer is far smaller than what the loopback carries in one piece. Returns 1 when it brought a
 * message, 0 when not, -1 when there is none. */
static int read_answer(int fd)
{
    char text[ANSWER_BYTES];
    ssize_t len = recv(fd, text, sizeof(text), 0);
    struct qn_str answer = qn_str(text, len > 0 ? (size_t)len : 0);

    if (!qn_str_starts_with(answer, QN_STR("HTTP/1.1 200"))) {
        return -1;
    }
    return qn_str_find(answer, QN_STR("\"ReceiptHandle\"")) < answer.len;
}

static void write_requests(struct qn_bench_polls *polls)
{
    const char *host = polls->server->place.host;
    struct qn_buf body;

    qn_buf_init(&polls->receive, SIZE_MAX / 2);
    qn_buf_init(&polls->send, SIZE_MAX / 2);
    qn_buf_init(&body, SIZE_MAX / 2);
    qn_buf_append_format(&body,
                         "{\"QueueUrl\":\"%s\",\"MaxNumberOfMessages\":1,\"WaitTimeSeconds\":20,"
                         "\"VisibilityTimeout\":43200}",
                         polls->queue_url);
    qn_bench_write_request(&polls->receive, host, "ReceiveMessage", qn_buf_str(&body));
    qn_buf_clear(&body);
    qn_buf_append_format(&body, "{\"QueueUrl\":\"%s\",\"MessageBody\":\"%0300d\"}",
                         polls->queue_url, 0);
    qn_bench_write_request(&polls->send, host, "SendMessage", qn_buf_str(&body));
    qn_buf_done(&body);
}

/* Until the server has so many parked. */
static bool wait_parked(const struct qn_bench_polls *polls, int64_t count)
{
    int64_t begin_ns = qn_bench_now_ns();

    while (qn_bench_info(polls->server, "engine", "parked") != count) {
        const struct timespec pause = {.tv_nsec = 2000000};
        if (qn_bench_now_ns() - begin_ns > limit_ns) {
            return false;
        }
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

bool qn_bench_polls_open(struct qn_bench *bench, const struct qn_bench_server *server,
                         char *queue_url, int64_t count, struct qn_bench_polls *polls)
{
    *polls = (struct qn_bench_polls){
        .server = server, .queue_url = queue_url, .count = count, .sender = -1};
    polls->fds = qn_memory_new_array((size_t)count, sizeof(int));
    polls->epoll = epoll_create1(EPOLL_CLOEXEC);
    write_requests(polls);
    polls->sender = connect_to(&server->place);
    while (polls->opened < count) {
        int fd = connect_to(&server->place);
        struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};
        if (fd < 0) {
            return qn_bench_fail(bench, "%lld connections, then: %s", (long long)polls->opened,
                                 strerror(errno));
        }
        polls->fds[polls->opened++] = fd;
        if (epoll_ctl(polls->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ||
            !write_all(fd, qn_buf_str(&polls->receive))) {
            return qn_bench_fail(bench, "a long poll: %s", strerror(errno));
        }
    }
    return wait_parked(polls, count) || qn_bench_fail(bench, "not all long polls were parked");
}

void qn_bench_polls_close(struct qn_bench_polls *polls)
{
    if (polls->fds == NULL) {
        return;
    }
    for (int64_t i = 0; i < polls->opened; i++) {
        (void)close(polls->fds[i]);
    }
    (void)close(polls->epoll);
    if (polls->sender >= 0) {
        (void)close(polls->sender);
    }
    (void)wait_parked(polls, 0);
    qn_memory_free(polls->fds);
    qn_buf_done(&polls->receive);
    qn_buf_done(&polls->send);
    polls->fds = NULL;
}

/* Takes what has come, polls again there. Returns how many messages came; -1 when a connection
 * broke or nothing came. *ret_at_ns: when. */
static int64_t take_answers(struct qn_bench_polls *polls, int64_t *ret_at_ns)
{
    struct epoll_event events[EVENTS];
    int64_t served = 0;
    int count = epoll_wait(polls->epoll, events, EVENTS, WAKE_LIMIT_MS);

    *ret_at_ns = qn_bench_now_ns();
    for (int i = 0; i < count; i++) {
        int fd = events[i].data.fd;
        int brought = read_answer(fd);
        if (brought < 0 || !write_all(fd, qn_buf_str(&polls->receive))) {
            return -1;
        }
        served += brought;
    }
    return count > 0 ? served : -1;
}

bool qn_bench_polls_wake(struct qn_bench *bench, struct qn_bench_polls *polls, int64_t times,
                         struct qn_bench_tally *tally)
{
    tally->samples_ns =
        qn_memory_resize(tally->samples_ns, tally->sample_count + (size_t)times, sizeof(int64_t));
    tally->sample_cap = tally->sample_count + (size_t)times;
    for (int64_t i = 0; i < times; i++) {
        int64_t begin_ns = qn_bench_now_ns();
        int64_t at_ns;
        int64_t served;
        if (!write_all(polls->sender, qn_buf_str(&polls->send))) {
            return qn_bench_fail(bench, "send: %s", strerror(errno));
        }
        do {
            served = take_answers(polls, &at_ns);
        } while (served == 0 && at_ns - begin_ns < limit_ns);
        if (served <= 0 || read_answer(polls->sender) < 0) {
            return qn_bench_fail(bench, "a message woke no long poll");
        }
        tally->samples_ns[tally->sample_count++] = at_ns - begin_ns;
    }
    return true;
}

/* A batch for ten polls; its answer is waited for, so that the server's socket never fills. */
static bool send_batch(struct qn_bench_polls *polls, int64_t count)
{
    struct qn_buf body;
    struct qn_buf request;

    qn_buf_init(&body, SIZE_MAX / 2);
    qn_buf_init(&request, SIZE_MAX / 2);
    qn_buf_append_format(&body, "{\"QueueUrl\":\"%s\",\"Entries\":[", polls->queue_url);
    for (int64_t i = 0; i < count; i++) {
        qn_buf_append_format(&body, "%s{\"Id\":\"%lld\",\"MessageBody\":\"%0300d\"}",
                             i > 0 ? "," : "", (long long)i, 0);
    }
    qn_buf_append_literal(&body, "]}");
    qn_bench_write_request(&request, polls->server->place.host, "SendMessageBatch",
                           qn_buf_str(&body));
    bool ok = write_all(polls->sender, qn_buf_str(&request)) && read_answer(polls->sender) >= 0;
    qn_buf_done(&body);
    qn_buf_done(&request);
    return ok;
}

bool qn_bench_polls_wake_all(struct qn_bench *bench, struct qn_bench_polls *polls,
                             int64_t *ret_served, double *ret_ms)
{
    int64_t begin_ns = qn_bench_now_ns();
    int64_t at_ns = begin_ns;
    int64_t served = 0;
    int64_t came = 0;

    /* The connections poll again as they are served: what is sent is for those that have not been,
     * since the first to come is the first to be served. */
    for (int64_t left = polls->count; left > 0; left -= BATCH) {
        if (!send_batch(polls, left < BATCH ? left : BATCH)) {
            return qn_bench_fail(bench, "SendMessageBatch: %s", strerror(errno));
        }
    }
    while (served < polls->count && came >= 0 && at_ns - begin_ns < limit_ns) {
        came = take_answers(polls, &at_ns);
        served += came > 0 ? came : 0;
    }
    *ret_served = served;
    *ret_ms = (double)(at_ns - begin_ns) / 1e6;
    return wait_parked(polls, polls->count) ||
           qn_bench_fail(bench, "not all long polls were parked again");
}
