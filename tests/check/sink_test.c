/* The effect sink over HTTP, with raw sockets for clients. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "chaos/check/sink.h"
#include "server/base/clock.h"

static struct qn_history history;
static struct qn_recorder recorder;
static struct qn_sink *sink;
static struct qn_effect_script script;

static const struct qn_effect_script *script_of(void *state, struct qn_str k, int64_t attempt)
{
    (void)attempt;
    (void)state;
    (void)k;
    return &script;
}

static struct qn_str key_of_id(void *state, struct qn_str id)
{
    (void)state;
    return qn_str_equal(id, QN_STR("m-003")) ? QN_STR("k-003") : QN_STR_NONE;
}

static struct qn_str key_of_body(void *state, struct qn_str body, bool *ret_is_readable)
{
    (void)state;
    *ret_is_readable = !qn_str_equal(body, QN_STR("{\"half"));
    return qn_str_equal(body, QN_STR("x")) ? QN_STR("k-000")
           : !*ret_is_readable             ? QN_STR("k-001")
                                           : QN_STR_NONE;
}

static void open_sink(void)
{
    const struct qn_routes_options options = {
        .effects = {.recorder = &recorder, .script = script_of},
        .key_of_id = key_of_id,
        .key_of_body = key_of_body,
    };
    struct qn_error err;

    qn_history_init(&history);
    recorder = (struct qn_recorder){.history = &history};
    script = (struct qn_effect_script){0};
    cr_assert(qn_sink_open(&options, &sink, &err), "%s", err.message);
}

static void close_sink(void)
{
    qn_sink_close(sink);
    qn_history_done(&history);
}

TestSuite(sink, .init = open_sink, .fini = close_sink);

static int send_text(const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)qn_sink_port(sink))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

static int send_request(const char *method, const char *path, const char *headers, const char *body)
{
    char request[2048];

    (void)snprintf(
        request, sizeof(request),
        "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%sContent-Length: %zu\r\n\r\n%s", method,
        path, headers, strlen(body), body);
    return send_text(request);
}

/* Runs the sink until the answer is there; its text is in `answer`, its status is returned. */
static int answer_of(int fd, char answer[2048])
{
    size_t len = 0;
    int64_t end_ms = qn_clock_monotonic_ms() + 5000;
    int status = 0;

    while (qn_clock_monotonic_ms() < end_ms) {
        qn_sink_run(sink);
        ssize_t got = read(fd, answer + len, 2047 - len);
        if (got == 0) {
            break;
        }
        len += got > 0 ? (size_t)got : 0;
        struct pollfd waited[] = {{fd, POLLIN, 0}, {qn_sink_fd(sink), POLLIN, 0}};
        (void)poll(waited, 2, 1);
    }
    (void)close(fd);
    answer[len] = '\0';
    cr_assert_eq(sscanf(answer, "HTTP/1.1 %d", &status), 1, "%s", answer);
    return status;
}

static int call(const char *method, const char *path, const char *headers, const char *body,
                char answer[2048])
{
    return answer_of(send_request(method, path, headers, body), answer);
}

static const struct qn_check_event *last_of(enum qn_check_kind kind)
{
    for (size_t i = history.count; i > 0; i--) {
        if (history.events[i - 1].kind == kind) {
            return &history.events[i - 1];
        }
    }
    cr_assert_fail("no such event");
    return NULL;
}

static const char envelope[] =
    "{\"messageId\":\"%s\",\"idempotencyKey\":\"k-003\",\"payload\":{\"id\":\"m-003\"}}";

Test(sink, effect_then_replay)
{
    char answer[2048];
    char body[256];

    (void)snprintf(body, sizeof(body), envelope, "one");
    cr_expect_eq(call("POST", "/v1/effects", "Idempotency-Key: k-003\r\n", body, answer), 200);
    cr_expect_null(strstr(answer, "Idempotency-Replayed"));
    (void)snprintf(body, sizeof(body), envelope, "two"); /* the envelope may differ */
    cr_expect_eq(call("POST", "/v1/effects", "Idempotency-Key: k-003\r\n", body, answer), 200);
    cr_expect_not_null(strstr(answer, "Idempotency-Replayed: true"));
    const struct qn_check_event *commit = last_of(QN_CHECK_WORK_COMMIT);
    cr_expect(commit->replayed);
    cr_expect(qn_str_equal(commit->k, QN_STR("k-003")));
}

