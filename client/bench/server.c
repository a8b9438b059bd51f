/* One server under measurement. */
#include "client/bench/server.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "client/bench/rows.h"
#include "client/internal.h"

enum { FILL_CONNECTIONS = 64, LONGEST_S = 15 };

static const int64_t settle_limit_ns = 120 * INT64_C(1000000000);

static bool connect_client(struct qn_bench *bench, struct qn_bench_server *server)
{
    char endpoint[300];
    struct quern_error err;

    (void)snprintf(endpoint, sizeof(endpoint), "http://%s", server->place.host);
    const struct quern_options options = {
        .endpoint = endpoint, .access_key = "QUERNBENCH", .secret_key = "quern"};
    return quern_client_new(&options, &server->client, &err) ||
           qn_bench_fail(bench, "%.100s: %.100s", err.code, err.message);
}

bool qn_bench_open(struct qn_bench *bench, const struct qn_bench_setup *setup,
                   struct qn_bench_server *ret_server)
{
    struct qn_bench_words words = {0};
    char bind[32];
    char counts[400];
    int port = qn_bench_free_port();

    *ret_server = (struct qn_bench_server){.is_started = true};
    (void)snprintf(bind, sizeof(bind), "127.0.0.1:%d", port);
    if (setup->callgrind != NULL) {
        (void)snprintf(counts, sizeof(counts), "--callgrind-out-file=%.300s", setup->callgrind);
        qn_bench_words_add(&words, "valgrind");
        qn_bench_words_add(&words, "-q");
        qn_bench_words_add(&words, "--tool=callgrind");
        qn_bench_words_add(&words, counts);
    }
    qn_bench_words_add(&words, bench->options->program);
    for (const char *const *word =
             (const char *const[]){"serve", "--seed", "7", "--log", "error", "--bind", NULL};
         *word != NULL; word++) {
        qn_bench_words_add(&words, *word);
    }
    qn_bench_words_add(&words, bind);
    if (setup->has_virtual_clock) {
        qn_bench_words_add(&words, "--clock");
        qn_bench_words_add(&words, "virtual");
    }
    if (setup->sync != NULL) {
        if (setup->database != NULL) {
            (void)snprintf(ret_server->database, sizeof(ret_server->database), "%s",
                           setup->database);
        } else {
            (void)snprintf(ret_server->database, sizeof(ret_server->database), "%s/bench-%lld.db",
                           bench->directory, (long long)bench->serial++);
        }
        qn_bench_words_add(&words, "--db");
        qn_bench_words_add(&words, ret_server->database);
        qn_bench_words_add(&words, "--sync");
        qn_bench_words_add(&words, setup->sync);
    }
    if (!qn_bench_start(&words, port, &ret_server->child)) {
        return qn_bench_fail(bench, "%.200s does not start as a server", words.argv[0]);
    }
    qn_bench_place_local(&ret_server->place, port);
    return connect_client(bench, ret_server);
}

bool qn_bench_open_plain(struct qn_bench *bench, struct qn_bench_server *ret_server)
{
    const struct qn_bench_options *options = bench->options;

    if (options->host == NULL) {
        return qn_bench_open(bench, &(struct qn_bench_setup){0}, ret_server);
    }
    *ret_server = (struct qn_bench_server){.child = {.pid = (pid_t)options->pid}};
    if (!qn_bench_place_find(&ret_server->place, options->host, options->port)) {
        return qn_bench_fail(bench, "no such host: %.100s", options->host);
    }
    return connect_client(bench, ret_server);
}

void qn_bench_halt(struct qn_bench_server *server)
{
    quern_client_free(server->client);
    server->client = NULL;
    if (server->is_started) {
        qn_bench_stop(&server->child);
    }
}

void qn_bench_close(struct qn_bench_server *server)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-ring", "-journal"};

    qn_bench_halt(server);
    for (size_t i = 0; server->database[0] != '\0' && i < sizeof(ends) / sizeof(ends[0]); i++) {
        char path[340];
        (void)snprintf(path, sizeof(path), "%s%s", server->database, ends[i]);
        (void)unlink(path);
    }
    server->database[0] = '\0';
}

bool qn_bench_new_queue(struct qn_bench *bench, const struct qn_bench_server *server, bool is_fifo,
                        json_t *attributes_take, char **ret_url)
{
    char name[64];
    struct quern_error err;

    /* Names are of one length, so that requests to any of them are. */
    (void)snprintf(name, sizeof(name), "quern-bench-%d-%08lld%s", (int)getpid(),
                   (long long)bench->serial++, is_fifo ? ".fifo" : "");
    if (is_fifo && attributes_take == NULL) {
        attributes_take = json_object();
    }
    if (is_fifo) {
        json_object_set_new(attributes_take, "FifoQueue", json_string("true"));
    }
    struct quern_pairs *attributes = quern_json_pairs(attributes_take);
    bool ok = quern_create_queue(server->client, name, attributes, NULL, ret_url, &err) ||
              qn_bench_fail(bench, "CreateQueue: %.60s: %.100s", err.code, err.message);
    quern_answer_free(attributes);
    json_decref(attributes_take);
    return ok;
}

