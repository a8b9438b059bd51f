/* The mapping as a whole: its queue, its pollers, its end. */
#include "client/lambda/lambda.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "client/internal.h"
#include "client/lambda/invoke.h"
#include "client/lambda/poller.h"
#include "server/base/clock.h"
#include "server/base/guard.h"

enum { GROWS_EACH_S = 1, GROWS_BY = 5, PROBES_EACH_MS = 200, LINE_MAX_BYTES = 64 * 1024 };

/* ---- what is told ---- */

void qn_lambda_tell_take(const struct qn_lambda *lambda, const char *event, json_t *fields,
                         const char *format, ...)
{
    char text[800];
    va_list values;

    if (lambda->options->json_lines) {
        (void)json_object_set_new(fields, "event", json_string(event));
        struct qn_buf line;
        qn_buf_init(&line, LINE_MAX_BYTES);
        quern_json_write(fields, &line);
        (void)fprintf(stderr, "%.*s\n", QN_STR_ARG(qn_buf_str(&line)));
        qn_buf_done(&line);
    } else {
        va_start(values, format);
        (void)vsnprintf(text, sizeof(text), format, values);
        va_end(values);
        (void)fprintf(stderr, "quern lambda: %s\n", text);
    }
    json_decref(fields);
}

struct auditing {
    const struct qn_lambda *lambda;
    struct quern_client *reporter; /* or NULL */
};

static void tell_audit(void *state, const char *line)
{
    const struct auditing *auditing = state;

    qn_lambda_tell_take(auditing->lambda, "audit", json_pack("{s: s}", "line", line), "%s", line);
    (void)qn_lambda_report_take(auditing->reporter, "audit", json_pack("{s: s}", "why", line));
}

/* Of the queue that is polled, or of the one in production, where the mapping tells of it. */
static bool audit(struct qn_lambda *lambda, size_t *ret_count, struct qn_error *err)
{
    const struct qn_lambda_options *options = lambda->options;
    const struct qn_lambda_mapping *mapping =
        options->audited != NULL ? options->audited : &options->mapping;
    struct auditing auditing = {.lambda = lambda};
    struct qn_lambda_queue queue = lambda->queue;

    if (!qn_lambda_reporter_new(options, &auditing.reporter, err)) {
        return false;
    }
    if (mapping->queue != NULL) {
        qn_lambda_queue_read(&queue, mapping->queue);
        bool is_same = strcmp(queue.dead_letter_arn, lambda->queue.dead_letter_arn) == 0;
        queue.dead_letter_retention_s = is_same ? lambda->queue.dead_letter_retention_s : 0;
    }
    if (mapping->dead_letter_queue != NULL) {
        struct qn_lambda_queue letters;
        qn_lambda_queue_read(&letters, mapping->dead_letter_queue);
        queue.dead_letter_retention_s = letters.retention_s;
    }
    *ret_count = qn_lambda_mapping_audit(mapping, &queue, tell_audit, &auditing);
    quern_client_free(auditing.reporter);
    return true;
}

/* ---- the queue ---- */

static bool call(const struct qn_lambda *lambda, struct quern_client *client, const char *action,
                 json_t *input, json_t **ret_output, struct qn_error *err)
{
    const char *endpoint = quern_client_endpoint(client);
    struct quern_error failure;
    bool ok = quern_client_call(client, action, input, ret_output, &failure);

    json_decref(input);
    if (!ok && strcmp(failure.code, "QueueDoesNotExist") == 0) {
        const char *slash = strrchr(lambda->options->queue, '/');
        return qn_fail(err, QN_ERR_SERVICE_UNAVAILABLE,
                       "there is no queue %s at %s (quern queues --endpoint %s lists them)",
                       slash != NULL ? slash + 1 : lambda->options->queue, endpoint, endpoint);
    }
    return ok || qn_fail(err, QN_ERR_SERVICE_UNAVAILABLE, "%s: %s: %s", action, failure.code,
                         failure.message);
}

