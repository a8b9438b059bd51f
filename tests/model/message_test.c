/* The byte form of a message's content, and the digest over its attributes. */
#include <criterion/criterion.h>

#include "server/model/message.h"

static struct qn_buf buf;

static void start(void)
{
    qn_buf_init(&buf, SIZE_MAX);
}

static void stop(void)
{
    qn_buf_done(&buf);
}

TestSuite(message, .init = start, .fini = stop);

static struct qn_message_attribute text(const char *name, const char *type, const char *value)
{
    return (struct qn_message_attribute){.name = qn_str_from_cstr(name),
                                         .data_type = qn_str_from_cstr(type),
                                         .string_value = qn_str_from_cstr(value)};
}

static struct qn_message_attribute bytes(const char *name, const char *type, struct qn_str value)
{
    return (struct qn_message_attribute){
        .name = qn_str_from_cstr(name), .data_type = qn_str_from_cstr(type), .binary_value = value};
}

static void expect_digest(const struct qn_message_attribute *sorted, size_t count,
                          const char *expected)
{
    char digest[33];

    qn_attributes_md5(sorted, count, digest);
    cr_expect_str_eq(digest, expected);
}

Test(message, digests_of_the_vectors)
{
    const struct qn_message_attribute number = text("timestamp", "Number", "1493147359900");
    const struct qn_message_attribute string = text("timestamp", "String", "1493147359900");
    const struct qn_message_attribute labelled = text("count", "Number.int", "42");
    const struct qn_message_attribute blob = bytes("blob", "Binary", QN_STR("\0\1\2\xff"));
    const struct qn_message_attribute greet =
        text("greet", "String", "h\xc3\xa9llo \xf0\x9f\x98\x80");
    const struct qn_message_attribute three[] = {text("A", "String", "one"),
                                                 bytes("a", "Binary.png", QN_STR("\x89PNG")),
                                                 text("b", "String", "two")};

    expect_digest(&number, 1, "235c5c510d26fb653d073faed50ae77c");
    expect_digest(&string, 1, "421727302b4c6065ab1676449a136b07");
    expect_digest(&labelled, 1, "1e9b7ed68a1fc24c052ff8db3df46449");
    expect_digest(&blob, 1, "3b1b4028306ffa157a32d5916f8f714b");
    expect_digest(&greet, 1, "c9e854c471e4fba97860942aef945258");
    expect_digest(three, 3, "21106c5d99f86b6ade111a2b621c2f4b");
}

static struct qn_content sample(void)
{
    return (struct qn_content){.body = QN_STR("a\0body"),
                               .attributes = QN_STR("encoded"),
                               .trace_header = QN_STR("Root=1"),
                               .sender_id = QN_STR("000000000000"),
                               .group_id = QN_STR("g"),
                               .deduplication_id = QN_STR("d"),
                               .body_md5 = {1, 2, 3, 255}};
}

Test(message, content_comes_back_from_its_bytes)
{
    const struct qn_content content = sample();
    struct qn_content back;

    qn_content_encode(&buf, &content);
    cr_assert(qn_content_decode(qn_buf_str(&buf), &back));
    cr_expect(qn_str_equal(back.body, content.body));
    cr_expect(qn_str_equal(back.attributes, content.attributes));
    cr_expect(qn_str_equal(back.trace_header, content.trace_header));
    cr_expect(qn_str_equal(back.sender_id, content.sender_id));
    cr_expect(qn_str_equal(back.group_id, content.group_id));
    cr_expect(qn_str_equal(back.deduplication_id, content.deduplication_id));
    cr_expect_eq(memcmp(back.body_md5, content.body_md5, 16), 0);
}

Test(message, absent_and_empty_are_told_apart)
{
    const struct qn_content content = {
        .body = QN_STR("b"), .attributes = QN_STR(""), .group_id = QN_STR("")};
    struct qn_content back;

    qn_content_encode(&buf, &content);
    cr_assert(qn_content_decode(qn_buf_str(&buf), &back));
    cr_expect_not(qn_str_is_none(back.group_id));
    cr_expect_eq(back.group_id.len, 0);
    cr_expect(qn_str_is_none(back.trace_header));
    cr_expect(qn_str_is_none(back.sender_id));
    cr_expect(qn_str_is_none(back.deduplication_id));
}

Test(message, content_that_was_cut_or_has_more_behind_it_is_refused)
{
    const struct qn_content content = sample();
    struct qn_content back;

    qn_content_encode(&buf, &content);
    for (size_t len = 0; len < buf.len; len++) {
        cr_expect_not(qn_content_decode(qn_str_first(qn_buf_str(&buf), len), &back));
    }
    qn_buf_append_u8(&buf, 0);
    cr_expect_not(qn_content_decode(qn_buf_str(&buf), &back));
}

Test(message, content_of_another_version_is_refused)
{
    const struct qn_content content = sample();
    struct qn_content back;

    qn_content_encode(&buf, &content);
    buf.ptr[0]++;
    cr_expect_not(qn_content_decode(qn_buf_str(&buf), &back));
}

Test(message, attributes_come_back_one_by_one)
{
    const struct qn_message_attribute three[] = {text("A", "String", "one"),
                                                 bytes("a", "Binary.png", QN_STR("\0\1")),
                                                 text("b", "Number", "2")};
    struct qn_message_attribute back;
    struct qn_reader reader;

    qn_content_encode_attributes(&buf, three, 3);
    qn_reader_init(&reader, qn_buf_str(&buf));
    for (size_t i = 0; i < 3; i++) {
        cr_assert(qn_content_next_attribute(&reader, &back));
        cr_expect(qn_str_equal(back.name, three[i].name));
        cr_expect(qn_str_equal(back.data_type, three[i].data_type));
        cr_expect(qn_str_equal(back.string_value, three[i].string_value));
        cr_expect(qn_str_equal(back.binary_value, three[i].binary_value));
        cr_expect_eq(qn_str_is_none(back.string_value), i == 1);
    }
    cr_expect_not(qn_content_next_attribute(&reader, &back));
}

Test(message, attributes_that_were_cut_end_early)
{
    const struct qn_message_attribute one = text("A", "String", "one");
    struct qn_message_attribute back;

    qn_content_encode_attributes(&buf, &one, 1);
    for (size_t len = 0; len < buf.len; len++) {
        struct qn_reader reader;
        qn_reader_init(&reader, qn_str_first(qn_buf_str(&buf), len));
        cr_expect_not(qn_content_next_attribute(&reader, &back));
    }
}
