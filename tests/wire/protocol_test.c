/* From an HTTP request to an action and its input. */
#include "server/actions/actions.h"
#include "tests/wire/sample.h"

#include <stdio.h>

static struct qn_request request;
static struct qn_error err;
static struct qn_buf buf;

static const struct qn_str json_type = {"application/x-amz-json-1.0", 26};
static const struct qn_str form_type = {"application/x-www-form-urlencoded", 33};

static void open_request(void)
{
    qn_buf_init(&buf, 1 << 20);
    qn_arena_init(&request.arena, 1 << 20);
    memcpy(request.request_id, "11111111-2222-4333-8444-555555555555", 37);
}

static void close_request(void)
{
    qn_buf_done(&buf);
    qn_arena_done(&request.arena);
}

static enum qn_error_code decode(void)
{
    const struct qn_wire_defaults defaults = {QN_STR("000000000000"), QN_STR("us-east-1")};

    err = (struct qn_error){.code = QN_ERR_NONE};
    return qn_wire_decode(&request, &defaults, &err) ? QN_ERR_NONE : err.code;
}

static void set_json(const char *target, const char *body)
{
    request.http = (struct qn_http_request){.method = QN_STR("POST"),
                                            .path = QN_STR("/"),
                                            .content_type = json_type,
                                            .target = qn_str_from_cstr(target),
                                            .body = qn_str_from_cstr(body)};
}

static enum qn_error_code json(const char *target, const char *body)
{
    set_json(target, body);
    return decode();
}

static void set_form(const char *path, const char *body)
{
    request.http = (struct qn_http_request){.method = QN_STR("POST"),
                                            .path = qn_str_from_cstr(path),
                                            .content_type = form_type,
                                            .body = qn_str_from_cstr(body)};
}

static enum qn_error_code form(const char *path, const char *body)
{
    set_form(path, body);
    return decode();
}

static enum qn_error_code get(const char *path, const char *query)
{
    request.http = (struct qn_http_request){
        .method = QN_STR("GET"), .path = qn_str_from_cstr(path), .query = qn_str_from_cstr(query)};
    return decode();
}

/* The input that was understood, as JSON. */
static struct qn_str input(void)
{
    qn_buf_clear(&buf);
    qn_wire_write_json(&buf, request.action->input, request.input);
    return qn_buf_str(&buf);
}

static struct qn_str error_body(void)
{
    qn_buf_clear(&buf);
    qn_wire_encode_error(&request, &err, &buf);
    return qn_buf_str(&buf);
}

TestSuite(protocol, .init = open_request, .fini = close_request);

Test(protocol, json_is_post_with_the_content_type_and_a_target)
{
    cr_expect_eq(json("AmazonSQS.ListQueues", "{\"QueueNamePrefix\":\"a\"}"), QN_ERR_NONE);
    cr_expect_eq(request.protocol, QN_PROTOCOL_JSON);
    expect_text(input(), "{\"QueueNamePrefix\":\"a\"}");
    cr_expect_str_eq(request.action->name, "ListQueues");
    cr_expect(qn_str_is_none(request.path_queue));

    set_json("AmazonSQS.ListQueues", "");
    request.http.content_type = QN_STR("Application/X-Amz-Json-1.0 ; charset=UTF-8");
    cr_expect_eq(decode(), QN_ERR_NONE);
    cr_expect_eq(request.protocol, QN_PROTOCOL_JSON);
}

Test(protocol, a_target_that_is_no_operation_is_unknown)
{
    cr_expect_eq(json("AmazonSQS.FooBar", "{}"), QN_ERR_UNKNOWN_OPERATION);
    cr_expect_eq(request.protocol, QN_PROTOCOL_JSON);
    cr_expect_eq(json("AmazonSQS.listqueues", "{}"), QN_ERR_UNKNOWN_OPERATION);
    cr_expect_eq(json("AmazonSQS.", "{}"), QN_ERR_UNKNOWN_OPERATION);
    cr_expect_eq(json("AmazonSNS.ListQueues", "{}"), QN_ERR_UNKNOWN_OPERATION);
    cr_expect_eq(json("", "{}"), QN_ERR_UNKNOWN_OPERATION);
    cr_expect_eq(json("AmazonSQS.\xFF", "{}"), QN_ERR_UNKNOWN_OPERATION);
    cr_expect(qn_str_is_utf8(error_body()));
    cr_expect(request.action == NULL);
}

