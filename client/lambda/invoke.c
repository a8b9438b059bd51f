/* Functions behind a URL, and functions that are one process for each event. */
#include "client/lambda/invoke.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "client/lambda/process.h"
#include "server/base/clock.h"

enum { URL_ROOM = 600, STOP_LOOK_MS = 200, PROBE_MS = 2000 };

void qn_lambda_outcome_end(struct qn_lambda_outcome *outcome, enum qn_lambda_end how,
                           const char *format, ...)
{
    va_list values;

    outcome->end = how;
    va_start(values, format);
    (void)vsnprintf(outcome->why, sizeof(outcome->why), format, values);
    va_end(values);
}

static void end_by_timeout(const struct qn_lambda_function *function,
                           struct qn_lambda_outcome *outcome)
{
    qn_lambda_outcome_end(outcome, QN_LAMBDA_END_TIMEOUT,
                          "Sandbox.Timedout: Task timed out after %lld.00 seconds",
                          (long long)function->mapping->timeout_s);
}

void qn_lambda_describe_error(struct qn_str said, char *text, size_t size)
{
    json_t *error = json_loadb(said.ptr, said.len, JSON_ALLOW_NUL, NULL);
    const char *type = json_string_value(json_object_get(error, "errorType"));
    const char *message = json_string_value(json_object_get(error, "errorMessage"));

    if (type != NULL || message != NULL) {
        (void)snprintf(text, size, "%.80s: %.200s", type != NULL ? type : "Error",
                       message != NULL ? message : "");
    } else {
        (void)snprintf(text, size, "%.*s", QN_STR_ARG(qn_str_first(said, 200)));
    }
    json_decref(error);
}

bool qn_lambda_is_error(struct qn_str said)
{
    json_t *value = json_loadb(said.ptr, said.len, JSON_ALLOW_NUL, NULL);
    bool is = json_is_string(json_object_get(value, "errorMessage")) &&
              json_object_get(value, "errorType") != NULL;

    json_decref(value);
    return is;
}

/* ---- by URL ---- */

static size_t on_bytes(char *bytes, size_t size, size_t count, void *state)
{
    qn_buf_append(state, bytes, size * count);
    return size * count;
}

/* Not 0: libcurl is to give up. */
static int on_progress(void *state, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct qn_lambda_function *function = state;
    struct pollfd stop = {.fd = function->stop_fd, .events = POLLIN};

    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return poll(&stop, 1, 0) > 0 ? 1 : 0;
}

static void set_up(CURL *curl, const struct qn_lambda_function *function,
                   const struct qn_lambda_invocation *invocation, struct qn_buf *answer)
{
    char url[URL_ROOM];
    size_t len = strlen(function->url);

    while (len > 0 && function->url[len - 1] == '/') {
        len--;
    }
    (void)snprintf(url, sizeof(url), "%.*s/2015-03-31/functions/function/invocations", (int)len,
                   function->url);
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, invocation->event.ptr);
    (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)invocation->event.len);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(function->mapping->timeout_s * 1000));
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    (void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFODATA, function);
}

void qn_lambda_invoke_url(const struct qn_lambda_function *function,
                          struct qn_lambda_invocation *invocation,
                          struct qn_lambda_outcome *outcome)
{
    CURL *curl = curl_easy_init();
    long status = 0;

    if (curl == NULL) {
        qn_lambda_outcome_end(outcome, QN_LAMBDA_END_ERROR, "libcurl could not be started");
        return;
    }
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    set_up(curl, function, invocation, &outcome->answer);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    CURLcode code = curl_easy_perform(curl);
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    struct qn_str said = qn_buf_str(&outcome->answer);
    if (code == CURLE_OPERATION_TIMEDOUT) {
        end_by_timeout(function, outcome);
    } else if (code == CURLE_ABORTED_BY_CALLBACK) {
        qn_lambda_outcome_end(outcome, QN_LAMBDA_END_STOPPED, "the poller was stopped");
    } else if (code != CURLE_OK) {
        qn_lambda_outcome_end(outcome, QN_LAMBDA_END_ERROR, "%.200s: %s", function->url,
                              curl_easy_strerror(code));
    } else if (status != 200) {
        qn_lambda_outcome_end(outcome, QN_LAMBDA_END_ERROR,
                              "the function's URL answered with status %ld", status);
    } else if (qn_lambda_is_error(said)) {
        outcome->end = QN_LAMBDA_END_ERROR;
        qn_lambda_describe_error(said, outcome->why, sizeof(outcome->why));
    } else {
        outcome->end = QN_LAMBDA_END_RETURNED;
    }
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
}

static size_t drop_bytes(char *bytes, size_t size, size_t count, void *state)
{
    (void)bytes;
    (void)state;
    return size * count;
}

