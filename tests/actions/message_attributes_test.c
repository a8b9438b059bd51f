/* Message attributes: what is refused, their digest, and which of them come back. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    fixture_create(&f, "q", "");
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(message_attributes, .init = start, .fini = stop);

static enum qn_error_code send(const char *attributes)
{
    return fixture_code(&f, "SendMessage",
                        "'QueueUrl':'q','MessageBody':'m',"
                        "'MessageAttributes':{%s}",
                        attributes);
}

static enum qn_error_code send_named(const char *name)
{
    return send(fixture_format(&f, "'%s':{'DataType':'String','StringValue':'x'}", name));
}

static enum qn_error_code send_typed(const char *type, const char *value)
{
    return send(fixture_format(&f, "'A':{'DataType':'%s','StringValue':'%s'}", type, value));
}

Test(message_attributes, MA_1_ten_and_no_more)
{
    struct qn_buf attributes;

    qn_buf_init(&attributes, SIZE_MAX);
    for (int count = 1; count <= 11; count++) {
        qn_buf_append_format(&attributes, "%s'A%d':{'DataType':'String','StringValue':'x'}",
                             count > 1 ? "," : "", count);
        if (count >= 10) {
            enum qn_error_code code =
                send(fixture_format(&f, "%.*s", QN_STR_ARG(qn_buf_str(&attributes))));
            cr_expect_eq(code, count == 10 ? QN_ERR_NONE : QN_ERR_INVALID_PARAMETER_VALUE);
        }
    }
    cr_expect_str_eq(f.err.message,
                     "Number of message attributes [11] exceeds the allowed maximum [10].");
    qn_buf_done(&attributes);
}

Test(message_attributes, MA_2_names)
{
    static const char *const good[] = {
        "a", "A.b-c_9", "\\u00df\\u00e4\\u00f8", "AWSx", "Amazon", "9", "-", "_"};
    static const char *const bad[] = {"",         ".a", "a.", "a..b", "a b", "a!",      "a\\\"",
                                      "a\\u00a7", "a(", "a?", "a/b",  "a:b", "a\\u0001"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cr_expect_eq(send_named(good[i]), QN_ERR_NONE, "%s", good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(send_named(bad[i]), QN_ERR_INVALID_PARAMETER_VALUE, "%s", bad[i]);
    }
    cr_expect_eq(send_named(fixture_format(&f, "%0256d", 1)), QN_ERR_NONE);
    cr_expect_eq(send_named(fixture_format(&f, "%0257d", 1)), QN_ERR_INVALID_PARAMETER_VALUE);
}

Test(message_attributes, MA_3_reserved_prefixes_in_any_case)
{
    static const char *const bad[] = {"AWS.x",    "aws.x",    "Aws.x",
                                      "Amazon.x", "amazon.x", "AMAZON.x"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(send_named(bad[i]), QN_ERR_INVALID_PARAMETER_VALUE, "%s", bad[i]);
    }
}

Test(message_attributes, MA_4_types)
{
    static const char *const good[] = {"String", "String.any", "Number", "Number.int.x"};
    static const char *const bad[] = {"",       "string", "Strin", "Strings", "String.",
                                      "NUMBER", "Float",  ".x",    "Number,x"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cr_expect_eq(send_typed(good[i], "1"), QN_ERR_NONE, "%s", good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(send_typed(bad[i], "1"), QN_ERR_INVALID_PARAMETER_VALUE, "%s", bad[i]);
    }
    cr_expect_eq(send("'A':{'StringValue':'x'}"), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(send_typed(fixture_format(&f, "String.%0249d", 1), "x"), QN_ERR_NONE);
    cr_expect_eq(send_typed(fixture_format(&f, "String.%0250d", 1), "x"),
                 QN_ERR_INVALID_PARAMETER_VALUE);
}

Test(message_attributes, MA_5_each_type_has_its_own_value_and_only_that)
{
    static const char *const bad[] = {
        "'A':{'DataType':'String'}",
        "'A':{'DataType':'Number'}",
        "'A':{'DataType':'Binary'}",
        "'A':{'DataType':'Number','StringValue':''}",
        "'A':{'DataType':'Binary','BinaryValue':''}",
        "'A':{'DataType':'String','BinaryValue':'AAEC'}",
        "'A':{'DataType':'Number','BinaryValue':'AAEC'}",
        "'A':{'DataType':'Binary','StringValue':'x'}",
        "'A':{'DataType':'String','StringValue':'x','BinaryValue':'AAEC'}",
        "'A':{'DataType':'Binary','StringValue':'x','BinaryValue':'AAEC'}",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(send(bad[i]), QN_ERR_INVALID_PARAMETER_VALUE, "%s", bad[i]);
    }
    cr_expect_eq(send("'A':{'DataType':'Binary','BinaryValue':'AAEC'}"), QN_ERR_NONE);
    cr_expect_eq(send("'Name':{'DataType':'String','StringValue':''}"),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_str_eq(f.err.message, "Message (user) attribute 'Name' must contain a non-empty "
                                    "value of type 'String'.");
}

Test(message_attributes, MA_6_forbidden_characters_in_a_value_are_an_invalid_parameter)
{
    cr_expect_eq(send_typed("String", "a\\u0001"), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(send_typed("String", "a\\uffff"), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(send_typed("String", "a\\t\\r\\n"), QN_ERR_NONE);
}

Test(message_attributes, MA_7_numbers)
{
    static const char *const good[] = {
        "0",
        "-0",
        "+1",
        "1.5",
        ".5",
        "5.",
        "007",
        "1e5",
        "1E+5",
        "1e-5",
        "-1.25e-3",
        "0.0",
        "12345678901234567890123456789012345678",
        "0.12345678901234567890123456789012345678",
        "00012345678901234567890123456789012345678000",
        "1e126",
        "1e-128",
        "0e999",
    };
    static const char *const bad[] = {
        "x",     "",       "1x",     "1 ",       " 1",
        "1.2.3", "--1",    "+-1",    "1e",       "e5",
        "1e5.5", "0x10",   "1,5",    ".",        "-",
        "1e+-5", "1e--5",  "NaN",    "Infinity", "123456789012345678901234567890123456789",
        "1e127", "1e-129", "10e126", "0.1e-128",
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cr_expect_eq(send_typed("Number", good[i]), QN_ERR_NONE, "%s", good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(send_typed("Number", bad[i]), QN_ERR_INVALID_PARAMETER_VALUE, "%s", bad[i]);
    }
}

Test(message_attributes, MA_7_a_number_comes_back_as_it_was_written)
{
    send_typed("Number", "+007.50e1");
    fixture_receive_with(&f, "q", 1, "'MessageAttributeNames':['All']");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MessageAttributes.A.StringValue"), "+007.50e1");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MessageAttributes.A.DataType"), "Number");
}

Test(message_attributes, MA_9_lists_are_not_supported)
{
    cr_expect_eq(send("'A':{'DataType':'String','StringValue':'x','StringListValues':['a']}"),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_str_eq(f.err.message,
                     "Message attribute list values in SendMessage operation are not supported.");
    cr_expect_eq(send("'A':{'DataType':'Binary','BinaryValue':'AAEC','BinaryListValues':['AAEC']}"),
                 QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(send("'A':{'DataType':'String','StringValue':'x','StringListValues':[],"
                      "'BinaryListValues':[]}"),
                 QN_ERR_NONE);
}

Test(message_attributes, MA_10_an_empty_map_is_none)
{
    cr_expect_eq(send(""), QN_ERR_NONE);
    cr_expect_null(fixture_get(&f, "MD5OfMessageAttributes"));
    fixture_receive_with(&f, "q", 1, "'MessageAttributeNames':['All']");
    cr_expect_eq(fixture_count(&f, "Messages.0.MessageAttributes"), 0);
    cr_expect_null(fixture_get(&f, "Messages.0.MD5OfMessageAttributes"));
}

/* ---- the digest (8.5) ---- */

