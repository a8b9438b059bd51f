/* A poller: one batch after the other, until the mapping stops. */
#include "client/lambda/poller.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "client/lambda/event.h"
#include "client/lambda/invoke.h"
#include "client/lambda/response.h"

enum { IDS_TOLD_MAX = 100, HTTP_TOO_MANY = 429, STARTS_MAX = 3 };

/* ---- state of the mapping ---- */

bool qn_lambda_is_stopping(struct qn_lambda *lambda)
{
    (void)pthread_mutex_lock(&lambda->lock);
    bool is = lambda->is_stopping;
    (void)pthread_mutex_unlock(&lambda->lock);
    return is;
}

void qn_lambda_stop(struct qn_lambda *lambda)
{
    const uint64_t one = 1;

    (void)pthread_mutex_lock(&lambda->lock);
    lambda->is_stopping = true;
    (void)pthread_cond_broadcast(&lambda->changed);
    (void)pthread_mutex_unlock(&lambda->lock);
    /* Whoever waits for a start hears it here; a write that fails finds it readable already. */
    ssize_t written = write(lambda->function.leave_fd, &one, sizeof(one));
    (void)written;
}

void qn_lambda_pause(struct qn_lambda *lambda, int64_t pause_ms)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    int64_t ns = until.tv_nsec + pause_ms % 1000 * 1000000;
    until.tv_sec += (time_t)(pause_ms / 1000 + ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    (void)pthread_mutex_lock(&lambda->lock);
    while (!lambda->is_stopping &&
           pthread_cond_timedwait(&lambda->changed, &lambda->lock, &until) == 0) {
    }
    (void)pthread_mutex_unlock(&lambda->lock);
}

void qn_lambda_lose_queue(struct qn_lambda *lambda)
{
    (void)pthread_mutex_lock(&lambda->lock);
    lambda->is_queue_lost = true;
    (void)pthread_mutex_unlock(&lambda->lock);
    qn_lambda_stop(lambda);
}

/* After function errors fewer pollers are allowed: this one may have to wait. What it holds is for
 * others then. False: all stops. */
static bool await_turn(struct qn_lambda_poller *poller)
{
    struct qn_lambda *lambda = poller->lambda;

    (void)pthread_mutex_lock(&lambda->lock);
    while (!lambda->is_stopping && poller->index >= lambda->allowed) {
        if (json_array_size(poller->waiting) > 0) {
            (void)pthread_mutex_unlock(&lambda->lock);
            qn_lambda_release(poller, poller->waiting);
            (void)json_array_clear(poller->waiting);
            (void)pthread_mutex_lock(&lambda->lock);
            continue;
        }
        (void)pthread_cond_wait(&lambda->changed, &lambda->lock);
    }
    bool may = !lambda->is_stopping;
    (void)pthread_mutex_unlock(&lambda->lock);
    return may;
}

/* Halved by an error and one more by a success, as Lambda does it without ReportBatchItemFailures.
 */
static void adapt(struct qn_lambda *lambda, bool is_error)
{
    if (lambda->options->mapping.reports) {
        return;
    }
    (void)pthread_mutex_lock(&lambda->lock);
    if (is_error) {
        lambda->allowed = lambda->allowed > 1 ? lambda->allowed / 2 : 1;
    } else if (lambda->allowed < lambda->poller_count) {
        lambda->allowed++;
    }
    (void)pthread_cond_broadcast(&lambda->changed);
    (void)pthread_mutex_unlock(&lambda->lock);
}

/* False: the function runs as often as its reserved concurrency allows. */
static bool begin_invocation(struct qn_lambda *lambda)
{
    int64_t reserved = lambda->options->mapping.reserved;

    (void)pthread_mutex_lock(&lambda->lock);
    bool may = reserved < 0 || lambda->busy < (size_t)reserved;
    lambda->busy += may ? 1 : 0;
    (void)pthread_mutex_unlock(&lambda->lock);
    return may;
}

static void end_invocation(struct qn_lambda *lambda)
{
    (void)pthread_mutex_lock(&lambda->lock);
    lambda->busy--;
    (void)pthread_mutex_unlock(&lambda->lock);
}

/* ---- one invocation ---- */

