/* What a consumer tells: its lines, and whether it is ready and alive. */
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>

#include "client/quern_envelope.h"
#include "server/base/clock.h"
#include "server/base/str.h"
#include "tests/support/diary.h"

static struct diary diary;

static const struct quern_envelope_kind kinds[] = {{"order.placed", 1, 2}};

static const char order[] = "{\"messageType\":\"order.placed\",\"schemaVersion\":2,"
                            "\"idempotencyKey\":\"o-7\",\"messageId\":"
                            "\"e-1\",\"correlationId\":\"c-1\",\"causationId\":\"c-0\","
                            "\"tenantId\":\"A\",\"payload\":\"CANARY\"}";

static const char *handle_of(const struct quern_delivery *delivery)
{
    return quern_delivery_received(delivery)->receipt_handle;
}

/* "steal" is deleted under the handler's hands, "close" with its whole queue. */
static struct quern_result handle(void *state, struct quern_delivery *delivery)
{
    struct diary *d = state;
    const char *body = quern_delivery_body(delivery, NULL);
    struct quern_error err;
    bool ok = true;

    if (strcmp(body, "steal") == 0) {
        struct pollfd cancel = {.fd = quern_delivery_cancel_fd(delivery), .events = POLLIN};
        ok = quern_delete_message(d->server.client, d->queue_url, handle_of(delivery), &err) &&
             poll(&cancel, 1, DIARY_LIMIT_S * 1000) == 1;
    } else if (strncmp(body, "close", 5) == 0) {
        ok = quern_delete_queue(d->server.client, d->queue_url, &err);
    }
    cr_assert(ok);
    diary_note_call(d, body);
    return strcmp(body, "close") == 0 ? quern_done() : quern_retry(0);
}

static void open_all(void)
{
    diary_open(&diary, QN_TEST_PROGRAM);
    diary.options.handler = handle;
}

static void close_all(void)
{
    diary_close(&diary);
}

TestSuite(consumer_telling, .init = open_all, .fini = close_all, .timeout = 60);

/* The nth line of that event, or NULL; json_decref it. */
static json_t *find_line(const char *event, int nth)
{
    struct qn_str rest = qn_str_from_cstr(diary.log);

    while (rest.len > 0) {
        struct qn_str line = qn_str_cut(rest, '\n', &rest);
        json_t *read = json_loadb(line.ptr, line.len, 0, NULL);
        cr_assert_not_null(read, "%.*s", QN_STR_ARG(line));
        if (strcmp(json_string_value(json_object_get(read, "event")), event) == 0 && nth-- == 0) {
            return read;
        }
        json_decref(read);
    }
    return NULL;
}

static void expect_text(const json_t *line, const char *name, const char *value)
{
    const char *found = json_string_value(json_object_get(line, name));

    cr_assert_not_null(found, "%s", name);
    cr_expect_str_eq(found, value);
}

static void expect_ids(const char *event)
{
    json_t *line = find_line(event, 0);

    cr_assert_not_null(line, "%s", event);
    cr_expect_eq(json_string_length(json_object_get(line, "message_id")), 36, "%s", event);
    cr_expect_eq(json_integer_value(json_object_get(line, "receive_count")), 1, "%s", event);
    json_decref(line);
}

Test(consumer_telling, line_about_a_message_has_the_ids_of_its_envelope)
{
    diary.options.kinds = kinds;
    diary.options.kind_count = 1;
    diary_send(&diary, order, NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.handled, 1);
    diary_finish(&diary);
    json_t *line = find_line("message.failed", 0);
    cr_assert_not_null(line);
    expect_text(line, "envelope_id", "e-1");
    expect_text(line, "type", "order.placed");
    cr_expect_eq(json_integer_value(json_object_get(line, "version")), 2);
    expect_text(line, "key", "o-7");
    expect_text(line, "tenant", "A");
    expect_text(line, "correlation_id", "c-1");
    expect_text(line, "causation_id", "c-0");
    cr_expect_null(strstr(diary.log, "CANARY"));
    json_decref(line);
}

/* A sender writes what it likes into an id; the line stays one that can be read. */
Test(consumer_telling, long_id_is_cut_between_characters)
{
    char body[24000];
    char key[20001] = "x";

    for (size_t i = 1; i + 2 < sizeof(key); i += 2) {
        memcpy(key + i, "\xc3\xa9", 3);
    }
    diary.options.kinds = kinds;
    diary.options.kind_count = 1;
    (void)snprintf(
        body, sizeof(body),
        "{\"messageType\":\"order.placed\",\"schemaVersion\":1,\"idempotencyKey\":\"%s\","
        "\"payload\":1}",
        key);
    diary_send(&diary, body, NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.handled, 1);
    diary_finish(&diary);
    json_t *line = find_line("message.failed", 0);
    cr_assert_not_null(line);
    cr_expect_eq(json_string_length(json_object_get(line, "key")), 255);
    json_decref(line);
}

