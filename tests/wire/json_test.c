/* AWS JSON: objects into structs and back. */
#include "server/base/buf.h"
#include "tests/wire/sample.h"

enum { ROOM = 1 << 20 };

static struct qn_arena arena;
static struct sample sample;
static struct qn_error err;

static void open_arena(void)
{
    qn_arena_init(&arena, ROOM);
}

static void close_arena(void)
{
    qn_arena_done(&arena);
}

static enum qn_error_code read(struct qn_str body)
{
    sample = (struct sample){0};
    return qn_wire_read_json(&arena, body, &sample_shape, &sample, &err) ? QN_ERR_NONE : err.code;
}

/* What the writer makes of what the reader understood. */
static void expect_rewritten(struct qn_str body, struct qn_str expected)
{
    struct qn_buf buf;

    cr_assert_eq(read(body), QN_ERR_NONE, "%.*s: %s", QN_STR_ARG(body), err.message);
    qn_buf_init(&buf, ROOM);
    qn_wire_write_json(&buf, &sample_shape, &sample);
    cr_expect(qn_str_equal(qn_buf_str(&buf), expected), "%.*s became %.*s", QN_STR_ARG(body),
              QN_STR_ARG(qn_buf_str(&buf)));
    qn_buf_done(&buf);
}

static void expect_refused(struct qn_str body)
{
    cr_expect_eq(read(body), QN_ERR_SERIALIZATION, "accepted: %.*s", QN_STR_ARG(body));
    cr_expect(err.message[0] != '\0');
}

TestSuite(json, .init = open_arena, .fini = close_arena);

Test(json, every_type_has_its_form)
{
    cr_assert_eq(read(QN_STR("{\"MessageBody\":\"hi\",\"DelaySeconds\":-7,\"SenderFault\":true,"
                             "\"BinaryValue\":\"AQID\",\"AttributeNames\":[\"All\",\"x\"],"
                             "\"Attributes\":{\"VisibilityTimeout\":\"30\"}}")),
                 QN_ERR_NONE);
    expect_text(sample.body, "hi");
    cr_expect(sample.delay.present && sample.delay.value == -7);
    cr_expect(sample.fault.present && sample.fault.value);
    expect_text(sample.blob, "\x01\x02\x03");
    cr_assert_eq(sample.names.count, 2);
    expect_text(sample_text(&sample.names, 1), "x");
    cr_assert_eq(sample.attributes.count, 1);
    expect_text(sample_pair(&sample.attributes, 0)->key, "VisibilityTimeout");
    expect_text(sample_pair(&sample.attributes, 0)->value, "30");
    cr_expect(qn_str_is_none(qn_str(sample.tags.items, 0)) && !sample.tags.present);
}

Test(json, structures_nest_in_lists_and_maps)
{
    cr_assert_eq(read(QN_STR("{\"Entries\":[{\"Id\":\"a\"},{\"Id\":\"b\",\"DelaySeconds\":3,"
                             "\"MessageAttributes\":{\"k\":{\"DataType\":\"String\","
                             "\"StringValue\":\"v\",\"StringListValues\":[\"r\"]}}}]}")),
                 QN_ERR_NONE);
    cr_assert_eq(sample.entries.count, 2);
    const struct sample_entry *second = sample_entry_at(&sample.entries, 1);
    expect_text(second->id, "b");
    cr_expect_eq(second->delay.value, 3);
    cr_assert_eq(second->message_attributes.count, 1);
    const struct sample_value *value = sample_value_at(&second->message_attributes, 0);
    expect_text(value->name, "k");
    expect_text(value->string_value, "v");
    expect_text(value->data_type, "String");
    cr_expect_eq(value->string_list_values.count, 1);
    cr_expect_eq(sample_entry_at(&sample.entries, 0)->message_attributes.count, 0);
}

Test(json, an_empty_body_is_an_object_without_members)
{
    cr_expect_eq(read(QN_STR("")), QN_ERR_NONE);
    cr_expect_eq(read(QN_STR_NONE), QN_ERR_NONE);
    expect_rewritten(QN_STR(" {} \r\n"), QN_STR("{}"));
}

