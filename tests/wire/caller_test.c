/* Who asks: from the credential scope of a request. */
#include "tests/wire/sample.h"

static struct qn_request request;

static void open_request(void)
{
    qn_arena_init(&request.arena, 1 << 16);
}

static void close_request(void)
{
    qn_arena_done(&request.arena);
}

static void read_caller(void)
{
    const struct qn_wire_defaults defaults = {QN_STR("000000000000"), QN_STR("us-east-1")};

    qn_wire_read_caller(&request, &defaults);
}

static void read_header(struct qn_str authorization)
{
    request.http = (struct qn_http_request){.authorization = authorization};
    read_caller();
}

static void read_query(struct qn_str query)
{
    request.http = (struct qn_http_request){.query = query};
    read_caller();
}

TestSuite(caller, .init = open_request, .fini = close_request);

Test(caller, ID_8_the_region_comes_from_the_credential_scope)
{
    read_header(QN_STR("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20250102/eu-west-3/sqs/"
                       "aws4_request, SignedHeaders=host, Signature=00"));
    expect_text(request.caller.region, "eu-west-3");
    expect_text(request.caller.access_key_id, "AKIDEXAMPLE");
    expect_text(request.caller.account, "000000000000");
}

Test(caller, ID_7_an_access_key_of_12_digits_is_the_account)
{
    read_header(QN_STR("AWS4-HMAC-SHA256 SignedHeaders=host,Credential=123456789012/1/us-west-2/s3/"
                       "aws4_request,Signature=00"));
    expect_text(request.caller.account, "123456789012");
    expect_text(request.caller.region, "us-west-2");
    read_header(QN_STR("AWS4-HMAC-SHA256 Credential=12345678901/1/us-west-2/sqs/aws4_request"));
    expect_text(request.caller.account, "000000000000");
    read_header(QN_STR("AWS4-HMAC-SHA256 Credential=-23456789012/1/us-west-2/sqs/aws4_request"));
    expect_text(request.caller.account, "000000000000");
}

Test(caller, an_unsigned_request_gets_the_defaults)
{
    read_header(QN_STR_NONE);
    expect_text(request.caller.account, "000000000000");
    expect_text(request.caller.region, "us-east-1");
    cr_expect(qn_str_is_none(request.caller.access_key_id));
}

Test(caller, a_presigned_request_has_its_scope_in_the_query_string)
{
    read_query(QN_STR("Action=ListQueues&X-Amz-Credential=210987654321%2F20250102%2Fap-south-1%2F"
                      "sqs%2Faws4_request&X-Amz-Date=1"));
    expect_text(request.caller.account, "210987654321");
    expect_text(request.caller.region, "ap-south-1");
    read_query(QN_STR("X-Amz-Credential=test/20250102/eu-north-1/sqs/aws4_request"));
    expect_text(request.caller.access_key_id, "test");
    expect_text(request.caller.region, "eu-north-1");
}

Test(caller, a_scope_that_cannot_be_read_counts_as_none)
{
    const struct qn_str bad[] = {QN_STR(""),
                                 QN_STR("Credential="),
                                 QN_STR("Credential=,"),
                                 QN_STR("Credential=////"),
                                 QN_STR("Credential=\xFF/1/\xFF/sqs"),
                                 QN_STR("Credential=a b/1/<x>/sqs/aws4_request"),
                                 QN_STR("AWS AKIDEXAMPLE:signature")};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        read_header(bad[i]);
        expect_text(request.caller.region, "us-east-1");
        cr_expect(qn_str_is_none(request.caller.access_key_id));
    }
    read_query(QN_STR("X-Amz-Credential=%zz"));
    expect_text(request.caller.region, "us-east-1");
    read_query(QN_STR("X-Amz-Credential=%FF/1/eu-west-1"));
    expect_text(request.caller.region, "us-east-1");
}

Test(caller, an_older_signature_gives_the_access_key_only)
{
    struct qn_caller *caller = &request.caller;

    read_header(QN_STR_NONE);
    qn_wire_use_access_key(caller, QN_STR("AKIDOLD"));
    expect_text(caller->access_key_id, "AKIDOLD");
    expect_text(caller->account, "000000000000");
    expect_text(caller->region, "us-east-1");
    qn_wire_use_access_key(caller, QN_STR("111122223333"));
    expect_text(caller->account, "111122223333");
}