Test(consumer_telling, failed_extension_and_lost_lease_are_told_with_the_message)
{
    diary.options.visibility_s = 4;
    diary.options.heartbeat_interval_ms = 500;
    diary.options.allows_short_leases = true;
    diary_send(&diary, "steal", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.handled, 1);
    diary_finish(&diary);
    expect_ids("extension.failed");
    expect_ids("lease.lost");
    cr_expect_null(find_line("lease.lost", 1));
}

Test(consumer_telling, failed_deletion_is_told_with_the_message)
{
    diary_send(&diary, "close", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.handled, 1);
    diary_finish(&diary);
    expect_ids("deletion.failed");
}

Test(consumer_telling, failed_release_is_told_with_the_message)
{
    diary_send(&diary, "close it", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.handled, 1);
    diary_finish(&diary);
    expect_ids("release.failed");
}

static struct quern_result nap(void *state, struct quern_delivery *delivery)
{
    struct pollfd cancel = {.fd = quern_delivery_cancel_fd(delivery), .events = POLLIN};

    diary_note_call(state, "nap");
    if (quern_delivery_receive_count(delivery) == 1) {
        (void)poll(&cancel, 1, DIARY_LIMIT_S * 1000);
        return quern_retry(-1);
    }
    return quern_done();
}

/* One at work, three that wait for the only worker; nobody extends them. */
Test(consumer_telling, every_lost_lease_has_its_line)
{
    diary.options.handler = nap;
    diary.options.workers = 1;
    diary.options.max_messages = 10;
    diary.options.visibility_s = 1;
    diary.options.heartbeat_interval_ms = -1;
    for (int i = 0; i < 4; i++) {
        diary_send(&diary, "m", NULL);
    }
    diary_start(&diary);
    diary_wait_for(&diary, &diary.finished, 4);
    diary_stop(&diary);
    struct quern_counters counters;
    quern_consumer_count(diary.consumer, &counters);
    cr_expect_geq(counters.lapses, 1);
    for (int i = 0; i < counters.lapses; i++) {
        json_t *line = find_line("lease.lost", i);
        cr_expect_not_null(line, "%d of %d", i, (int)counters.lapses);
        json_decref(line);
    }
    cr_expect_null(find_line("lease.lost", (int)counters.lapses));
    quern_consumer_free(diary.consumer);
}

/* ---- ready, alive ---- */

static void note_ready(void *state)
{
    diary_note(state, &diary.ready);
}

Test(consumer_telling, is_told_to_be_ready_once_also_at_an_empty_queue)
{
    int64_t begun_ms = qn_clock_monotonic_ms();

    diary.options.on_ready = note_ready;
    diary_start(&diary);
    diary_wait_for(&diary, &diary.ready, 1);
    cr_expect_lt(qn_clock_monotonic_ms() - begun_ms, 15000); /* its long poll is of 20 s */
    cr_expect(quern_consumer_is_ready(diary.consumer));
    diary_send(&diary, "fine", NULL);
    diary_wait_for(&diary, &diary.handled, 2);
    diary_finish(&diary);
    cr_expect_eq(diary.ready, 1);
    json_t *line = find_line("ready", 0);
    cr_expect_not_null(line);
    json_decref(line);
    cr_expect_null(find_line("ready", 1));
}

static int64_t now_ms;
static int64_t told_now(void *state)
{
    (void)state;
    return __atomic_load_n(&now_ms, __ATOMIC_SEQ_CST);
}

Test(consumer_telling, age_of_the_last_turn_grows_while_nothing_happens)
{
    struct quern_error err;

    diary.options.now_ms = told_now;
    now_ms = 1000;
    cr_assert(quern_consumer_new(&diary.options, &diary.consumer, &err));
    cr_expect_eq(quern_consumer_turn_age_ms(diary.consumer), 0);
    now_ms = 4000;
    cr_expect_eq(quern_consumer_turn_age_ms(diary.consumer), 3000);
    quern_consumer_free(diary.consumer);
}

Test(consumer_telling, message_that_is_worked_on_is_a_turn)
{
    diary.options.now_ms = told_now;
    now_ms = 1000;
    diary_start(&diary);
    __atomic_store_n(&now_ms, 61000, __ATOMIC_SEQ_CST);
    cr_expect_eq(quern_consumer_turn_age_ms(diary.consumer), 60000);
    diary_send(&diary, "fine", NULL);
    diary_wait_for(&diary, &diary.handled, 1);
    cr_expect_eq(quern_consumer_turn_age_ms(diary.consumer), 0);
    diary_finish(&diary);
}