Test(json, unknown_members_are_ignored_but_must_be_valid)
{
    expect_rewritten(
        QN_STR("{\"What\":{\"a\":[1,{\"b\":null}]},\"MessageBody\":\"x\",\"messagebody\":1}"),
        QN_STR("{\"MessageBody\":\"x\"}"));
    expect_refused(QN_STR("{\"What\":{\"a\":[1,{\"b\":nul}]},\"MessageBody\":\"x\"}"));
    expect_refused(QN_STR("{\"What\":\"\xFF\"}"));
}

Test(json, null_is_absent_everywhere)
{
    expect_rewritten(QN_STR("{\"MessageBody\":null,\"DelaySeconds\":null,\"SenderFault\":null,"
                            "\"BinaryValue\":null,\"AttributeNames\":null,\"Attributes\":null,"
                            "\"Entries\":null,\"MessageAttributes\":null}"),
                     QN_STR("{}"));
    expect_rewritten(QN_STR("{\"AttributeNames\":[null,\"a\"],\"Attributes\":{\"a\":null,"
                            "\"b\":\"c\"},\"Entries\":[null]}"),
                     QN_STR("{\"AttributeNames\":[\"a\"],\"Attributes\":{\"b\":\"c\"}}"));
    cr_expect(sample.entries.present && sample.entries.count == 0);
}

Test(json, the_last_of_equal_members_wins)
{
    expect_rewritten(QN_STR("{\"MessageBody\":\"a\",\"DelaySeconds\":1,\"MessageBody\":\"b\","
                            "\"DelaySeconds\":null}"),
                     QN_STR("{\"MessageBody\":\"b\"}"));
    expect_rewritten(QN_STR("{\"AttributeNames\":[\"a\",\"b\"],\"AttributeNames\":[\"c\"]}"),
                     QN_STR("{\"AttributeNames\":[\"c\"]}"));
    expect_rewritten(QN_STR("{\"Attributes\":{\"a\":\"1\",\"b\":\"2\",\"\\u0061\":\"3\"}}"),
                     QN_STR("{\"Attributes\":{\"a\":\"3\",\"b\":\"2\"}}"));
    expect_rewritten(QN_STR("{\"Attributes\":{\"a\":\"1\",\"b\":\"2\",\"a\":null}}"),
                     QN_STR("{\"Attributes\":{\"b\":\"2\"}}"));
    expect_rewritten(QN_STR("{\"MessageAttributes\":{\"k\":{\"DataType\":\"String\","
                            "\"StringValue\":\"v\"},\"k\":{\"DataType\":\"Number\"}}}"),
                     QN_STR("{\"MessageAttributes\":{\"k\":{\"DataType\":\"Number\"}}}"));
}

Test(json, a_map_of_very_many_equal_keys_is_read_in_time)
{
    const size_t count = 20000;
    struct qn_buf body;

    arena.max_bytes = 64 << 20;
    qn_buf_init(&body, 16 << 20);
    qn_buf_append_literal(&body, "{\"Attributes\":{");
    for (size_t i = 0; i < count; i++) {
        qn_buf_append_format(&body, "%s\"key%zu\":\"v\"", i > 0 ? "," : "", i);
    }
    qn_buf_append_literal(&body, "}}");
    cr_expect_eq(read(qn_buf_str(&body)), QN_ERR_NONE);
    cr_expect_eq(sample.attributes.count, count);
    qn_buf_done(&body);
}

Test(json, a_value_of_the_wrong_type_is_a_serialization_error)
{
    expect_refused(QN_STR("{\"MessageBody\":1}"));
    expect_refused(QN_STR("{\"MessageBody\":[\"x\"]}"));
    cr_expect_str_eq(err.message, "The value of MessageBody must be a string.");
    expect_refused(QN_STR("{\"DelaySeconds\":\"1\"}"));
    expect_refused(QN_STR("{\"DelaySeconds\":true}"));
    expect_refused(QN_STR("{\"SenderFault\":\"true\"}"));
    expect_refused(QN_STR("{\"SenderFault\":0}"));
    expect_refused(QN_STR("{\"BinaryValue\":{}}"));
    expect_refused(QN_STR("{\"AttributeNames\":\"All\"}"));
    expect_refused(QN_STR("{\"AttributeNames\":[1]}"));
    expect_refused(QN_STR("{\"AttributeNames\":{}}"));
    expect_refused(QN_STR("{\"Attributes\":[]}"));
    expect_refused(QN_STR("{\"Attributes\":{\"VisibilityTimeout\":30}}"));
    expect_refused(QN_STR("{\"Entries\":{}}"));
    expect_refused(QN_STR("{\"Entries\":[\"x\"]}"));
    expect_refused(QN_STR("{\"MessageAttributes\":{\"k\":\"v\"}}"));
    expect_refused(QN_STR("{\"MessageAttributes\":[]}"));
}

