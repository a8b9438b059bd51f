/* The yardstick: libmicrohttpd in external epoll mode that reads a request and answers fixed bytes,
 * with as many headers and as large a pool per connection as the server has. */
#include <microhttpd.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "client/bench/child.h"

enum { POOL_BYTES = 16 * 1024, CONNECTIONS = 4096 };

/* As long as an answer to SendMessage. */
static const char body[] =
    "{\"MD5OfMessageBody\":\"0123456789abcdef0123456789abcdef\","
    "\"MessageId\":\"01234567-89ab-4cde-8f01-23456789abcd\","
    "\"SequenceNumber\":\"00000000000000000000\",\"Padding\":\"0123456789\"}";

static enum MHD_Result handle(void *state, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *data,
                              size_t *data_len, void **slot)
{
    (void)state;
    (void)path;
    (void)method;
    (void)version;
    (void)data;
    if (*slot == NULL) {
        *slot = connection; /* anything but NULL: the head was seen */
        return MHD_YES;
    }
    if (*data_len > 0) {
        *data_len = 0;
        return MHD_YES;
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(
        sizeof(body) - 1, (void *)(uintptr_t)body, MHD_RESPMEM_PERSISTENT);
    (void)MHD_add_response_header(response, "Content-Type", "application/x-amz-json-1.0");
    (void)MHD_add_response_header(response, "x-amzn-RequestId",
                                  "01234567-89ab-4cde-8f01-23456789abcd");
    enum MHD_Result queued = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return queued;
}

/* Under callgrind the counts are written at a proper end only. */
static void end(int signal)
{
    (void)signal;
    _exit(0);
}

void qn_bench_echo(int listener)
{
    const struct sigaction at_end = {.sa_handler = end};
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, handle, NULL, MHD_OPTION_LISTEN_SOCKET,
                         listener, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES,
                         MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS, MHD_OPTION_END);

    if (daemon == NULL) {
        _exit(1);
    }
    (void)sigaction(SIGTERM, &at_end, NULL);
    int fd = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    (void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    for (;;) {
        MHD_UNSIGNED_LONG_LONG timeout_ms;
        int wait_ms = 1000;
        (void)MHD_run(daemon);
        if (MHD_get_timeout(daemon, &timeout_ms) == MHD_YES && timeout_ms < 1000) {
            wait_ms = (int)timeout_ms;
        }
        (void)epoll_wait(epoll, &event, 1, wait_ms);
    }
}
