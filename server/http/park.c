/* Long polls, and noticing that the client of a suspended connection has gone: libmicrohttpd does
 * not look at those, so their sockets stand in our own epoll set. Only EPOLLRDHUP counts; looking
 * for bytes would mistake a pipelined request for a live client, and hide a close behind it. */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "server/http/internal.h"

/* How much later a poll ends in real time than in virtual time that runs as fast. */
enum { REAL_TIME_SLACK_MS = 50 };

void qn_client_watch(struct qn_client *client)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = &client->watch};

    /* Closing the socket takes it out again. */
    (void)epoll_ctl(client->loop->epoll_fd, EPOLL_CTL_ADD, client->fd, &event);
}

bool qn_client_is_gone(const struct qn_client *client)
{
    struct pollfd poll_fd = {.fd = client->fd, .events = POLLRDHUP};

    return poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void qn_client_gone(struct qn_client *client)
{
    struct qn_loop *loop = client->loop;
    struct qn_call *call = client->call;

    client->is_gone = true;
    if (client->stream != NULL) {
        qn_control_end_stream(client->stream);
    }
    if (call == NULL || !call->is_suspended) {
        qn_client_expect_end(client);
    } else if (call->list != &loop->syncing && call->list != &loop->advance.calls &&
               call->list != &loop->resuming) {
        qn_call_unpark(call);
        qn_call_drop(call);
    }
}

/* What fault rules stop: nobody would let it go on any more. */
static bool is_let_go_at_the_end(const struct qn_loop *loop, const struct qn_call_list *list)
{
    return list == &loop->held || list == &loop->hanging || list == &loop->delayed ||
           list == &loop->jumping;
}

void qn_call_wait(struct qn_call *call, struct qn_call_list *list)
{
    call->state = QN_CALL_WAITING;
    if (call->list != list) {
        qn_call_join_by_due(list, call);
    }
    qn_call_suspend(call);
    if (call->client->is_gone) {
        qn_client_gone(call->client); /* the event has been */
    } else if (call->loop->is_stopping && is_let_go_at_the_end(call->loop, list)) {
        qn_call_drop(call); /* the end let go what waited before this one */
    }
}

void qn_client_expect_end(struct qn_client *client)
{
    if (!client->is_ending) {
        client->is_ending = true;
        client->next_ending = client->loop->ending;
        client->loop->ending = client;
    }
}

void qn_client_forget(struct qn_client *client)
{
    struct qn_client **at = &client->loop->ending;

    while (client->is_ending && *at != NULL) {
        if (*at == client) {
            *at = client->next_ending;
            client->is_ending = false;
        } else {
            at = &(*at)->next_ending;
        }
    }
}

/* libmicrohttpd overlooks an end of stream that came together with the bytes before it, and keeps
 * the connection until its time-out. A second event makes it look again. What was sent before the
 * end is still read. */
void qn_clients_end(struct qn_loop *loop)
{
    while (loop->ending != NULL) {
        struct qn_client *client = loop->ending;
        loop->ending = client->next_ending;
        client->is_ending = false;
        if (client->call == NULL || client->call->state == QN_CALL_READING) {
            (void)shutdown(client->fd, SHUT_RD);
        }
    }
}

void qn_call_park(struct qn_call *call, const struct qn_park *park)
{
    struct qn_loop *loop = call->loop;
    bool is_virtual = qn_clock_is_virtual(loop->parts.clock);

    if (call->deadline_ms < 0) {
        call->deadline_ms = park->deadline_ms;
        /* A client waits in its own time: under a clock that stands still it must not hang. */
        call->wait_end_ms = !is_virtual ? INT64_MAX
                                        : qn_clock_monotonic_ms() + park->deadline_ms -
                                              loop->now_ms + REAL_TIME_SLACK_MS;
    }
    qn_engine_park(loop->parts.engine, &call->waiter, park->queue, call->deadline_ms);
    if (call->list != &loop->parked) {
        call->due_ms = call->wait_end_ms;
    }
    qn_call_wait(call, &loop->parked);
}

void qn_call_unpark(struct qn_call *call)
{
    if (call->waiter.queue != NULL && call->waiter.deadline_ms > call->deadline_ms) {
        call->deadline_ms = call->waiter.deadline_ms; /* an idle skip carried it along */
    }
    qn_engine_unpark(call->loop->parts.engine, &call->waiter);
    qn_call_leave(call);
}