Test(json, an_integer_is_whole_and_fits_64_bits)
{
    expect_rewritten(QN_STR("{\"DelaySeconds\":9223372036854775807}"),
                     QN_STR("{\"DelaySeconds\":9223372036854775807}"));
    expect_rewritten(QN_STR("{\"DelaySeconds\":-9223372036854775808}"),
                     QN_STR("{\"DelaySeconds\":-9223372036854775808}"));
    expect_refused(QN_STR("{\"DelaySeconds\":9223372036854775808}"));
    expect_refused(QN_STR("{\"DelaySeconds\":1.0}"));
    expect_refused(QN_STR("{\"DelaySeconds\":1e2}"));
    expect_refused(QN_STR("{\"DelaySeconds\":01}"));
    expect_refused(QN_STR("{\"DelaySeconds\":+1}"));
}

Test(json, a_blob_is_strict_base64)
{
    expect_rewritten(QN_STR("{\"BinaryValue\":\"\"}"), QN_STR("{\"BinaryValue\":\"\"}"));
    expect_rewritten(QN_STR("{\"BinaryValue\":\"\\u0041AECAw==\"}"),
                     QN_STR("{\"BinaryValue\":\"AAECAw==\"}"));
    expect_refused(QN_STR("{\"BinaryValue\":\"AAECAw\"}"));
    expect_refused(QN_STR("{\"BinaryValue\":\"A_-=\"}"));
    expect_refused(QN_STR("{\"BinaryValue\":\"AAEC Aw==\"}"));
}

Test(json, malformed_text_is_a_serialization_error)
{
    expect_refused(QN_STR(" "));
    expect_refused(QN_STR("null"));
    expect_refused(QN_STR("[]"));
    expect_refused(QN_STR("\"x\""));
    cr_expect_str_eq(err.message, "The value of the request body must be a JSON object.");
    expect_refused(QN_STR("{"));
    expect_refused(QN_STR("{\"MessageBody\":\"x\"}}"));
    expect_refused(QN_STR("{\"MessageBody\":\"x\"} x"));
    expect_refused(QN_STR("{\"MessageBody\":\"x\",}"));
    expect_refused(QN_STR("{\"MessageBody\" \"x\"}"));
    expect_refused(QN_STR("{'MessageBody':'x'}"));
    expect_refused(QN_STR("{\"MessageBody\":nulL}"));
    expect_refused(QN_STR("{\"MessageBody\":\"x"));
    expect_refused(QN_STR("{\"AttributeNames\":[\"x\""));
    expect_refused(QN_STR("{\"AttributeNames\":[\"x\",]}"));
    expect_refused(QN_STR("{\"Attributes\":{\"x\":\"y\""));
    expect_refused(QN_STR("{\"MessageBody\":\"\\x\"}"));
    expect_refused(QN_STR("{\"MessageBody\":\"a\nb\"}"));
    expect_refused(QN_STR("\xEF\xBB\xBF{}"));
}

Test(json, MSG_7_invalid_utf8_is_a_serialization_error)
{
    expect_refused(QN_STR("{\"MessageBody\":\"\xC3\"}"));
    expect_refused(QN_STR("{\"MessageBody\":\"\xC0\x80\"}"));
    expect_refused(QN_STR("{\"MessageBody\":\"\xED\xA0\x80\"}"));
}

Test(json, MSG_2_a_lone_surrogate_is_no_message_content)
{
    cr_expect_eq(read(QN_STR("{\"MessageBody\":\"\\ud800\"}")), QN_ERR_INVALID_MESSAGE_CONTENTS);
    cr_expect_eq(read(QN_STR("{\"MessageBody\":\"\\udc00\\ud800\"}")),
                 QN_ERR_INVALID_MESSAGE_CONTENTS);
    expect_refused(QN_STR("{\"AttributeNames\":[\"\\ud800\"]}"));
    expect_refused(QN_STR("{\"Unknown\":\"\\ud800\"}"));
    expect_refused(QN_STR("{\"MessageBody\":\"\\u80\"}"));
    expect_refused(QN_STR("{\"MessageBody\":\"\\ud83d\\uden0\"}"));
}

