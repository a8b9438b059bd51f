/* The stages before and around the handler, with a real server and a real database. */
#include <criterion/criterion.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/inbox/store.h"
#include "client/quern_envelope.h"
#include "tests/support/diary.h"

#define ENVELOPE(key, payload)                                                                     \
    "{\"messageType\":\"order.placed\",\"schemaVersion\":1,\"idempotencyKey\":\"" key              \
    "\",\"payload\":" payload "}"

static const struct quern_envelope_kind kinds[] = {{"order.placed", 1, 1}};
static struct diary diary;
static struct quern_error err;
static char path[] = "/tmp/quern-stages-XXXXXX";
static struct quern_inbox *inbox;
static int failures; /* of the effect, that are still to come */

static struct quern_result handle(void *state, struct quern_delivery *delivery)
{
    const struct quern_envelope *envelope = quern_delivery_envelope(delivery);

    diary_note_call(state, envelope != NULL ? envelope->idempotency_key : "none");
    return quern_done();
}

/* Writes the order, also when it fails. */
static struct quern_result apply(void *state, struct quern_delivery *delivery,
                                 struct sqlite3 *transaction)
{
    (void)delivery;
    cr_expect(quern_store_run(transaction, "INSERT INTO shipment VALUES (1)", &err));
    diary_note(state, &((struct diary *)state)->applied);
    return failures-- > 0 ? quern_retry(0) : quern_done();
}

/* The first word of a body. */
static bool identify(void *state, const struct quern_delivery *delivery,
                     struct quern_identity *ret_identity)
{
    const char *body = quern_delivery_body(delivery, NULL);
    size_t len = strcspn(body, " ");

    (void)state;
    memcpy(ret_identity->key, body, len);
    ret_identity->key[len] = '\0';
    return strcmp(ret_identity->key, "keyless") != 0;
}

static bool is_short(void *state, const struct quern_delivery *delivery,
                     char reason[QUERN_REASON_MAX])
{
    const json_t *payload = quern_delivery_envelope(delivery)->payload;

    (void)state;
    (void)snprintf(reason, QUERN_REASON_MAX, "too many at once");
    return json_integer_value(json_object_get(payload, "count")) < 10;
}

static void open_inbox(void)
{
    struct quern_inbox_options kept = {.path = path, .consumer = "shipping"};
    sqlite3 *db;
    int fd = mkstemp(path);

    cr_assert_geq(fd, 0);
    (void)close(fd);
    cr_assert(quern_inbox_open(&kept, &inbox, &err), "%s", err.message);
    cr_assert(quern_store_take(inbox, &db, &err));
    cr_assert(quern_store_run(db, "CREATE TABLE shipment (number INTEGER)", &err));
    quern_store_give(inbox, db);
    diary.options.inbox = inbox;
    diary.options.apply = apply;
}

static void open_all(void)
{
    diary_open(&diary, QN_TEST_PROGRAM);
    diary.options.handler = handle;
    diary.options.kinds = kinds;
    diary.options.kind_count = 1;
}

static void close_all(void)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char name[sizeof(path) + 8];

    diary_close(&diary);
    quern_inbox_close(inbox);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        (void)unlink(name);
    }
}

TestSuite(consumer_stages, .init = open_all, .fini = close_all, .timeout = 60);

static void expect_shipments(int64_t expected)
{
    sqlite3 *db;
    sqlite3_stmt *row;

    cr_assert(quern_store_take(inbox, &db, &err));
    cr_assert_eq(sqlite3_prepare_v2(db, "SELECT count(*) FROM shipment", -1, &row, NULL),
                 SQLITE_OK);
    cr_assert_eq(sqlite3_step(row), SQLITE_ROW);
    cr_expect_eq(sqlite3_column_int64(row, 0), expected);
    (void)sqlite3_finalize(row);
    quern_store_give(inbox, db);
}

/* ---- envelope and validation ---- */

Test(consumer_stages, handler_finds_the_envelope_read)
{
    diary_send(&diary, ENVELOPE("k-7", "1"), NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.finished, 1);
    diary_finish(&diary);
    cr_expect_str_eq(diary.bodies[0], "k-7");
}

Test(consumer_stages, what_is_no_envelope_never_reaches_the_handler)
{
    diary_send(&diary, "{\"messageType\":\"order.placed\"}", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.quarantined, 1);
    diary_finish(&diary);
    cr_expect_str_eq(diary.reason, "schemaVersion is missing");
    cr_expect_eq(diary.handled, 0);
    diary_expect_empty(&diary);
}