Test(sink, body_without_a_key_is_known_as_it_came_or_by_its_headers)
{
    const struct {
        const char *headers, *body, *key;
    } calls[] = {
        {"", "x", "k-000"},
        {"Idempotency-Key: mine\r\n", "x", "k-000"},
        {"Idempotency-Key: mine\r\n", "y", "mine"},
        {"Idempotency-Key: m-003\r\n", "y", "k-003"},
        {"X-Quern-Message-Id: m-003\r\n", "{\"text\":\"y\"}", "k-003"},
        {"X-Quern-Message-Id: m-004\r\n", "y", QN_CHECK_NO_KEY},
        {"", "y", QN_CHECK_NO_KEY},
        {"", "{\"half", QN_CHECK_NO_KEY}, /* not to be worked on */
    };
    char answer[2048];

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        cr_expect_eq(call("POST", "/v1/effects", calls[i].headers, calls[i].body, answer), 200);
        struct qn_str k = last_of(QN_CHECK_WORK_COMMIT)->k;
        cr_expect(qn_str_equal(k, qn_str_from_cstr(calls[i].key)), "%zu: %.*s", i, QN_STR_ARG(k));
    }
}

Test(sink, another_scenario_has_the_same_port_and_an_empty_ledger)
{
    const struct qn_routes_options options = {
        .effects = {.recorder = &recorder, .script = script_of},
        .key_of_id = key_of_id,
    };
    const char *headers = "Idempotency-Key: k-003\r\n";
    char answer[2048];
    char body[256];

    (void)snprintf(body, sizeof(body), envelope, "one");
    cr_expect_eq(call("POST", "/v1/effects", headers, body, answer), 200);
    int port = qn_sink_port(sink);
    qn_sink_renew(sink, &options);
    cr_expect_eq(qn_sink_port(sink), port);
    cr_expect_eq(call("POST", "/v1/effects", headers, body, answer), 200);
    cr_expect_null(strstr(answer, "Idempotency-Replayed"));
    cr_expect_not(last_of(QN_CHECK_WORK_COMMIT)->replayed);
}

Test(sink, answer_comes_when_the_work_is_over)
{
    char answer[2048];
    int64_t begin_ms = qn_clock_monotonic_ms();

    script.work_ms = 60;
    cr_expect_eq(call("POST", "/v1/effects", "", "{\"idempotencyKey\":\"k-1\"}", answer), 200);
    cr_expect_geq(qn_clock_monotonic_ms() - begin_ms, 59);
}

Test(sink, work_of_several_clients_goes_on_at_once)
{
    char answer[2048];
    int64_t begin_ms = qn_clock_monotonic_ms();
    int clients[10];

    script.work_ms = 100;
    for (int i = 0; i < 10; i++) {
        char body[64];
        (void)snprintf(body, sizeof(body), "{\"idempotencyKey\":\"k-%d\"}", i);
        clients[i] = send_request("POST", "/v1/effects", "", body);
    }
    for (int i = 0; i < 10; i++) {
        cr_expect_eq(answer_of(clients[i], answer), 200);
    }
    cr_expect_lt(qn_clock_monotonic_ms() - begin_ms, 900);
}

Test(sink, headers_name_message_and_lease)
{
    char answer[2048];

    cr_expect_eq(
        call("POST", "/v1/effects",
             "X-Quern-Message-Id: id-1\r\nX-Quern-Receive-Count: 2\r\nX-Quern-Instance: 1\r\n",
             "{\"idempotencyKey\":\"k-1\"}", answer),
        200);
    const struct qn_check_event *begin = last_of(QN_CHECK_WORK_BEGIN);
    cr_expect(qn_str_equal(begin->mid, QN_STR("id-1")));
    cr_expect_eq(begin->n, 2);
}

Test(sink, reject_names_what_cannot_be_read_by_its_body)
{
    char answer[2048];

    cr_expect_eq(call("POST", "/v1/rejects", "", "{\"half", answer), 200);
    cr_expect(qn_str_equal(last_of(QN_CHECK_REJECT)->k, QN_STR("k-001")));
    cr_expect_eq(call("POST", "/v1/rejects", "", "{\"another", answer), 400);
}

