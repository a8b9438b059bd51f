/* Events as bytes, and the keys in a body. */
#include <criterion/criterion.h>

#include "server/model/event.h"

static struct qn_buf buf;
static struct qn_arena arena;

static void start(void)
{
    qn_buf_init(&buf, 65536);
    qn_arena_init(&arena, 65536);
}

static void stop(void)
{
    qn_buf_done(&buf);
    qn_arena_done(&arena);
}

TestSuite(event, .init = start, .fini = stop);

static struct qn_event through_bytes(const struct qn_event *event)
{
    struct qn_reader reader;
    struct qn_event back;
    qn_event_encode(&buf, event);
    qn_reader_init(&reader, qn_buf_str(&buf));
    cr_assert(qn_event_decode(&reader, &back));
    cr_expect_eq(reader.at, reader.end);
    return back;
}

Test(event, comes_back_from_its_bytes_with_absent_and_empty_fields_told_apart)
{
    struct qn_event event;
    qn_event_init(&event, QN_EVENT_MSG_DELETE);
    event.virtual_ms = -5;
    event.lsn = UINT64_MAX;
    event.queue = QN_STR("");
    event.payload_id = QN_STR("m-1");
    event.receive_count = -1;
    event.count = INT64_MAX;

    struct qn_event back = through_bytes(&event);
    cr_expect_eq(back.kind, QN_EVENT_MSG_DELETE);
    cr_expect_eq(back.virtual_ms, -5);
    cr_expect_eq(back.lsn, UINT64_MAX);
    cr_expect_not(qn_str_is_none(back.queue));
    cr_expect_eq(back.queue.len, 0);
    cr_expect(qn_str_is_none(back.key));
    cr_expect(qn_str_equal(back.payload_id, QN_STR("m-1")));
    cr_expect_eq(back.receive_count, -1);
    cr_expect_eq(back.count, INT64_MAX);
    cr_expect_eq(back.match, QN_EVENT_NO_INT);
}

Test(event, cut_bytes_are_refused_at_every_length)
{
    struct qn_event event;
    struct qn_event back;
    struct qn_reader reader;
    qn_event_init(&event, QN_EVENT_MARK);
    event.reason = QN_STR("reason");
    event.count = 3;
    qn_event_encode(&buf, &event);
    for (size_t len = 0; len < buf.len; len++) {
        qn_reader_init(&reader, qn_str(buf.ptr, len));
        cr_expect_not(qn_event_decode(&reader, &back), "%zu", len);
    }
}

Test(event, unknown_kinds_and_fields_are_refused)
{
    struct qn_event event;
    struct qn_event back;
    struct qn_reader reader;
    qn_event_init(&event, QN_EVENT_MARK);
    qn_event_encode(&buf, &event);
    buf.ptr[0] = QN_EVENT_KIND_COUNT;
    qn_reader_init(&reader, qn_buf_str(&buf));
    cr_expect_not(qn_event_decode(&reader, &back));
    buf.ptr[0] = QN_EVENT_MARK;
    buf.ptr[20] = (char)0x80; /* highest bit of the mask */
    qn_reader_init(&reader, qn_buf_str(&buf));
    cr_expect_not(qn_event_decode(&reader, &back));
}

Test(event, is_stamped_after_it_was_encoded)
{
    struct qn_event event;
    struct qn_event back;
    struct qn_reader reader;
    qn_event_init(&event, QN_EVENT_MSG_SEND);
    qn_event_encode(&buf, &event);
    qn_event_stamp(buf.ptr, 0x0102030405060708, 99);
    qn_reader_init(&reader, qn_buf_str(&buf));
    cr_assert(qn_event_decode(&reader, &back));
    cr_expect_eq(back.virtual_ms, 0x0102030405060708);
    cr_expect_eq(back.lsn, 99);
}

Test(event, only_leases_and_messages_are_state)
{
    cr_expect(qn_event_is_state(QN_EVENT_LEASE_GRANT));
    cr_expect(qn_event_is_state(QN_EVENT_MSG_DUPCOPY));
    cr_expect_not(qn_event_is_state(QN_EVENT_API_OUT));
    cr_expect_not(qn_event_is_state(QN_EVENT_BOOT));
}

static void expect_keys(const char *body, const char *key, const char *payload_id)
{
    struct qn_str found_key = QN_STR("?");
    struct qn_str found_id = QN_STR("?");
    qn_event_body_keys(qn_str_from_cstr(body), &arena, &found_key, &found_id);
    cr_expect(qn_str_equal(found_key, qn_str_from_cstr(key)), "%s: key %.*s", body,
              QN_STR_ARG(found_key));
    cr_expect_eq(qn_str_is_none(found_key), key == NULL, "%s", body);
    cr_expect(qn_str_equal(found_id, qn_str_from_cstr(payload_id)), "%s: id %.*s", body,
              QN_STR_ARG(found_id));
}

Test(event, keys_of_a_body_are_idempotency_key_and_payload_id)
{
    expect_keys("{\"idempotencyKey\":\"k-003\",\"payload\":{\"id\":\"m-003\",\"x\":[1,{}]}}",
                "k-003", "m-003");
    expect_keys("{\"payload\":{\"a\":{\"id\":\"deep\"},\"id\":\"m\\u0031\"},\"id\":\"top\"}", NULL,
                "m1");
    expect_keys(" {\"a\":[{\"idempotencyKey\":\"inner\"}],\"idempotencyKey\":\"outer\"} ", "outer",
                NULL);
}

Test(event, the_last_of_duplicate_keys_wins)
{
    expect_keys("{\"idempotencyKey\":\"a\",\"idempotencyKey\":\"b\"}", "b", NULL);
}

Test(event, a_body_that_is_not_a_json_object_has_no_keys)
{
    expect_keys("", NULL, NULL);
    expect_keys("hello", NULL, NULL);
    expect_keys("[\"idempotencyKey\"]", NULL, NULL);
    expect_keys("{\"idempotencyKey\":\"a\"", NULL, NULL);
    expect_keys("{\"idempotencyKey\":\"a\"} x", NULL, NULL);
    expect_keys("{\"idempotencyKey\":7,\"payload\":\"m\"}", NULL, NULL);
    expect_keys("{\"payload\":{\"id\":7}}", NULL, NULL);
}
