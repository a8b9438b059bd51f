/* Partial batch responses, with every way in which they can be wrong. */
#include "client/lambda/response.h"

#include <stdio.h>
#include <string.h>

#include "client/json_text.h"
#include "server/base/memory.h"

struct reading {
    const char *const *ids;
    size_t count;
    bool *failed;
    struct qn_lambda_response *response;
};

static void QN_PRINTF(2, 3) fail_all(struct reading *reading, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    (void)vsnprintf(reading->response->why, sizeof(reading->response->why), format, values);
    va_end(values);
    reading->response->result = QN_LAMBDA_ALL_FAILED;
    reading->response->failed_count = reading->count;
    memset(reading->failed, 1, reading->count * sizeof(*reading->failed));
}

static bool mark(struct reading *reading, struct qn_str id)
{
    for (size_t i = 0; i < reading->count; i++) {
        if (qn_str_equal(qn_str_from_cstr(reading->ids[i]), id)) {
            reading->response->failed_count += reading->failed[i] ? 0 : 1;
            reading->failed[i] = true;
            return true;
        }
    }
    return false;
}

static bool read_item(struct reading *reading, const json_t *item)
{
    const json_t *id = json_object_get(item, "itemIdentifier");

    if (!json_is_object(item)) {
        fail_all(reading, "an entry of batchItemFailures is no object");
    } else if (id == NULL) {
        fail_all(reading, "an entry of batchItemFailures has no itemIdentifier");
    } else if (json_is_null(id)) {
        fail_all(reading, "an itemIdentifier is null");
    } else if (!json_is_string(id)) {
        fail_all(reading, "an itemIdentifier is no text");
    } else if (json_string_length(id) == 0) {
        fail_all(reading, "an itemIdentifier is empty");
    } else if (!mark(reading, qn_str(json_string_value(id), json_string_length(id)))) {
        reading->response->has_wrong_id = true;
        fail_all(reading, "the itemIdentifier \"%.100s\" is not in the batch",
                 json_string_value(id));
    } else {
        return true;
    }
    return false;
}

static void read_list(struct reading *reading, const json_t *list)
{
    size_t i;
    json_t *item;

    if (list == NULL || json_is_null(list)) {
        return;
    }
    if (!json_is_array(list)) {
        fail_all(reading, "batchItemFailures is no list");
        return;
    }
    json_array_foreach(list, i, item)
    {
        if (!read_item(reading, item)) {
            return;
        }
    }
    if (reading->response->failed_count > 0) {
        reading->response->result = reading->response->failed_count < reading->count
                                        ? QN_LAMBDA_SOME_FAILED
                                        : QN_LAMBDA_ALL_FAILED;
    }
}

static bool is_like_null(const json_t *answer)
{
    return json_is_null(answer) || (json_is_string(answer) && json_string_length(answer) == 0) ||
           (json_is_array(answer) && json_array_size(answer) == 0);
}

void qn_lambda_response_read(struct qn_str answer, bool reports, const char *const *ids,
                             size_t count, bool *failed, struct qn_lambda_response *ret_response)
{
    struct reading reading = {ids, count, failed, ret_response};

    memset(failed, 0, count * sizeof(*failed));
    *ret_response = (struct qn_lambda_response){.result = QN_LAMBDA_ALL_DONE};
    if (!reports || answer.len == 0) {
        return;
    }
    json_error_t mistake;
    json_t *value = quern_json_text_read(answer, JSON_DECODE_ANY, &mistake);
    if (value == NULL) {
        fail_all(&reading, quern_json_text_is_too_deep(&mistake)
                               ? "the answer is nested too deeply to be read"
                               : "the answer is no JSON");
    } else if (json_is_object(value)) {
        read_list(&reading, json_object_get(value, "batchItemFailures"));
    } else if (!is_like_null(value)) {
        fail_all(&reading, "the answer is no object");
    }
    json_decref(value);
}
