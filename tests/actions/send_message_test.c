/* SendMessage: bodies, sizes, delays, group and deduplication ids. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    fixture_create(&f, "q", "");
    fixture_create(&f, "q.fifo", "");
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(send_message, .init = start, .fini = stop);

static enum qn_error_code send(const char *members)
{
    return fixture_code(&f, "SendMessage", "'QueueUrl':'q',%s", members);
}

static enum qn_error_code send_fifo(const char *members)
{
    return fixture_code(&f, "SendMessage", "'QueueUrl':'q.fifo','MessageBody':'m'%s", members);
}

static void expect_refused(enum qn_error_code code, enum qn_error_code expected, const char *text)
{
    cr_expect_eq(code, expected, "%s", f.err.message);
    cr_expect_str_eq(f.err.message, text);
}

/* So many letters. */
static const char *letters(size_t count)
{
    char *text = qn_arena_alloc_raw(&f.arena, count + 1);

    memset(text, 'x', count);
    text[count] = '\0';
    return text;
}

static enum qn_error_code send_letters(size_t count)
{
    return send(fixture_format(&f, "'MessageBody':'%s'", letters(count)));
}

/* ---- the body (8.1) ---- */

Test(send_message, MSG_1_a_body_has_at_least_one_character)
{
    const char *text = "The request must contain the parameter MessageBody.";

    expect_refused(send("'DelaySeconds':0"), QN_ERR_MISSING_PARAMETER, text);
    expect_refused(send("'MessageBody':''"), QN_ERR_MISSING_PARAMETER, text);
    cr_expect_eq(send("'MessageBody':'x'"), QN_ERR_NONE);
}

Test(send_message, MSG_2_every_allowed_range_at_both_ends)
{
    static const char *const good[] = {"\\t",     "\\n",     "\\r",           "\\u0020",
                                       "\\ud7ff", "\\ue000", "\\ufffd",       "\\ud800\\udc00",
                                       "\\u007f", "\\u0080", "\\udbff\\udfff"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cr_expect_eq(send(fixture_format(&f, "'MessageBody':'a%sb'", good[i])), QN_ERR_NONE, "%s",
                     good[i]);
    }
}

Test(send_message, MSG_2_forbidden_characters_are_refused_wherever_they_stand)
{
    static const char *const bad[] = {"\\u0000", "\\u0001", "\\u0008", "\\u000b", "\\u000c",
                                      "\\u000e", "\\u001f", "\\ufffe", "\\uffff"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(send(fixture_format(&f, "'MessageBody':'%sab'", bad[i])),
                     QN_ERR_INVALID_MESSAGE_CONTENTS, "%s", bad[i]);
        cr_expect_eq(send(fixture_format(&f, "'MessageBody':'ab%s'", bad[i])),
                     QN_ERR_INVALID_MESSAGE_CONTENTS, "%s", bad[i]);
    }
    cr_expect_str_eq(fixture_counts(&f, "q"), "0 0 0");
}

Test(send_message, MSG_4_MSG_5_a_body_of_exactly_the_limit_and_one_byte_more)
{
    fixture_set(&f, "q", "'MaximumMessageSize':'1024'");
    cr_expect_eq(send_letters(1024), QN_ERR_NONE);
    expect_refused(send_letters(1025), QN_ERR_INVALID_PARAMETER_VALUE,
                   "One or more parameters are invalid. Reason: Message must be shorter than 1024 "
                   "bytes.");
}

Test(send_message, MSG_5_a_body_of_one_mebibyte_and_one_byte_more)
{
    cr_expect_eq(send_letters(1048576), QN_ERR_NONE);
    expect_refused(send_letters(1048577), QN_ERR_INVALID_PARAMETER_VALUE,
                   "One or more parameters are invalid. Reason: Message must be shorter than "
                   "1048576 bytes.");
}

Test(send_message, MSG_4_bytes_count_and_not_characters)
{
    fixture_set(&f, "q", "'MaximumMessageSize':'1024'");
    cr_expect_eq(send(fixture_format(&f, "'MessageBody':'%s\\u00e4'", letters(1022))), QN_ERR_NONE);
    cr_expect_eq(send(fixture_format(&f, "'MessageBody':'%s\\u00e4'", letters(1023))),
                 QN_ERR_INVALID_PARAMETER_VALUE);
}

Test(send_message, MA_8_name_type_and_value_of_attributes_count)
{
    fixture_set(&f, "q", "'MaximumMessageSize':'1024'");
    /* 4 + 6 + 5 bytes, and 3 + 6 + 3 decoded ones */
    const char *attributes = "'MessageAttributes':{'name':{'DataType':'String','StringValue':"
                             "'value'},'bin':{'DataType':'Binary','BinaryValue':'AAEC'}}";
    cr_expect_eq(send(fixture_format(&f, "'MessageBody':'%s',%s", letters(1024 - 27), attributes)),
                 QN_ERR_NONE);
    cr_expect_eq(send(fixture_format(&f, "'MessageBody':'%s',%s", letters(1024 - 26), attributes)),
                 QN_ERR_INVALID_PARAMETER_VALUE);
}

