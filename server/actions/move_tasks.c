/* What the three actions on message move tasks share. */
#include "server/actions/move_tasks.h"

#include "server/base/digest.h"
#include "server/base/json.h"

bool qn_resolve_arn(struct qn_tx *tx, struct qn_str arn, const char *parameter,
                    struct qn_queue **ret_queue, struct qn_error *err)
{
    struct qn_queue *queue = NULL;

    if (!qn_engine_find_arn(tx->engine, arn, &queue)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "You must use this format to specify the %s: "
                       "arn:aws:sqs:region-id:account-id:queue-name",
                       parameter);
    }
    if (queue == NULL) {
        return qn_fail(err, QN_ERR_RESOURCE_NOT_FOUND,
                       "The resource that you specified for the %s parameter doesn't exist.",
                       parameter);
    }
    *ret_queue = queue;
    return true;
}

bool qn_is_dead_letter_queue(struct qn_tx *tx, const struct qn_queue *queue)
{
    struct qn_str after = QN_STR_NONE;

    for (struct qn_queue *other;
         (other = qn_engine_next_queue(tx->engine, qn_queue_account(queue), qn_queue_region(queue),
                                       after)) != NULL;
         after = qn_queue_name(other)) {
        if (qn_queue_redrives_to(other, queue)) {
            return true;
        }
    }
    return false;
}

struct qn_str qn_task_handle(struct qn_tx *tx, const uint8_t id[16], struct qn_str source_arn)
{
    struct qn_str text = qn_uuid_text(tx, id);

    return qn_digest_base64(
        tx->arena, qn_arena_format(tx->arena, "{\"taskId\":\"%.*s\",\"sourceArn\":\"%.*s\"}",
                                   QN_STR_ARG(text), QN_STR_ARG(source_arn)));
}

bool qn_task_handle_read(struct qn_tx *tx, struct qn_str handle, uint8_t ret_id[16],
                         struct qn_str *ret_source_arn)
{
    struct qn_str text;
    struct qn_str name;
    struct qn_str id = QN_STR_NONE;
    struct qn_str arn = QN_STR_NONE;
    struct qn_json json;

    if (!qn_digest_decode_base64(tx->arena, handle, &text)) {
        return false;
    }
    qn_json_init(&json, text, tx->arena);
    if (!qn_json_open_object(&json)) {
        return false;
    }
    while (qn_json_next_member(&json, &name)) {
        bool ok = qn_str_equal(name, QN_STR("taskId"))      ? qn_json_string(&json, &id)
                  : qn_str_equal(name, QN_STR("sourceArn")) ? qn_json_string(&json, &arn)
                                                            : qn_json_skip(&json);
        if (!ok) {
            return false;
        }
    }
    if (!qn_json_finish(&json) || qn_str_is_none(arn) || !qn_random_parse_uuid(id, ret_id)) {
        return false;
    }
    *ret_source_arn = arn;
    return true;
}