void qn_bench_drop_queue(const struct qn_bench_server *server, char *url_take)
{
    struct quern_error err;

    if (url_take != NULL && server->client != NULL) {
        (void)quern_delete_queue(server->client, url_take, &err);
    }
    quern_text_free(url_take);
}

int64_t qn_bench_info(const struct qn_bench_server *server, const char *part, const char *name)
{
    struct quern_error err;
    json_t *answer;

    if (server->client == NULL || !quern_http_get(server->client, "/_quern/info", &answer, &err)) {
        return -1;
    }
    const json_t *value = json_object_get(json_object_get(answer, part), name);
    int64_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    json_decref(answer);
    return number;
}

bool qn_bench_settle(struct qn_bench *bench, const struct qn_bench_server *server)
{
    int64_t begin_ns = qn_bench_now_ns();

    while (server->database[0] != '\0' && qn_bench_info(server, "journal", "written_lsn") <
                                              qn_bench_info(server, "journal", "last_lsn")) {
        const struct timespec pause = {.tv_nsec = 10000000};
        if (qn_bench_now_ns() - begin_ns > settle_limit_ns) {
            return qn_bench_fail(bench, "the journal does not become empty");
        }
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

bool qn_bench_load_on(struct qn_bench *bench, const struct qn_bench_server *server,
                      struct qn_bench_workload *workload, int connections, double seconds,
                      struct qn_bench_tally *tally, double *cpu_us)
{
    const struct qn_bench_work work = qn_bench_workload_work(workload);
    const struct qn_bench_run run = {
        .place = &server->place,
        .connections = connections,
        .limit_us = (int64_t)(seconds * 1e6),
        .work = &work,
    };
    int64_t failures = qn_bench_workload_failures(workload);

    if (!qn_bench_settle(bench, server)) {
        return false;
    }
    double before_us = qn_bench_cpu_us(server->child.pid);
    if (!qn_bench_load(&run, tally, bench->error) || !qn_bench_settle(bench, server)) {
        return false;
    }
    double after_us = qn_bench_cpu_us(server->child.pid);
    *cpu_us = *cpu_us < 0 || before_us < 0 || after_us < 0 ? -1 : *cpu_us + after_us - before_us;
    failures = qn_bench_workload_failures(workload) - failures;
    return failures == 0 || qn_bench_fail(bench, "%lld of %lld requests were refused",
                                          (long long)failures, (long long)tally->requests);
}

bool qn_bench_load_plan(struct qn_bench *bench, const struct qn_bench_server *server,
                        const struct qn_bench_plan *plan, int connections, double seconds,
                        struct qn_bench_figures_of_load *ret)
{
    struct qn_bench_workload *workload = qn_bench_workload_new(plan, server->place.host);
    struct qn_bench_tally tally = {0};
    double cpu_us;
    bool ok;

    do { /* a server on a busy machine may answer nothing in so short a time */
        qn_bench_tally_done(&tally);
        tally = (struct qn_bench_tally){0};
        cpu_us = 0;
        ok = qn_bench_load_on(bench, server, workload, connections, seconds, &tally, &cpu_us);
        seconds *= 4;
    } while (ok && tally.units == 0 && seconds < LONGEST_S);
    ok = ok && (tally.units > 0 || qn_bench_fail(bench, "nothing was there to be received"));
    if (ok && ret != NULL) {
        *ret = (struct qn_bench_figures_of_load){
            .units_per_s = (double)tally.units / tally.seconds,
            .cpu_us = cpu_us >= 0 ? cpu_us / (double)tally.units : -1,
            .p50_us = qn_bench_tally_us(&tally, 500),
            .p99_us = qn_bench_tally_us(&tally, 990),
            .max_us = qn_bench_tally_us(&tally, 1000),
            .units = tally.units,
        };
    }
    qn_bench_tally_done(&tally);
    qn_bench_workload_free(workload);
    return ok;
}

bool qn_bench_fill(struct qn_bench *bench, const struct qn_bench_server *server,
                   char *const *queue_url, int64_t count)
{
    const struct qn_bench_plan plan = {
        .kind = QN_BENCH_FILL, .queue_urls = queue_url, .queue_count = 1, .count = count};

    return qn_bench_load_plan(bench, server, &plan, FILL_CONNECTIONS, 0, NULL);
}
