/* Reading and checking of a mapping. */
#include "client/lambda/mapping.h"

#include <stddef.h>
#include <stdio.h>

#define AT(member) offsetof(struct qn_lambda_mapping, member)

/* Numbers, by AWS's names. */
static const struct {
    const char *name;
    size_t at;
    int64_t min, max;
} numbers[] = {
    {"BatchSize", AT(batch_size), 1, QN_LAMBDA_BATCH_MAX},
    {"MaximumBatchingWindowInSeconds", AT(window_s), 0, QN_LAMBDA_WINDOW_MAX_S},
    {"MaximumConcurrency", AT(max_concurrency), QN_LAMBDA_CONCURRENCY_MIN,
     QN_LAMBDA_CONCURRENCY_MAX},
    {"Timeout", AT(timeout_s), 1, QN_LAMBDA_TIMEOUT_MAX_S},
    {"MemorySize", AT(memory_mib), 128, 10240},
    {"ReservedConcurrentExecutions", AT(reserved), 0, 1000000},
};
enum { NUMBER_COUNT = sizeof(numbers) / sizeof(numbers[0]) };

/* Of a mapping, and without a meaning here. */
static const char *const ignored[] = {
    "UUID",
    "EventSourceArn",
    "FunctionArn",
    "LastModified",
    "LastProcessingResult",
    "StateTransitionReason",
    "EventSourceMappingArn",
    "KMSKeyArn",
    "Tags",
    "FilterCriteriaError",
    "MetricsConfig",
    "ProvisionedPollerConfig",
    "LoggingConfig",
};

static bool refuse(struct qn_error *err, const char *name, const char *what)
{
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%.100s %s", name, what);
}

void qn_lambda_mapping_init(struct qn_lambda_mapping *mapping)
{
    *mapping = (struct qn_lambda_mapping){.batch_size = 10,
                                          .function = "function",
                                          .timeout_s = 3,
                                          .memory_mib = 128,
                                          .reserved = -1};
}

void qn_lambda_mapping_done(struct qn_lambda_mapping *mapping)
{
    qn_lambda_filters_done(&mapping->filters);
    json_decref(mapping->queue);
    json_decref(mapping->dead_letter_queue);
    mapping->queue = NULL;
    mapping->dead_letter_queue = NULL;
}

static bool refuse_unknown(struct qn_error *err, const char *name)
{
    return refuse(err, name,
                  strcmp(name, "EventSourceMappings") == 0
                      ? "is a list of mappings; the file takes one of them"
                      : "is no setting of an event source mapping that is known here");
}

static size_t find_number(const char *name)
{
    size_t i = 0;

    while (i < NUMBER_COUNT && strcmp(numbers[i].name, name) != 0) {
        i++;
    }
    return i;
}

bool qn_lambda_mapping_set(struct qn_lambda_mapping *mapping, const char *name, int64_t value,
                           struct qn_error *err)
{
    size_t i = find_number(name);

    if (i == NUMBER_COUNT) {
        return refuse_unknown(err, name);
    }
    if (value < numbers[i].min || value > numbers[i].max) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "%s takes a whole number from %lld to %lld, not %lld", name,
                       (long long)numbers[i].min, (long long)numbers[i].max, (long long)value);
    }
    *(int64_t *)(void *)((char *)mapping + numbers[i].at) = value;
    return true;
}

static bool read_number(struct qn_lambda_mapping *mapping, const char *name, const json_t *value,
                        struct qn_error *err)
{
    if (json_is_null(value)) {
        return true;
    }
    if (find_number(name) == NUMBER_COUNT) {
        return refuse_unknown(err, name);
    }
    if (!json_is_integer(value)) {
        return refuse(err, name, "takes a whole number");
    }
    return qn_lambda_mapping_set(mapping, name, json_integer_value(value), err);
}

static bool read_types(struct qn_lambda_mapping *mapping, const json_t *types, struct qn_error *err)
{
    size_t i;
    json_t *type;

    mapping->reports = false;
    if (!json_is_array(types) && !json_is_null(types)) {
        return refuse(err, "FunctionResponseTypes", "takes a list");
    }
    json_array_foreach(types, i, type)
    {
        if (!json_is_string(type) ||
            strcmp(json_string_value(type), "ReportBatchItemFailures") != 0) {
            return refuse(err, "FunctionResponseTypes", "may hold \"ReportBatchItemFailures\"");
        }
        mapping->reports = true;
    }
    return true;
}

