/* The queues of a scenario: made as it says, at the start or later, and counted. */
#include <signal.h>
#include <sys/wait.h>

#include "chaos/check/running.h"
#include "client/internal.h"

static bool create(struct qn_running *run, struct qn_str name, json_t *attributes_take,
                   char **ret_url, struct qn_error *err)
{
    struct quern_error cause;

    if (run->options->is_fifo) {
        json_object_set_new(attributes_take, "FifoQueue", json_string("true"));
    }
    struct quern_pairs *attributes = quern_json_pairs(attributes_take);
    bool ok = quern_create_queue(run->server.client, name.ptr, attributes, NULL, ret_url, &cause);
    quern_answer_free(attributes);
    json_decref(attributes_take);
    return ok || qn_server_fail(err, "creating a queue", &cause);
}

/* Those that the scenario names, with numbers in place of their {expressions}. */
static void add_attributes(struct qn_running *run, json_t *attributes)
{
    const json_t *queue = json_object_get(run->scenario->json, "queue");
    const char *name;
    json_t *value;

    json_object_foreach(json_object_get(queue, "attributes"), name, value)
    {
        struct qn_str text = qn_terms_fill(&run->terms, qn_str_from_cstr(json_string_value(value)),
                                           "", &run->arena, NULL);
        json_object_set_new(attributes, name, json_string(text.ptr));
    }
}

json_t *qn_running_queue_attributes(struct qn_running *run)
{
    json_t *attributes = json_object();
    int64_t visibility_ms = qn_terms_ms(&run->terms, run->scenario->visibility);
    struct qn_str seconds =
        qn_arena_format(&run->arena, "%lld", (long long)((visibility_ms + 999) / 1000));

    json_object_set_new(attributes, "VisibilityTimeout", json_string(seconds.ptr));
    add_attributes(run, attributes);
    if (run->scenario->has_dlq) {
        struct qn_str redrive =
            qn_arena_format(&run->arena,
                            "{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:%s\","
                            "\"maxReceiveCount\":%lld}",
                            run->dlq_name.ptr, (long long)run->scenario->max_receive);
        json_object_set_new(attributes, "RedrivePolicy", json_string(redrive.ptr));
    }
    return attributes;
}

/* The source queue, with its load. */
static bool open_source(struct qn_running *run, struct qn_error *err)
{
    char *url;

    if (run->scenario->has_dlq && run->dlq_url == NULL &&
        !create(run, run->dlq_name, json_object(), &run->dlq_url, err)) {
        return false;
    }
    if (!create(run, run->queue_name, qn_running_queue_attributes(run), &url, err)) {
        return false;
    }
    quern_text_free(run->queue_url);
    run->queue_url = url;
    run->is_queue_there = true;
    return qn_running_send(run, -1, err);
}

/* Queues that the consumer uses beside its source, by the names that are declared. */
static bool create_declared(struct qn_running *run, struct qn_error *err)
{
    const struct {
        const char *name;
        char **url;
    } queues[] = {{run->options->output_queue, &run->output_queue_url},
                  {run->options->retry_queue, &run->retry_queue_url}};
    static const struct quern_pair fifo_items[] = {{"FifoQueue", "true"}};
    static const struct quern_pairs fifo = {fifo_items, 1};
    struct quern_error cause;

    for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
        if (queues[i].name == NULL || *queues[i].url != NULL) {
            continue;
        }
        bool is_fifo = qn_str_ends_with(qn_str_from_cstr(queues[i].name), QN_STR(".fifo"));
        bool ok = quern_create_queue(run->server.client, queues[i].name, is_fifo ? &fifo : NULL,
                                     NULL, queues[i].url, &cause);
        if (!ok) {
            return qn_server_fail(err, queues[i].name, &cause);
        }
    }
    return true;
}

