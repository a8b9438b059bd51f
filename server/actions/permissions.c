/* The policy document that AddPermission and RemovePermission keep. Source: SQS guide, "Amazon SQS
 * policy" pages; the form is what the service produces. */
#include "server/actions/permissions.h"

#include <jansson.h>

static json_t *load(const struct qn_queue *queue)
{
    const char *policy = qn_queue_settings_of(queue)->policy;

    return policy == NULL ? NULL : json_loads(policy, 0, NULL);
}

/* The statements as a list of the document's own; a single one becomes a list. */
static json_t *statements_of(json_t *document)
{
    json_t *statements = json_object_get(document, "Statement");

    if (json_is_object(statements)) {
        json_t *list = json_array();
        json_array_append(list, statements);
        json_object_set_new(document, "Statement", list);
        statements = list;
    }
    return statements;
}

static bool has_label(const json_t *statement, struct qn_str label)
{
    const json_t *sid = json_object_get(statement, "Sid");

    return json_is_string(sid) &&
           qn_str_equal(qn_str(json_string_value(sid), json_string_length(sid)), label);
}

static json_t *new_document(struct qn_tx *tx)
{
    struct qn_str id =
        qn_arena_format(tx->arena, "%.*s/SQSDefaultPolicy", QN_STR_ARG(qn_queue_arn(tx->queue)));

    return json_pack("{s:s, s:s%, s:[]}", "Version", "2008-10-17", "Id", id.ptr, id.len,
                     "Statement");
}

/* One is a text, several are a list. */
static json_t *one_or_list(json_t *list)
{
    if (json_array_size(list) != 1) {
        return list;
    }
    json_t *only = json_incref(json_array_get(list, 0));
    json_decref(list);
    return only;
}

static json_t *prefixed(struct qn_tx *tx, struct qn_list items, const char *before,
                        const char *after)
{
    const struct qn_str *texts = items.items;
    json_t *list = json_array();

    for (size_t i = 0; i < items.count; i++) {
        struct qn_str text =
            qn_arena_format(tx->arena, "%s%.*s%s", before, QN_STR_ARG(texts[i]), after);
        json_array_append_new(list, json_stringn(text.ptr, text.len));
    }
    return one_or_list(list);
}

static json_t *new_statement(struct qn_tx *tx, struct qn_str label, struct qn_list accounts,
                             struct qn_list actions)
{
    struct qn_str arn = qn_queue_arn(tx->queue);

    return json_pack("{s:s%, s:s, s:{s:o}, s:o, s:s%}", "Sid", label.ptr, label.len, "Effect",
                     "Allow", "Principal", "AWS", prefixed(tx, accounts, "arn:aws:iam::", ":root"),
                     "Action", prefixed(tx, actions, "SQS:", ""), "Resource", arn.ptr, arn.len);
}

static struct qn_str dump(struct qn_tx *tx, const json_t *document)
{
    size_t len = json_dumpb(document, NULL, 0, JSON_COMPACT);
    char *text = qn_arena_alloc_raw(tx->arena, len + 1);

    if (text == NULL) {
        return QN_STR_NONE;
    }
    json_dumpb(document, text, len, JSON_COMPACT);
    return qn_str(text, len);
}

static size_t count_principals(const json_t *statements)
{
    size_t count = 0;
    size_t i;
    json_t *statement;

    json_array_foreach((json_t *)(uintptr_t)statements, i, statement)
    {
        const json_t *aws = json_object_get(json_object_get(statement, "Principal"), "AWS");
        count += json_is_array(aws) ? json_array_size(aws) : 1;
    }
    return count;
}

static bool check_quotas(struct qn_str policy, const json_t *statements, struct qn_error *err)
{
    if (json_array_size(statements) > QN_POLICY_STATEMENTS_MAX) {
        return qn_fail(err, QN_ERR_OVER_LIMIT, "%zu Statements were found, maximum allowed is %d.",
                       json_array_size(statements), QN_POLICY_STATEMENTS_MAX);
    }
    if (count_principals(statements) > QN_POLICY_PRINCIPALS_MAX) {
        return qn_fail(err, QN_ERR_OVER_LIMIT, "%zu Principals were found, maximum allowed is %d.",
                       count_principals(statements), QN_POLICY_PRINCIPALS_MAX);
    }
    if (policy.len > QN_POLICY_BYTES_MAX) {
        return qn_fail(err, QN_ERR_OVER_LIMIT, "The policy has %zu bytes, maximum allowed is %d.",
                       policy.len, QN_POLICY_BYTES_MAX);
    }
    return true;
}

bool qn_policy_with_statement(struct qn_tx *tx, struct qn_str label, struct qn_list accounts,
                              struct qn_list actions, struct qn_str *ret_policy,
                              struct qn_error *err)
{
    json_t *document = load(tx->queue);
    json_t *statements;
    json_t *statement;
    size_t i;
    bool ok = false;

    if (document == NULL) {
        document = new_document(tx);
    }
    statements = statements_of(document);
    json_array_foreach(statements, i, statement)
    {
        if (has_label(statement, label)) {
            (void)qn_fail_value(err, label, "Label", "Already exists.");
            goto out;
        }
    }
    json_array_append_new(statements, new_statement(tx, label, accounts, actions));
    *ret_policy = dump(tx, document);
    ok = check_quotas(*ret_policy, statements, err);

out:
    json_decref(document);
    return ok;
}

bool qn_policy_without_statement(struct qn_tx *tx, struct qn_str label, struct qn_str *ret_policy,
                                 struct qn_error *err)
{
    json_t *document = load(tx->queue);
    json_t *statements = statements_of(document);
    json_t *statement;
    size_t i;
    bool found = false;

    json_array_foreach(statements, i, statement)
    {
        if (has_label(statement, label)) {
            json_array_remove(statements, i);
            found = true;
            break;
        }
    }
    if (found) {
        *ret_policy = json_array_size(statements) == 0 ? QN_STR_NONE : dump(tx, document);
    } else {
        (void)qn_fail_value(err, label, "Label", "can't find label.");
    }
    json_decref(document);
    return found;
}

void qn_policy_store(struct qn_tx *tx, struct qn_str policy)
{
    struct qn_queue_settings settings;

    qn_queue_settings_copy(&settings, qn_queue_settings_of(tx->queue));
    qn_queue_settings_set_text(&settings.policy, policy);
    qn_engine_change_settings(tx, tx->queue, &settings);
}