static bool read_name(struct qn_lambda_mapping *mapping, const json_t *name, struct qn_error *err)
{
    struct qn_str text = qn_str(json_string_value(name), json_string_length(name));

    if (!json_is_string(name)) {
        return refuse(err, "FunctionName", "takes a text");
    }
    /* An ARN, arn:aws:lambda:REGION:ACCOUNT:function:NAME, stands for its name. */
    for (int i = 0; i < 6 && qn_str_starts_with(text, QN_STR("arn:")); i++) {
        struct qn_str rest = text;
        for (int part = 0; part < 6; part++) {
            (void)qn_str_cut(rest, ':', &rest);
        }
        text = rest;
    }
    if (text.len == 0 || text.len >= sizeof(mapping->function)) {
        return refuse(err, "FunctionName", "takes a name of 1 to 140 characters");
    }
    (void)snprintf(mapping->function, sizeof(mapping->function), "%.*s", QN_STR_ARG(text));
    return true;
}

static bool read_function(struct qn_lambda_mapping *mapping, const json_t *function,
                          struct qn_error *err)
{
    static const char *const known[] = {"Timeout", "MemorySize", "ReservedConcurrentExecutions"};
    const json_t *name = json_object_get(function, "FunctionName");

    if (!json_is_object(function)) {
        return refuse(err, "Function", "takes an object, such as {\"Timeout\": 30}");
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const json_t *value = json_object_get(function, known[i]);
        if (value != NULL && !read_number(mapping, known[i], value, err)) {
            return false;
        }
    }
    return name == NULL || read_name(mapping, name, err);
}

static bool read_scaling(struct qn_lambda_mapping *mapping, const json_t *scaling,
                         struct qn_error *err)
{
    const json_t *value = json_object_get(scaling, "MaximumConcurrency");

    if (!json_is_object(scaling) && !json_is_null(scaling)) {
        return refuse(err, "ScalingConfig", "takes an object, such as {\"MaximumConcurrency\": 5}");
    }
    return value == NULL || read_number(mapping, "MaximumConcurrency", value, err);
}

/* Of what GetQueueAttributes prints, or what stands in it. */
static bool read_queue(json_t **ret_attributes, const char *name, const json_t *queue,
                       struct qn_error *err)
{
    json_t *attributes = json_object_get(queue, "Attributes");

    if (!json_is_object(queue)) {
        return refuse(err, name, "takes an object, such as {\"VisibilityTimeout\": \"180\"}");
    }
    json_decref(*ret_attributes);
    *ret_attributes = json_deep_copy(attributes != NULL ? attributes : queue);
    return true;
}

/* Lambda does not poll for a mapping that is switched off. */
static bool check_state(const json_t *state, struct qn_error *err)
{
    static const char *const off[] = {"Disabled", "Disabling", "Deleting"};
    const char *text = json_string_value(state);

    for (size_t i = 0; text != NULL && i < sizeof(off) / sizeof(off[0]); i++) {
        if (strcmp(text, off[i]) == 0) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                           "State is %s: the mapping is switched off; leave State out to have its "
                           "queue polled here",
                           off[i]);
        }
    }
    return true;
}

static bool check_enabled(const json_t *enabled, struct qn_error *err)
{
    return !json_is_false(enabled) ||
           refuse(err, "Enabled",
                  "is false: the mapping is switched off; leave it out to have "
                  "its queue polled here");
}

static bool is_ignored(const char *name)
{
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
        if (strcmp(ignored[i], name) == 0) {
            return true;
        }
    }
    return false;
}

bool qn_lambda_mapping_read(struct qn_lambda_mapping *mapping, const json_t *document,
                            struct qn_error *err)
{
    const char *name;
    json_t *value;

