/* The attributes that hold JSON: RedrivePolicy, RedriveAllowPolicy and Policy. */
#include "server/actions/queue_attributes.h"

#include <jansson.h>

static bool refuse_redrive(struct qn_error *err, struct qn_str value, const char *parameter,
                           const char *reason)
{
    return qn_fail_value(err, value, parameter, reason);
}

/* The count as a number or a numeric text (RP-1). */
static bool read_count(const json_t *value, int64_t *ret_count, struct qn_str *ret_shown,
                       struct qn_tx *tx)
{
    if (json_is_integer(value)) {
        *ret_count = json_integer_value(value);
        *ret_shown = qn_arena_format(tx->arena, "%lld", (long long)*ret_count);
        return *ret_count >= 1 && *ret_count <= QN_MAX_RECEIVE_COUNT_MAX;
    }
    if (json_is_string(value)) {
        struct qn_str text = qn_str(json_string_value(value), json_string_length(value));
        *ret_shown = qn_arena_copy(tx->arena, text);
        return qn_str_to_int64(text, 1, QN_MAX_RECEIVE_COUNT_MAX, ret_count);
    }
    *ret_shown = QN_STR("null");
    return false;
}

/* With one region for all, ARNs of every region name the same queue: partition and region do not
 * count. */
static bool is_same_arn(const struct qn_tx *tx, struct qn_str a, struct qn_str b)
{
    enum { PARTITION = 1, REGION = 3, PARTS = 6 };

    if (!qn_engine_options_of(tx->engine)->one_region) {
        return qn_str_equal(a, b);
    }
    for (int i = 0; i < PARTS; i++) {
        struct qn_str part_of_a = qn_str_cut(a, ':', &a);
        struct qn_str part_of_b = qn_str_cut(b, ':', &b);
        if (i != PARTITION && i != REGION && !qn_str_equal(part_of_a, part_of_b)) {
            return false;
        }
    }
    return true;
}

static bool may_redrive(const struct qn_tx *tx, const struct qn_queue *target,
                        struct qn_str source_arn)
{
    const struct qn_queue_settings *settings = qn_queue_settings_of(target);

    if (settings->redrive_permission != QN_REDRIVE_BY_QUEUE) {
        return settings->redrive_permission == QN_REDRIVE_ALLOW_ALL;
    }
    for (size_t i = 0; i < settings->redrive_source_count; i++) {
        if (is_same_arn(tx, qn_str_from_cstr(settings->redrive_source_arns[i]), source_arn)) {
            return true;
        }
    }
    return false;
}

static bool check_target(struct qn_tx *tx, const struct qn_attribute_change *change,
                         struct qn_str value, struct qn_str arn,
                         const struct qn_queue_settings *settings, struct qn_error *err)
{
    struct qn_queue *target = NULL;
    struct qn_str region = qn_engine_options_of(tx->engine)->one_region
                               ? qn_engine_options_of(tx->engine)->region
                               : tx->caller->region;

    if (!qn_engine_find_arn(tx->engine, arn, &target) || target == NULL ||
        !qn_str_equal(qn_queue_account(target), change->account) ||
        !qn_str_equal(qn_queue_region(target), region)) {
        return refuse_redrive(err, value, "RedrivePolicy", "Dead letter target does not exist.");
    }
    if (qn_queue_is_fifo(target) != settings->is_fifo) {
        return refuse_redrive(err, value, "RedrivePolicy",
                              "Dead-letter queue must be same type of queue as the source.");
    }
    if (qn_str_equal(qn_queue_name(target), change->name)) {
        return refuse_redrive(err, value, "RedrivePolicy",
                              "A queue cannot be its own dead-letter queue.");
    }
    struct qn_str target_arn = qn_queue_arn(target);
    struct qn_str own_arn =
        qn_arena_format(tx->arena, "%.*s%.*s", (int)(target_arn.len - qn_queue_name(target).len),
                        target_arn.ptr, QN_STR_ARG(change->name));
    if (!may_redrive(tx, target, own_arn)) {
        return refuse_redrive(err, value, "RedrivePolicy",
                              "The dead-letter queue's RedriveAllowPolicy does not permit this "
                              "source queue.");
    }
    return true;
}

