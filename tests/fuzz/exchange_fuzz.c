/* Several HTTP requests in one input, from head and body to the answer, on one engine: state builds
 * up, time passes, the server starts anew. After each the engine's structures must agree, and every
 * answer must be a document of its protocol. An action that refuses has changed nothing.
 *
 * An input is records divided by lines that hold only "~". The first line of a record says what it
 * is, the rest is the body:
 *     J Action [path]    AWS JSON              Q path?query    a form, answered in XML
 *     G path?query       the same by GET       X path?query    a form, answered in JSON
 *     R                  raw: eight lines of head follow before the body
 *     T milliseconds     time passes           B               a restart
 * In bodies and lines $h0 to $h9 stand for receipt handles that answers have shown, the latest
 * first, $t for a task handle and $n for the token of a next page. */
#include <stdio.h>
#include <stdlib.h>

#include "server/wire/wire.h"
#include "tests/fuzz/records.h"
#include "tests/support/engine_check.h"
#include "tests/support/exchange.h"
#include "tests/support/well_formed.h"

enum { BUF_MAX = 64 * 1024 * 1024, TIME_MAX_MS = 1000000000, RECORDS_MAX = 64, HANDLES = 10 };

struct state {
    struct fixture f;
    struct qn_buf answer;
    char handles[HANDLES][64];
    char task[256];
    char token[256];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static void require(bool condition, const char *what, struct qn_str detail)
{
    if (!condition) {
        (void)fprintf(stderr, "exchange_fuzz: %s: %.*s\n", what, QN_STR_ARG(detail));
        abort();
    }
}

/* ---- what answers have shown ---- */

/* The text behind a name in either kind of document, up to what ends it there. */
static bool next_shown(struct qn_str *rest, struct qn_str name, struct qn_str *ret_value)
{
    size_t at = qn_str_find(*rest, name);
    size_t len = 0;

    if (at == rest->len) {
        return false;
    }
    *rest = qn_str_from(*rest, at + name.len);
    while (len < rest->len && strchr("\"<", rest->ptr[len]) == NULL) {
        len++;
    }
    *ret_value = qn_str_first(*rest, len);
    return true;
}

static void keep_shown(char *place, size_t size, struct qn_str value)
{
    if (value.len > 0 && value.len < size) {
        memcpy(place, value.ptr, value.len);
        place[value.len] = '\0';
    }
}

static void note_all(struct state *state, const char *json_name, const char *xml_name, char *place,
                     size_t size, size_t count)
{
    const char *names[] = {json_name, xml_name};

    for (size_t i = 0; i < 2; i++) {
        struct qn_str rest = qn_buf_str(&state->answer);
        struct qn_str value;
        while (next_shown(&rest, qn_str_from_cstr(names[i]), &value)) {
            memmove(place + size, place, (count - 1) * size);
            keep_shown(place, size, value);
        }
    }
}

static void note_answer(struct state *state)
{
    note_all(state, "\"ReceiptHandle\":\"", "<ReceiptHandle>", state->handles[0],
             sizeof(state->handles[0]), HANDLES);
    note_all(state, "\"TaskHandle\":\"", "<TaskHandle>", state->task, sizeof(state->task), 1);
    note_all(state, "\"NextToken\":\"", "<NextToken>", state->token, sizeof(state->token), 1);
}

/* ---- requests ---- */

static void append_shown(struct qn_buf *buf, const char *text, bool is_form)
{
    for (; *text != '\0'; text++) {
        if (is_form && strchr("+/=", *text) != NULL) {
            qn_buf_append_format(buf, "%%%02X", (unsigned)*text);
        } else {
            qn_buf_append_char(buf, *text);
        }
    }
}

/* The text with what stands for handles replaced. */
static struct qn_str filled(struct state *state, struct qn_str text, bool is_form)
{
    struct qn_buf buf;

