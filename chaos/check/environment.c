/* What a consumer is told: its environment, and the placeholders in its command. */
#include <stdio.h>
#include <string.h>

#include "chaos/check/placeholders.h"
#include "chaos/check/running.h"

/* Where server and sink are for this machine. */
#define HERE "127.0.0.1"

/* Of several instances each has a port of its own. */
static int port_of(const struct qn_running *run, const struct qn_instance *instance)
{
    return run->server.ports[instance->number - 1];
}

/* An address of the server as the instance reaches it, which may be from a container. */
static struct qn_str seen_from_there(struct qn_running *run, const struct qn_instance *instance,
                                     const char *url)
{
    struct qn_str text = qn_str_from_cstr(url);
    struct qn_str first = qn_str_from_cstr(run->server.endpoint);

    if (instance->number > 1 && qn_str_starts_with(text, first)) {
        text = qn_arena_format(&run->arena, "http://" HERE ":%d%.*s", port_of(run, instance),
                               QN_STR_ARG(qn_str_from(text, first.len)));
    }
    struct qn_str here = QN_STR("http://" HERE);

    if (run->options->endpoint_host == NULL || !qn_str_starts_with(text, here)) {
        return text;
    }
    return qn_arena_format(&run->arena, "http://%s%.*s", run->options->endpoint_host,
                           QN_STR_ARG(qn_str_from(text, here.len)));
}

struct qn_str qn_running_sink_url(struct qn_running *run)
{
    const char *host = run->options->endpoint_host;

    return qn_arena_format(&run->arena, "http://%s:%d", host != NULL ? host : HERE,
                           qn_sink_port(run->sink));
}

/* Of the run's own directory, which no other run of this or another check has: what a consumer
 * keeps under such a name, no other run finds. */
static struct qn_str name_of_run(struct qn_running *run)
{
    const char *own = strrchr(run->directory, '/');
    const char *check = own;

    while (check != NULL && check > run->directory && check[-1] != '/') {
        check--;
    }
    return own == NULL
               ? qn_str_from_cstr(run->directory)
               : qn_arena_format(&run->arena, "%.*s-%s", (int)(own - check), check, own + 1);
}

static struct qn_str value_of(struct qn_running *run, const struct qn_instance *instance,
                              enum qn_placeholder placeholder)
{
    const char *host = run->options->endpoint_host;
    const char *url = "";

    switch (placeholder) {
    case QN_PLACEHOLDER_QUEUE_URL:
        url = run->queue_url;
        break;
    case QN_PLACEHOLDER_DLQ_URL:
        url = run->dlq_url;
        break;
    case QN_PLACEHOLDER_OUTPUT_QUEUE_URL:
        url = run->output_queue_url;
        break;
    case QN_PLACEHOLDER_RETRY_QUEUE_URL:
        url = run->retry_queue_url;
        break;
    case QN_PLACEHOLDER_ENDPOINT:
        url = run->server.endpoint;
        break;
    case QN_PLACEHOLDER_QUEUE_NAME:
        return run->queue_name;
    case QN_PLACEHOLDER_HOST:
        return qn_str_from_cstr(host != NULL ? host : HERE);
    case QN_PLACEHOLDER_PORT:
        return qn_arena_format(&run->arena, "%d", port_of(run, instance));
    case QN_PLACEHOLDER_SINK:
        return qn_running_sink_url(run);
    case QN_PLACEHOLDER_INSTANCE:
        return qn_arena_format(&run->arena, "%d", instance->number);
    case QN_PLACEHOLDER_SCENARIO:
        return run->scenario->id;
    case QN_PLACEHOLDER_RUN:
        return name_of_run(run);
    case QN_PLACEHOLDER_ENV_FILE:
        return qn_arena_format(&run->arena, "%s/instance-%d.env", run->directory, instance->number);
    case QN_PLACEHOLDER_COUNT:
        return QN_STR("");
    }
    return seen_from_there(run, instance, url != NULL ? url : "");
}

/* Fills in {name}; braces around anything else stay. The text lies in the run's arena and ends in
 * NUL. */
