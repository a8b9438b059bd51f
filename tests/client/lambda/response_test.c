/* Partial batch responses: what each form of an answer means for each message. */
#include <criterion/criterion.h>

#include "client/lambda/response.h"

static const char *const ids[] = {"id-0", "id-1", "id-2"};
enum { COUNT = 3 };

static bool failed[COUNT];
static struct qn_lambda_response response;

static void answer(const char *text, bool reports)
{
    qn_lambda_response_read(qn_str_from_cstr(text), reports, ids, COUNT, failed, &response);
}

Test(response, whatever_returns_has_succeeded_without_reports)
{
    static const char *const answers[] = {
        "", "no JSON", "{\"batchItemFailures\": [{\"itemIdentifier\": \"id-1\"}]}", "null", "5",
    };

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        answer(answers[i], false);
        cr_expect_eq(response.result, QN_LAMBDA_ALL_DONE, "%s", answers[i]);
        cr_expect(!failed[0] && !failed[1] && !failed[2], "%s", answers[i]);
    }
}

Test(response, nothing_listed_is_a_success_of_all)
{
    static const char *const answers[] = {
        "{\"batchItemFailures\": []}",
        "{\"batchItemFailures\": null}",
        "{}",
        "null",
        "",
        "\"\"",
        "[]",
        "{\"statusCode\": 200}",
    };

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        answer(answers[i], true);
        cr_expect_eq(response.result, QN_LAMBDA_ALL_DONE, "%s", answers[i]);
        cr_expect_eq(response.failed_count, 0, "%s", answers[i]);
    }
}

Test(response, what_is_listed_has_failed_once_each)
{
    answer(
        "{\"batchItemFailures\": [{\"itemIdentifier\": \"id-2\"}, {\"itemIdentifier\": \"id-2\"}]}",
        true);
    cr_expect_eq(response.result, QN_LAMBDA_SOME_FAILED);
    cr_expect_eq(response.failed_count, 1);
    cr_expect(!failed[0] && !failed[1] && failed[2]);
    answer(
        "{\"batchItemFailures\": [{\"itemIdentifier\": \"id-0\"}, {\"itemIdentifier\": \"id-1\"}, "
        "{\"itemIdentifier\": \"id-2\"}]}",
        true);
    cr_expect_eq(response.result, QN_LAMBDA_ALL_FAILED);
    cr_expect_str_empty(response.why);
}

Test(response, each_mistake_fails_all)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"{", "the answer is no JSON"},
        {"ok", "the answer is no JSON"},
        {"5", "the answer is no object"},
        {"\"done\"", "the answer is no object"},
        {"[\"id-1\"]", "the answer is no object"},
        {"{\"batchItemFailures\": {}}", "batchItemFailures is no list"},
        {"{\"batchItemFailures\": \"id-1\"}", "batchItemFailures is no list"},
        {"{\"batchItemFailures\": [\"id-1\"]}", "an entry of batchItemFailures is no object"},
        {"{\"batchItemFailures\": [{\"itemIdentifer\": \"id-1\"}]}",
         "an entry of batchItemFailures has no itemIdentifier"},
        {"{\"batchItemFailures\": [{\"itemIdentifier\": \"\"}]}", "an itemIdentifier is empty"},
        {"{\"batchItemFailures\": [{\"itemIdentifier\": null}]}", "an itemIdentifier is null"},
        {"{\"batchItemFailures\": [{\"itemIdentifier\": 123}]}", "an itemIdentifier is no text"},
        {"{\"batchItemFailures\": [{\"itemIdentifier\": \"id-1\"}, {\"itemIdentifier\": "
         "\"other\"}]}",
         "the itemIdentifier \"other\" is not in the batch"},
        {"{\"batchItemFailures\": [{\"itemIdentifier\": \"id-1\\u0000\"}]}",
         "the itemIdentifier \"id-1\" is not in the batch"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        answer(wrong[i].text, true);
        cr_expect_eq(response.result, QN_LAMBDA_ALL_FAILED, "%s", wrong[i].text);
        cr_expect_eq(response.failed_count, COUNT, "%s", wrong[i].text);
        cr_expect(failed[0] && failed[1] && failed[2], "%s", wrong[i].text);
        cr_expect_str_eq(response.why, wrong[i].why);
    }
}
