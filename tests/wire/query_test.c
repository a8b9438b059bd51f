/* The query protocol: parameters into structs. */
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

static enum qn_error_code read_both(struct qn_str query, struct qn_str body)
{
    struct qn_wire_form form = {query, body};

    sample = (struct sample){0};
    return qn_wire_read_query(&arena, &form, &sample_shape, &sample, &err) ? QN_ERR_NONE : err.code;
}

static enum qn_error_code read(struct qn_str body)
{
    return read_both(QN_STR_NONE, body);
}

TestSuite(query, .init = open_arena, .fini = close_arena);

Test(query, every_type_has_its_form)
{
    cr_assert_eq(read(QN_STR("MessageBody=hi&DelaySeconds=-7&SenderFault=true&BinaryValue=AQID&"
                             "AttributeName.1=All&AttributeName.2=x&Attribute.1.Name="
                             "VisibilityTimeout&Attribute.1.Value=30&Tag.1.Key=t&Tag.1.Value=")),
                 QN_ERR_NONE);
    expect_text(sample.body, "hi");
    cr_expect(sample.delay.present && sample.delay.value == -7);
    cr_expect(sample.fault.present && sample.fault.value);
    expect_text(sample.blob, "\x01\x02\x03");
    cr_assert_eq(sample.names.count, 2);
    expect_text(sample_text(&sample.names, 0), "All");
    expect_text(sample_text(&sample.names, 1), "x");
    cr_assert_eq(sample.attributes.count, 1);
    expect_text(sample_pair(&sample.attributes, 0)->key, "VisibilityTimeout");
    expect_text(sample_pair(&sample.attributes, 0)->value, "30");
    cr_assert_eq(sample.tags.count, 1);
    expect_text(sample_pair(&sample.tags, 0)->value, "");
    cr_expect(!sample.entries.present);
}

Test(query, structures_nest_in_lists_and_maps)
{
    cr_assert_eq(read(QN_STR("Entry.2.Id=b&Entry.2.MessageAttribute.1.Name=k&Entry.2."
                             "MessageAttribute.1.Value.DataType=String&Entry.2.MessageAttribute.1."
                             "Value.StringValue=v&Entry.2.MessageAttribute.1.Value.StringListValue."
                             "1=r&Entry.1.Id=a&Entry.2.DelaySeconds=3")),
                 QN_ERR_NONE);
    cr_assert_eq(sample.entries.count, 2);
    expect_text(sample_entry_at(&sample.entries, 0)->id, "a");
    const struct sample_entry *second = sample_entry_at(&sample.entries, 1);
    expect_text(second->id, "b");
    cr_expect_eq(second->delay.value, 3);
    cr_assert_eq(second->message_attributes.count, 1);
    const struct sample_value *value = sample_value_at(&second->message_attributes, 0);
    expect_text(value->name, "k");
    expect_text(value->string_value, "v");
    expect_text(value->data_type, "String");
    cr_expect_eq(value->string_list_values.count, 1);
}

Test(query, indexes_have_gaps_and_any_order_and_sort_as_numbers)
{
    cr_assert_eq(read(QN_STR("AttributeName.10=ten&AttributeName.9=nine&AttributeName.1000000000"
                             "00000000000000000=last&AttributeName.2=two&AttributeName.003=three")),
                 QN_ERR_NONE);
    cr_assert_eq(sample.names.count, 5);
    expect_text(sample_text(&sample.names, 0), "two");
    expect_text(sample_text(&sample.names, 1), "three");
    expect_text(sample_text(&sample.names, 2), "nine");
    expect_text(sample_text(&sample.names, 3), "ten");
    expect_text(sample_text(&sample.names, 4), "last");
}

Test(query, one_item_without_an_index_is_taken)
{
    cr_assert_eq(read(QN_STR("AttributeName=All&Attribute.Name=Policy&Attribute.Value=p&Message"
                             "Attribute.Name=k&MessageAttribute.Value.DataType=String")),
                 QN_ERR_NONE);
    cr_assert_eq(sample.names.count, 1);
    expect_text(sample_text(&sample.names, 0), "All");
    cr_assert_eq(sample.attributes.count, 1);
    expect_text(sample_pair(&sample.attributes, 0)->key, "Policy");
    expect_text(sample_pair(&sample.attributes, 0)->value, "p");
    cr_assert_eq(sample.message_attributes.count, 1);
    expect_text(sample_value_at(&sample.message_attributes, 0)->data_type, "String");
}