static bool fail_unreadable(const char *action, const char *missing, struct qn_error *err)
{
    return qn_fail(err, QN_ERR_SERVICE_UNAVAILABLE, "%s: UnreadableAnswer: there is no %s in it",
                   action, missing);
}

static bool find_queue(struct qn_lambda *lambda, struct quern_client *client, struct qn_error *err)
{
    const char *queue = lambda->options->queue;
    json_t *output;

    if (strstr(queue, "://") != NULL) {
        lambda->queue_url = qn_memory_copy_text(queue, strlen(queue));
        return true;
    }
    if (!call(lambda, client, "GetQueueUrl", json_pack("{s: s}", "QueueName", queue), &output,
              err)) {
        return false;
    }
    const char *url = json_string_value(json_object_get(output, "QueueUrl"));
    lambda->queue_url = url != NULL ? qn_memory_copy_text(url, strlen(url)) : NULL;
    json_decref(output);
    return lambda->queue_url != NULL || fail_unreadable("GetQueueUrl", "QueueUrl", err);
}

/* Without these two nothing can be said of the mapping. */
static bool read_queue(struct qn_lambda *lambda, const json_t *attributes, struct qn_error *err)
{
    static const char *const needed[] = {"QueueArn", "VisibilityTimeout"};

    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (!json_is_string(json_object_get(attributes, needed[i]))) {
            return fail_unreadable("GetQueueAttributes", needed[i], err);
        }
    }
    qn_lambda_queue_read(&lambda->queue, attributes);
    return true;
}

/* How long dead letters are kept; that they cannot be asked is no mistake. */
static void look_at_dead_letters(struct qn_lambda *lambda, struct quern_client *client)
{
    struct qn_error err;
    json_t *output;
    struct qn_str rest = qn_str_from_cstr(lambda->queue.dead_letter_arn);
    struct qn_lambda_queue letters;
    char name[100];

    for (int part = 0; part < 5; part++) {
        (void)qn_str_cut(rest, ':', &rest);
    }
    (void)snprintf(name, sizeof(name), "%.*s", QN_STR_ARG(qn_str_first(rest, 80)));
    if (name[0] == '\0' || !call(lambda, client, "GetQueueUrl",
                                 json_pack("{s: s}", "QueueName", name), &output, &err)) {
        return;
    }
    json_t *input = json_pack("{s: O, s: [s]}", "QueueUrl", json_object_get(output, "QueueUrl"),
                              "AttributeNames", "All");
    json_decref(output);
    if (call(lambda, client, "GetQueueAttributes", input, &output, &err)) {
        qn_lambda_queue_read(&letters, json_object_get(output, "Attributes"));
        lambda->queue.dead_letter_retention_s = letters.retention_s;
        json_decref(output);
    }
}

static bool look_at_queue(struct qn_lambda *lambda, struct qn_error *err)
{
    const struct quern_options options = {.endpoint = lambda->options->endpoint,
                                          .region = lambda->options->region};
    struct quern_client *client;
    struct quern_error failure;
    json_t *output;

    if (!quern_client_new(&options, &client, &failure)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s", failure.message);
    }
    bool ok =
        find_queue(lambda, client, err) &&
        call(lambda, client, "GetQueueAttributes",
             json_pack("{s: s, s: [s]}", "QueueUrl", lambda->queue_url, "AttributeNames", "All"),
             &output, err);
    if (ok) {
        ok = read_queue(lambda, json_object_get(output, "Attributes"), err);
        json_decref(output);
    }
    if (ok) {
        look_at_dead_letters(lambda, client);
        ok = qn_lambda_mapping_check(&lambda->options->mapping, &lambda->queue, err);
    }
    quern_client_free(client);
    return ok;
}

/* ---- pollers ---- */

struct crew {
    struct qn_lambda *lambda;
    struct qn_lambda_poller **pollers; /* each stays where it is: its thread uses it */
    size_t count;
    size_t max;
};

