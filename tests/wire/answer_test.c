/* What stands around outputs and errors in each protocol. */
#include "server/actions/actions.h"
#include "tests/wire/sample.h"

#define ID "11111111-2222-4333-8444-555555555555"
#define XML "<?xml version=\"1.0\"?>"
#define NAMESPACE " xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\""

static struct qn_request request;
static struct qn_buf buf;
static struct sample sample;

static const struct qn_action action = {
    .name = "GetSample", .input = &qn_empty_shape, .output = &sample_shape};
static const struct qn_action silent_action = {
    .name = "DoSample", .input = &qn_empty_shape, .output = &qn_empty_shape};

static void open_buf(void)
{
    qn_buf_init(&buf, 1 << 16);
    memcpy(request.request_id, ID, sizeof(ID));
    request.output = &sample;
}

static void close_buf(void)
{
    qn_buf_done(&buf);
}

static struct qn_str output(enum qn_protocol protocol, const struct qn_action *of)
{
    request.protocol = protocol;
    request.action = of;
    qn_buf_clear(&buf);
    qn_wire_encode_output(&request, &buf);
    return qn_buf_str(&buf);
}

static struct qn_str error(enum qn_protocol protocol, enum qn_error_code code, const char *message)
{
    struct qn_error err;

    if (qn_fail(&err, code, "%s", message)) {
        cr_assert_fail();
    }
    request.protocol = protocol;
    qn_buf_clear(&buf);
    qn_wire_encode_error(&request, &err, &buf);
    return qn_buf_str(&buf);
}

TestSuite(answer, .init = open_buf, .fini = close_buf);

Test(answer, an_output_in_each_protocol)
{
    sample.body = QN_STR("b");
    expect_text(output(QN_PROTOCOL_JSON, &action), "{\"MessageBody\":\"b\"}");
    expect_text(output(QN_PROTOCOL_QUERY, &action),
                XML "<GetSampleResponse" NAMESPACE "><GetSampleResult><MessageBody>b</MessageBody>"
                    "</GetSampleResult><ResponseMetadata><RequestId>" ID "</RequestId>"
                    "</ResponseMetadata></GetSampleResponse>");
    expect_text(output(QN_PROTOCOL_QUERY_JSON, &action),
                "{\"GetSampleResponse\":{\"GetSampleResult\":{\"MessageBody\":\"b\"},"
                "\"ResponseMetadata\":{\"RequestId\":\"" ID "\"}}}");
}

Test(answer, RCV_7_an_output_without_content_in_each_protocol)
{
    expect_text(output(QN_PROTOCOL_JSON, &action), "{}");
    expect_text(output(QN_PROTOCOL_QUERY, &action),
                XML "<GetSampleResponse" NAMESPACE "><GetSampleResult/><ResponseMetadata>"
                    "<RequestId>" ID "</RequestId></ResponseMetadata></GetSampleResponse>");
    expect_text(output(QN_PROTOCOL_QUERY_JSON, &action),
                "{\"GetSampleResponse\":{\"GetSampleResult\":{},\"ResponseMetadata\":"
                "{\"RequestId\":\"" ID "\"}}}");
}

Test(answer, an_action_without_output_in_each_protocol)
{
    expect_text(output(QN_PROTOCOL_JSON, &silent_action), "");
    expect_text(output(QN_PROTOCOL_QUERY, &silent_action),
                XML "<DoSampleResponse" NAMESPACE "><ResponseMetadata><RequestId>" ID
                    "</RequestId></ResponseMetadata></DoSampleResponse>");
    expect_text(output(QN_PROTOCOL_QUERY_JSON, &silent_action),
                "{\"DoSampleResponse\":{\"DoSampleResult\":null,\"ResponseMetadata\":"
                "{\"RequestId\":\"" ID "\"}}}");
}

Test(answer, an_answer_that_does_not_fit_its_buffer_says_so)
{
    struct qn_buf small;

    request.action = &action;
    request.protocol = QN_PROTOCOL_QUERY;
    for (size_t max = 0; max < 200; max++) {
        qn_buf_init(&small, max);
        qn_wire_encode_output(&request, &small);
        cr_expect(small.overflow && small.len <= max);
        qn_buf_done(&small);
    }
}

Test(answer, a_missing_queue_has_another_text_in_the_query_protocol)
{
    const char *text = "The specified queue does not exist.";

    expect_text(error(QN_PROTOCOL_JSON, QN_ERR_QUEUE_DOES_NOT_EXIST, text),
                "{\"__type\":\"com.amazonaws.sqs#QueueDoesNotExist\",\"message\":\"The specified "
                "queue does not exist.\"}");
    expect_text(error(QN_PROTOCOL_QUERY, QN_ERR_QUEUE_DOES_NOT_EXIST, text),
                XML "<ErrorResponse" NAMESPACE "><Error><Type>Sender</Type><Code>AWS."
                    "SimpleQueueService.NonExistentQueue</Code><Message>The specified queue does "
                    "not exist for this wsdl version.</Message><Detail/></Error><RequestId>" ID
                    "</RequestId></ErrorResponse>");
    expect_text(error(QN_PROTOCOL_QUERY_JSON, QN_ERR_QUEUE_DOES_NOT_EXIST, text),
                "{\"Error\":{\"Type\":\"Sender\",\"Code\":\"AWS.SimpleQueueService."
                "NonExistentQueue\",\"Message\":\"The specified queue does not exist for this wsdl "
                "version.\",\"Detail\":null},\"RequestId\":\"" ID "\"}");
}

Test(answer, an_error_of_the_server_is_the_receivers_fault)
{
    struct qn_str body = error(QN_PROTOCOL_QUERY, QN_ERR_SERVICE_UNAVAILABLE, "full");

    cr_expect(qn_str_find(body, QN_STR("<Type>Receiver</Type>")) < body.len);
}

Test(answer, an_error_text_never_breaks_its_document)
{
    struct qn_str body =
        error(QN_PROTOCOL_QUERY, QN_ERR_INVALID_PARAMETER_VALUE, "a\x01<\"&\r\xFF>");

    cr_expect(qn_str_find(body, QN_STR("<Message>a\xEF\xBF\xBD&lt;&quot;&amp;&#xD;\xEF\xBF\xBD&gt;"
                                       "</Message>")) < body.len);
    expect_text(error(QN_PROTOCOL_JSON, QN_ERR_SERIALIZATION, "a\"\\\x01\xFF"),
                "{\"__type\":\"com.amazon.coral.service#SerializationException\",\"message\":"
                "\"a\\\"\\\\\\u0001?\"}");
}

Test(answer, an_error_without_a_text_has_no_message_in_json)
{
    expect_text(error(QN_PROTOCOL_JSON, QN_ERR_OVER_LIMIT, ""),
                "{\"__type\":\"com.amazonaws.sqs#OverLimit\"}");
}

Test(answer, each_protocol_has_its_content_type)
{
    request.protocol = QN_PROTOCOL_JSON;
    cr_expect_str_eq(qn_wire_content_type(&request), "application/x-amz-json-1.0");
    request.protocol = QN_PROTOCOL_QUERY;
    cr_expect_str_eq(qn_wire_content_type(&request), "text/xml");
    request.protocol = QN_PROTOCOL_QUERY_JSON;
    cr_expect_str_eq(qn_wire_content_type(&request), "application/json");
}
