/* The Runtime API, as a function's client sees it and as its environment does. */
#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/lambda/runtime.h"

enum { ROOM = 4096, ANSWER_MAX = 6291556, SETTLE_MS = 300 };

#define ID "01234567-89ab-cdef-0123-456789abcdef"

static struct qn_lambda_runtime *runtime;
static int function; /* its connection */
static const struct qn_lambda_invocation invocation = {
    .request_id = ID,
    .trace_id = "Root=1-2-3",
    .function_arn = "arn:aws:lambda:us-east-1:000000000000:function:f",
    .deadline_ms = 1234567890123,
    .event = {"{\"Records\":[]}", 14},
};

static void open_runtime(void)
{
    struct qn_error err;

    cr_assert(qn_lambda_runtime_open(&runtime, &err), "%s", err.message);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)qn_lambda_runtime_port(runtime)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    function = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(function, (struct sockaddr *)&address, sizeof(address)), 0);
}

static void close_runtime(void)
{
    (void)close(function);
    qn_lambda_runtime_close(runtime);
}

TestSuite(runtime, .init = open_runtime, .fini = close_runtime, .timeout = 30);

static void write_all(const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t written = write(function, bytes, len);
        cr_assert_gt(written, 0);
        bytes += written;
        len -= (size_t)written;
    }
}

static void ask_for_next(void)
{
    static const char request[] =
        "GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: a\r\n\r\n";

    write_all(request, sizeof(request) - 1);
}

static void begin_post(const char *path, size_t len)
{
    char head[ROOM];
    int head_len = snprintf(head, sizeof(head),
                            "POST /2018-06-01/runtime/%s HTTP/1.1\r\nHost: a\r\nContent-Length: "
                            "%zu\r\n\r\n",
                            path, len);

    write_all(head, (size_t)head_len);
}

/* The status; an answer here is short and comes in one piece. */
static int answered(char *text)
{
    int status = 0;
    ssize_t got = read(function, text, ROOM - 1);

    cr_assert_gt(got, 0);
    text[got] = '\0';
    cr_assert_eq(sscanf(text, "HTTP/1.1 %d", &status), 1, "%s", text);
    return status;
}

static int post(const char *path, const char *body)
{
    char text[ROOM];

    begin_post(path, strlen(body));
    write_all(body, strlen(body));
    return answered(text);
}

static enum qn_lambda_state await_change(enum qn_lambda_state from)
{
    enum qn_lambda_state state;

    while ((state = qn_lambda_runtime_look(runtime)) == from) {
        struct pollfd changed = {.fd = qn_lambda_runtime_fd(runtime), .events = POLLIN};
        cr_assert_geq(poll(&changed, 1, -1), 0);
    }
    return state;
}

/* The function has the event. */
static void invoke(void)
{
    char text[ROOM];

    ask_for_next();
    cr_assert_eq(await_change(QN_LAMBDA_STARTING), QN_LAMBDA_IDLE);
    qn_lambda_runtime_give(runtime, &invocation);
    cr_assert_eq(answered(text), 200);
    cr_assert_not_null(strstr(text, "Lambda-Runtime-Aws-Request-Id: " ID "\r\n"), "%s", text);
    cr_assert_not_null(strstr(text, "Lambda-Runtime-Deadline-Ms: 1234567890123\r\n"), "%s", text);
    cr_assert_not_null(strstr(text, "Lambda-Runtime-Trace-Id: Root=1-2-3\r\n"), "%s", text);
    cr_assert_not_null(strstr(text, "\r\n\r\n{\"Records\":[]}"), "%s", text);
}

static void expect_answer(const char *expected)
{
    struct qn_str answer = qn_lambda_runtime_answer(runtime);

    cr_expect(qn_str_equal(answer, qn_str_from_cstr(expected)), "%.*s", QN_STR_ARG(answer));
}