static bool add_pollers(struct crew *crew, size_t count, struct qn_error *err)
{
    while (count > 0 && crew->count < crew->max) {
        struct qn_lambda_poller *poller = qn_memory_new(sizeof(*poller));
        if (!qn_lambda_poller_start(poller, crew->lambda, crew->count, err)) {
            quern_client_free(poller->receiver);
            quern_client_free(poller->client);
            quern_client_free(poller->reporter);
            qn_buf_done(&poller->event);
            json_decref(poller->waiting);
            qn_memory_free(poller);
            return false;
        }
        crew->pollers[crew->count++] = poller;
        count--;
        (void)pthread_mutex_lock(&crew->lambda->lock);
        crew->lambda->poller_count = crew->count;
        crew->lambda->allowed++;
        (void)pthread_cond_broadcast(&crew->lambda->changed);
        (void)pthread_mutex_unlock(&crew->lambda->lock);
    }
    return true;
}

static bool are_all_busy(struct crew *crew)
{
    (void)pthread_mutex_lock(&crew->lambda->lock);
    bool are = crew->lambda->busy == crew->count && crew->lambda->allowed == crew->count;
    (void)pthread_mutex_unlock(&crew->lambda->lock);
    return are;
}

/* Waits for a signal or for the end, and lets the crew grow meanwhile. */
static void watch(struct crew *crew, const sigset_t *signals)
{
    const struct timespec second = {.tv_sec = GROWS_EACH_S};
    struct qn_error err;

    while (!qn_lambda_is_stopping(crew->lambda) && sigtimedwait(signals, NULL, &second) < 0) {
        if (are_all_busy(crew) && !add_pollers(crew, GROWS_BY, &err)) {
            crew->max = crew->count; /* it stays as it is */
        }
    }
    qn_lambda_stop(crew->lambda);
    for (size_t i = 0; i < crew->count; i++) {
        qn_lambda_poller_interrupt(crew->pollers[i]);
    }
}

static void *join_all(void *state)
{
    struct crew *crew = state;

    for (size_t i = 0; i < crew->count; i++) {
        qn_lambda_poller_join(crew->pollers[i]);
        qn_memory_free(crew->pollers[i]);
    }
    (void)kill(getpid(), SIGTERM); /* wakes the wait for a second signal */
    return NULL;
}

/* Until the last invocation has ended, or a second signal ends them. */
static void end_crew(struct crew *crew, const sigset_t *signals)
{
    const uint64_t one = 1;
    pthread_t joining;
    int number;

    if (pthread_create(&joining, NULL, join_all, crew) != 0) {
        (void)join_all(crew);
        (void)sigwait(signals, &number);
        return;
    }
    (void)sigwait(signals, &number);
    if (write(crew->lambda->function.stop_fd, &one, sizeof(one)) < 0) {
        return;
    }
    (void)pthread_join(joining, NULL);
}

/* Nothing is received for a container that is not up yet. True also when a signal came meanwhile:
 * then all stops. */
static bool await_url(struct qn_lambda *lambda, const sigset_t *signals, struct qn_error *err)
{
    const struct qn_lambda_options *options = lambda->options;
    const struct timespec pause = {.tv_nsec = PROBES_EACH_MS * 1000000L};
    int64_t until_ms = qn_clock_monotonic_ms() + options->url_wait_s * 1000;
    bool is_told = false;
    char why[200];

    while (options->way == QN_LAMBDA_BY_URL && !qn_lambda_is_stopping(lambda) &&
           !qn_lambda_url_answers(options->url, why, sizeof(why))) {
        if (qn_clock_monotonic_ms() >= until_ms) {
            return qn_fail(err, QN_ERR_SERVICE_UNAVAILABLE,
                           "nothing answers at %.300s within %lld s (--invoke-wait): %s",
                           options->url, (long long)options->url_wait_s, why);
        }
        if (!is_told) {
            qn_lambda_tell_take(lambda, "waiting", json_pack("{s: s}", "url", options->url),
                                "waiting for %s to answer, at most %lld s", options->url,
                                (long long)options->url_wait_s);
            is_told = true;
        }
        if (sigtimedwait(signals, NULL, &pause) > 0) {
            qn_lambda_stop(lambda);
        }
    }
    return true;
}