/* Members are there and nothing else is; fills the count. */
static bool read_redrive(struct qn_tx *tx, struct qn_str value, const json_t *policy,
                         int64_t *ret_count, struct qn_error *err)
{
    const json_t *arn = json_object_get(policy, "deadLetterTargetArn");
    const json_t *count = json_object_get(policy, "maxReceiveCount");
    struct qn_str shown;

    if (arn == NULL || !json_is_string(arn)) {
        return refuse_redrive(
            err, value, "RedrivePolicy",
            "Redrive policy does not contain mandatory attribute: deadLetterTargetArn.");
    }
    if (count == NULL) {
        return refuse_redrive(
            err, value, "RedrivePolicy",
            "Redrive policy does not contain mandatory attribute: maxReceiveCount.");
    }
    if (json_object_size(policy) > 2) {
        return refuse_redrive(err, value, "RedrivePolicy",
                              "Redrive policy contains an unknown attribute.");
    }
    if (!read_count(count, ret_count, &shown, tx)) {
        return qn_fail(
            err, QN_ERR_INVALID_PARAMETER_VALUE,
            "Value %.*s for parameter RedrivePolicy is invalid. Reason: Invalid value for "
            "maxReceiveCount: %.*s, valid values are from 1 to 1000 both inclusive.",
            QN_STR_ARG(qn_str_first(value, 1024)), QN_STR_ARG(qn_str_first(shown, 64)));
    }
    return true;
}

bool qn_redrive_policy_apply(struct qn_tx *tx, const struct qn_attribute_change *change,
                             struct qn_str value, struct qn_queue_settings *settings,
                             struct qn_error *err)
{
    int64_t count = 0;
    bool ok = false;

    if (value.len == 0) {
        qn_queue_settings_set_text(&settings->redrive_policy, QN_STR_NONE);
        qn_queue_settings_set_text(&settings->dead_letter_target_arn, QN_STR_NONE);
        settings->max_receive_count = 0;
        return true;
    }
    json_t *policy = json_loadb(value.ptr, value.len, 0, NULL);
    if (!json_is_object(policy)) {
        (void)refuse_redrive(err, value, "RedrivePolicy",
                             "Redrive policy is not a valid JSON map.");
        goto out;
    }
    if (!read_redrive(tx, value, policy, &count, err)) {
        goto out;
    }
    const json_t *target = json_object_get(policy, "deadLetterTargetArn");
    struct qn_str arn = qn_str(json_string_value(target), json_string_length(target));
    if (!check_target(tx, change, value, arn, settings, err)) {
        goto out;
    }
    qn_queue_settings_set_text(&settings->dead_letter_target_arn, arn);
    settings->max_receive_count = count;
    qn_queue_settings_set_text(&settings->redrive_policy,
                               qn_arena_format(tx->arena,
                                               "{\"deadLetterTargetArn\":\"%.*s\","
                                               "\"maxReceiveCount\":%lld}",
                                               QN_STR_ARG(arn), (long long)count));
    ok = true;

out:
    json_decref(policy);
    return ok;
}

static bool refuse_allow(struct qn_error *err, struct qn_str value, const char *reason)
{
    return qn_fail_value(err, value, "RedriveAllowPolicy", reason);
}

static bool read_sources(struct qn_str value, const json_t *sources,
                         struct qn_str arns[QN_SOURCE_ARNS_MAX], size_t *ret_count,
                         struct qn_error *err)
{
    size_t i;
    json_t *item;

    if (!json_is_array(sources) || json_array_size(sources) < 1 ||
        json_array_size(sources) > QN_SOURCE_ARNS_MAX) {
        return refuse_allow(err, value,
                            "sourceQueueArns must be a list of 1 to 10 queue ARNs with byQueue.");
    }
    json_array_foreach(sources, i, item)
    {
        struct qn_str arn = json_is_string(item)
                                ? qn_str(json_string_value(item), json_string_length(item))
                                : QN_STR("");
        if (!qn_str_starts_with(arn, QN_STR("arn:")) ||
            qn_str_find(arn, QN_STR(":sqs:")) == arn.len) {
            return refuse_allow(err, value, "sourceQueueArns must hold queue ARNs.");
        }
        arns[i] = arn;
    }
    *ret_count = json_array_size(sources);
    return true;
}

static bool read_permission(const json_t *permission, enum qn_redrive_permission *ret_permission)
{
    static const char *const names[] = {"allowAll", "denyAll", "byQueue"};

    for (size_t i = 0; json_is_string(permission) && i < 3; i++) {
        if (strcmp(json_string_value(permission), names[i]) == 0) {
            *ret_permission = (enum qn_redrive_permission)i;
            return true;
        }
    }
    return false;
}

static bool read_allow(struct qn_str value, const json_t *policy,
                       struct qn_queue_settings *settings, struct qn_error *err)
{
    const json_t *sources = json_object_get(policy, "sourceQueueArns");
    enum qn_redrive_permission permission;
    struct qn_str arns[QN_SOURCE_ARNS_MAX];
    size_t count = 0;

