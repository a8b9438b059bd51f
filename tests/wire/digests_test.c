/* Digests in an answer are made wrong or taken out, and nothing else is touched. */
#include "server/actions/actions.h"
#include "tests/wire/sample.h"

#define HEX "0123456789abcdef0123456789abcdef"

struct item {
    struct qn_str id;
    struct qn_str body;
    struct qn_str body_md5;
};

struct answer {
    struct qn_str first_md5;
    struct qn_list items;
    struct qn_str last_md5;
};

static const struct qn_field item_fields[] = {
    {"Id", NULL, QN_STRING, 0, offsetof(struct item, id), NULL, NULL, NULL},
    {"Body", NULL, QN_STRING, 0, offsetof(struct item, body), NULL, NULL, NULL},
    {"MD5OfBody", NULL, QN_STRING, 0, offsetof(struct item, body_md5), NULL, NULL, NULL},
};
static const struct qn_shape item_shape = QN_SHAPE(struct item, item_fields);

/* In the order of SQS: the digests of a single send stand at the front. */
static const struct qn_field answer_fields[] = {
    {"MD5OfFirst", NULL, QN_STRING, 0, offsetof(struct answer, first_md5), NULL, NULL, NULL},
    {"MD5OfLast", NULL, QN_STRING, 0, offsetof(struct answer, last_md5), NULL, NULL, NULL},
    {"Items", "Item", QN_STRUCT_LIST, 0, offsetof(struct answer, items), &item_shape, NULL, NULL},
};
static const struct qn_shape answer_shape = QN_SHAPE(struct answer, answer_fields);
static const struct qn_action action = {
    .name = "GetAnswer", .input = &qn_empty_shape, .output = &answer_shape};

static struct qn_request request;
static struct qn_buf buf;
static struct item items[3];
static struct answer answer;
static struct qn_str hit_id;
static size_t hit_index;

static void start(void)
{
    qn_buf_init(&buf, 1 << 16);
    request.action = &action;
    request.output = &answer;
    for (size_t i = 0; i < 3; i++) {
        items[i] = (struct item){.body = QN_STR("\"MD5OfBody\":\"" HEX "\"<MD5OfBody>" HEX "<"),
                                 .body_md5 = QN_STR(HEX)};
    }
    answer = (struct answer){.items = {items, 3, true}};
    hit_id = QN_STR_NONE;
}

static void stop(void)
{
    qn_buf_done(&buf);
}

TestSuite(digests, .init = start, .fini = stop);

static bool is_hit(const void *state, size_t index, struct qn_str id)
{
    (void)state;
    return qn_str_is_none(hit_id) ? hit_index == index || hit_index == SIZE_MAX
                                  : qn_str_equal(id, hit_id);
}

static size_t spoil(enum qn_protocol protocol, bool takes_out)
{
    const struct qn_digest_fault fault = {
        .takes_out = takes_out, .draw = UINT64_C(0xfedcba9876543210), .is_hit = is_hit};

    request.protocol = protocol;
    qn_buf_clear(&buf);
    qn_wire_encode_output(&request, &buf);
    return qn_wire_spoil_digests(&request, &fault, &buf);
}

static size_t count(const char *text)
{
    size_t found = 0;
    size_t len = strlen(text);

    for (size_t i = 0; i + len <= buf.len; i++) {
        found += memcmp(buf.ptr + i, text, len) == 0;
    }
    return found;
}

static const enum qn_protocol protocols[] = {QN_PROTOCOL_JSON, QN_PROTOCOL_QUERY,
                                             QN_PROTOCOL_QUERY_JSON};

Test(digests, every_digit_becomes_another_one)
{
    for (size_t p = 0; p < 3; p++) {
        hit_index = SIZE_MAX;
        cr_expect_eq(spoil(protocols[p], false), 3);
        const char *before = p == 1 ? "<MD5OfBody>" : ",\"MD5OfBody\":\"";
        size_t seen = 0;
        for (size_t i = 0; i + strlen(before) + 32 <= buf.len; i++) {
            if (memcmp(buf.ptr + i, before, strlen(before)) != 0) {
                continue;
            }
            seen++;
            for (size_t j = 0; j < 32; j++) {
                char digit = buf.ptr[i + strlen(before) + j];
                cr_expect_neq(digit, HEX[j]);
                cr_expect_not_null(memchr(HEX, digit, 16));
            }
        }
        cr_expect_eq(seen, 3);
    }
}

Test(digests, what_a_body_says_is_left_alone)
{
    static const char *const bodies[] = {"\\\"MD5OfBody\\\":\\\"" HEX, "&lt;MD5OfBody&gt;" HEX};

    hit_index = SIZE_MAX;
    (void)spoil(QN_PROTOCOL_JSON, false);
    cr_expect_eq(count(bodies[0]), 3);
    (void)spoil(QN_PROTOCOL_JSON, true);
    cr_expect_eq(count(bodies[0]), 3);
    (void)spoil(QN_PROTOCOL_QUERY, false);
    cr_expect_eq(count(bodies[1]), 3);
    (void)spoil(QN_PROTOCOL_QUERY, true);
    cr_expect_eq(count(bodies[1]), 3);
}

Test(digests, one_of_several_by_its_place)
{
    for (size_t p = 0; p < 3; p++) {
        hit_index = 1;
        cr_expect_eq(spoil(protocols[p], true), 1);
        cr_expect_eq(count(p == 1 ? "<MD5OfBody>" HEX : ",\"MD5OfBody\":\"" HEX), 2);
        hit_index = 2;
        cr_expect_eq(spoil(protocols[p], false), 1);
        cr_expect_eq(count(p == 1 ? "<MD5OfBody>" HEX : ",\"MD5OfBody\":\"" HEX), 2);
    }
}

Test(digests, one_of_several_by_its_id)
{
    items[0].id = QN_STR("a");
    items[2].id = hit_id = QN_STR("c");
    cr_expect_eq(spoil(QN_PROTOCOL_JSON, true), 1);
    cr_expect_eq(count("\"MD5OfBody\":\"" HEX), 2);
    cr_expect_eq(count("\"}]}"), 1, "the last one is gone, and its comma with it");
}

Test(digests, what_is_left_is_still_the_protocol)
{
    answer.first_md5 = QN_STR(HEX);
    answer.last_md5 = QN_STR(HEX);
    hit_index = SIZE_MAX;
    answer.items.count = 1;
    items[0].body = QN_STR("b");
    cr_expect_eq(spoil(QN_PROTOCOL_JSON, true), 3);
    expect_text(qn_buf_str(&buf), "{\"Items\":[{\"Body\":\"b\"}]}");
    answer.items.count = 0;
    cr_expect_eq(spoil(QN_PROTOCOL_JSON, true), 2);
    expect_text(qn_buf_str(&buf), "{}");
    cr_expect_eq(spoil(QN_PROTOCOL_QUERY, true), 2);
    cr_expect_eq(count("<GetAnswerResult></GetAnswerResult>"), 1);
}

Test(digests, without_any_nothing_changes)
{
    answer.items.count = 0;
    hit_index = SIZE_MAX;
    cr_expect_eq(spoil(QN_PROTOCOL_JSON, false), 0);
    expect_text(qn_buf_str(&buf), "{}");
}
