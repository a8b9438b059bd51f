#include "server/base/error.h"

#include <criterion/criterion.h>

Test(error, a_queue_error_has_the_service_namespace_and_the_query_header)
{
    const struct qn_error_info *info = qn_error_info(QN_ERR_QUEUE_DOES_NOT_EXIST);

    cr_expect_str_eq(info->json_type, "com.amazonaws.sqs#QueueDoesNotExist");
    cr_expect_str_eq(info->query_code, "AWS.SimpleQueueService.NonExistentQueue");
    cr_expect_eq(info->http_status, 400);
    cr_expect(info->sender);
    cr_expect(info->has_query_header);
}

Test(error, common_errors_have_the_framework_namespace)
{
    cr_expect_str_eq(qn_error_info(QN_ERR_INVALID_PARAMETER_VALUE)->json_type,
                     "com.amazon.coral.service#InvalidParameterValueException");
    cr_expect(qn_error_info(QN_ERR_INVALID_PARAMETER_VALUE)->has_query_header);
    cr_expect_str_eq(qn_error_info(QN_ERR_SERIALIZATION)->json_type,
                     "com.amazon.coral.service#SerializationException");
    cr_expect_not(qn_error_info(QN_ERR_SERIALIZATION)->has_query_header);
    cr_expect_not(qn_error_info(QN_ERR_INTERNAL)->sender);
    cr_expect_eq(qn_error_info(QN_ERR_SERVICE_UNAVAILABLE)->http_status, 503);
}

Test(error, every_row_is_complete)
{
    for (int code = QN_ERR_NONE + 1; code < QN_ERR_COUNT; code++) {
        const struct qn_error_info *info = qn_error_info((enum qn_error_code)code);
        cr_expect_not_null(strchr(info->json_type, '#'));
        cr_expect_neq(info->query_code[0], '\0');
        cr_expect(info->http_status >= 400 && info->http_status < 600);
        cr_expect_eq(info->sender, info->http_status < 500, "%s", info->query_code);
    }
}

Test(error, a_code_is_found_by_any_of_its_names)
{
    cr_expect_eq(qn_error_code_by_name(QN_STR("aws.simplequeueservice.nonexistentqueue")),
                 QN_ERR_QUEUE_DOES_NOT_EXIST);
    cr_expect_eq(qn_error_code_by_name(QN_STR("QueueDoesNotExist")), QN_ERR_QUEUE_DOES_NOT_EXIST);
    cr_expect_eq(qn_error_code_by_name(QN_STR("QUEUE_DOES_NOT_EXIST")),
                 QN_ERR_QUEUE_DOES_NOT_EXIST);
    cr_expect_eq(qn_error_code_by_name(QN_STR("com.amazonaws.sqs#QueueDoesNotExist")),
                 QN_ERR_QUEUE_DOES_NOT_EXIST);
    cr_expect_eq(qn_error_code_by_name(QN_STR("UnknownOperationException")),
                 QN_ERR_UNKNOWN_OPERATION);
    cr_expect_eq(qn_error_code_by_name(QN_STR("NoSuchError")), QN_ERR_NONE);
    cr_expect_eq(qn_error_code_by_name(QN_STR("")), QN_ERR_NONE);
}

Test(error, failing_says_code_and_text_in_one_statement)
{
    struct qn_error err = {0};

    cr_expect_not(qn_fail(&err, QN_ERR_OVER_LIMIT, "at most %d", 10));
    cr_expect_eq(err.code, QN_ERR_OVER_LIMIT);
    cr_expect_str_eq(err.message, "at most 10");
    cr_expect_not(qn_fail(&err, QN_ERR_INTERNAL, "wrapped: %s", err.message));
    cr_expect_str_eq(err.message, "wrapped: at most 10");
}

/* A text of `lead` letters and then three-byte characters, cut by the maximum. */
static size_t cut_length(int lead)
{
    static char text[3 * QN_ERROR_MESSAGE_MAX];
    struct qn_error err;
    size_t len = (size_t)lead;

    memset(text, 'a', len);
    while (len + 3 < sizeof(text)) {
        memcpy(text + len, "\xE6\xB3\xA8", 3);
        len += 3;
    }
    text[len] = '\0';
    cr_expect_not(qn_fail(&err, QN_ERR_INTERNAL, "%s", text));
    cr_expect(qn_str_is_utf8(qn_str_from_cstr(err.message)));
    return strlen(err.message);
}

Test(error, a_text_that_is_too_long_ends_with_a_whole_character)
{
    cr_expect_eq(cut_length(0), 1533);
    cr_expect_eq(cut_length(1), 1534);
    cr_expect_eq(cut_length(2), 1535);
    cr_expect_eq(cut_length(1535), 1535);
}