    if (!read_permission(json_object_get(policy, "redrivePermission"), &permission)) {
        return refuse_allow(err, value, "redrivePermission must be allowAll, denyAll or byQueue.");
    }
    if (json_object_size(policy) > (sources == NULL ? 1U : 2U)) {
        return refuse_allow(err, value, "The policy contains an unknown attribute.");
    }
    if (permission == QN_REDRIVE_BY_QUEUE) {
        if (!read_sources(value, sources, arns, &count, err)) {
            return false;
        }
    } else if (sources != NULL) {
        return refuse_allow(err, value, "sourceQueueArns goes with byQueue only.");
    }
    settings->redrive_permission = permission;
    qn_queue_settings_set_sources(settings, arns, count);
    qn_queue_settings_set_text(&settings->redrive_allow_policy, value);
    return true;
}

bool qn_redrive_allow_policy_apply(struct qn_str value, struct qn_queue_settings *settings,
                                   struct qn_error *err)
{
    if (value.len == 0) {
        settings->redrive_permission = QN_REDRIVE_ALLOW_ALL;
        qn_queue_settings_set_sources(settings, NULL, 0);
        qn_queue_settings_set_text(&settings->redrive_allow_policy, QN_STR_NONE);
        return true;
    }
    json_t *policy = json_loadb(value.ptr, value.len, 0, NULL);
    bool ok = json_is_object(policy)
                  ? read_allow(value, policy, settings, err)
                  : refuse_allow(err, value, "Redrive allow policy is not a valid JSON map.");
    json_decref(policy);
    return ok;
}

/* A principal is there: a text, or an object of texts or lists. Counts what it names. */
static bool count_principals(const json_t *principal, size_t *count)
{
    const char *key;
    json_t *item;

    if (json_is_string(principal)) {
        (*count)++;
        return true;
    }
    if (!json_is_object(principal) || json_object_size(principal) == 0) {
        return false;
    }
    json_object_foreach((json_t *)(uintptr_t)principal, key, item)
    {
        *count += json_is_array(item) ? json_array_size(item) : 1;
    }
    return true;
}

static bool is_statement(const json_t *statement, size_t *principals)
{
    const char *effect = json_string_value(json_object_get(statement, "Effect"));
    const json_t *action = json_object_get(statement, "Action");
    const json_t *principal = json_object_get(statement, "Principal");

    if (action == NULL) {
        action = json_object_get(statement, "NotAction");
    }
    if (principal == NULL) {
        principal = json_object_get(statement, "NotPrincipal");
    }
    size_t actions = json_is_array(action) ? json_array_size(action) : 1;
    return json_is_object(statement) && effect != NULL &&
           (strcmp(effect, "Allow") == 0 || strcmp(effect, "Deny") == 0) &&
           (json_is_string(action) || json_is_array(action)) && actions >= 1 &&
           actions <= QN_POLICY_ACTIONS_MAX && count_principals(principal, principals) &&
           json_object_size(json_object_get(statement, "Condition")) <= QN_POLICY_CONDITIONS_MAX;
}

/* Form and quotas only; who may do what is not judged (7.8). */
static bool is_policy(const json_t *policy)
{
    const json_t *statements = json_object_get(policy, "Statement");
    size_t principals = 0;
    size_t i;
    json_t *statement;

    if (!json_is_object(policy)) {
        return false;
    }
    if (json_is_object(statements)) {
        return is_statement(statements, &principals) && principals <= QN_POLICY_PRINCIPALS_MAX;
    }
    if (!json_is_array(statements) || json_array_size(statements) < 1 ||
        json_array_size(statements) > QN_POLICY_STATEMENTS_MAX) {
        return false;
    }
    json_array_foreach(statements, i, statement)
    {
        if (!is_statement(statement, &principals)) {
            return false;
        }
    }
    return principals <= QN_POLICY_PRINCIPALS_MAX;
}

bool qn_policy_apply(struct qn_str value, struct qn_queue_settings *settings, struct qn_error *err)
{
    if (value.len == 0) {
        qn_queue_settings_set_text(&settings->policy, QN_STR_NONE);
        return true;
    }
    json_t *policy =
        value.len <= QN_POLICY_BYTES_MAX ? json_loadb(value.ptr, value.len, 0, NULL) : NULL;
    bool ok = policy != NULL && is_policy(policy);
    json_decref(policy);
    if (!ok) {
        return qn_fail(err, QN_ERR_INVALID_ATTRIBUTE_VALUE,
                       "Invalid value for the parameter Policy.");
    }
    qn_queue_settings_set_text(&settings->policy, value);
    return true;
}
