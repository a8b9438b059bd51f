/* Requests of the workloads, written by hand: the generator must not be slower than what it
 * measures. */
#include "client/bench/workload.h"

enum { BODY_BYTES = 300, BATCH = 10, BATCH_BYTES = 1000 * 1000 };

/* Between a receive and the delete of what it brought. */
struct turn {
    struct qn_buf handles; /* each between quotes, as in the answer, and a line feed */
    int64_t handle_count;
    size_t queue;
    bool deletes; /* the request under way */
};

struct qn_bench_workload {
    struct qn_bench_plan plan;
    const char *host;
    int64_t left;       /* messages still to be asked for */
    size_t next_queue;  /* in turn */
    int64_t next_group; /* in turn, from 0 */
    size_t empty_count; /* receives that brought nothing, in a row */
    int64_t next_id;    /* of deduplication */
    int64_t failures;
    int64_t sent;
    int64_t deleted;
    char *message;
    size_t message_len;
    struct qn_buf head;                          /* of the action that was written last */
    const char *head_action;                     /* a literal */
    struct qn_buf body;                          /* scratch */
    struct turn kept;                            /* RECEIVE for DELETE */
    struct turn turns[QN_BENCH_CONNECTIONS_MAX]; /* DRAIN; DELETE uses their counts */
};

struct qn_bench_workload *qn_bench_workload_new(const struct qn_bench_plan *plan, const char *host)
{
    struct qn_bench_workload *workload = qn_memory_new(sizeof(*workload));

    workload->host = host;
    qn_buf_init(&workload->head, SIZE_MAX / 2);
    qn_buf_init(&workload->body, SIZE_MAX / 2);
    qn_buf_init(&workload->kept.handles, SIZE_MAX / 2);
    for (int i = 0; i < QN_BENCH_CONNECTIONS_MAX; i++) {
        qn_buf_init(&workload->turns[i].handles, SIZE_MAX / 2);
    }
    qn_bench_workload_turn_to(workload, plan);
    return workload;
}

void qn_bench_workload_turn_to(struct qn_bench_workload *workload, const struct qn_bench_plan *plan)
{
    workload->plan = *plan;
    workload->left = plan->count > 0 ? plan->count : INT64_MAX / 2;
    workload->next_queue = 0;
    workload->next_group = 0;
    workload->next_id = plan->first_id;
    workload->empty_count = 0;
    qn_memory_free(workload->message);
    workload->message_len = plan->body_bytes > 0 ? plan->body_bytes : BODY_BYTES;
    workload->message = qn_memory_new_raw(workload->message_len);
    for (size_t i = 0; i < workload->message_len; i++) {
        workload->message[i] = (char)('a' + i % 26);
    }
    for (int i = 0; i < QN_BENCH_CONNECTIONS_MAX; i++) {
        workload->turns[i].deletes = false;
        workload->turns[i].handle_count = 0;
    }
}

void qn_bench_workload_free(struct qn_bench_workload *workload)
{
    if (workload == NULL) {
        return;
    }
    for (int i = 0; i < QN_BENCH_CONNECTIONS_MAX; i++) {
        qn_buf_done(&workload->turns[i].handles);
    }
    qn_buf_done(&workload->kept.handles);
    qn_buf_done(&workload->head);
    qn_buf_done(&workload->body);
    qn_memory_free(workload->message);
    qn_memory_free(workload);
}

int64_t qn_bench_workload_failures(const struct qn_bench_workload *workload)
{
    return workload->failures;
}

int64_t qn_bench_workload_sent(const struct qn_bench_workload *workload)
{
    return workload->sent;
}

int64_t qn_bench_workload_deleted(const struct qn_bench_workload *workload)
{
    return workload->deleted;
}

/* ---- what goes out ---- */

/* The headers that an SDK sends, of their usual length; the signature is not looked at. */
static void write_head(struct qn_buf *buf, const char *host, const char *action)
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
        "amz-sdk-request: attempt=1; max=3\r\nContent-Length: ",
        host, action);
}

static void write_rest(struct qn_buf *buf, struct qn_str body)
{
    qn_buf_append_int64(buf, (int64_t)body.len);
    qn_buf_append_literal(buf, "\r\n\r\n");
    qn_buf_append_str(buf, body);
}

void qn_bench_write_request(struct qn_buf *buf, const char *host, const char *action,
                            struct qn_str body)
{
    write_head(buf, host, action);
    write_rest(buf, body);
}

static void write_request(struct qn_bench_workload *workload, const char *action,
                          struct qn_buf *buf)
{
    if (workload->head_action != action) {
        workload->head_action = action;
        qn_buf_clear(&workload->head);
        write_head(&workload->head, workload->host, action);
    }
    qn_buf_append_str(buf, qn_buf_str(&workload->head));
    write_rest(buf, qn_buf_str(&workload->body));
}