void qn_running_name_queues(struct qn_running *run)
{
    const char *suffix = run->options->is_fifo ? ".fifo" : "";

    struct qn_str name =
        qn_str_from_cstr(run->options->queue_name != NULL ? run->options->queue_name : "q");
    if (qn_str_ends_with(name, QN_STR(".fifo"))) {
        name.len -= strlen(".fifo");
    }
    run->queue_name = qn_arena_format(&run->arena, "%.*s%s", QN_STR_ARG(name), suffix);
    if (run->scenario->has_dlq) {
        run->dlq_name = qn_str_from_cstr(run->terms.dlq);
    }
}

bool qn_running_create_queues(struct qn_running *run, struct qn_error *err)
{
    struct quern_error cause;

    if (!create_declared(run, err)) {
        return false;
    }
    if (qn_str_is_none(run->scenario->created_after)) {
        return open_source(run, err);
    }
    /* Its address is known before it is there: made once, and taken away again. */
    if (!create(run, run->queue_name, json_object(), &run->queue_url, err)) {
        return false;
    }
    run->queue_wait_ms = qn_terms_ms(&run->terms, run->scenario->created_after);
    return quern_delete_queue(run->server.client, run->queue_url, &cause) ||
           qn_server_fail(err, "deleting a queue", &cause);
}

/* The next reaping tells of it. */
static bool is_server_gone(const struct qn_running *run)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)run->server.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == run->server.pid;
}

static int64_t now_virtual_ms(const struct qn_running *run)
{
    return qn_recorder_now_ms(&run->recorder);
}

bool qn_running_create_late(struct qn_running *run, int64_t now_ms, struct qn_error *err)
{
    bool is_due = run->was_queue_deleted ? now_virtual_ms(run) >= run->queue_back_ms
                                         : now_ms >= run->first_spawn_ms + run->queue_wait_ms;

    if (run->is_queue_there || run->server.pid == 0 || !is_due) {
        return true;
    }
    if (!open_source(run, err)) {
        return false;
    }
    if (run->was_queue_deleted) {
        qn_load_plan(&run->load, QN_LOAD_WAITS_FOR_RETURN,
                     now_virtual_ms(run) - run->ready_virtual_ms);
    }
    return true;
}

bool qn_running_delete_queue(struct qn_running *run, struct qn_error *err)
{
    struct quern_error cause;

    run->queue_back_ms = now_virtual_ms(run) + qn_terms_ms(&run->terms, run->scenario->away_for);
    run->was_queue_deleted = true;
    run->is_queue_there = false;
    return quern_delete_queue(run->server.client, run->queue_url, &cause) || is_server_gone(run) ||
           qn_server_fail(err, "deleting a queue", &cause);
}

bool qn_running_send(struct qn_running *run, int64_t since_ready_ms, struct qn_error *err)
{
    const struct qn_load_target target = {
        .client = run->server.client,
        .queue_url = run->queue_url,
        .queue_name = run->queue_name,
        .self = QN_STR(QN_SERVER_SELF),
        .recorder = &run->recorder,
    };

    /* Sent to a server that a rule killed: once it is there again it says what it has, and the rest
     * is sent anew. */
    if (run->load.doubtful_count > 0) {
        if (!qn_running_read_trace(run, err)) {
            return is_server_gone(run);
        }
        qn_load_settle(&run->load, &target, &run->history);
    }
    return qn_load_send(&run->load, &target, since_ready_ms, err) || is_server_gone(run);
}

static int64_t count_of(const struct quern_pairs *attributes, const char *name)
{
    int64_t count;

    return qn_str_to_int64(qn_str_from_cstr(quern_pairs_get(attributes, name)), 0, INT64_MAX,
                           &count)
               ? count
               : 0;
}

bool qn_running_count(struct qn_running *run, struct qn_error *err)
{
    struct quern_error cause;
    struct quern_pairs *attributes;

    if (!quern_get_queue_attributes(run->server.client, run->queue_url, NULL, 0, &attributes,
                                    &cause)) {
        return qn_server_fail(err, "counting the queue", &cause);
    }
    run->visible = count_of(attributes, "ApproximateNumberOfMessages");
    run->in_flight = count_of(attributes, "ApproximateNumberOfMessagesNotVisible");
    run->delayed = count_of(attributes, "ApproximateNumberOfMessagesDelayed");
    quern_answer_free(attributes);
    return true;
}