Test(query, MA_11_equal_keys_of_a_map_are_both_kept)
{
    cr_assert_eq(read(QN_STR("MessageAttribute.1.Name=k&MessageAttribute.1.Value.DataType=String&"
                             "MessageAttribute.2.Name=k&MessageAttribute.2.Value.DataType=Number")),
                 QN_ERR_NONE);
    cr_expect_eq(sample.message_attributes.count, 2);
}

Test(query, the_last_of_equal_parameters_wins_and_the_body_over_the_query_string)
{
    cr_assert_eq(read(QN_STR("MessageBody=a&MessageBody=b&AttributeName.1=x&AttributeName.01=y")),
                 QN_ERR_NONE);
    expect_text(sample.body, "b");
    cr_assert_eq(sample.names.count, 1);
    expect_text(sample_text(&sample.names, 0), "y");

    cr_assert_eq(read_both(QN_STR("MessageBody=url&DelaySeconds=4"), QN_STR("MessageBody=form")),
                 QN_ERR_NONE);
    expect_text(sample.body, "form");
    cr_expect_eq(sample.delay.value, 4);
}

Test(query, plus_and_percent_are_decoded_once)
{
    cr_assert_eq(read(QN_STR("Message%42ody=a+b%20c%2Bd%25E8%26e%3D%0D%0Af%c3%a9&"
                             "Attribute%2e1%2EName=a.b%3D&Attribute.1.Value=</=?>")),
                 QN_ERR_NONE);
    expect_text(sample.body, "a b c+d%E8&e=\r\nf\xC3\xA9");
    cr_assert_eq(sample.attributes.count, 1);
    expect_text(sample_pair(&sample.attributes, 0)->key, "a.b=");
    expect_text(sample_pair(&sample.attributes, 0)->value, "</=?>");
}

Test(query, an_empty_value_is_present_and_a_pair_splits_at_its_first_equals_sign)
{
    cr_assert_eq(read(QN_STR("&&MessageBody=&AttributeName.1&AttributeName.2=a=b&")), QN_ERR_NONE);
    expect_text(sample.body, "");
    cr_assert_eq(sample.names.count, 2);
    expect_text(sample_text(&sample.names, 0), "");
    expect_text(sample_text(&sample.names, 1), "a=b");
}

Test(query, unknown_parameters_are_ignored)
{
    cr_assert_eq(read(QN_STR("Foo=1&=x&MessageBody.x=1&AttributeName.x=1&AttributeName.1.y=1&"
                             "Attribute.1=1&Entry=1&Entry.Id=1&Entry.x.Id=1&MessageAttribute.x=1&"
                             "DelaySeconds.1=x&Attribute=x&.=1&MessageBody=b")),
                 QN_ERR_MISSING_PARAMETER);
    cr_assert_eq(read(QN_STR("Foo=1&=x&MessageBody.x=1&AttributeName.x=1&AttributeName.1.y=1&"
                             "Entry=1&Entry.Id=1&Entry.x.Id=1&MessageAttribute.x=1&"
                             "DelaySeconds.1=x&Attribute=x&.=1&MessageBody=b")),
                 QN_ERR_NONE);
    expect_text(sample.body, "b");
    cr_expect(!sample.names.present && !sample.entries.present && !sample.delay.present);
    cr_expect(!sample.attributes.present && !sample.message_attributes.present);
}

Test(query, an_item_of_a_map_needs_its_key_and_a_string_map_its_value)
{
    cr_expect_eq(read(QN_STR("Attribute.7.Value=5")), QN_ERR_MISSING_PARAMETER);
    cr_expect_str_eq(err.message, "The request must contain the parameter Attribute.7.Name.");
    cr_expect_eq(read(QN_STR("Tag.1.Key=5")), QN_ERR_MISSING_PARAMETER);
    cr_expect_str_eq(err.message, "The request must contain the parameter Tag.1.Value.");
    cr_expect_eq(read(QN_STR("Entry.3.MessageAttribute.2.Value.DataType=String")),
                 QN_ERR_MISSING_PARAMETER);
    cr_expect_str_eq(err.message,
                     "The request must contain the parameter Entry.3.MessageAttribute.2.Name.");
    cr_expect_eq(read(QN_STR("MessageAttribute.1.Name=k")), QN_ERR_NONE);
    cr_expect_eq(sample.message_attributes.count, 1);
}