    if (!json_is_object(document)) {
        return refuse(err, "an event source mapping", "is an object");
    }
    json_object_foreach((json_t *)(uintptr_t)document, name, value)
    {
        bool ok = is_ignored(name);
        if (strcmp(name, "FilterCriteria") == 0) {
            qn_lambda_filters_done(&mapping->filters);
            ok = qn_lambda_filters_read(&mapping->filters, value, err);
        } else if (strcmp(name, "FunctionResponseTypes") == 0) {
            ok = read_types(mapping, value, err);
        } else if (strcmp(name, "ScalingConfig") == 0) {
            ok = read_scaling(mapping, value, err);
        } else if (strcmp(name, "FunctionName") == 0) {
            ok = read_name(mapping, value, err);
        } else if (strcmp(name, "Function") == 0) {
            ok = read_function(mapping, value, err);
        } else if (strcmp(name, "Queue") == 0) {
            ok = read_queue(&mapping->queue, name, value, err);
        } else if (strcmp(name, "DeadLetterQueue") == 0) {
            ok = read_queue(&mapping->dead_letter_queue, name, value, err);
        } else if (strcmp(name, "State") == 0) {
            ok = check_state(value, err);
        } else if (strcmp(name, "Enabled") == 0) {
            ok = check_enabled(value, err);
        } else if (!ok) {
            ok = read_number(mapping, name, value, err);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

/* ---- the queue ---- */

static int64_t number_of(const json_t *attributes, const char *name)
{
    struct qn_str text = qn_str(json_string_value(json_object_get(attributes, name)),
                                json_string_length(json_object_get(attributes, name)));
    int64_t value;

    return qn_str_to_int64(text, 0, INT64_MAX, &value) ? value : 0;
}

static void read_redrive(struct qn_lambda_queue *queue, const json_t *attributes)
{
    const char *text = json_string_value(json_object_get(attributes, "RedrivePolicy"));
    json_t *policy = text != NULL ? json_loads(text, 0, NULL) : NULL;
    const json_t *count = json_object_get(policy, "maxReceiveCount");
    const char *target = json_string_value(json_object_get(policy, "deadLetterTargetArn"));

    queue->max_receive_count =
        json_is_string(count) ? number_of(policy, "maxReceiveCount") : json_integer_value(count);
    (void)snprintf(queue->dead_letter_arn, sizeof(queue->dead_letter_arn), "%s",
                   target != NULL ? target : "");
    json_decref(policy);
}

void qn_lambda_queue_read(struct qn_lambda_queue *queue, const json_t *attributes)
{
    const char *arn = json_string_value(json_object_get(attributes, "QueueArn"));
    struct qn_str rest = qn_str_from_cstr(arn != NULL ? arn : "");
    struct qn_str region = QN_STR("");

    *queue =
        (struct qn_lambda_queue){.visibility_s = number_of(attributes, "VisibilityTimeout"),
                                 .retention_s = number_of(attributes, "MessageRetentionPeriod")};
    (void)snprintf(queue->arn, sizeof(queue->arn), "%.*s", QN_STR_ARG(rest));
    queue->is_fifo = qn_str_ends_with(rest, QN_STR(".fifo"));
    for (int part = 0; part < 4; part++) {
        region = qn_str_cut(rest, ':', &rest);
    }
    (void)snprintf(queue->region, sizeof(queue->region), "%.*s", QN_STR_ARG(region));
    read_redrive(queue, attributes);
}

bool qn_lambda_mapping_check(const struct qn_lambda_mapping *mapping,
                             const struct qn_lambda_queue *queue, struct qn_error *err)
{
    if (queue->is_fifo && mapping->batch_size > QN_LAMBDA_FIFO_BATCH_MAX) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "BatchSize must be at most 10 for a FIFO queue, not %lld",
                       (long long)mapping->batch_size);
    }
    if (queue->is_fifo && mapping->window_s > 0) {
        return refuse(err, "Batching window", "is not supported for FIFO queues");
    }
    if (mapping->batch_size > 10 && mapping->window_s == 0) {
        return refuse(err, "Maximum batch window in seconds",
                      "must be greater than 0 if maximum batch size is greater than 10");
    }
    if (mapping->timeout_s > queue->visibility_s) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "Queue visibility timeout: %lld seconds is less than Function timeout: %lld "
                       "seconds",
                       (long long)queue->visibility_s, (long long)mapping->timeout_s);
    }
    return true;
}