static const struct {
    const char *attributes, *digest;
} vectors[] = {
    {"'timestamp':{'DataType':'Number','StringValue':'1493147359900'}",
     "235c5c510d26fb653d073faed50ae77c"},
    {"'timestamp':{'DataType':'String','StringValue':'1493147359900'}",
     "421727302b4c6065ab1676449a136b07"},
    {"'count':{'DataType':'Number.int','StringValue':'42'}", "1e9b7ed68a1fc24c052ff8db3df46449"},
    {"'blob':{'DataType':'Binary','BinaryValue':'AAEC/w=='}", "3b1b4028306ffa157a32d5916f8f714b"},
    {"'greet':{'DataType':'String','StringValue':'h\\u00e9llo \\ud83d\\ude00'}",
     "c9e854c471e4fba97860942aef945258"},
    {"'b':{'DataType':'String','StringValue':'two'},'A':{'DataType':'String','StringValue':'one'},"
     "'a':{'DataType':'Binary.png','BinaryValue':'iVBORw=='}",
     "21106c5d99f86b6ade111a2b621c2f4b"},
};

Test(message_attributes, the_digest_of_each_vector_on_send_and_on_receive)
{
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        cr_expect_eq(send(vectors[i].attributes), QN_ERR_NONE);
        cr_expect_str_eq(fixture_get(&f, "MD5OfMessageAttributes"), vectors[i].digest);
        fixture_receive_with(&f, "q", 1, "'MessageAttributeNames':['All']");
        cr_expect_str_eq(fixture_get(&f, "Messages.0.MD5OfMessageAttributes"), vectors[i].digest);
    }
}