/* A container takes one event at a time. */
static size_t pollers_at_most(const struct qn_lambda_options *options)
{
    if (options->mapping.max_concurrency > 0) {
        return (size_t)options->mapping.max_concurrency;
    }
    return options->way == QN_LAMBDA_BY_URL ? 1 : QN_LAMBDA_POLLERS;
}

static bool poll_queue(struct qn_lambda *lambda, struct qn_error *err)
{
    struct crew crew = {.lambda = lambda, .max = pollers_at_most(lambda->options)};
    sigset_t signals;

    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    crew.pollers = qn_memory_new_array(crew.max, sizeof(struct qn_lambda_poller *));
    bool ok = await_url(lambda, &signals, err) && add_pollers(&crew, QN_LAMBDA_POLLERS, err);
    if (ok) {
        watch(&crew, &signals);
    } else {
        qn_lambda_stop(lambda);
        for (size_t i = 0; i < crew.count; i++) {
            qn_lambda_poller_interrupt(crew.pollers[i]);
        }
    }
    end_crew(&crew, &signals);
    qn_memory_free(crew.pollers);
    return ok;
}

static void describe(struct qn_lambda *lambda)
{
    const struct qn_lambda_options *options = lambda->options;

    lambda->function = (struct qn_lambda_function){.way = options->way,
                                                   .argv = options->argv,
                                                   .url = options->url,
                                                   .handler = options->handler,
                                                   .mapping = &options->mapping,
                                                   .is_provisioned = options->provisioned,
                                                   .arn = lambda->function_arn,
                                                   .region = lambda->queue.region,
                                                   .clock = options->clock,
                                                   .stop_fd = eventfd(0, EFD_CLOEXEC),
                                                   .leave_fd = eventfd(0, EFD_CLOEXEC)};
    (void)snprintf(lambda->function_arn, sizeof(lambda->function_arn),
                   "arn:aws:lambda:%s:000000000000:function:%s", lambda->queue.region,
                   options->mapping.function);
}

enum qn_lambda_exit qn_lambda_run(const struct qn_lambda_options *options, struct qn_error *err)
{
    struct qn_lambda lambda = {.options = options};
    struct qn_guard guard = {.fd = -1};
    enum qn_lambda_exit result = QN_LAMBDA_EXIT_REFUSED;
    size_t advice = 0;

    (void)pthread_mutex_init(&lambda.lock, NULL);
    (void)pthread_cond_init(&lambda.changed, NULL);
    if (look_at_queue(&lambda, err) && audit(&lambda, &advice, err)) {
        describe(&lambda);
        lambda.function.guard = &guard;
        if (options->only_audit) {
            result = advice == 0 ? QN_LAMBDA_EXIT_DONE : QN_LAMBDA_EXIT_AUDIT;
        } else if (lambda.function.stop_fd < 0 || lambda.function.leave_fd < 0) {
            (void)qn_fail(err, QN_ERR_INTERNAL, "eventfd: %s", strerror(errno));
        } else if (qn_guard_open(&guard, err) && poll_queue(&lambda, err)) {
            result = lambda.is_queue_lost ? QN_LAMBDA_EXIT_GONE : QN_LAMBDA_EXIT_DONE;
        }
        if (lambda.function.stop_fd >= 0) {
            (void)close(lambda.function.stop_fd);
        }
        if (lambda.function.leave_fd >= 0) {
            (void)close(lambda.function.leave_fd);
        }
    }
    qn_guard_close(&guard);
    (void)pthread_cond_destroy(&lambda.changed);
    (void)pthread_mutex_destroy(&lambda.lock);
    qn_memory_free(lambda.queue_url);
    return result;
}