Test(send_message, the_trace_header_does_not_count)
{
    fixture_set(&f, "q", "'MaximumMessageSize':'1024'");
    cr_expect_eq(send(fixture_format(&f,
                                     "'MessageBody':'%s','MessageSystemAttributes':{"
                                     "'AWSTraceHeader':{'DataType':'String','StringValue':'%s'}}",
                                     letters(1024), letters(100))),
                 QN_ERR_NONE);
}

Test(send_message, a_change_of_the_largest_size_counts_for_later_sends)
{
    send_letters(5000);
    fixture_set(&f, "q", "'MaximumMessageSize':'1024'");
    cr_expect_eq(send_letters(5000), QN_ERR_INVALID_PARAMETER_VALUE);
    fixture_must(&f, "ReceiveMessage", "'QueueUrl':'q'");
    cr_expect_eq(strlen(fixture_get(&f, "Messages.0.Body")), 5000);
}

Test(send_message, MSG_6_a_body_comes_back_byte_for_byte)
{
    static const char *const bodies[][2] = {
        {"a\\r\\nb\\r", "a\r\nb\r"},
        {"  blanks  ", "  blanks  "},
        {"\\u00e4\\u65e5\\ud83d\\ude00", "\xc3\xa4\xe6\x97\xa5\xf0\x9f\x98\x80"},
        {"<a>&amp;\\\"", "<a>&amp;\""},
    };

    for (size_t i = 0; i < 4; i++) {
        send(fixture_format(&f, "'MessageBody':'%s'", bodies[i][0]));
        fixture_must(&f, "ReceiveMessage", "'QueueUrl':'q'");
        cr_expect_str_eq(fixture_get(&f, "Messages.0.Body"), bodies[i][1]);
    }
}

Test(send_message, the_digest_is_over_the_bytes_of_the_body)
{
    send("'MessageBody':'hello'");
    cr_expect_str_eq(fixture_get(&f, "MD5OfMessageBody"), "5d41402abc4b2a76b9719d911017c592");
    cr_expect_null(fixture_get(&f, "MD5OfMessageAttributes"));
    cr_expect_null(fixture_get(&f, "MD5OfMessageSystemAttributes"));
    cr_expect_null(fixture_get(&f, "SequenceNumber"));
    fixture_must(&f, "ReceiveMessage", "'QueueUrl':'q'");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.MD5OfBody"), "5d41402abc4b2a76b9719d911017c592");
}

Test(send_message, ID_9_a_message_id_is_a_uuid_in_lower_case_and_unlike_all_others)
{
    const char *first = fixture_send_with(&f, "q", "m", "");
    const char *second = fixture_send_with(&f, "q", "m", "");

    cr_expect_eq(strlen(first), 36);
    cr_expect_eq(strspn(first, "0123456789abcdef-"), 36);
    cr_expect_str_neq(first, second);
}

/* ---- delay ---- */

Test(send_message, a_delay_is_0_to_900)
{
    cr_expect_eq(send("'MessageBody':'m','DelaySeconds':0"), QN_ERR_NONE);
    cr_expect_eq(send("'MessageBody':'m','DelaySeconds':900"), QN_ERR_NONE);
    expect_refused(send("'MessageBody':'m','DelaySeconds':901"), QN_ERR_INVALID_PARAMETER_VALUE,
                   "Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be "
                   ">= 0 and <= 900.");
    expect_refused(send("'MessageBody':'m','DelaySeconds':-1"), QN_ERR_INVALID_PARAMETER_VALUE,
                   "Value -1 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be "
                   ">= 0 and <= 900.");
}

Test(send_message, a_fifo_queue_takes_no_delay_but_0)
{
    const char *ids = ",'MessageGroupId':'g','MessageDeduplicationId':'d'";

    expect_refused(send_fifo(fixture_format(&f, "%s,'DelaySeconds':1", ids)),
                   QN_ERR_INVALID_PARAMETER_VALUE,
                   "Value 1 for parameter DelaySeconds is invalid. Reason: The request include "
                   "parameter that is not valid for this queue type.");
    cr_expect_eq(send_fifo(fixture_format(&f, "%s,'DelaySeconds':0", ids)), QN_ERR_NONE);
}

/* ---- group and deduplication ids ---- */

Test(send_message, fifo_needs_a_group)
{
    expect_refused(send_fifo(",'MessageDeduplicationId':'d'"), QN_ERR_MISSING_PARAMETER,
                   "The request must contain the parameter MessageGroupId.");
}

