/* Readiness as a consumer tells it: a line of its log, or an answer of its health page. */
#include "chaos/check/ready.h"

#include <errno.h>
#include <netdb.h>
#include <regex.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/base/memory.h"

#define SCHEME "http://"

enum { ASK_EVERY_MS = 100, ANSWER_LIMIT_MS = 2000, LINE_ROOM = 512 };

bool qn_ready_check_pattern(const char *pattern, struct qn_error *err)
{
    char why[128];
    regex_t compiled;
    int code = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB);

    if (code == 0) {
        regfree(&compiled);
        return true;
    }
    (void)regerror(code, &compiled, why, sizeof(why));
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "--ready-log takes an extended regular expression: \"%s\": %s", pattern, why);
}

bool qn_ready_line_fits(const char *pattern, struct qn_str line)
{
    char text[LINE_ROOM];
    regex_t compiled;

    (void)snprintf(text, sizeof(text), "%.*s", QN_STR_ARG(qn_str_first(line, sizeof(text) - 1)));
    if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
        return false;
    }
    bool fits = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return fits;
}

bool qn_ready_read_url(const char *text, struct qn_ready_url *ret_url, struct qn_error *err)
{
    struct qn_str url = qn_str_from_cstr(text);
    struct qn_str port;
    int64_t number;
    bool ok = qn_str_starts_with(url, QN_STR(SCHEME));
    struct qn_str rest = ok ? qn_str_from(url, sizeof(SCHEME) - 1) : url;
    size_t slash = qn_str_find_char(rest, '/');
    struct qn_str path = slash < rest.len ? qn_str_from(rest, slash) : QN_STR("/");
    struct qn_str host = qn_str_cut(qn_str_first(rest, slash), ':', &port);

    port = qn_str_is_none(port) ? QN_STR("80") : port;
    ok = ok && host.len > 0 && host.len < sizeof(ret_url->host) &&
         path.len < sizeof(ret_url->path) && qn_str_find_char(path, ' ') == path.len &&
         qn_str_to_int64(port, 1, 65535, &number);
    if (!ok) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--ready-url takes a URL such as http://127.0.0.1:8080/health, not \"%s\"",
                       text);
    }
    (void)snprintf(ret_url->host, sizeof(ret_url->host), "%.*s", QN_STR_ARG(host));
    (void)snprintf(ret_url->port, sizeof(ret_url->port), "%lld", (long long)number);
    (void)snprintf(ret_url->path, sizeof(ret_url->path), "%.*s", QN_STR_ARG(path));
    return true;
}

void qn_ready_close(struct qn_ready_probe *probe)
{
    if (probe->fd > 0) {
        (void)close(probe->fd);
    }
    probe->fd = 0;
    probe->is_asked = false;
}

/* Begins to connect; nobody may be listening yet. */
static void begin(struct qn_ready_probe *probe, const struct qn_ready_url *url, int64_t now_ms)
{
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;

    probe->next_ms = now_ms + ASK_EVERY_MS;
    probe->end_ms = now_ms + ANSWER_LIMIT_MS;
    if (getaddrinfo(url->host, url->port, &wanted, &found) != 0) {
        return;
    }
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd > 0 && (connect(fd, found->ai_addr, found->ai_addrlen) == 0 || errno == EINPROGRESS)) {
        probe->fd = fd;
    } else if (fd > 0) {
        (void)close(fd);
    }
    freeaddrinfo(found);
}

/* False: it cannot be said yet, or never. */
static bool ask(struct qn_ready_probe *probe, const struct qn_ready_url *url)
{
    char text[sizeof(struct qn_ready_url) + 64];
    int len = snprintf(text, sizeof(text), "GET %s HTTP/1.0\r\nHost: %s:%s\r\n\r\n", url->path,
                       url->host, url->port);
    ssize_t sent = send(probe->fd, text, (size_t)len, MSG_NOSIGNAL);

    if (sent < 0 && errno != EAGAIN && errno != ENOTCONN) {
        qn_ready_close(probe);
    }
    return sent == len;
}

static bool is_good_answer(const char *text, ssize_t len)
{
    static const size_t status_at = sizeof("HTTP/1.1 ") - 1;

    return len > (ssize_t)status_at && memcmp(text, "HTTP/1.", 7) == 0 && text[status_at] == '2';
}

bool qn_ready_probe(struct qn_ready_probe *probe, const struct qn_ready_url *url, int64_t now_ms)
{
    char answer[64];

    if (probe->fd == 0 && now_ms >= probe->next_ms) {
        begin(probe, url, now_ms);
    }
    if (probe->fd > 0 && !probe->is_asked) {
        probe->is_asked = ask(probe, url);
    }
    if (probe->fd == 0 || !probe->is_asked) {
        if (probe->fd > 0 && now_ms >= probe->end_ms) {
            qn_ready_close(probe);
        }
        return false;
    }
    ssize_t len = recv(probe->fd, answer, sizeof(answer), 0);
    bool is_waiting = len < 0 && errno == EAGAIN && now_ms < probe->end_ms;
    if (!is_waiting) {
        qn_ready_close(probe);
    }
    return is_good_answer(answer, len);
}