const char *qn_instance_fill_in(struct qn_running *run, const struct qn_instance *instance,
                                const char *text)
{
    struct qn_str rest = qn_str_from_cstr(text);
    enum qn_placeholder placeholder;
    struct qn_buf filled;
    size_t from;
    size_t len;

    qn_buf_init(&filled, SIZE_MAX / 2);
    while ((placeholder = qn_placeholder_next(rest, &from, &len)) != QN_PLACEHOLDER_COUNT) {
        qn_buf_append_str(&filled, qn_str_first(rest, from));
        qn_buf_append_str(&filled, value_of(run, instance, placeholder));
        rest = qn_str_from(rest, from + len);
    }
    qn_buf_append_str(&filled, rest);
    const char *copy = qn_arena_copy(&run->arena, qn_buf_str(&filled)).ptr;
    qn_buf_done(&filled);
    return copy;
}

/* Texts with placeholders; a line ends up as one variable. */
static const char *const variables[] = {
    "AWS_ENDPOINT_URL={endpoint}",
    "AWS_ENDPOINT_URL_SQS={endpoint}",
    "AWS_REGION=us-east-1",
    "AWS_DEFAULT_REGION=us-east-1",
    "AWS_SECRET_ACCESS_KEY=quern",
    "AWS_EC2_METADATA_DISABLED=true",
    "NO_PROXY=127.0.0.1,localhost,{host}",
    "no_proxy=127.0.0.1,localhost,{host}",
    "QUERN_QUEUE_URL={queue_url}",
    "QUERN_QUEUE_NAME={queue_name}",
    "QUERN_QUEUE_ARN=arn:aws:sqs:us-east-1:000000000000:{queue_name}",
    "QUERN_DLQ_URL={dlq_url}",
    "QUERN_OUTPUT_QUEUE_URL={output_queue_url}",
    "QUERN_RETRY_QUEUE_URL={retry_queue_url}",
    "QUEUE_URL={queue_url}",
    "SQS_QUEUE_URL={queue_url}",
    "QUERN_SINK_URL={sink}",
    "QUERN_INSTANCE={instance}",
    "QUERN_SCENARIO={scenario}",
    "QUERN_RUN_ID={run}",
    "PYTHONUNBUFFERED=1",
};

void qn_instance_environment(struct qn_running *run, const struct qn_instance *instance,
                             const char **environment)
{
    struct qn_arena *arena = &run->arena;
    size_t count = 0;

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        environment[count++] = qn_instance_fill_in(run, instance, variables[i]);
    }
    environment[count++] = qn_arena_format(arena, "AWS_ACCESS_KEY_ID=%s", instance->name).ptr;
    environment[count++] =
        qn_arena_format(arena, "QUERN_SEED=%llu", (unsigned long long)run->seed).ptr;
    environment[count++] = qn_arena_format(arena, "QUERN_VISIBILITY=%lld",
                                           (long long)(run->terms.in.visibility_ms / 1000))
                               .ptr;
    environment[count++] =
        qn_arena_format(arena, "QUERN_GRACE=%lld", (long long)(run->terms.in.grace_ms / 1000)).ptr;
    if (run->options->concurrency > 0) {
        environment[count++] =
            qn_arena_format(arena, "QUERN_CONCURRENCY=%lld", (long long)run->options->concurrency)
                .ptr;
    }
    for (size_t i = 0; i < run->options->environment.count; i++) {
        environment[count++] =
            qn_instance_fill_in(run, instance, run->options->environment.items[i]);
    }
    environment[count] = NULL;
}

bool qn_instance_write_environment(struct qn_running *run, const struct qn_instance *instance,
                                   const char *const *environment, struct qn_error *err)
{
    const char *path = qn_instance_fill_in(run, instance, "{env_file}");
    FILE *file = fopen(path, "we");

    for (size_t i = 0; file != NULL && environment[i] != NULL; i++) {
        (void)fprintf(file, "%s\n", environment[i]);
    }
    if (file == NULL || fclose(file) != 0) {
        return qn_fail(err, QN_ERR_INTERNAL, "%s cannot be written", path);
    }
    return true;
}