Test(sink, reject_names_the_message_by_its_key)
{
    char answer[2048];

    cr_expect_eq(call("POST", "/v1/rejects", "", "{\"id\":\"m-003\",\"reason\":\"bad\"}", answer),
                 200);
    cr_expect(qn_str_equal(last_of(QN_CHECK_REJECT)->k, QN_STR("k-003")));
    cr_expect_eq(
        call("POST", "/v1/reconciliations", "", "{\"id\":\"m-003\",\"key\":\"k-003\"}", answer),
        200);
    cr_expect(qn_str_equal(last_of(QN_CHECK_RECONCILE)->k, QN_STR("k-003")));
    cr_expect_eq(call("POST", "/v1/rejects", "", "nothing", answer), 400);
}

Test(sink, handle_does_the_work_under_the_key_of_the_body)
{
    char answer[2048];
    char body[256];

    (void)snprintf(body, sizeof(body), envelope, "one");
    cr_expect_eq(call("POST", "/v1/handle", "X-Quern-Receive-Count: 2\r\n", body, answer), 200);
    cr_expect_not_null(strstr(answer, "{\"applied\":true}"));
    const struct qn_check_event *commit = last_of(QN_CHECK_WORK_COMMIT);
    cr_expect(qn_str_equal(commit->k, QN_STR("k-003")));
    cr_expect(qn_str_equal(commit->ik, QN_STR("k-003")));
    cr_expect_eq(commit->n, 2);
    (void)snprintf(body, sizeof(body), envelope, "two");
    cr_expect_eq(call("POST", "/v1/handle", "", body, answer), 200);
    cr_expect_not_null(strstr(answer, "Idempotency-Replayed: true"));
    cr_expect_eq(call("POST", "/v1/effects", "Idempotency-Key: k-003\r\n", body, answer), 200);
    cr_expect_not_null(strstr(answer, "Idempotency-Replayed: true"));
}

Test(sink, handle_takes_a_body_without_a_key_by_what_it_is)
{
    char answer[2048];

    cr_expect_eq(call("POST", "/v1/handle", "", "x", answer), 200);
    cr_expect(qn_str_equal(last_of(QN_CHECK_WORK_COMMIT)->k, QN_STR("k-000")));
    cr_expect(qn_str_equal(last_of(QN_CHECK_WORK_COMMIT)->ik, QN_STR("k-000")));
    /* A body of the user's, with a version of the user's. */
    cr_expect_eq(call("POST", "/v1/handle", "", "{\"id\":\"m-003\",\"schemaVersion\":7}", answer),
                 200);
    cr_expect(qn_str_equal(last_of(QN_CHECK_WORK_COMMIT)->k, QN_STR("k-003")));
    size_t count = history.count;
    cr_expect_eq(call("POST", "/v1/handle", "", "of somebody else", answer), 400);
    cr_expect_eq(history.count, count + 1);
    cr_expect_eq(last_of(QN_CHECK_REFUSED)->status, 400);
}

Test(sink, handle_answers_what_may_succeed_later_with_503)
{
    static const struct qn_str outcomes[] = {{"transient", 9}, {"ok", 2}};
    char answer[2048];

    script.outcomes = outcomes;
    script.outcome_count = 2;
    cr_expect_eq(call("POST", "/v1/handle", "", "x", answer), 503);
    cr_expect_eq(call("POST", "/v1/handle", "", "x", answer), 200);
}

Test(sink, handle_records_what_can_never_succeed_and_is_done)
{
    static const struct qn_str outcomes[] = {{"permanent", 9}};
    char answer[2048];

    script.outcomes = outcomes;
    script.outcome_count = 1;
    cr_expect_eq(call("POST", "/v1/effects", "", "x", answer), 422);
    cr_expect_eq(call("POST", "/v1/handle", "", "x", answer), 200);
    cr_expect_not_null(strstr(answer, "{\"rejected\":true}"));
    cr_expect(qn_str_equal(last_of(QN_CHECK_WORK_ABORT)->k, QN_STR("k-000")));
    cr_expect(qn_str_equal(last_of(QN_CHECK_REJECT)->k, QN_STR("k-000")));
    cr_expect_eq(call("POST", "/v1/handle", "", "{\"half", answer), 200);
    cr_expect(qn_str_equal(last_of(QN_CHECK_REJECT)->k, QN_STR("k-001")));
}