bool qn_lambda_url_answers(const char *url, char *ret_why, size_t size)
{
    CURL *curl = curl_easy_init();

    if (curl == NULL) {
        (void)snprintf(ret_why, size, "libcurl could not be started");
        return false;
    }
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)PROBE_MS);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop_bytes);
    CURLcode code = curl_easy_perform(curl);
    if (code != CURLE_OK) {
        (void)snprintf(ret_why, size, "%s", curl_easy_strerror(code));
    }
    curl_easy_cleanup(curl);
    return code == CURLE_OK;
}

/* ---- by stdin ---- */

struct exchange {
    const struct qn_lambda_function *function;
    struct qn_str rest; /* of the event, not yet written */
    int in, out;        /* our ends; -1: closed */
    int pid_fd;
    struct qn_buf *answer;
};

static void close_end(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

static void write_some(struct exchange *exchange)
{
    ssize_t written = write(exchange->in, exchange->rest.ptr, exchange->rest.len);

    if (written > 0) {
        exchange->rest = qn_str_from(exchange->rest, (size_t)written);
    }
    if (exchange->rest.len == 0 || (written < 0 && errno != EAGAIN && errno != EINTR)) {
        close_end(&exchange->in); /* all is written, or it does not read on */
    }
}

static void read_some(struct exchange *exchange)
{
    char block[16 * 1024];
    ssize_t got = read(exchange->out, block, sizeof(block));

    if (got > 0) {
        qn_buf_append(exchange->answer, block, (size_t)got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_end(&exchange->out);
    }
}

/* Until the process has ended and all that it wrote is read. False: it must be killed. */
static bool talk(struct exchange *exchange, struct qn_lambda_outcome *outcome)
{
    int64_t until_ms = qn_clock_monotonic_ms() + exchange->function->mapping->timeout_s * 1000;

    for (;;) {
        int64_t left_ms = until_ms - qn_clock_monotonic_ms();
        struct pollfd fds[] = {
            {.fd = exchange->in, .events = POLLOUT},
            {.fd = exchange->out, .events = POLLIN},
            {.fd = exchange->pid_fd, .events = POLLIN},
            {.fd = exchange->function->stop_fd, .events = POLLIN},
        };
        if (left_ms <= 0) {
            end_by_timeout(exchange->function, outcome);
            return false;
        }
        (void)poll(fds, 4, (int)(left_ms < 60000 ? left_ms : 60000));
        if (fds[3].revents != 0) {
            qn_lambda_outcome_end(outcome, QN_LAMBDA_END_STOPPED, "the poller was stopped");
            return false;
        }
        if (fds[0].revents != 0) {
            write_some(exchange);
        }
        if (fds[1].revents != 0) {
            read_some(exchange);
        } else if (fds[2].revents != 0) {
            return true; /* what it left in the pipe is read; others may still hold it open */
        }
    }
}

static bool make_pipes(int in[2], int out[2])
{
    if (pipe2(in, O_CLOEXEC) < 0) {
        return false;
    }
    if (pipe2(out, O_CLOEXEC) < 0) {
        close_end(&in[0]);
        close_end(&in[1]);
        return false;
    }
    (void)fcntl(in[1], F_SETFL, O_NONBLOCK);
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    return true;
}

void qn_lambda_invoke_stdin(const struct qn_lambda_function *function,
                            struct qn_lambda_invocation *invocation,
                            struct qn_lambda_outcome *outcome)
{
    static const char *const nothing[] = {NULL};
    char id[80];
    char deadline[80];
    const char *added[] = {id, deadline, NULL};
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    struct qn_error err;
    pid_t pid;
    int pid_fd;
    char how[64];

    if (!make_pipes(in, out)) {
        qn_lambda_outcome_end(outcome, QN_LAMBDA_END_ERROR, "pipe: %s", strerror(errno));
        return;
    }
    invocation->deadline_ms =
        function->clock.now_ms(function->clock.state) + function->mapping->timeout_s * 1000;
    (void)snprintf(id, sizeof(id), "QUERN_REQUEST_ID=%s", invocation->request_id);
    (void)snprintf(deadline, sizeof(deadline), "QUERN_DEADLINE_MS=%lld",
                   (long long)invocation->deadline_ms);
    if (!qn_lambda_process_start(function->guard, function->argv, added, nothing, in[0], out[1],
                                 &pid, &pid_fd, &err)) {
        qn_lambda_outcome_end(outcome, QN_LAMBDA_END_ERROR, "%.280s", err.message);
        pid = 0;
    }
    close_end(&in[0]);
    close_end(&out[1]);
    struct exchange exchange = {function, invocation->event, in[1], out[0],
                                pid_fd,   &outcome->answer};
    if (pid > 0) {
        bool has_ended = talk(&exchange, outcome);
        int status = qn_lambda_process_end(function->guard, pid);
        (void)close(pid_fd);
        if (has_ended && status == 0) {
            outcome->end = QN_LAMBDA_END_RETURNED;
        } else if (has_ended) {
            qn_lambda_process_describe(status, how, sizeof(how));
            qn_lambda_outcome_end(outcome, QN_LAMBDA_END_ERROR, "the function %s", how);
        }
    }
    close_end(&exchange.in);
    close_end(&exchange.out);
}