Test(protocol, json_without_a_target_is_tried_as_query)
{
    cr_expect_eq(json(NULL, "{\"QueueUrl\":\"%\"}"), QN_ERR_MISSING_ACTION);
    cr_expect_eq(request.protocol, QN_PROTOCOL_QUERY);
}

Test(protocol, a_form_with_a_target_is_query)
{
    set_form("/", "Action=ListQueues&QueueNamePrefix=p");
    request.http.target = QN_STR("AmazonSQSv20121105.CreateQueue");
    cr_expect_eq(decode(), QN_ERR_NONE);
    cr_expect_eq(request.protocol, QN_PROTOCOL_QUERY);
    cr_expect_str_eq(request.action->name, "ListQueues");
    expect_text(input(), "{\"QueueNamePrefix\":\"p\"}");
}

Test(protocol, a_form_is_read_whatever_its_charset_or_even_its_type)
{
    const struct qn_str types[] = {QN_STR("application/x-www-form-urlencoded; charset=utf-8"),
                                   QN_STR("text/plain"), QN_STR_NONE};

    for (size_t i = 0; i < 3; i++) {
        set_form("/", "Action=ListQueues&Version=2012-11-05");
        request.http.content_type = types[i];
        cr_expect_eq(decode(), QN_ERR_NONE);
    }
}

Test(protocol, query_takes_the_url_and_the_body_and_the_body_wins)
{
    cr_expect_eq(get("/", "Action=ListQueues&QueueNamePrefix=a%2Bb"), QN_ERR_NONE);
    expect_text(input(), "{\"QueueNamePrefix\":\"a+b\"}");

    set_form("/", "Action=ListQueues&QueueNamePrefix=body");
    request.http.query = QN_STR("Action=CreateQueue&QueueNamePrefix=url&MaxResults=7");
    cr_expect_eq(decode(), QN_ERR_NONE);
    cr_expect_str_eq(request.action->name, "ListQueues");
    cr_expect(qn_str_find(input(), QN_STR("\"QueueNamePrefix\":\"body\"")) < buf.len);
    cr_expect(qn_str_find(input(), QN_STR("\"MaxResults\":7")) < buf.len);
}

Test(protocol, an_unknown_action_is_invalid)
{
    cr_expect_eq(form("/", "Action=FooBar"), QN_ERR_INVALID_ACTION);
    cr_expect_str_eq(err.message, "The action FooBar is not valid for this endpoint.");
    cr_expect_eq(form("/000000000000/q", "Action=Foo%22%3C%00"), QN_ERR_INVALID_ACTION);
    cr_expect(qn_str_find(error_body(), QN_STR("Foo&quot;&lt;")) < buf.len);
}

Test(protocol, a_request_to_the_root_needs_an_action)
{
    cr_expect_eq(form("/", "Version=2012-11-05"), QN_ERR_MISSING_ACTION);
    cr_expect_eq(form("/", "Action="), QN_ERR_MISSING_ACTION);
    cr_expect_eq(get("/", NULL), QN_ERR_MISSING_ACTION);
    cr_expect_eq(get("", ""), QN_ERR_MISSING_ACTION);
}

Test(protocol, a_path_without_an_action_is_an_unknown_operation_in_xml)
{
    const char *paths[] = {"/000000000000/q", "/queue/q", "/q", "/favicon.ico"};

    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(get(paths[i], NULL), QN_ERR_UNKNOWN_OPERATION_404);
        cr_expect_eq(request.protocol, QN_PROTOCOL_QUERY);
    }
    request.http.accept = QN_STR("application/json");
    cr_expect_eq(decode(), QN_ERR_UNKNOWN_OPERATION_404);
    cr_expect_str_eq(qn_wire_content_type(&request), "text/xml");
    cr_expect(qn_str_find(error_body(), QN_STR("<UnknownOperationException>")) < buf.len);
}

