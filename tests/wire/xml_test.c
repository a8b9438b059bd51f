/* XML, and its JSON rendering: structs into the answers of the query protocol. */
#include "server/base/buf.h"
#include "tests/wire/sample.h"

static struct qn_arena arena;
static struct qn_buf buf;
static struct sample sample;

static void open_buf(void)
{
    qn_arena_init(&arena, 1 << 20);
    qn_buf_init(&buf, 1 << 20);
}

static void close_buf(void)
{
    qn_buf_done(&buf);
    qn_arena_done(&arena);
}

/* The sample is written as JSON here, so that a test shows input and output side by side. */
static struct qn_str xml(struct qn_str json)
{
    struct qn_error err;

    sample = (struct sample){0};
    cr_assert(qn_wire_read_json(&arena, json, &sample_shape, &sample, &err), "%s", err.message);
    qn_buf_clear(&buf);
    qn_wire_write_xml(&buf, &sample_shape, &sample);
    return qn_buf_str(&buf);
}

static struct qn_str query_json(struct qn_str json)
{
    struct qn_error err;

    sample = (struct sample){0};
    cr_assert(qn_wire_read_json(&arena, json, &sample_shape, &sample, &err), "%s", err.message);
    qn_buf_clear(&buf);
    qn_wire_write_query_json(&buf, &sample_shape, &sample);
    return qn_buf_str(&buf);
}

TestSuite(xml, .init = open_buf, .fini = close_buf);
TestSuite(query_json, .init = open_buf, .fini = close_buf);

Test(xml, scalars_are_elements_of_their_name)
{
    expect_text(xml(QN_STR("{\"MessageBody\":\"<\",\"DelaySeconds\":-5,\"SenderFault\":false,"
                           "\"BinaryValue\":\"AQI=\"}")),
                "<MessageBody>&lt;</MessageBody><DelaySeconds>-5</DelaySeconds>"
                "<SenderFault>false</SenderFault><BinaryValue>AQI=</BinaryValue>");
}

Test(xml, lists_and_maps_are_flattened)
{
    expect_text(
        xml(QN_STR("{\"AttributeNames\":[\"a\",\"b\"],\"Attributes\":{\"k\":\"v\"},"
                   "\"Tags\":{\"t\":\"\",\"u\":\"&\"}}")),
        "<AttributeName>a</AttributeName><AttributeName>b</AttributeName>"
        "<Attribute><Name>k</Name><Value>v</Value></Attribute>"
        "<Tag><Key>t</Key><Value></Value></Tag><Tag><Key>u</Key><Value>&amp;</Value></Tag>");
    expect_text(xml(QN_STR("{\"Entries\":[{\"Id\":\"1\"},{\"MessageAttributes\":{\"k\":"
                           "{\"StringValue\":\"v\",\"DataType\":\"String\"}}}]}")),
                "<Entry><Id>1</Id></Entry><Entry><MessageAttribute><Name>k</Name><Value>"
                "<StringValue>v</StringValue><DataType>String</DataType></Value>"
                "</MessageAttribute></Entry>");
}

Test(xml, nothing_stands_for_what_is_absent_or_empty)
{
    expect_text(xml(QN_STR("{\"AttributeNames\":[],\"Attributes\":{},\"Entries\":[]}")), "");
}

Test(query_json, lists_have_small_names_and_maps_become_lists)
{
    expect_text(query_json(QN_STR("{\"MessageBody\":\"b\",\"DelaySeconds\":1,\"SenderFault\":true,"
                                  "\"AttributeNames\":[\"a\"],\"Attributes\":{\"k\":\"v\",\"l\":"
                                  "\"w\"},\"Tags\":{\"t\":\"u\"},\"Entries\":[{\"Id\":\"1\"}],"
                                  "\"MessageAttributes\":{\"m\":{\"StringValue\":\"s\"}}}")),
                "{\"MessageBody\":\"b\",\"DelaySeconds\":1,\"SenderFault\":true,"
                "\"attributeNames\":[\"a\"],\"Attributes\":[{\"Name\":\"k\",\"Value\":\"v\"},"
                "{\"Name\":\"l\",\"Value\":\"w\"}],\"Tags\":[{\"Key\":\"t\",\"Value\":\"u\"}],"
                "\"entries\":[{\"Id\":\"1\"}],\"MessageAttributes\":[{\"Name\":\"m\",\"Value\":"
                "{\"StringValue\":\"s\"}}]}");
}

Test(query_json, nothing_stands_for_what_is_absent_or_empty)
{
    expect_text(query_json(QN_STR("{\"Entries\":[],\"Attributes\":{}}")), "{}");
}