    qn_buf_init(&buf, BUF_MAX);
    for (size_t i = 0; i < text.len; i++) {
        char kind = i + 1 < text.len ? text.ptr[i + 1] : '\0';
        char digit = i + 2 < text.len ? text.ptr[i + 2] : '\0';
        if (text.ptr[i] == '$' && kind == 'h' && digit >= '0' && digit <= '9') {
            append_shown(&buf, state->handles[digit - '0'], is_form);
            i += 2;
        } else if (text.ptr[i] == '$' && (kind == 't' || kind == 'n')) {
            append_shown(&buf, kind == 't' ? state->task : state->token, is_form);
            i++;
        } else {
            qn_buf_append_char(&buf, text.ptr[i]);
        }
    }
    struct qn_str copy = qn_arena_copy(&state->f.arena, qn_buf_str(&buf));
    qn_buf_done(&buf);
    return copy;
}

static void check_answer(struct state *state, const struct exchange *done)
{
    struct qn_str answer = qn_buf_str(&state->answer);
    const char *problem;

    if (done->protocol == QN_PROTOCOL_QUERY) {
        problem = well_formed_xml(answer);
    } else {
        /* An action without output answers AWS JSON with nothing at all. */
        bool may_be_empty = done->protocol == QN_PROTOCOL_JSON && done->code == QN_ERR_NONE &&
                            done->action->output->field_count == 0;
        problem = answer.len == 0 && may_be_empty ? NULL : well_formed_json(answer);
    }
    require(problem == NULL, problem, answer);
    struct qn_str type = qn_str_from_cstr(qn_wire_content_type(&state->f.request));
    require(qn_str_starts_with(type, QN_STR("text/xml")) == (done->protocol == QN_PROTOCOL_QUERY),
            "the content type belongs to another protocol", type);
    require(!state->answer.overflow, "an answer is too long", QN_STR(""));
}

static void check_engine(struct state *state)
{
    const char *problem = engine_check(state->f.engine);

    require(problem == NULL, "engine", qn_str_from_cstr(problem == NULL ? "" : problem));
}

static void request(struct state *state, const struct qn_http_request *http)
{
    qn_buf_clear(&state->answer);
    struct exchange done = exchange(&state->f, http, &state->answer);

    require(done.code != QN_ERR_INTERNAL, "an internal error", qn_buf_str(&state->answer));
    require(done.code == QN_ERR_NONE || !done.has_changed,
            "an action refused and changed something", qn_buf_str(&state->answer));
    if (!done.is_parked) {
        check_answer(state, &done);
        note_answer(state);
    }
    check_engine(state);
}

static void json_request(struct state *state, struct qn_str line, struct qn_str body)
{
    struct qn_str path;
    struct qn_str action = qn_str_cut(line, ' ', &path);
    struct qn_http_request http = {
        .method = QN_STR("POST"),
        .path = qn_str_is_none(path) ? QN_STR("/") : path,
        .content_type = QN_STR("application/x-amz-json-1.0"),
        .target = qn_arena_format(&state->f.arena, "AmazonSQS.%.*s", QN_STR_ARG(action)),
        .host = QN_STR("localhost:9324"),
        .body = filled(state, body, false),
    };

    request(state, &http);
}

static void query_request(struct state *state, char kind, struct qn_str line, struct qn_str body)
{
    struct qn_str query;
    struct qn_str path = qn_str_cut(filled(state, line, true), '?', &query);
    struct qn_http_request http = {
        .method = kind == 'G' ? QN_STR("GET") : QN_STR("POST"),
        .path = path,
        .query = query,
        .content_type =
            kind == 'G' ? QN_STR_NONE : QN_STR("application/x-www-form-urlencoded; charset=utf-8"),
        .accept = kind == 'X' ? QN_STR("application/json") : QN_STR_NONE,
        .host = QN_STR("localhost:9324"),
        .body = filled(state, body, true),
    };

    request(state, &http);
}

/* An empty line of the head is no such header. */
static struct qn_str head_line(struct state *state, struct qn_str *rest)
{
    struct qn_str line = qn_str_cut(*rest, '\n', rest);