static const char *id_of(const json_t *records, size_t i)
{
    const char *id = json_string_value(json_object_get(json_array_get(records, i), "messageId"));

    return id != NULL ? id : "";
}

static void name_invocation(struct qn_lambda_poller *poller,
                            struct qn_lambda_invocation *invocation)
{
    uint8_t uuid[16];
    uint64_t root[2] = {qn_random_next(&poller->random), qn_random_next(&poller->random)};

    qn_random_uuid(&poller->random, uuid);
    qn_random_format_uuid(uuid, invocation->request_id);
    (void)snprintf(invocation->trace_id, sizeof(invocation->trace_id),
                   "Root=1-%08" PRIx32 "-%08" PRIx32 "%016" PRIx64 ";Sampled=0", (uint32_t)root[0],
                   (uint32_t)(root[0] >> 32), root[1]);
}

/* The records of which `failed` says `is_failed`. */
static json_t *selected(const json_t *records, const bool *failed, bool is_failed)
{
    json_t *chosen = json_array();
    size_t i;
    json_t *record;

    json_array_foreach(records, i, record)
    {
        if (failed[i] == is_failed) {
            (void)json_array_append(chosen, record);
        }
    }
    return chosen;
}

static void tell_end(struct qn_lambda_poller *poller, const struct qn_lambda_invocation *invocation,
                     const struct qn_lambda_outcome *outcome, const json_t *failed, size_t count,
                     int64_t took_ms)
{
    static const char *const ends[] = {"returned", "error", "timeout", "stopped"};
    json_t *ids = json_array();
    size_t i;
    json_t *record;

    json_array_foreach(failed, i, record)
    {
        if (i < IDS_TOLD_MAX) {
            (void)json_array_append(ids, json_object_get(record, "messageId"));
        }
    }
    json_t *fields =
        json_pack("{s: s, s: s, s: I, s: I, s: o, s: I}", "request", invocation->request_id, "end",
                  ends[outcome->end], "records", (json_int_t)count, "failed",
                  (json_int_t)json_array_size(failed), "ids", ids, "ms", (json_int_t)took_ms);
    if (outcome->why[0] != '\0') {
        (void)json_object_set_new(fields, "why", json_string(outcome->why));
    }
    qn_lambda_tell_take(poller->lambda, "invocation", fields,
                        "%s: %zu message%s, %zu failed, %lld ms%s%s", invocation->request_id, count,
                        count == 1 ? "" : "s", json_array_size(failed), (long long)took_ms,
                        outcome->why[0] != '\0' ? ": " : "", outcome->why);
}

/* What the function has made of the batch: failed is set for what must come again. */
static void judge(struct qn_lambda_poller *poller, const json_t *records,
                  struct qn_lambda_outcome *outcome, bool *failed, bool *ret_has_wrong_id)
{
    size_t count = json_array_size(records);
    const char **ids = qn_memory_new_array(count, sizeof(*ids));
    struct qn_lambda_response response = {.why = ""};

    for (size_t i = 0; i < count; i++) {
        ids[i] = id_of(records, i);
        failed[i] = true;
    }
    if (outcome->end == QN_LAMBDA_END_RETURNED) {
        qn_lambda_response_read(qn_buf_str(&outcome->answer),
                                poller->lambda->options->mapping.reports, ids, count, failed,
                                &response);
        (void)snprintf(outcome->why, sizeof(outcome->why), "%s", response.why);
    }
    *ret_has_wrong_id = response.has_wrong_id;
    qn_memory_free(ids);
}

/* Not 0: the answer was lost. */
static int report_end(struct qn_lambda_poller *poller, const char *request,
                      const struct qn_lambda_outcome *outcome, bool has_wrong_id,
                      const json_t *left)
{
    bool returned = outcome->end == QN_LAMBDA_END_RETURNED;
    const char *what = returned                                ? "return"
                       : outcome->end == QN_LAMBDA_END_TIMEOUT ? "timeout"
                                                               : "error";

    if (returned && outcome->why[0] != '\0') {
        what = has_wrong_id ? "wrong_id" : "wrong";
    }
    return qn_lambda_report_take(poller->reporter, what,
                                 json_pack("{s: s, s: o, s: s}", "request", request, "failed",
                                           qn_lambda_ids_of(left), "why", outcome->why));
}