static size_t take_queue(struct qn_bench_workload *workload)
{
    size_t queue = workload->next_queue;

    workload->next_queue = queue + 1 < workload->plan.queue_count ? queue + 1 : 0;
    return queue;
}

static void begin_body(struct qn_bench_workload *workload, size_t queue)
{
    qn_buf_clear(&workload->body);
    qn_buf_append_literal(&workload->body, "{\"QueueUrl\":\"");
    qn_buf_append_str(&workload->body, qn_str_from_cstr(workload->plan.queue_urls[queue]));
    qn_buf_append_char(&workload->body, '"');
}

static void write_message(struct qn_bench_workload *workload)
{
    struct qn_buf *body = &workload->body;

    qn_buf_append_literal(body, "\"MessageBody\":\"");
    qn_buf_append(body, workload->message, workload->message_len);
    qn_buf_append_char(body, '"');
    if (workload->plan.groups > 0) {
        int64_t group = workload->plan.first_group + workload->next_group;
        qn_buf_append_format(body,
                             ",\"MessageGroupId\":\"g%lld\",\"MessageDeduplicationId\":\"d%lld\"",
                             (long long)group, (long long)workload->next_id++);
        workload->next_group = (workload->next_group + 1) % workload->plan.groups;
    }
    qn_buf_append_char(body, '}');
}

static bool next_send(struct qn_bench_workload *workload, struct qn_buf *buf)
{
    begin_body(workload, take_queue(workload));
    qn_buf_append_char(&workload->body, ',');
    write_message(workload);
    write_request(workload, "SendMessage", buf);
    workload->left--;
    return true;
}

/* A batch of large bodies is smaller: it may be no larger than one message. */
static int64_t batch_of(const struct qn_bench_workload *workload)
{
    int64_t fitting = BATCH_BYTES / (int64_t)workload->message_len;
    int64_t most = workload->left < BATCH ? workload->left : BATCH;

    fitting = fitting > 1 ? fitting : 1;
    return fitting < most ? fitting : most;
}

static void next_fill(struct qn_bench_workload *workload, int64_t *ret_batch, struct qn_buf *buf)
{
    *ret_batch = batch_of(workload);
    begin_body(workload, take_queue(workload));
    qn_buf_append_literal(&workload->body, ",\"Entries\":[");
    for (int64_t i = 0; i < *ret_batch; i++) {
        qn_buf_append_format(&workload->body, "%s{\"Id\":\"%lld\",", i > 0 ? "," : "",
                             (long long)i);
        write_message(workload);
    }
    qn_buf_append_literal(&workload->body, "]}");
    write_request(workload, "SendMessageBatch", buf);
    workload->left -= *ret_batch;
}

static void next_receive(struct qn_bench_workload *workload, struct turn *turn, struct qn_buf *buf)
{
    int64_t most = workload->left < BATCH ? workload->left : BATCH;

    turn->deletes = false;
    turn->queue = take_queue(workload);
    begin_body(workload, turn->queue);
    qn_buf_append_format(&workload->body, ",\"MaxNumberOfMessages\":%lld,\"WaitTimeSeconds\":0",
                         (long long)most);
    if (workload->plan.visibility_s > 0) {
        qn_buf_append_format(&workload->body, ",\"VisibilityTimeout\":%lld",
                             (long long)workload->plan.visibility_s);
    }
    qn_buf_append_char(&workload->body, '}');
    write_request(workload, "ReceiveMessage", buf);
    workload->left -= most;
}

/* Takes up to ten handles off the front of *handles. */
static int64_t write_delete(struct qn_bench_workload *workload, size_t queue,
                            struct qn_str *handles, struct qn_buf *buf)
{
    int64_t count = 0;

    begin_body(workload, queue);
    qn_buf_append_literal(&workload->body, ",\"Entries\":[");
    for (; handles->len > 0 && count < BATCH; count++) {
        struct qn_str handle = qn_str_cut(*handles, '\n', handles);
        qn_buf_append_format(&workload->body,
                             "%s{\"Id\":\"%lld\",\"ReceiptHandle\":", count > 0 ? "," : "",
                             (long long)count);
        qn_buf_append_str(&workload->body, handle);
        qn_buf_append_char(&workload->body, '}');
    }
    qn_buf_append_literal(&workload->body, "]}");
    write_request(workload, "DeleteMessageBatch", buf);
    return count;
}

static bool next_drain(struct qn_bench_workload *workload, struct turn *turn, struct qn_buf *buf)
{
    if (turn->handle_count > 0) {
        struct qn_str handles = qn_buf_str(&turn->handles);
        turn->deletes = true;
        (void)write_delete(workload, turn->queue, &handles, buf);
        return true;
    }
    /* A mixed load goes on when the queue is empty for a moment: the senders fill it. */
    if (workload->plan.kind == QN_BENCH_DRAIN &&
        (workload->left <= 0 || workload->empty_count >= workload->plan.queue_count)) {
        return false;
    }
    next_receive(workload, turn, buf);
    return true;
}