Test(protocol, actions_of_the_account_are_not_valid_on_a_queue_path)
{
    cr_expect_eq(form("/000000000000/q", "Action=CreateQueue&QueueName=x"), QN_ERR_INVALID_ACTION);
    cr_expect_str_eq(err.message, "The action CreateQueue is not valid for this endpoint.");
    cr_expect_eq(form("/000000000000/q", "Action=ListQueues"), QN_ERR_INVALID_ACTION);
    cr_expect_eq(form("/000000000000/q", "Action=GetQueueUrl&QueueName=x"), QN_ERR_NONE);

    set_json("AmazonSQS.ListQueues", "{}");
    request.http.path = QN_STR("/000000000000/q");
    cr_expect_eq(decode(), QN_ERR_NONE);
}

Test(protocol, an_unknown_version_is_refused_and_a_missing_one_accepted)
{
    cr_expect_eq(form("/", "Action=ListQueues&Version=2009-02-01"), QN_ERR_NO_SUCH_VERSION);
    cr_expect_eq(form("/", "Action=ListQueues&Version="), QN_ERR_NO_SUCH_VERSION);
    cr_expect_eq(form("/", "Action=ListQueues"), QN_ERR_NONE);
}

Test(protocol, required_members_are_asked_for_by_their_name)
{
    cr_expect_eq(json("AmazonSQS.CreateQueue", "{}"), QN_ERR_MISSING_PARAMETER);
    cr_expect_str_eq(err.message, "The request must contain the parameter QueueName.");
    cr_expect_eq(json("AmazonSQS.DeleteQueue", "{\"QueueUrl\":null}"), QN_ERR_MISSING_PARAMETER);
    cr_expect_str_eq(err.message, "The request must contain the parameter QueueUrl.");
    cr_expect_eq(form("/", "Action=DeleteQueue"), QN_ERR_MISSING_PARAMETER);
    cr_expect_str_eq(err.message, "The request must contain the parameter QueueUrl.");
    cr_expect_eq(form("/000000000000/q", "Action=UntagQueue"), QN_ERR_MISSING_PARAMETER);
    cr_expect_str_eq(err.message, "The request must contain the parameter TagKeys.");
    cr_expect_eq(json("AmazonSQS.UntagQueue", "{\"QueueUrl\":\"q\",\"TagKeys\":[]}"),
                 QN_ERR_MISSING_PARAMETER);
}

Test(protocol, MSG_1_an_empty_message_body_counts_as_missing)
{
    cr_expect_eq(json("AmazonSQS.SendMessage", "{\"QueueUrl\":\"q\",\"MessageBody\":\"\"}"),
                 QN_ERR_MISSING_PARAMETER);
    cr_expect_str_eq(err.message, "The request must contain the parameter MessageBody.");
    cr_expect_eq(form("/000000000000/q", "Action=SendMessage&MessageBody="),
                 QN_ERR_MISSING_PARAMETER);
    cr_expect_eq(form("/000000000000/q", "Action=SendMessage&MessageBody=%20"), QN_ERR_NONE);
}

Test(protocol, a_missing_queue_url_is_the_path_and_a_given_one_wins)
{
    cr_expect_eq(form("/000000000000/q", "Action=DeleteQueue"), QN_ERR_NONE);
    expect_text(request.path_queue, "/000000000000/q");
    expect_text(input(), "{\"QueueUrl\":\"/000000000000/q\"}");
    cr_expect_eq(get("/000000000000/my%2Dqueue", "Action=DeleteQueue"), QN_ERR_NONE);
    expect_text(input(), "{\"QueueUrl\":\"/000000000000/my-queue\"}");
    cr_expect_eq(form("/000000000000/q", "Action=DeleteQueue&QueueUrl=http://h/1/other"),
                 QN_ERR_NONE);
    expect_text(input(), "{\"QueueUrl\":\"http://h/1/other\"}");

    set_json("AmazonSQS.DeleteQueue", "{}");
    request.http.path = QN_STR("/queue/us-east-1/000000000000/q");
    cr_expect_eq(decode(), QN_ERR_NONE);
    expect_text(input(), "{\"QueueUrl\":\"/queue/us-east-1/000000000000/q\"}");
}