/* As long as nobody has looked, the function may have asked for its next event long ago. */
static void expect_end_stays(enum qn_lambda_state end)
{
    struct pollfd nothing = {.fd = function, .events = POLLIN};

    ask_for_next();
    cr_assert_eq(poll(&nothing, 1, SETTLE_MS), 0, "there is no event, and an answer");
    cr_expect_eq(qn_lambda_runtime_look(runtime), end);
}

Test(runtime, an_error_stays_one_when_the_function_asks_for_the_next_event_at_once)
{
    invoke();
    cr_expect_eq(post("invocation/" ID "/error", "{\"errorType\":\"E\"}"), 202);
    expect_end_stays(QN_LAMBDA_FAILED);
    expect_answer("{\"errorType\":\"E\"}");
}

Test(runtime, an_answer_stays_one_and_the_next_event_is_given_to_who_waits)
{
    char text[ROOM];

    invoke();
    cr_expect_eq(post("invocation/" ID "/response", "{}"), 202);
    expect_end_stays(QN_LAMBDA_RETURNED);
    expect_answer("{}");
    qn_lambda_runtime_give(runtime, &invocation);
    cr_expect_eq(answered(text), 200);
    cr_expect_eq(qn_lambda_runtime_look(runtime), QN_LAMBDA_RUNNING);
}

Test(runtime, the_same_event_is_given_again_before_its_answer)
{
    char text[ROOM];

    invoke();
    ask_for_next();
    cr_expect_eq(answered(text), 200);
    cr_expect_not_null(strstr(text, ID));
    cr_expect_eq(qn_lambda_runtime_look(runtime), QN_LAMBDA_RUNNING);
}

Test(runtime, what_is_not_the_answer_to_the_event_is_refused)
{
    invoke();
    cr_expect_eq(post("invocation/" ID "0/response", "{}"), 400);
    cr_expect_eq(post("invocation/x/response", "{}"), 400);
    cr_expect_eq(post("invocation/11234567-89ab-cdef-0123-456789abcdef/error", "{}"), 400);
    cr_expect_eq(post("invocation/" ID "/answer", "{}"), 400);
    cr_expect_eq(post("invocation/" ID, "{}"), 404);
    cr_expect_eq(post("init/error", "{}"), 403);
    cr_expect_eq(qn_lambda_runtime_look(runtime), QN_LAMBDA_RUNNING);
    cr_expect_eq(post("invocation/" ID "/response", "{}"), 202);
    cr_expect_eq(post("invocation/" ID "/response", "{}"), 400, "a second time");
    cr_expect_eq(qn_lambda_runtime_look(runtime), QN_LAMBDA_RETURNED);
}

static int post_large(size_t len)
{
    static char block[64 * 1024];
    char text[ROOM];

    memset(block, 'x', sizeof(block));
    begin_post("invocation/" ID "/response", len);
    while (len > 0) {
        size_t part = len < sizeof(block) ? len : sizeof(block);
        write_all(block, part);
        len -= part;
    }
    return answered(text);
}

Test(runtime, the_largest_answer_is_taken)
{
    invoke();
    cr_expect_eq(post_large(ANSWER_MAX), 202);
    cr_expect_eq(qn_lambda_runtime_look(runtime), QN_LAMBDA_RETURNED);
    cr_expect_eq(qn_lambda_runtime_answer(runtime).len, ANSWER_MAX);
}

Test(runtime, an_answer_of_one_byte_more_is_an_error)
{
    invoke();
    cr_expect_eq(post_large(ANSWER_MAX + 1), 413);
    cr_expect_eq(qn_lambda_runtime_look(runtime), QN_LAMBDA_FAILED);
    cr_expect_lt(qn_lambda_runtime_answer(runtime).len, 300);
}

Test(runtime, who_cannot_start_says_so_once)
{
    cr_expect_eq(post("init/error", "{\"errorType\":\"I\"}"), 202);
    cr_expect_eq(qn_lambda_runtime_look(runtime), QN_LAMBDA_INIT_FAILED);
    expect_answer("{\"errorType\":\"I\"}");
    cr_expect_eq(post("init/error", "{}"), 403);
    expect_end_stays(QN_LAMBDA_INIT_FAILED);
}