Test(sink, handle_leaves_a_version_of_the_envelope_that_it_does_not_know)
{
    char answer[2048];
    size_t count = history.count;

    cr_expect_eq(call("POST", "/v1/handle", "",
                      "{\"messageType\":\"quern.work\",\"schemaVersion\":99,"
                      "\"idempotencyKey\":\"k-003\"}",
                      answer),
                 501);
    cr_expect_eq(history.count, count);
}

Test(sink, effect_can_be_asked_for)
{
    char answer[2048];

    cr_expect_eq(call("GET", "/v1/effects/k-1", "", "", answer), 404);
    (void)call("POST", "/v1/effects", "", "{\"idempotencyKey\":\"k-1\"}", answer);
    cr_expect_eq(call("GET", "/v1/effects/k-1", "", "", answer), 200);
}

Test(sink, state_is_written_when_its_version_is_higher)
{
    char answer[2048];

    cr_expect_eq(call("PUT", "/v1/state/e-1", "If-Version-Lower: 2\r\n", "{}", answer), 200);
    cr_expect_eq(call("PUT", "/v1/state/e-1", "If-Version-Lower: 2\r\n", "{}", answer), 412);
    cr_expect_eq(call("PUT", "/v1/state/e-1", "If-Version-Lower: 1\r\n", "{}", answer), 412);
    cr_expect_eq(call("PUT", "/v1/state/e-1", "If-Version-Lower: 3\r\n", "{}", answer), 200);
    cr_expect_eq(call("PUT", "/v1/state/e-1", "If-Version-Lower: x\r\n", "{}", answer), 400);
}

Test(sink, steps_readiness_and_marks_are_recorded)
{
    char answer[2048];

    cr_expect_eq(call("POST", "/v1/steps/mail", "", "{\"idempotencyKey\":\"k-1\"}", answer), 200);
    cr_expect(qn_str_equal(last_of(QN_CHECK_WORK_COMMIT)->detail->step, QN_STR("mail")));
    cr_expect_eq(call("POST", "/v1/ready", "", "", answer), 204);
    cr_expect(qn_str_equal(last_of(QN_CHECK_PROC)->what, QN_STR("ready")));
    cr_expect_eq(call("POST", "/v1/event", "", "{\"name\":\"here\"}", answer), 204);
    cr_expect(qn_str_equal(last_of(QN_CHECK_MARK)->detail->reason, QN_STR("here")));
}

Test(sink, bulk_call_is_one_unit_of_work_with_many_keys)
{
    char answer[2048];

    cr_expect_eq(call("POST", "/v1/effects", "",
                      "[{\"idempotencyKey\":\"k-1\"},{\"idempotencyKey\":\"k-2\"}]", answer),
                 200);
    cr_expect(qn_str_equal(last_of(QN_CHECK_WORK_COMMIT)->k, QN_STR("k-2")));
}

Test(sink, unknown_calls_are_refused)
{
    char answer[2048];

    cr_expect_eq(call("POST", "/v2/effects", "", "{}", answer), 404);
    cr_expect_eq(call("POST", "/v1/steps/", "", "{}", answer), 404);
}

/* Who only asked has told nothing of his work. */
Test(sink, calls_that_it_cannot_take_are_events_and_questions_are_none)
{
    char answer[2048];

    cr_expect_eq(call("GET", "/v1/effects", "", "", answer), 405);
    cr_expect_eq(call("GET", "/", "", "", answer), 404);
    cr_expect_eq(history.count, 0);
    cr_expect_eq(call("POST", "/v1/handle", "X-Quern-Instance: QUERN0001\r\n", "", answer), 400);
    const struct qn_check_event *event = last_of(QN_CHECK_REFUSED);
    cr_assert_not_null(event);
    cr_expect_eq(event->status, 400);
    cr_expect(qn_str_equal(event->instance, QN_STR("QUERN0001")));
    cr_expect(qn_str_equal(event->detail->target, QN_STR("POST /v1/handle")));
    cr_expect(qn_str_equal(event->detail->reason,
                           QN_STR("not the body of a message of this run, as it came")));
    cr_expect(strstr(answer, "{\"error\":\"not the body of a message of this run, as it came\"}") !=
              NULL);
    cr_expect_eq(call("PUT", "/v1/blobs/0000", "", "x", answer), 422);
    cr_expect_eq(last_of(QN_CHECK_REFUSED)->status, 422);
}