Test(consumer_stages, validation_sees_the_envelope)
{
    diary.options.validate = is_short;
    diary_send(&diary, ENVELOPE("k", "{\"count\":70}"), NULL);
    diary_send(&diary, ENVELOPE("l", "{\"count\":7}"), NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.quarantined, 1);
    diary_wait_for(&diary, &diary.finished, 1);
    diary_finish(&diary);
    cr_expect_str_eq(diary.reason, "too many at once");
    cr_expect_eq(diary.handled, 1);
}

Test(consumer_stages, without_kinds_no_envelope_is_read)
{
    diary.options.kinds = NULL;
    diary_send(&diary, ENVELOPE("k", "1"), NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.finished, 1);
    diary_finish(&diary);
    cr_expect_str_eq(diary.bodies[0], "none");
}

/* ---- the gate ---- */

Test(consumer_stages, message_sent_twice_takes_effect_once)
{
    open_inbox();
    diary_send(&diary, ENVELOPE("k", "{\"a\":1,\"b\":2}"), NULL);
    diary_send(&diary, ENVELOPE("k", "{ \"b\":2, \"a\":1 }"), NULL);
    diary.options.workers = 1; /* one after the other */
    diary_start(&diary);
    diary_wait_for(&diary, &diary.finished, 2);
    diary_stop(&diary);
    struct quern_counters counters = diary_count(&diary);
    quern_consumer_free(diary.consumer);
    cr_expect_eq(diary.handled, 1);
    cr_expect_eq(counters.duplicates, 1);
    cr_expect_eq(counters.succeeded, 2);
    expect_shipments(1);
    diary_expect_empty(&diary);
}

Test(consumer_stages, effect_that_fails_is_rolled_back_and_comes_again)
{
    open_inbox();
    failures = 1;
    diary.options.handler = NULL; /* nothing slow */
    diary_send(&diary, ENVELOPE("k", "1"), NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.finished, 1);
    diary_finish(&diary);
    cr_expect_eq(diary.applied, 2);
    expect_shipments(1);
}

Test(consumer_stages, key_of_ones_own_needs_no_envelope)
{
    open_inbox();
    diary.options.kinds = NULL;
    diary.options.identify = identify;
    diary.options.workers = 1;
    diary_send(&diary, "order-1 box", NULL);
    diary_send(&diary, "order-1 box", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.finished, 2);
    diary_send(&diary, "order-1 crate", NULL);
    diary_wait_for(&diary, &diary.quarantined, 1);
    cr_expect_str_eq(diary.reason, "the key was used for another payload");
    diary_send(&diary, "keyless", NULL);
    diary_wait_for(&diary, &diary.quarantined, 2);
    cr_expect_str_eq(diary.reason, "the message has no key");
    diary_finish(&diary);
    expect_shipments(1);
    diary_expect_empty(&diary);
}

/* The work of another worker, which has the key of a message that comes here. */
static struct quern_result be_busy(void *state, struct quern_delivery *delivery)
{
    (void)state;
    (void)delivery;
    diary_send(&diary, ENVELOPE("k", "1"), NULL);
    diary_start(&diary);
    while (diary_count(&diary).retried == 0) {
        (void)poll(NULL, 0, 5);
    }
    diary_send(&diary, ENVELOPE("l", "1"), NULL);
    diary_wait_for(&diary, &diary.finished, 1);
    return quern_done();
}

Test(consumer_stages, claim_of_another_worker_is_no_failure_for_the_circuit)
{
    const struct quern_inbox_work work = {.key = "k",
                                          .payload = "1",
                                          .payload_len = 1,
                                          .prepare = be_busy,
                                          .apply = apply,
                                          .state = &diary};

    open_inbox();
    diary.options.circuit_failures = 1;
    diary.options.circuit_open_ms = INT32_MAX;
    cr_expect_eq(quern_inbox_do(inbox, NULL, &work, NULL).outcome, QUERN_DONE);
    diary_stop(&diary);
    struct quern_counters counters = diary_count(&diary);
    quern_consumer_free(diary.consumer);
    cr_expect_eq(counters.circuit_opens, 0);
    cr_expect_eq(counters.retried, 1);
}

static void expect_refused(const char *word)
{
    cr_expect_not(quern_consumer_new(&diary.options, &diary.consumer, &err));
    cr_expect_not_null(strstr(err.message, word), "%s", err.message);
}

Test(consumer_stages, stages_that_do_not_go_together_are_named)
{
    diary.options.apply = apply;
    expect_refused("need an inbox");
    open_inbox();
    diary.options.apply = NULL;
    expect_refused("apply is missing");
    diary.options.apply = apply;
    diary.options.kinds = NULL;
    expect_refused("identify");
}