Test(json, escapes_of_all_kinds_are_resolved)
{
    cr_assert_eq(read(QN_STR("{\"Message\\u0042ody\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D"
                             "\\uDE00\"}")),
                 QN_ERR_NONE);
    expect_text(sample.body, "\"\\/\b\f\n\r\t\xC3\xA9\xF0\x9F\x98\x80");
}

Test(json, a_nul_in_a_string_passes_the_reader)
{
    cr_assert_eq(read(QN_STR("{\"MessageBody\":\"a\\u0000b\"}")), QN_ERR_NONE);
    expect_text(sample.body, "a\0b");
}

Test(json, depth_is_limited)
{
    struct qn_buf body;

    qn_buf_init(&body, ROOM);
    qn_buf_append_literal(&body, "{\"What\":");
    for (int i = 0; i < 1000; i++) {
        qn_buf_append_char(&body, '[');
    }
    expect_refused(qn_buf_str(&body));
    qn_buf_done(&body);
}

Test(json, a_request_that_needs_too_much_memory_is_told_so)
{
    struct qn_buf body;

    qn_buf_init(&body, ROOM);
    qn_buf_append_literal(&body, "{\"Entries\":[");
    for (int i = 0; i < 10000; i++) {
        qn_buf_append_str(&body, i > 0 ? QN_STR(",{}") : QN_STR("{}"));
    }
    qn_buf_append_literal(&body, "]}");
    arena.max_bytes = 4096;
    cr_expect_eq(read(qn_buf_str(&body)), QN_ERR_REQUEST_TOO_LARGE);

    qn_buf_clear(&body);
    qn_buf_append_literal(&body, "{\"MessageBody\":\"\\n");
    for (int i = 0; i < 10000; i++) {
        qn_buf_append_char(&body, 'x');
    }
    qn_buf_append_literal(&body, "\"}");
    cr_expect_eq(read(qn_buf_str(&body)), QN_ERR_REQUEST_TOO_LARGE);

    qn_buf_clear(&body);
    qn_buf_append_literal(&body, "{\"BinaryValue\":\"");
    for (int i = 0; i < 10000; i++) {
        qn_buf_append_literal(&body, "AAAA");
    }
    qn_buf_append_literal(&body, "\"}");
    cr_expect_eq(read(qn_buf_str(&body)), QN_ERR_REQUEST_TOO_LARGE);
    qn_buf_done(&body);
}

Test(json, answers_are_compact_and_leave_out_what_has_no_value)
{
    expect_rewritten(
        QN_STR("{ \"AttributeNames\" : [ ] , \"Attributes\" : { } , \"MessageBody\" : \"\" , "
               "\"DelaySeconds\" : 0 , \"SenderFault\" : false }"),
        QN_STR("{\"MessageBody\":\"\",\"DelaySeconds\":0,\"SenderFault\":false}"));
}

Test(json, an_empty_list_is_sent_where_the_shape_says_so)
{
    struct qn_field field = sample_fields[4];
    struct qn_shape shape = {sizeof(struct sample), &field, 1};
    struct qn_buf buf;

    field.flags = QN_ALWAYS_SENT;
    qn_buf_init(&buf, ROOM);
    qn_wire_write_json(&buf, &shape, &sample);
    expect_text(qn_buf_str(&buf), "{\"AttributeNames\":[]}");
    qn_buf_done(&buf);
}

Test(json, what_was_read_is_written_alike)
{
    const struct qn_str body =
        QN_STR("{\"MessageBody\":\"a\\\"\\u0001\xC3\xA9\",\"DelaySeconds\":5,\"SenderFault\":true,"
               "\"BinaryValue\":\"AQI=\",\"AttributeNames\":[\"a\",\"b\"],\"Attributes\":"
               "{\"k\":\"v\",\"l\":\"\"},\"Tags\":{\"t\":\"u\"},\"Entries\":[{\"Id\":\"1\"},"
               "{\"Id\":\"2\",\"DelaySeconds\":1}],\"MessageAttributes\":{\"m\":{\"StringValue\":"
               "\"s\",\"DataType\":\"String\"},\"n\":{}}}");

    expect_rewritten(body, body);
}
