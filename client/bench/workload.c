/* Requests of the workloads, written by hand: the generator must not be slower than what it
 * measures. */
#include "client/bench/workload.h"

enum { BODY_BYTES = 300, BATCH = 10 };

/* Between a receive and the delete of what it brought. */
struct turn {
    struct qn_buf handles; /* each between quotes, as in the answer, one behind the other */
    int handle_count;
    bool deletes;  /* the request under way */
    bool is_empty; /* the last receive brought nothing */
};

struct qn_bench_workload {
    enum qn_bench_kind kind;
    const char *host;
    const char *queue_url;
    int64_t left; /* of a fill */
    int64_t failures;
    char message[BODY_BYTES + 1];
    struct qn_buf body; /* scratch */
    struct turn turns[QN_BENCH_CONNECTIONS_MAX];
};

struct qn_bench_workload *qn_bench_workload_new(enum qn_bench_kind kind, const char *host,
                                                const char *queue_url, int64_t count)
{
    struct qn_bench_workload *workload = qn_memory_new(sizeof(*workload));

    workload->kind = kind;
    workload->host = host;
    workload->queue_url = queue_url;
    workload->left = count;
    for (int i = 0; i < BODY_BYTES; i++) {
        workload->message[i] = (char)('a' + i % 26);
    }
    qn_buf_init(&workload->body, SIZE_MAX / 2);
    for (int i = 0; i < QN_BENCH_CONNECTIONS_MAX; i++) {
        qn_buf_init(&workload->turns[i].handles, SIZE_MAX / 2);
    }
    return workload;
}

void qn_bench_workload_free(struct qn_bench_workload *workload)
{
    if (workload == NULL) {
        return;
    }
    for (int i = 0; i < QN_BENCH_CONNECTIONS_MAX; i++) {
        qn_buf_done(&workload->turns[i].handles);
    }
    qn_buf_done(&workload->body);
    qn_memory_free(workload);
}

int64_t qn_bench_workload_failures(const struct qn_bench_workload *workload)
{
    return workload->failures;
}

/* The headers that an SDK sends, of their usual length; the signature is not looked at. */
static void write_request(const struct qn_bench_workload *workload, const char *action,
                          struct qn_buf *buf)
{
    qn_buf_append_format(
        buf,
        "POST / HTTP/1.1\r\nHost: %s\r\nX-Amz-Target: AmazonSQS.%s\r\n"
        "Content-Type: application/x-amz-json-1.0\r\n"
        "User-Agent: quern-bench/" QN_VERSION " md/load#closed-loop\r\n"
        "X-Amz-Date: 20261130T120000Z\r\n"
        "Authorization: AWS4-HMAC-SHA256 "
        "Credential=QUERNBENCH/20261130/us-east-1/sqs/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date;x-amz-target, "
        "Signature=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\r\n"
        "amz-sdk-invocation-id: 01234567-89ab-4cde-8f01-23456789abcd\r\n"
        "amz-sdk-request: attempt=1; max=3\r\nContent-Length: %zu\r\n\r\n",
        workload->host, action, workload->body.len);
    qn_buf_append_str(buf, qn_buf_str(&workload->body));
}

static void begin_body(struct qn_bench_workload *workload)
{
    qn_buf_clear(&workload->body);
    qn_buf_append_format(&workload->body, "{\"QueueUrl\":\"%s\"", workload->queue_url);
}

static bool next_send(struct qn_bench_workload *workload, struct qn_buf *buf)
{
    begin_body(workload);
    qn_buf_append_format(&workload->body, ",\"MessageBody\":\"%s\"}", workload->message);
    write_request(workload, "SendMessage", buf);
    return true;
}

static bool next_fill(struct qn_bench_workload *workload, struct qn_buf *buf)
{
    if (workload->left <= 0) {
        return false;
    }
    workload->left -= BATCH;
    begin_body(workload);
    qn_buf_append_literal(&workload->body, ",\"Entries\":[");
    for (int i = 0; i < BATCH; i++) {
        qn_buf_append_format(&workload->body, "%s{\"Id\":\"%d\",\"MessageBody\":\"%s\"}",
                             i > 0 ? "," : "", i, workload->message);
    }
    qn_buf_append_literal(&workload->body, "]}");
    write_request(workload, "SendMessageBatch", buf);
    return true;
}

static bool next_drain(struct qn_bench_workload *workload, struct turn *turn, struct qn_buf *buf)
{
    if (turn->is_empty) {
        return false;
    }
    begin_body(workload);
    turn->deletes = turn->handle_count > 0;
    if (turn->deletes) {
        struct qn_str handles = qn_buf_str(&turn->handles);
        qn_buf_append_literal(&workload->body, ",\"Entries\":[");
        for (int i = 0; handles.len > 0; i++) {
            struct qn_str handle = qn_str_cut(handles, '\n', &handles);
            qn_buf_append_format(&workload->body,
                                 "%s{\"Id\":\"%d\",\"ReceiptHandle\":", i > 0 ? "," : "", i);
            qn_buf_append_str(&workload->body, handle);
            qn_buf_append_char(&workload->body, '}');
        }
        qn_buf_append_literal(&workload->body, "]}");
        write_request(workload, "DeleteMessageBatch", buf);
        return true;
    }
    qn_buf_append_literal(&workload->body, ",\"MaxNumberOfMessages\":10,\"WaitTimeSeconds\":0}");
    write_request(workload, "ReceiveMessage", buf);
    return true;
}

static bool next(void *state, int connection, struct qn_buf *buf)
{
    struct qn_bench_workload *workload = state;

    switch (workload->kind) {
    case QN_BENCH_SEND:
        return next_send(workload, buf);
    case QN_BENCH_FILL:
        return next_fill(workload, buf);
    default:
        return next_drain(workload, &workload->turns[connection], buf);
    }
}

/* Handles are opaque, but their characters need no escapes: what stands between the quotes goes
 * back as it came. */
static void keep_handles(struct turn *turn, struct qn_str body)
{
    static const struct qn_str name = {"\"ReceiptHandle\":", 16};

    qn_buf_clear(&turn->handles);
    turn->handle_count = 0;
    for (;;) {
        body = qn_str_from(body, qn_str_find(body, name) + name.len);
        size_t end = qn_str_find_char(qn_str_from(body, 1), '"');
        if (body.len == 0) {
            break;
        }
        qn_buf_append_str(&turn->handles, qn_str_first(body, end + 2));
        qn_buf_append_char(&turn->handles, '\n');
        turn->handle_count++;
    }
    turn->is_empty = turn->handle_count == 0;
}

static int64_t answered(void *state, int connection, int status, struct qn_str body)
{
    struct qn_bench_workload *workload = state;
    struct turn *turn = &workload->turns[connection];

    if (status != 200) {
        workload->failures++;
        turn->is_empty = true;
        return 0;
    }
    if (workload->kind == QN_BENCH_SEND) {
        return 1;
    }
    if (workload->kind == QN_BENCH_FILL) {
        return BATCH;
    }
    if (turn->deletes) {
        int64_t deleted = turn->handle_count;
        turn->handle_count = 0;
        return deleted;
    }
    keep_handles(turn, body);
    return 0;
}

struct qn_bench_work qn_bench_workload_work(struct qn_bench_workload *workload)
{
    return (struct qn_bench_work){workload, next, answered};
}