Test(protocol, other_paths_are_ignored_unless_the_queue_url_is_missing)
{
    cr_expect_eq(form("/sqs", "Action=ListQueues"), QN_ERR_NONE);
    cr_expect_eq(form("/sqs", "Action=DeleteQueue&QueueUrl=http://h/1/q"), QN_ERR_NONE);
    expect_text(input(), "{\"QueueUrl\":\"http://h/1/q\"}");
    cr_expect_eq(form("/sqs", "Action=DeleteQueue"), QN_ERR_INVALID_ADDRESS);
    cr_expect_str_eq(err.message, "The address /sqs is not valid for this endpoint.");
    set_json("AmazonSQS.DeleteQueue", "{}");
    request.http.path = QN_STR("/sqs");
    cr_expect_eq(decode(), QN_ERR_MISSING_PARAMETER);
}

Test(protocol, ID_5_a_bare_name_is_a_queue_url_in_json_only)
{
    cr_expect_eq(json("AmazonSQS.DeleteQueue", "{\"QueueUrl\":\"q\"}"), QN_ERR_NONE);
    cr_expect_eq(form("/", "Action=DeleteQueue&QueueUrl=q"), QN_ERR_INVALID_ADDRESS);
    cr_expect_str_eq(err.message, "The address q is not valid for this endpoint.");
    cr_expect_eq(json("AmazonSQS.DeleteQueue", "{\"QueueUrl\":\"http://h/q\"}"),
                 QN_ERR_INVALID_ADDRESS);
    cr_expect_eq(json("AmazonSQS.DeleteQueue", "{\"QueueUrl\":\"not a url\"}"),
                 QN_ERR_INVALID_ADDRESS);
}

Test(protocol, what_cannot_be_read_is_told_in_the_protocol_of_the_request)
{
    cr_expect_eq(json("AmazonSQS.ListQueues", "[]"), QN_ERR_SERIALIZATION);
    expect_text(error_body(), "{\"__type\":\"com.amazon.coral.service#SerializationException\","
                              "\"message\":\"The value of the request body must be a JSON "
                              "object.\"}");
    cr_expect_eq(form("/", "Action=ListQueues&MaxResults=x"), QN_ERR_MALFORMED_INPUT);
    cr_expect(qn_str_find(error_body(), QN_STR("<Code>MalformedInput</Code>")) < buf.len);
    cr_expect_eq(form("/", "Action=%FF"), QN_ERR_MALFORMED_INPUT);
    cr_expect_eq(form("/", "Action=%F"), QN_ERR_MALFORMED_INPUT);
    cr_expect_eq(get("/", "Action=ListQueues&Version=%"), QN_ERR_MALFORMED_QUERY_STRING);
    cr_expect_eq(get("/\xFF/q", "Action=DeleteQueue"), QN_ERR_MALFORMED_INPUT);
    cr_expect_eq(get("/1/%zz", "Action=DeleteQueue"), QN_ERR_MALFORMED_INPUT);
}

Test(protocol, message_system_attribute_names_have_two_keys)
{
    cr_expect_eq(form("/000000000000/q", "Action=ReceiveMessage&AttributeName.1=SenderId&"
                                         "MessageSystemAttributeName.1=SentTimestamp"),
                 QN_ERR_NONE);
    cr_expect(qn_str_find(input(), QN_STR("\"AttributeNames\":[\"SenderId\"]")) < buf.len);
    cr_expect(qn_str_find(input(), QN_STR("\"MessageSystemAttributeNames\":[\"SentTimestamp\"]")) <
              buf.len);
}

