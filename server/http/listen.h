/* The listening sockets. They are ours, not libmicrohttpd's: so there can be several, and one can
 * be closed and opened again. */
#ifndef QN_HTTP_LISTEN_H
#define QN_HTTP_LISTEN_H

#include <sys/socket.h>

#include "server/base/error.h"

enum { QN_LISTENERS_MAX = 64, QN_ADDRESS_TEXT_MAX = 64 };

struct qn_listener {
    int fd; /* -1 while it is closed */
    int port;
    char address[QN_ADDRESS_TEXT_MAX]; /* "127.0.0.1:9324", "[::1]:9324" */
};

struct qn_listeners {
    struct qn_listener items[QN_LISTENERS_MAX];
    size_t count;
    bool is_reserve; /* bound only: nobody can connect, and nobody else can have the ports */
};

/* Binds and listens on "ADDR", "ADDR:PORT", "[V6]:PORT" or "[V6]"; without a port on `port`. Port 0
 * takes a free one. */
QN_MUST_CHECK bool qn_listeners_add(struct qn_listeners *listeners, struct qn_str where, int port,
                                    struct qn_error *err);
/* Loopback, IPv4 and, where the machine has it, IPv6 on the same port. */
QN_MUST_CHECK bool qn_listeners_add_loopback(struct qn_listeners *listeners, int port,
                                             struct qn_error *err);
/* Listens on the same addresses and ports as a reserve holds, which may stay open. */
QN_MUST_CHECK bool qn_listeners_take(struct qn_listeners *listeners,
                                     const struct qn_listeners *reserve, struct qn_error *err);
/* Opens those again that are closed, where they were. */
QN_MUST_CHECK bool qn_listeners_open(struct qn_listeners *listeners, struct qn_error *err);
/* Closes them all; accepts a zeroed struct. */
void qn_listeners_close(struct qn_listeners *listeners);

#endif
