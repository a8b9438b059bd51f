/* What a harness hears of invocations. */
#include "client/lambda/poller.h"

enum { REPORT_TIMEOUT_MS = 10000 };

bool qn_lambda_reporter_new(const struct qn_lambda_options *options,
                            struct quern_client **ret_reporter, struct qn_error *err)
{
    const struct quern_options to = {.endpoint = options->report_url,
                                     .region = options->region,
                                     .timeout_ms = REPORT_TIMEOUT_MS};
    struct quern_error failure;

    if (options->report_url == NULL) {
        return true;
    }
    return quern_client_new(&to, ret_reporter, &failure) ||
           qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "--report-url: %s", failure.message);
}

int qn_lambda_report_take(struct quern_client *reporter, const char *what, json_t *fields)
{
    struct quern_error err;
    json_t *answer = NULL;
    int status = 0;

    if (reporter != NULL) {
        (void)json_object_set_new(fields, "what", json_string(what));
        if (quern_http_post(reporter, "/v1/lambda", fields, &answer, &err)) {
            json_decref(answer);
        } else if (err.http_status >= 400) { /* who does not listen at all is not told */
            status = err.http_status;
        }
    }
    json_decref(fields);
    return status;
}

json_t *qn_lambda_ids_of(const json_t *records)
{
    json_t *ids = json_array();
    size_t i;
    json_t *record;

    json_array_foreach(records, i, record)
    {
        (void)json_array_append(ids, json_object_get(record, "messageId"));
    }
    return ids;
}