Test(protocol, entries_of_a_batch_are_read_with_their_attributes)
{
    cr_expect_eq(form("/000000000000/q",
                      "Action=SendMessageBatch&SendMessageBatchRequestEntry.1.Id=a&"
                      "SendMessageBatchRequestEntry.1.MessageBody=b&SendMessageBatchRequestEntry.1."
                      "MessageAttribute.1.Name=n&SendMessageBatchRequestEntry.1.MessageAttribute.1."
                      "Value.DataType=Binary&SendMessageBatchRequestEntry.1.MessageAttribute.1."
                      "Value.BinaryValue=AQI%3D"),
                 QN_ERR_NONE);
    struct qn_str query = qn_arena_copy(&request.arena, input());
    cr_expect(qn_str_find(query, QN_STR("\"BinaryValue\":\"AQI=\"")) < query.len);
    cr_expect_eq(json("AmazonSQS.SendMessageBatch",
                      "{\"QueueUrl\":\"/000000000000/q\",\"Entries\":[{\"Id\":\"a\","
                      "\"MessageBody\":\"b\",\"MessageAttributes\":{\"n\":{\"DataType\":"
                      "\"Binary\",\"BinaryValue\":\"AQI=\"}}}]}"),
                 QN_ERR_NONE);
    cr_expect(qn_str_equal(query, input()));
}

Test(protocol, accept_of_json_gives_query_answers_in_json)
{
    const struct qn_str accepted[] = {QN_STR("application/json"),
                                      QN_STR("text/html, Application/JSON;q=0.9, */*")};
    const struct qn_str others[] = {QN_STR("*/*"), QN_STR("text/xml"), QN_STR(""), QN_STR_NONE,
                                    QN_STR("application/json-seq")};

    for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
        set_form("/", "Action=ListQueues");
        request.http.accept = accepted[i];
        cr_expect_eq(decode(), QN_ERR_NONE);
        cr_expect_eq(request.protocol, QN_PROTOCOL_QUERY_JSON);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        set_form("/", "Action=ListQueues");
        request.http.accept = others[i];
        cr_expect_eq(decode(), QN_ERR_NONE);
        cr_expect_eq(request.protocol, QN_PROTOCOL_QUERY);
    }
    set_json("AmazonSQS.ListQueues", "{}");
    request.http.accept = QN_STR("application/json");
    cr_expect_eq(decode(), QN_ERR_NONE);
    cr_expect_eq(request.protocol, QN_PROTOCOL_JSON);
}

Test(protocol, a_request_that_fills_its_memory_is_too_large)
{
    request.arena.max_bytes = 0;
    cr_expect_eq(json("AmazonSQS.ListQueues", "{}"), QN_ERR_REQUEST_TOO_LARGE);
    cr_expect_eq(form("/", "Action=ListQueues"), QN_ERR_REQUEST_TOO_LARGE);
    cr_expect_eq(form("/", "Action=List%51ueues"), QN_ERR_REQUEST_TOO_LARGE);
}

Test(protocol, MSG_5_the_longest_spelling_of_a_legal_message_fits_the_body)
{
    const int64_t limit = 1048576;

    cr_expect_geq(qn_wire_body_max(limit), (size_t)limit * 6 + 4096);
    cr_expect_leq(qn_wire_body_max(limit), (size_t)limit * 7);
}

Test(protocol, the_description_of_an_input_holds_no_contents_and_nothing_long)
{
    char body[2048];
    char name[600];

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    snprintf(body, sizeof(body),
             "{\"QueueUrl\":\"/1/q\",\"MessageBody\":\"secret\",\"DelaySeconds\":3,"
             "\"MessageAttributes\":{\"a\":{\"StringValue\":\"secret\"}},"
             "\"MessageGroupId\":\"%s\"}",
             name);
    cr_expect_eq(json("AmazonSQS.SendMessage", body), QN_ERR_NONE);
    qn_buf_clear(&buf);
    qn_wire_describe_input(&request, &buf);
    struct qn_str text = qn_buf_str(&buf);
    cr_expect(qn_str_find(text, QN_STR("secret")) == text.len);
    cr_expect(qn_str_find(text, QN_STR("\"DelaySeconds\":3")) < text.len);
    cr_expect(qn_str_find(text, QN_STR("\"QueueUrl\":\"/1/q\"")) < text.len);
    cr_expect(text.len < 400);

    cr_expect_eq(json("AmazonSQS.Nothing", "{}"), QN_ERR_UNKNOWN_OPERATION);
    qn_buf_clear(&buf);
    qn_wire_describe_input(&request, &buf);
    expect_text(qn_buf_str(&buf), "{}");
}
