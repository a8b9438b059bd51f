/* Opening and closing the listening sockets. */
#include "server/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

enum { BACKLOG = 4096, FREE_PORT_TRIES = 20 };

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } socket;
    socklen_t len;
};

static bool set_address(struct address *address, struct qn_str host, int port)
{
    char text[INET6_ADDRSTRLEN];

    *address = (struct address){0};
    if (host.len >= sizeof(text)) {
        return false;
    }
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    if (inet_pton(AF_INET, text, &address->socket.v4.sin_addr) == 1) {
        address->socket.v4.sin_family = AF_INET;
        address->socket.v4.sin_port = htons((uint16_t)port);
        address->len = sizeof(address->socket.v4);
        return true;
    }
    if (inet_pton(AF_INET6, text, &address->socket.v6.sin6_addr) == 1) {
        address->socket.v6.sin6_family = AF_INET6;
        address->socket.v6.sin6_port = htons((uint16_t)port);
        address->len = sizeof(address->socket.v6);
        return true;
    }
    return false;
}

/* Without brackets nothing behind its colons can be a port. */
static bool is_bare_ipv6(struct qn_str where)
{
    size_t colon = qn_str_find_char(where, ':');

    return colon < where.len &&
           qn_str_find_char(qn_str_from(where, colon + 1), ':') < where.len - colon - 1;
}

/* "127.0.0.1:80", "[::1]:80", "[::1]", "::1", "localhost" */
static bool parse_address(struct qn_str where, int port, struct address *address,
                          struct qn_error *err)
{
    struct qn_str host = where;
    struct qn_str port_text = QN_STR_NONE;
    int64_t value = port;

    if (where.len > 0 && where.ptr[0] == '[') {
        size_t close = qn_str_find_char(where, ']');
        struct qn_str rest = qn_str_from(where, close + 1);
        host = qn_str_from(qn_str_first(where, close), 1);
        if (close == where.len || (rest.len > 0 && rest.ptr[0] != ':')) {
            host = QN_STR(""); /* no bracket at its end, or something else behind it */
        } else if (rest.len > 0) {
            port_text = qn_str_from(rest, 1);
        }
    } else if (!is_bare_ipv6(where)) {
        host = qn_str_cut(where, ':', &port_text);
    }
    if (!qn_str_is_none(port_text) && !qn_str_to_int64(port_text, 0, UINT16_MAX, &value)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "%.*s is no address to listen on: the port must be 0 to 65535",
                       QN_STR_ARG(where));
    }
    if (qn_str_equal_nocase(host, QN_STR("localhost"))) {
        host = QN_STR("127.0.0.1");
    }
    if (!set_address(address, host, (int)value)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "%.*s is no address to listen on: say ADDR[:PORT], such as 127.0.0.1:9324 "
                       "or [::1]:9324",
                       QN_STR_ARG(where));
    }
    return true;
}

static void describe(const struct address *address, struct qn_listener *listener)
{
    char host[INET6_ADDRSTRLEN];

    if (address->socket.any.sa_family == AF_INET6) {
        listener->port = ntohs(address->socket.v6.sin6_port);
        (void)inet_ntop(AF_INET6, &address->socket.v6.sin6_addr, host, sizeof(host));
        (void)snprintf(listener->address, sizeof(listener->address), "[%s]:%d", host,
                       listener->port);
    } else {
        listener->port = ntohs(address->socket.v4.sin_port);
        (void)inet_ntop(AF_INET, &address->socket.v4.sin_addr, host, sizeof(host));
        (void)snprintf(listener->address, sizeof(listener->address), "%s:%d", host, listener->port);
    }
}

static bool open_socket(struct address *address, struct qn_listener *listener, bool listens)
{
    const int on = 1;
    bool is_v6 = address->socket.any.sa_family == AF_INET6;
    int fd = socket(address->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    listener->fd = fd;
    return fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
           (!is_v6 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0) &&
           bind(fd, &address->socket.any, address->len) == 0 &&
           (!listens || listen(fd, BACKLOG) == 0) &&
           getsockname(fd, &address->socket.any, &address->len) == 0;
}

static bool open_at(struct address *address, struct qn_listener *listener, bool listens,
                    struct qn_error *err)
{
    if (open_socket(address, listener, listens)) {
        return true;
    }
    qn_fail(err, QN_ERR_INTERNAL, "cannot listen on %s: %s", listener->address,
            errno == EADDRINUSE ? "the port is in use; say another, or 0 for a free one"
                                : strerror(errno));
    if (listener->fd >= 0) {
        (void)close(listener->fd);
    }
    listener->fd = -1;
    return false;
}

static bool add(struct qn_listeners *listeners, struct address *address, struct qn_error *err)
{
    struct qn_listener *listener = &listeners->items[listeners->count];

    if (listeners->count == QN_LISTENERS_MAX) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "too many addresses to listen on");
    }
    describe(address, listener); /* for the message */
    if (!open_at(address, listener, !listeners->is_reserve, err)) {
        return false;
    }
    describe(address, listener);
    listeners->count++;
    return true;
}

bool qn_listeners_add(struct qn_listeners *listeners, struct qn_str where, int port,
                      struct qn_error *err)
{
    struct address address;

    return parse_address(where, port, &address, err) && add(listeners, &address, err);
}

static bool machine_has_ipv6(void)
{
    struct address address;
    struct qn_listener probe = {.fd = -1};
    bool has = set_address(&address, QN_STR("::1"), 0) && open_socket(&address, &probe, true);

    if (probe.fd >= 0) {
        (void)close(probe.fd);
    }
    return has;
}

static void drop_last(struct qn_listeners *listeners)
{
    listeners->count--;
    (void)close(listeners->items[listeners->count].fd);
}

bool qn_listeners_add_loopback(struct qn_listeners *listeners, int port, struct qn_error *err)
{
    bool has_ipv6 = machine_has_ipv6();

    /* A port that is free for IPv4 may be taken for IPv6: another one is drawn then. */
    for (int tries = port == 0 ? FREE_PORT_TRIES : 1; tries > 0; tries--) {
        if (!qn_listeners_add(listeners, QN_STR("127.0.0.1"), port, err)) {
            return false;
        }
        if (!has_ipv6 || qn_listeners_add(listeners, QN_STR("::1"),
                                          listeners->items[listeners->count - 1].port, err)) {
            return true;
        }
        drop_last(listeners);
    }
    return false;
}

bool qn_listeners_take(struct qn_listeners *listeners, const struct qn_listeners *reserve,
                       struct qn_error *err)
{
    for (size_t i = 0; i < reserve->count; i++) {
        const struct qn_listener *item = &reserve->items[i];
        if (!qn_listeners_add(listeners, qn_str_from_cstr(item->address), item->port, err)) {
            return false;
        }
    }
    return true;
}

bool qn_listeners_open(struct qn_listeners *listeners, struct qn_error *err)
{
    for (size_t i = 0; i < listeners->count; i++) {
        struct qn_listener *listener = &listeners->items[i];
        struct address address;
        if (listener->fd < 0 &&
            (!parse_address(qn_str_from_cstr(listener->address), 0, &address, err) ||
             !open_at(&address, listener, true, err))) {
            return false;
        }
    }
    return true;
}

void qn_listeners_close(struct qn_listeners *listeners)
{
    for (size_t i = 0; i < listeners->count; i++) {
        if (listeners->items[i].fd >= 0) {
            (void)close(listeners->items[i].fd);
            listeners->items[i].fd = -1;
        }
    }
}