Test(query, a_number_that_cannot_be_parsed_is_malformed_input)
{
    const struct qn_str bad[] = {QN_STR("DelaySeconds="),
                                 QN_STR("DelaySeconds=x"),
                                 QN_STR("DelaySeconds=1.0"),
                                 QN_STR("DelaySeconds=%201"),
                                 QN_STR("DelaySeconds=9223372036854775808"),
                                 QN_STR("SenderFault=yes"),
                                 QN_STR("Entry.1.DelaySeconds=1s")};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(read(bad[i]), QN_ERR_MALFORMED_INPUT, "accepted: %.*s", QN_STR_ARG(bad[i]));
    }
    cr_expect_str_eq(err.message, "The value '1s' of the parameter Entry.1.DelaySeconds is not an "
                                  "integer of 64 bits.");
    cr_expect_eq(read(QN_STR("SenderFault=false&DelaySeconds=-9223372036854775808")), QN_ERR_NONE);
    cr_expect(sample.fault.present && !sample.fault.value);
    cr_expect_eq(sample.delay.value, INT64_MIN);
}

Test(query, an_error_repeats_a_value_in_whole_characters)
{
    cr_expect_eq(read(QN_STR("DelaySeconds=x"
                             "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9"
                             "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9"
                             "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9"
                             "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9")),
                 QN_ERR_MALFORMED_INPUT);
    cr_expect(qn_str_is_utf8(qn_str_from_cstr(err.message)));
}

Test(query, base64_that_is_none_is_an_invalid_value)
{
    cr_expect_eq(read(QN_STR("BinaryValue=A")), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(read(QN_STR("BinaryValue=A+==")), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(read(QN_STR("BinaryValue=%2B%2b8=")), QN_ERR_NONE);
    expect_text(sample.blob, "\xFB\xEF");
}

Test(query, MSG_7_broken_encoding_is_malformed)
{
    const struct qn_str bad[] = {QN_STR("MessageBody=%FF"),
                                 QN_STR("MessageBody=\xC3"),
                                 QN_STR("MessageBody=%ED%A0%80"),
                                 QN_STR("MessageBody=a%"),
                                 QN_STR("MessageBody=a%4"),
                                 QN_STR("MessageBody=a%zz"),
                                 QN_STR("MessageBody=a%4g"),
                                 QN_STR("Unknown=%FF"),
                                 QN_STR("%zz=1"),
                                 QN_STR("Attribute.1.%C0%80Name=1")};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(read(bad[i]), QN_ERR_MALFORMED_INPUT, "accepted: %.*s", QN_STR_ARG(bad[i]));
    }
    cr_expect_eq(read_both(QN_STR("MessageBody=%F"), QN_STR_NONE), QN_ERR_MALFORMED_QUERY_STRING);
    cr_expect_eq(read_both(QN_STR("MessageBody=%FF"), QN_STR_NONE), QN_ERR_MALFORMED_INPUT);
    cr_expect_eq(read(QN_STR("MessageBody=a%00b")), QN_ERR_NONE);
    expect_text(sample.body, "a\0b");
}

Test(query, a_request_that_needs_too_much_memory_is_told_so)
{
    struct qn_buf body;

    qn_buf_init(&body, ROOM);
    for (int i = 0; i < 2000; i++) {
        qn_buf_append_format(&body, "Entry.%d.Id=x&", i);
    }
    cr_expect_eq(read(qn_buf_str(&body)), QN_ERR_NONE);
    cr_expect_eq(sample.entries.count, 2000);
    qn_arena_reset(&arena);
    arena.max_bytes = 8192;
    cr_expect_eq(read(qn_buf_str(&body)), QN_ERR_REQUEST_TOO_LARGE);

    qn_buf_clear(&body);
    qn_buf_append_literal(&body, "MessageBody=+");
    for (int i = 0; i < 10000; i++) {
        qn_buf_append_char(&body, 'x');
    }
    cr_expect_eq(read(qn_buf_str(&body)), QN_ERR_REQUEST_TOO_LARGE);
    qn_buf_done(&body);
}

Test(query, a_parameter_is_found_by_its_decoded_key)
{
    struct qn_wire_form form = {QN_STR("Action=url&Version=1"), QN_STR("%41ction=a&Actio=b&A=c")};
    struct qn_str value;

    cr_assert(qn_wire_form_get(&arena, &form, "Action", &value, &err));
    expect_text(value, "a");
    cr_assert(qn_wire_form_get(&arena, &form, "Version", &value, &err));
    expect_text(value, "1");
    cr_assert(qn_wire_form_get(&arena, &form, "Nothing", &value, &err));
    cr_expect(qn_str_is_none(value));
}