/* From the end of what was kept: nothing has to be moved. */
static bool next_delete(struct qn_bench_workload *workload, struct turn *turn, struct qn_buf *buf)
{
    struct turn *kept = &workload->kept;
    struct qn_str all = qn_buf_str(&kept->handles);
    size_t from = all.len;
    int count = 0;

    if (all.len == 0) {
        return false;
    }
    while (from > 0 && count < BATCH) {
        const char *feed = memrchr(all.ptr, '\n', from - 1);
        from = feed != NULL ? (size_t)(feed - all.ptr) + 1 : 0;
        count++;
    }
    struct qn_str last = qn_str_from(all, from);
    turn->handle_count = write_delete(workload, kept->queue, &last, buf);
    kept->handles.len = from;
    return true;
}

static bool next(void *state, int connection, struct qn_buf *buf)
{
    struct qn_bench_workload *workload = state;
    struct turn *turn = &workload->turns[connection];

    switch (workload->plan.kind) {
    case QN_BENCH_SEND:
        return workload->left > 0 && next_send(workload, buf);
    case QN_BENCH_FILL:
        if (workload->left <= 0) {
            return false;
        }
        next_fill(workload, &turn->handle_count, buf);
        return true;
    case QN_BENCH_RECEIVE:
        if (workload->left <= 0 || workload->empty_count > 0) {
            return false;
        }
        next_receive(workload, turn, buf);
        return true;
    case QN_BENCH_DELETE:
        return next_delete(workload, turn, buf);
    case QN_BENCH_DRAIN:
        return next_drain(workload, turn, buf);
    default:
        return connection < workload->plan.senders ? next_send(workload, buf)
                                                   : next_drain(workload, turn, buf);
    }
}

/* ---- what comes back ---- */

/* Handles are opaque, but their characters need no escapes: what stands between the quotes goes
 * back as it came. */
static int64_t keep_handles(struct turn *turn, struct qn_str body)
{
    static const struct qn_str name = {"\"ReceiptHandle\"", 15};
    int64_t count = 0;

    for (;;) {
        body = qn_str_from(body, qn_str_find(body, name) + name.len);
        body = qn_str_from(body, qn_str_find_char(body, '"')); /* behind the colon and blanks */
        if (body.len == 0) {
            return count;
        }
        size_t end = qn_str_find_char(qn_str_from(body, 1), '"');
        qn_buf_append_str(&turn->handles, qn_str_first(body, end + 2));
        qn_buf_append_char(&turn->handles, '\n');
        body = qn_str_from(body, end + 2);
        count++;
    }
}

static int64_t take_received(struct qn_bench_workload *workload, struct turn *turn,
                             struct qn_str body)
{
    struct turn *owner = workload->plan.kind == QN_BENCH_RECEIVE ? &workload->kept : turn;

    if (owner == turn) {
        qn_buf_clear(&turn->handles);
    }
    owner->queue = turn->queue;
    int64_t count = keep_handles(owner, body);
    owner->handle_count = owner == turn ? count : 0;
    workload->empty_count = count == 0 ? workload->empty_count + 1 : 0;
    return count;
}

static int64_t fail(struct qn_bench_workload *workload, struct turn *turn)
{
    workload->failures++;
    workload->empty_count++; /* ends a drain that is always refused */
    turn->handle_count = 0;
    return 0;
}

static int64_t answered(void *state, struct qn_bench_answer *answer)
{
    struct qn_bench_workload *workload = state;
    struct turn *turn = &workload->turns[answer->connection];
    enum qn_bench_kind kind = workload->plan.kind;
    bool is_send = kind == QN_BENCH_SEND ||
                   (kind == QN_BENCH_MIXED && answer->connection < workload->plan.senders);
    bool is_receive = kind == QN_BENCH_RECEIVE || (!is_send && kind != QN_BENCH_FILL &&
                                                   kind != QN_BENCH_DELETE && !turn->deletes);
    int64_t count = turn->handle_count;

    answer->is_timed = is_receive || !workload->plan.times_receives;
    if (answer->status != 200) {
        return fail(workload, turn);
    }
    if (is_send) {
        workload->sent++;
        return 1;
    }
    if (is_receive) {
        int64_t received = take_received(workload, turn, answer->body);
        return kind == QN_BENCH_RECEIVE ? received : 0;
    }
    if (qn_str_find(answer->body, QN_STR("\"Failed\":[{")) < answer->body.len) {
        return fail(workload, turn);
    }
    workload->sent += kind == QN_BENCH_FILL ? count : 0;
    workload->deleted += kind == QN_BENCH_FILL ? 0 : count;
    turn->handle_count = 0;
    return count;
}

struct qn_bench_work qn_bench_workload_work(struct qn_bench_workload *workload)
{
    return (struct qn_bench_work){workload, next, answered, NULL};
}