/* In harnesses alone: as if Lambda had answered so. */
static bool is_refused(int status, struct qn_lambda_outcome *outcome)
{
    if (status != 0) {
        qn_lambda_outcome_end(outcome, QN_LAMBDA_END_ERROR, "Lambda answered with status %d",
                              status);
    }
    return status != 0;
}

static bool may_start(struct qn_lambda_poller *poller, struct qn_lambda_outcome *outcome)
{
    return qn_lambda_environment_is_running(&poller->environment) ||
           !is_refused(qn_lambda_report_take(poller->reporter, "init", json_object()), outcome);
}

/* A function that never comes up is told from one that fails on its messages. */
static void report_start(struct qn_lambda_poller *poller, const struct qn_lambda_outcome *outcome)
{
    if (outcome->start == QN_LAMBDA_START_DONE) {
        (void)qn_lambda_report_take(poller->reporter, "started", json_object());
    } else if (outcome->start == QN_LAMBDA_START_FAILED) {
        (void)qn_lambda_report_take(poller->reporter, "not_started",
                                    json_pack("{s: s}", "why", outcome->why));
    }
}

static void leave(struct qn_lambda_poller *poller, const json_t *records)
{
    size_t count = json_array_size(records);

    qn_lambda_tell_take(poller->lambda, "throttled",
                        json_pack("{s: I}", "records", (json_int_t)count),
                        "throttled: %zu message%s left for the visibility timeout, reserved "
                        "concurrency is used up",
                        count, count == 1 ? "" : "s");
    (void)qn_lambda_report_take(poller->reporter, "throttled",
                                json_pack("{s: o}", "ids", qn_lambda_ids_of(records)));
    qn_lambda_release_behind(poller, records);
}

/* Deletes what is done. */
static void settle(struct qn_lambda_poller *poller, const struct qn_lambda_invocation *invocation,
                   const json_t *records, struct qn_lambda_outcome *outcome, int64_t begun_ms)
{
    size_t count = json_array_size(records);
    bool *failed = qn_memory_new_array(count, sizeof(*failed));
    bool has_wrong_id;

    judge(poller, records, outcome, failed, &has_wrong_id);
    json_t *done = selected(records, failed, false);
    json_t *left = selected(records, failed, true);
    int status = report_end(poller, invocation->request_id, outcome, has_wrong_id, left);
    if (is_refused(status, outcome)) {
        (void)json_array_extend(left, done);
        (void)json_array_clear(done);
    }
    qn_lambda_delete(poller, done);
    qn_lambda_release_behind(poller, left);
    tell_end(poller, invocation, outcome, left, count, qn_clock_monotonic_ms() - begun_ms);
    adapt(poller->lambda, outcome->end != QN_LAMBDA_END_RETURNED);
    json_decref(done);
    json_decref(left);
    qn_memory_free(failed);
}

static void invoke(struct qn_lambda_poller *poller, const json_t *records)
{
    struct qn_lambda_outcome outcome = {.why = ""};
    struct qn_lambda_invocation invocation = {.function_arn = poller->lambda->function_arn,
                                              .event = qn_buf_str(&poller->event)};
    int64_t begun_ms = qn_clock_monotonic_ms();

    name_invocation(poller, &invocation);
    int status = qn_lambda_report_take(poller->reporter, "invoke",
                                       json_pack("{s: s, s: o}", "request", invocation.request_id,
                                                 "ids", qn_lambda_ids_of(records)));
    if (status == HTTP_TOO_MANY) {
        leave(poller, records);
        return;
    }
    qn_buf_init(&outcome.answer, QN_LAMBDA_ANSWER_MAX);
    if (!is_refused(status, &outcome) && may_start(poller, &outcome)) {
        qn_lambda_environment_invoke(&poller->environment, &invocation, &outcome);
        report_start(poller, &outcome);
    }
    settle(poller, &invocation, records, &outcome, begun_ms);
    qn_buf_done(&outcome.answer);
}

static void invoke_or_leave(struct qn_lambda_poller *poller, const json_t *records)
{
    if (!begin_invocation(poller->lambda)) {
        leave(poller, records);
        return;
    }
    invoke(poller, records);
    end_invocation(poller->lambda);
}