/* Its writer goes on while the sink takes what is there. */
Test(sink, body_that_is_too_large_is_such_a_call)
{
    enum { PIECE = 4096, TOO_LARGE = 8 * 1024 * 1024 + 1 };
    char answer[2048];
    char head[128];
    char piece[PIECE];

    memset(piece, 'x', sizeof(piece));
    (void)snprintf(head, sizeof(head),
                   "POST /v1/handle HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                   "Content-Length: %d\r\n\r\n",
                   TOO_LARGE);
    int fd = send_text(head);
    for (size_t sent = 0; sent < TOO_LARGE;) {
        size_t rest = TOO_LARGE - sent;
        ssize_t put = write(fd, piece, rest < PIECE ? rest : PIECE);
        cr_assert(put > 0 || errno == EAGAIN);
        sent += put > 0 ? (size_t)put : 0;
        qn_sink_run(sink);
    }
    cr_expect_eq(answer_of(fd, answer), 413);
    cr_expect_eq(last_of(QN_CHECK_REFUSED)->status, 413);
    cr_expect(qn_str_equal(last_of(QN_CHECK_REFUSED)->detail->target, QN_STR("POST /v1/handle")));
    cr_expect_eq(history.count, 1, "no work begins");
}

Test(sink, client_that_left_does_not_disturb)
{
    char answer[2048];

    script.work_ms = 30;
    (void)close(send_request("POST", "/v1/effects", "", "{\"idempotencyKey\":\"k-1\"}"));
    cr_expect_eq(call("POST", "/v1/effects", "", "{\"idempotencyKey\":\"k-2\"}", answer), 200);
}

Test(sink, closes_with_work_still_open)
{
    int fd;

    script.work_ms = 60000;
    fd = send_request("POST", "/v1/effects", "", "{\"idempotencyKey\":\"k-1\"}");
    for (int i = 0; i < 50 && qn_effects_open_count(qn_sink_effects(sink)) == 0; i++) {
        struct pollfd waited = {qn_sink_fd(sink), POLLIN, 0};
        (void)poll(&waited, 1, 10);
        qn_sink_run(sink);
    }
    cr_expect_eq(qn_effects_open_count(qn_sink_effects(sink)), 1);
    (void)close(fd);
}

Test(sink, question_for_an_effect_is_an_event)
{
    char answer[2048];

    cr_expect_eq(call("GET", "/v1/effects/k-7", "", "", answer), 404);
    cr_expect(qn_str_equal(last_of(QN_CHECK_LOOKUP)->k, QN_STR("k-7")));
    cr_expect_eq(last_of(QN_CHECK_LOOKUP)->status, 404);
}

Test(sink, blob_is_kept_under_its_digest_and_no_other_name)
{
    /* Of "hello". */
    static const char path[] =
        "/v1/blobs/2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    char answer[2048];

    cr_expect_eq(call("GET", path, "", "", answer), 404);
    cr_expect_eq(call("PUT", path, "", "hallo", answer), 422);
    cr_expect_eq(call("GET", path, "", "", answer), 404);
    cr_expect_eq(call("PUT", path, "", "hello", answer), 200);
    cr_expect_eq(call("GET", path, "", "", answer), 200);
    cr_expect_not_null(strstr(answer, "\r\n\r\nhello"), "%s", answer);
}

Test(sink, nobody_can_connect_while_it_refuses)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)qn_sink_port(sink))};
    char answer[2048];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    qn_sink_refuse(sink, 50);
    const int64_t listens_at_ms = qn_clock_monotonic_ms() + 50;
    cr_expect_lt(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    (void)close(fd);
    /* On a busy machine this thread may miss the moment; the sink listens at its next turn. */
    while (qn_clock_monotonic_ms() < listens_at_ms) {
        qn_sink_run(sink);
    }
    qn_sink_run(sink);
    cr_expect_eq(call("GET", "/v1/effects/k-7", "", "", answer), 404);
}