    return line.len == 0 ? QN_STR_NONE : filled(state, line, false);
}

static void raw_request(struct state *state, struct qn_str rest)
{
    struct qn_http_request http = {.method = head_line(state, &rest)};

    http.path = head_line(state, &rest);
    http.query = head_line(state, &rest);
    http.content_type = head_line(state, &rest);
    http.target = head_line(state, &rest);
    http.accept = head_line(state, &rest);
    http.authorization = head_line(state, &rest);
    http.host = head_line(state, &rest);
    http.body = filled(state, rest, false);
    /* HTTP always has these two. */
    http.method = qn_str_is_none(http.method) ? QN_STR("POST") : http.method;
    http.path = qn_str_is_none(http.path) ? QN_STR("/") : http.path;
    request(state, &http);
}

static void one_record(struct state *state, struct qn_str record)
{
    struct qn_str body;
    struct qn_str line = qn_str_cut(record, '\n', &body);
    char kind = line.len > 0 ? line.ptr[0] : '\0';
    struct qn_str rest = qn_str_from(line, 2);
    int64_t by_ms;

    body = qn_str_is_none(body) ? QN_STR("") : body;
    switch (kind) {
    case 'J':
        json_request(state, rest, body);
        break;
    case 'Q':
    case 'G':
    case 'X':
        query_request(state, kind, rest, body);
        break;
    case 'R':
        raw_request(state, body);
        break;
    case 'T':
        if (qn_str_to_int64(rest, 0, TIME_MAX_MS, &by_ms)) {
            fixture_leap_ms(&state->f, by_ms);
        }
        break;
    case 'B':
        fixture_restart(&state->f);
        break;
    default:
        break;
    }
    check_engine(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct state state = {.f = {0}};
    struct qn_str rest = qn_str((const char *)data, size);

    fixture_open(&state.f);
    state.f.events.wanted = true;
    if (size % 2 == 1) { /* contents leave memory and are read back */
        state.f.evicts = true;
        fixture_restart(&state.f);
    }
    qn_buf_init(&state.answer, BUF_MAX);
    for (int i = 0; i < RECORDS_MAX && rest.len > 0; i++) {
        one_record(&state, records_cut(&rest));
    }
    qn_buf_done(&state.answer);
    fixture_close(&state.f);
    return 0;
}

/* Records that give a mutation something to build on. */
static const char *const templates[] = {
    "J CreateQueue\n{\"QueueName\":\"q\"}",
    "J CreateQueue\n{\"QueueName\":\"f.fifo\",\"Attributes\":{\"FifoQueue\":\"true\","
    "\"ContentBasedDeduplication\":\"true\"}}",
    "J SendMessage\n{\"QueueUrl\":\"q\",\"MessageBody\":\"m\",\"DelaySeconds\":0}",
    "J SendMessage\n{\"QueueUrl\":\"f.fifo\",\"MessageBody\":\"m\",\"MessageGroupId\":\"g\"}",
    "J ReceiveMessage\n{\"QueueUrl\":\"q\",\"MaxNumberOfMessages\":10,\"WaitTimeSeconds\":2}",
    "J ReceiveMessage\n{\"QueueUrl\":\"f.fifo\",\"MaxNumberOfMessages\":2,"
    "\"ReceiveRequestAttemptId\":\"a\"}",
    "J DeleteMessage\n{\"QueueUrl\":\"q\",\"ReceiptHandle\":\"$h0\"}",
    "J "
    "DeleteMessageBatch\n{\"QueueUrl\":\"q\",\"Entries\":[{\"Id\":\"1\",\"ReceiptHandle\":\"$h0\"}"
    ",{\"Id\":\"2\",\"ReceiptHandle\":\"$h1\"}]}",
    "J ChangeMessageVisibilityBatch\n{\"QueueUrl\":\"q\",\"Entries\":[{\"Id\":\"1\","
    "\"ReceiptHandle\":\"$h0\",\"VisibilityTimeout\":5}]}",
    "J SendMessage\n{\"QueueUrl\":\"q\",\"MessageBody\":\"m\",\"MessageGroupId\":\"tenant\"}",
    "J ChangeMessageVisibility\n{\"QueueUrl\":\"q\",\"ReceiptHandle\":\"$h0\","
    "\"VisibilityTimeout\":0}",
    "J SetQueueAttributes\n{\"QueueUrl\":\"q\",\"Attributes\":{\"RedrivePolicy\":\""
    "{\\\"deadLetterTargetArn\\\":\\\"arn:aws:sqs:us-east-1:000000000000:d\\\","
    "\\\"maxReceiveCount\\\":1}\"}}",
    "J CreateQueue\n{\"QueueName\":\"d\"}",
    "J StartMessageMoveTask\n{\"SourceArn\":\"arn:aws:sqs:us-east-1:000000000000:d\"}",
    "J CancelMessageMoveTask\n{\"TaskHandle\":\"$t\"}",
    "J ListMessageMoveTasks\n{\"SourceArn\":\"arn:aws:sqs:us-east-1:000000000000:d\"}",
    "J ListQueues\n{\"MaxResults\":1,\"NextToken\":\"$n\"}",
    "J GetQueueAttributes\n{\"QueueUrl\":\"q\",\"AttributeNames\":[\"All\"]}",
    "Q /000000000000/q\nAction=SendMessage&MessageBody=m&MessageAttribute.1.Name=k&"
    "MessageAttribute.1.Value.DataType=String&MessageAttribute.1.Value.StringValue=v",
    "Q /000000000000/q\nAction=ReceiveMessage&AttributeName=All&MessageAttributeName=All",
    "X /000000000000/q\nAction=DeleteMessage&ReceiptHandle=$h0",
    "G /000000000000/q?Action=PurgeQueue",
    "Q /\nAction=DeleteQueue&QueueUrl=http%3A%2F%2Flocalhost%2F000000000000%2Fq",
    "Q /000000000000/q\nAction=AddPermission&Label=l&AWSAccountId.1=111111111111&"
    "ActionName.1=SendMessage",
    "T 1000",
    "T 30000",
    "T 300000",
    "B",
};

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return records_mutate(data, size, max_size, seed, templates,
                          sizeof(templates) / sizeof(templates[0]));
}