static bool is_queue_empty(struct qn_lambda_poller *poller)
{
    static const char *const counts[] = {"ApproximateNumberOfMessages",
                                         "ApproximateNumberOfMessagesNotVisible",
                                         "ApproximateNumberOfMessagesDelayed"};
    struct quern_error err;
    json_t *output = NULL;
    json_t *input =
        json_pack("{s: s, s: [s]}", "QueueUrl", poller->lambda->queue_url, "AttributeNames", "All");
    bool is = quern_client_call(poller->client, "GetQueueAttributes", input, &output, &err);
    const json_t *attributes = json_object_get(output, "Attributes");

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        const char *text = json_string_value(json_object_get(attributes, counts[i]));
        is = is && text != NULL && strcmp(text, "0") == 0;
    }
    json_decref(input);
    json_decref(output);
    return is;
}

/* With provisioned environments nothing is received before there is one for it, at first and after
 * one was lost: the lease would run while it starts. A function that cannot start does not keep its
 * messages for ever, though: their errors are what a redrive policy is for. */
static void warm(struct qn_lambda_poller *poller)
{
    if (!poller->lambda->options->provisioned) {
        return;
    }
    if (qn_lambda_environment_is_running(&poller->environment)) {
        poller->failed_starts = 0;
        return;
    }
    while (poller->failed_starts < STARTS_MAX && !qn_lambda_is_stopping(poller->lambda)) {
        struct qn_lambda_outcome outcome = {.why = ""};
        bool is_warm = may_start(poller, &outcome) &&
                       qn_lambda_environment_warm(&poller->environment, &outcome);
        report_start(poller, &outcome);
        if (is_warm) {
            poller->failed_starts = 0;
            return;
        }
        poller->failed_starts++;
        if (!qn_lambda_is_stopping(poller->lambda)) {
            qn_lambda_tell_take(poller->lambda, "not-started",
                                json_pack("{s: s}", "why", outcome.why), "cannot start: %s",
                                outcome.why);
        }
    }
}

static void *run(void *state)
{
    struct qn_lambda_poller *poller = state;
    struct qn_lambda *lambda = poller->lambda;

    while (await_turn(poller)) {
        warm(poller);
        json_t *records = qn_lambda_gather(poller);
        if (qn_lambda_is_stopping(lambda)) {
            qn_lambda_release(poller, records);
        } else if (json_array_size(records) > 0) {
            invoke_or_leave(poller, records);
        } else if (lambda->options->until_empty && is_queue_empty(poller)) {
            qn_lambda_stop(lambda);
        }
        json_decref(records);
    }
    qn_lambda_release(poller, poller->waiting);
    return NULL;
}

bool qn_lambda_poller_start(struct qn_lambda_poller *poller, struct qn_lambda *lambda, size_t index,
                            struct qn_error *err)
{
    const struct quern_options options = {.endpoint = lambda->options->endpoint,
                                          .region = lambda->options->region};
    struct quern_error failure;

    *poller = (struct qn_lambda_poller){.lambda = lambda, .index = index, .waiting = json_array()};
    qn_buf_init(&poller->event, 2 * (size_t)QN_LAMBDA_EVENT_MAX);
    qn_random_init(&poller->random, lambda->options->seed, index, 0);
    qn_lambda_environment_init(&poller->environment, &lambda->function);
    if (!quern_client_new(&options, &poller->receiver, &failure) ||
        !quern_client_new(&options, &poller->client, &failure)) {
        return qn_fail(err, QN_ERR_INTERNAL, "%s", failure.message);
    }
    if (!qn_lambda_reporter_new(lambda->options, &poller->reporter, err)) {
        return false;
    }
    if (pthread_create(&poller->thread, NULL, run, poller) != 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "no thread could be started");
    }
    return true;
}

void qn_lambda_poller_interrupt(struct qn_lambda_poller *poller)
{
    quern_client_cancel(poller->receiver);
}

void qn_lambda_poller_join(struct qn_lambda_poller *poller)
{
    (void)pthread_join(poller->thread, NULL);
    qn_lambda_environment_done(&poller->environment);
    quern_client_free(poller->receiver);
    quern_client_free(poller->client);
    quern_client_free(poller->reporter);
    qn_buf_done(&poller->event);
    json_decref(poller->waiting);
}