Test(message_attributes, the_digest_of_the_trace_header)
{
    fixture_send_with(&f, "q", "m",
                      "'MessageSystemAttributes':{'AWSTraceHeader':{'DataType':'String',"
                      "'StringValue':'Root=1-5759e988-bd862e3fe1be46a994272793;"
                      "Parent=53995c3f42cd8ad8;Sampled=1'}}");
    cr_expect_str_eq(fixture_get(&f, "MD5OfMessageSystemAttributes"),
                     "5ae4d5d7636402d80f4eb6d213245a88");
    cr_expect_null(fixture_get(&f, "MD5OfMessageAttributes"));
}

Test(message_attributes, the_digest_on_receive_is_over_what_is_returned)
{
    send("'count':{'DataType':'Number.int','StringValue':'42'},'x':{'DataType':'String',"
         "'StringValue':'x'}");
    fixture_receive_with(&f, "q", 1, "'MessageAttributeNames':['count']");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MD5OfMessageAttributes"),
                     "1e9b7ed68a1fc24c052ff8db3df46449");
}

/* ---- selecting on receive (8.7) ---- */

Test(message_attributes, selection_by_name_prefix_and_wildcard)
{
    static const struct {
        const char *names;
        size_t count;
    } selections[] = {
        {"'Hello'", 1},
        {"'Help.Me'", 1},
        {"'All'", 3},
        {"'*'", 3},
        {"'.*'", 3},
        {"'Hel.*'", 2},
        {"'Help.*'", 1},
        {"'Hello.*'", 1},
        {"'other'", 1},
        {"'hello'", 0},
        {"'unknown'", 0},
        {"", 0},
        {"'AWS.x'", 0},
        {"'..foo'", 0},
        {"'Hello','other'", 2},
        {"'Hello','Hello'", 1},
        {"'unknown','Hel.*'", 2},
        {"''", 0},
        {"'all'", 0},
    };

    send("'Hello':{'DataType':'String','StringValue':'1'},'Help.Me':{'DataType':'String',"
         "'StringValue':'2'},'other':{'DataType':'String','StringValue':'3'}");
    for (size_t i = 0; i < sizeof(selections) / sizeof(selections[0]); i++) {
        fixture_receive_with(&f, "q", 1,
                             fixture_format(&f,
                                            "'VisibilityTimeout':0,'MessageAttributeNames':[%s]",
                                            selections[i].names));
        cr_expect_eq(fixture_count(&f, "Messages.0.MessageAttributes"), selections[i].count, "%s",
                     selections[i].names);
        cr_expect_eq(fixture_get(&f, "Messages.0.MD5OfMessageAttributes") != NULL,
                     selections[i].count > 0);
    }
    fixture_receive(&f, "q", 1);
    cr_expect_eq(fixture_count(&f, "Messages.0.MessageAttributes"), 0);
}

Test(message_attributes, binary_values_come_back_as_they_were)
{
    send("'A':{'DataType':'Binary.png','BinaryValue':'AAEC/w=='}");
    fixture_receive_with(&f, "q", 1, "'MessageAttributeNames':['A']");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MessageAttributes.A.BinaryValue"), "AAEC/w==");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MessageAttributes.A.DataType"), "Binary.png");
    cr_expect_null(fixture_get(&f, "Messages.0.MessageAttributes.A.StringValue"));
}