Test(send_message, fifo_needs_a_deduplication_id_or_makes_one_of_the_content)
{
    expect_refused(send_fifo(",'MessageGroupId':'g'"), QN_ERR_INVALID_PARAMETER_VALUE,
                   "The queue should either have ContentBasedDeduplication enabled or "
                   "MessageDeduplicationId provided explicitly");
    fixture_set(&f, "q.fifo", "'ContentBasedDeduplication':'true'");
    cr_expect_eq(send_fifo(",'MessageGroupId':'g'"), QN_ERR_NONE);
}

Test(send_message, a_standard_queue_takes_no_deduplication_id)
{
    expect_refused(send("'MessageBody':'m','MessageDeduplicationId':'d'"),
                   QN_ERR_INVALID_PARAMETER_VALUE,
                   "Value d for parameter MessageDeduplicationId is invalid. Reason: The request "
                   "include parameter that is not valid for this queue type.");
}

Test(send_message, ID_15_group_and_deduplication_ids)
{
    static const char *const bad[] = {"", "a b", "\\u00e4", "\\u0001", "\\u007f"};
    const char *good[] = {"x", "!\\\"#$%&\\u0027()*+,-./:;<=>?@[\\\\]^_`{|}~", letters(128)};
    const char *words = "can only include alphanumeric and punctuation characters. 1 to 128 in "
                        "length.";

    for (size_t i = 0; i < 3; i++) {
        cr_expect_eq(
            send_fifo(fixture_format(&f, ",'MessageGroupId':'%s','MessageDeduplicationId':'%s'",
                                     good[i], good[i])),
            QN_ERR_NONE, "%s: %s", good[i], f.err.message);
        cr_expect_eq(send(fixture_format(&f, "'MessageBody':'m','MessageGroupId':'%s'", good[i])),
                     QN_ERR_NONE);
    }
    for (size_t i = 0; i <= sizeof(bad) / sizeof(bad[0]); i++) {
        const char *id = i < sizeof(bad) / sizeof(bad[0]) ? bad[i] : letters(129);
        cr_expect_eq(send_fifo(fixture_format(
                         &f, ",'MessageGroupId':'%s','MessageDeduplicationId':'d'", id)),
                     QN_ERR_INVALID_PARAMETER_VALUE);
        cr_expect_not_null(
            strstr(f.err.message, fixture_format(&f, "Reason: MessageGroupId %s", words)));
        cr_expect_eq(send_fifo(fixture_format(
                         &f, ",'MessageGroupId':'g','MessageDeduplicationId':'%s'", id)),
                     QN_ERR_INVALID_PARAMETER_VALUE);
        cr_expect_not_null(
            strstr(f.err.message, fixture_format(&f, "Reason: MessageDeduplicationId %s", words)));
        cr_expect_eq(send(fixture_format(&f, "'MessageBody':'m','MessageGroupId':'%s'", id)),
                     QN_ERR_INVALID_PARAMETER_VALUE);
    }
}

Test(send_message, an_empty_group_leaves_two_blanks_in_the_text)
{
    expect_refused(send_fifo(",'MessageGroupId':'','MessageDeduplicationId':'d'"),
                   QN_ERR_INVALID_PARAMETER_VALUE,
                   "Value  for parameter MessageGroupId is invalid. Reason: MessageGroupId can "
                   "only include alphanumeric and punctuation characters. 1 to 128 in length.");
}

/* ---- the trace header (8.3) ---- */

Test(send_message, the_trace_header_of_the_parameter_wins_over_the_request_s)
{
    f.caller.trace_header = QN_STR("Root=1-header");
    fixture_send(&f, "q", "m1");
    cr_expect_null(fixture_get(&f, "MD5OfMessageSystemAttributes"));
    fixture_send_with(&f, "q", "m2",
                      "'MessageSystemAttributes':{'AWSTraceHeader':{'DataType':'String',"
                      "'StringValue':'Root=1-parameter'}}");
    fixture_receive_with(&f, "q", 10, "'AttributeNames':['AWSTraceHeader']");
    cr_expect_str_eq(fixture_get(&f, "Messages.0.Attributes.AWSTraceHeader"), "Root=1-header");
    cr_expect_str_eq(fixture_get(&f, "Messages.1.Attributes.AWSTraceHeader"), "Root=1-parameter");
}

Test(send_message, other_system_attributes_and_other_types_are_refused)
{
    static const char *const bad[] = {
        "'Odd':{'DataType':'String','StringValue':'x'}",
        "'AWSTraceHeader':{'DataType':'Number','StringValue':'1'}",
        "'AWSTraceHeader':{'DataType':'Binary','BinaryValue':'AAEC'}",
        "'AWSTraceHeader':{'DataType':'String','StringValue':''}",
        "'AWSTraceHeader':{'DataType':'String'}",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(
            send(fixture_format(&f, "'MessageBody':'m','MessageSystemAttributes':{%s}", bad[i])),
            QN_ERR_INVALID_PARAMETER_VALUE, "%s", bad[i]);
    }
}
