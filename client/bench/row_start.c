/* Small and big starts, and the reader of JSON. */
#include <time.h>

#include "client/bench/rows.h"

/* What an idle server does at its start is over by then. */
static void become_idle(void)
{
    const struct timespec pause = {.tv_nsec = 100000000};

    (void)nanosleep(&pause, NULL);
}

bool qn_bench_measure_start(struct qn_bench *bench)
{
    bool ok = true;

    for (int64_t round = 0; ok && round < bench->options->rounds; round++) {
        struct qn_bench_server server;
        qn_bench_progress(bench, "start", round);
        ok = qn_bench_open(bench, &(struct qn_bench_setup){0}, &server);
        if (ok) {
            become_idle();
            qn_bench_note(bench, QN_BENCH_START_MS, server.child.first_answer_ms);
            qn_bench_note(bench, QN_BENCH_START_RSS,
                          (double)qn_bench_rss_bytes(server.child.pid) / 1e6);
        }
        qn_bench_close(&server);
    }
    return ok;
}

static bool reload_round(struct qn_bench *bench, const char *database)
{
    const struct qn_bench_setup setup = {.sync = "normal", .database = database};
    struct qn_bench_server server;
    bool ok = qn_bench_open(bench, &setup, &server);

    if (ok) {
        int64_t messages = qn_bench_info(&server, "engine", "messages");
        int64_t expected = qn_bench_size(bench, 1000000, 20000);
        ok = messages == expected || qn_bench_fail(bench, "%lld of %lld messages came back",
                                                   (long long)messages, (long long)expected);
        become_idle();
        qn_bench_note(bench, QN_BENCH_RELOAD_S, server.child.first_answer_ms / 1e3);
        qn_bench_note(bench, QN_BENCH_RELOAD_RSS,
                      (double)qn_bench_rss_bytes(server.child.pid) / 1e6);
    }
    qn_bench_halt(&server);
    return ok;
}

bool qn_bench_measure_reload(struct qn_bench *bench)
{
    struct qn_bench_server server;
    char *url = NULL;
    bool ok = qn_bench_open(bench, &(struct qn_bench_setup){.sync = "normal"}, &server) &&
              qn_bench_new_queue(bench, &server, false, NULL, &url);

    qn_bench_progress(bench, "reload: filling", 0);
    ok = ok && qn_bench_fill(bench, &server, &url, qn_bench_size(bench, 1000000, 20000));
    quern_text_free(url);
    qn_bench_halt(&server);
    for (int64_t round = 0; ok && round < bench->options->rounds; round++) {
        qn_bench_progress(bench, "reload", round);
        ok = reload_round(bench, server.database);
    }
    qn_bench_close(&server);
    return ok;
}

/* ---- JSON ---- */

enum { BODY_BYTES = 300 };

/* A body of SendMessage whose text repeats `piece` for about 300 bytes on the wire. */
static void write_send(struct qn_buf *buf, const char *piece)
{
    qn_buf_clear(buf);
    qn_buf_append_literal(buf, "{\"QueueUrl\":\"http://127.0.0.1:9324/000000000000/quern-bench\","
                               "\"MessageBody\":\"");
    for (size_t len = 0; len + strlen(piece) <= BODY_BYTES; len += strlen(piece)) {
        qn_buf_append(buf, piece, strlen(piece));
    }
    qn_buf_append_literal(buf, "\"}");
}

bool qn_bench_measure_json(struct qn_bench *bench)
{
    static const struct {
        enum qn_bench_figure figure;
        const char *piece;
    } kinds[] = {
        {QN_BENCH_JSON_PLAIN, "abcdefghijklmnopqrst"},
        {QN_BENCH_JSON_ESCAPES, "{\\\"orderId\\\":12345,\\\"note\\\":\\\"a\\\\nb\\\"}"},
        {QN_BENCH_JSON_CJK, "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e"},
    };
    struct qn_buf body;
    bool ok = true;

    if (bench->options->read_send_us == NULL) {
        return qn_bench_fail(bench, "no reader was given");
    }
    qn_buf_init(&body, SIZE_MAX / 2);
    for (int64_t round = 0; ok && round < bench->options->rounds; round++) {
        qn_bench_progress(bench, "json", round);
        for (size_t i = 0; ok && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
            write_send(&body, kinds[i].piece);
            double us = bench->options->read_send_us(qn_buf_str(&body));
            ok = us >= 0 || qn_bench_fail(bench, "the reader refuses a body");
            qn_bench_note(bench, kinds[i].figure, us);
        }
    }
    qn_buf_done(&body);
    return ok;
}
