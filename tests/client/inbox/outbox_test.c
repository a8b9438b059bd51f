/* The outbox, relayed to a real server. */
#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/inbox/store.h"
#include "tests/support/live_server.h"

enum { STORES = 2 };

static char paths[STORES][32];
static struct quern_inbox *inboxes[STORES];
static struct live_server server;
static struct quern_error err;
static int64_t now_ms = 1000000;
static int64_t sent;

static int64_t tell_now(void *state)
{
    (void)state;
    return now_ms;
}

static void open_inbox(int i)
{
    const struct quern_inbox_options options = {
        .path = paths[i], .consumer = "shipping", .now_ms = tell_now};

    cr_assert(quern_inbox_open(&options, &inboxes[i], &err), "%s", err.message);
}

static void open_all(void)
{
    for (int i = 0; i < STORES; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "/tmp/quern-outbox-XXXXXX");
        int fd = mkstemp(paths[i]);
        cr_assert_geq(fd, 0);
        (void)close(fd);
        open_inbox(i);
    }
    live_server_start(&server, QN_TEST_PROGRAM);
}

static void close_all(void)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char name[sizeof(paths[0]) + 8];

    live_server_stop(&server);
    for (int i = 0; i < STORES; i++) {
        quern_inbox_close(inboxes[i]);
        for (size_t end = 0; end < sizeof(ends) / sizeof(ends[0]); end++) {
            (void)snprintf(name, sizeof(name), "%s%s", paths[i], ends[end]);
            (void)unlink(name);
        }
    }
}

TestSuite(outbox, .init = open_all, .fini = close_all, .timeout = 60);

static char *make_queue(const char *name, bool is_fifo)
{
    const struct quern_pair pair = {"FifoQueue", "true"};
    const struct quern_pairs attributes = {&pair, 1};
    char *url = NULL;

    cr_assert(
        quern_create_queue(server.client, name, is_fifo ? &attributes : NULL, NULL, &url, &err),
        "%s", err.message);
    return url;
}

static void run(int i, const char *sql)
{
    sqlite3 *db;

    cr_assert(quern_store_take(inboxes[i], &db, &err));
    cr_assert(quern_store_run(db, sql, &err), "%s", err.message);
    quern_store_give(inboxes[i], db);
}

static int64_t left(int i)
{
    sqlite3 *db;
    sqlite3_stmt *row;

    cr_assert(quern_store_take(inboxes[i], &db, &err));
    cr_assert_eq(sqlite3_prepare_v2(db, "SELECT count(*) FROM quern_outbox", -1, &row, NULL),
                 SQLITE_OK);
    cr_assert_eq(sqlite3_step(row), SQLITE_ROW);
    int64_t found = sqlite3_column_int64(row, 0);
    (void)sqlite3_finalize(row);
    quern_store_give(inboxes[i], db);
    return found;
}

static void add_message(int i, const char *queue_url, const struct quern_message *message)
{
    sqlite3 *db;

    cr_assert(quern_store_take(inboxes[i], &db, &err));
    cr_assert(quern_outbox_add(db, queue_url, message, &err), "%s", err.message);
    quern_store_give(inboxes[i], db);
}

static void add(int i, const char *queue_url, const char *body)
{
    size_t len = strlen(queue_url);
    bool is_fifo = len > 5 && strcmp(queue_url + len - 5, ".fifo") == 0;
    const struct quern_message message = {.body = body,
                                          .body_len = strlen(body),
                                          .group_id = is_fifo ? "g" : NULL,
                                          .delay_s = QUERN_NOT_GIVEN};

    add_message(i, queue_url, &message);
}

static bool relay(int i)
{
    return quern_outbox_relay(inboxes[i], server.client, 10, &sent, &err);
}

/* In their order, each followed by a blank. */
static void expect_bodies(const char *queue_url, const char *bodies)
{
    const struct quern_receive_options options = {.wait_s = 0, .visibility_s = 600};
    struct quern_messages *messages;
    char found[128] = "";
    size_t len = 0;
    size_t count = 1;

    while (count > 0) {
        cr_assert(quern_receive_message(server.client, queue_url, &options, &messages, &err));
        count = messages->count;
        for (size_t i = 0; i < count && len < sizeof(found); i++) {
            len +=
                (size_t)snprintf(found + len, sizeof(found) - len, "%s ", messages->items[i].body);
        }
        quern_answer_free(messages);
    }
    cr_expect_str_eq(found, bodies);
}

/* ---- once ---- */

Test(outbox, two_databases_do_not_drop_each_others_messages_on_a_fifo_queue)
{
    char *url = make_queue("q.fifo", true);

    add(0, url, "a");
    add(1, url, "b");
    cr_expect(relay(0), "%s", err.message);
    cr_expect(relay(1), "%s", err.message);
    expect_bodies(url, "a b ");
    quern_text_free(url);
}

/* A process that dies between the send and the note of it leaves what this trigger leaves. */
Test(outbox, entry_that_is_sent_twice_is_once_on_a_fifo_queue)
{
    char *url = make_queue("q.fifo", true);

    add(0, url, "a");
    run(0, "CREATE TRIGGER dies BEFORE DELETE ON quern_outbox BEGIN SELECT RAISE(ABORT, 'died');"
           " END");
    cr_expect_not(relay(0));
    cr_expect_str_eq(err.code, "DatabaseError");
    cr_expect_eq(left(0), 1);
    quern_inbox_close(inboxes[0]);
    open_inbox(0);
    run(0, "DROP TRIGGER dies");
    cr_expect(relay(0), "%s", err.message);
    cr_expect_eq(sent, 1);
    cr_expect_eq(left(0), 0);
    expect_bodies(url, "a ");
    quern_text_free(url);
}

/* The table as it was before entries had ids of their own; a program of that time may also write
 * into the table of today. */
Test(outbox, entry_of_an_older_program_gets_an_id_that_stays)
{
    char *url = make_queue("q.fifo", true);
    char insert[256];

    (void)snprintf(insert, sizeof(insert),
                   "INSERT INTO quern_outbox (queue_url, body, group_id, deduplication_id)"
                   " VALUES ('%s', 'a', 'g', NULL)",
                   url);
    for (int i = 0; i < STORES; i++) {
        run(i, "DROP TABLE quern_outbox; CREATE TABLE quern_outbox (id INTEGER PRIMARY KEY"
               " AUTOINCREMENT, queue_url TEXT NOT NULL, body BLOB NOT NULL, group_id TEXT,"
               " deduplication_id TEXT)");
        run(i, insert);
        quern_inbox_close(inboxes[i]);
        open_inbox(i);
        run(i, insert);
        run(i,
            "CREATE TRIGGER dies BEFORE DELETE ON quern_outbox BEGIN SELECT RAISE(ABORT, 'died');"
            " END");
        cr_expect_not(relay(i));
        run(i, "DROP TRIGGER dies");
        cr_expect(relay(i), "%s", err.message);
        cr_expect_eq(left(i), 0);
    }
    expect_bodies(url, "a a a a ");
    quern_text_free(url);
}

/* ---- what cannot be sent ---- */

Test(outbox, queue_that_is_stuck_keeps_its_order_and_holds_up_no_other)
{
    static const char nowhere[] = "http://127.0.0.1:1/000000000000/nowhere";
    char *url = make_queue("q.fifo", true);

    add(0, url, "a");
    add(0, nowhere, "1");
    add(0, url, "b");
    add(0, nowhere, "2");
    add(0, url, "c");
    cr_expect_not(relay(0));
    cr_expect_str_eq(err.code, "QueueDoesNotExist");
    cr_expect_not_null(strstr(err.message, nowhere), "%s", err.message);
    cr_expect_eq(sent, 3);
    cr_expect_eq(left(0), 2);
    expect_bodies(url, "a b c ");
    quern_text_free(url);
    url = make_queue("nowhere", false);
    cr_expect(relay(0), "%s", err.message);
    cr_expect_eq(sent, 2);
    cr_expect_eq(left(0), 0);
    quern_text_free(url);
}

Test(outbox, first_of_a_stuck_queue_is_listed_with_its_error_and_can_be_dropped)
{
    struct quern_outbox_entries *stuck = NULL;
    char *url = make_queue("q.fifo", true);
    const struct quern_message refused = {
        .body = "\x01", .body_len = 1, .group_id = "g", .delay_s = QUERN_NOT_GIVEN};

    cr_assert(quern_outbox_list_stuck(inboxes[0], &stuck, &err));
    cr_expect_eq(stuck->count, 0);
    quern_answer_free(stuck);
    add_message(0, url, &refused);
    add(0, url, "b");
    cr_expect_not(relay(0));
    now_ms += 1000;
    cr_expect_not(relay(0));
    cr_expect_eq(sent, 0);
    cr_assert(quern_outbox_list_stuck(inboxes[0], &stuck, &err));
    cr_assert_eq(stuck->count, 1);
    cr_expect_str_eq(stuck->items[0].queue_url, url);
    cr_expect_str_eq(stuck->items[0].message.body, "\x01");
    cr_expect_str_eq(stuck->items[0].error_code, "InvalidMessageContents");
    cr_expect_gt(strlen(stuck->items[0].error_message), 0);
    cr_expect_not(stuck->items[0].is_retryable);
    cr_expect_eq(stuck->items[0].stuck_since_ms, now_ms - 1000);
    cr_expect(quern_outbox_drop(inboxes[0], stuck->items[0].id, &err));
    cr_expect(quern_outbox_drop(inboxes[0], stuck->items[0].id, &err));
    quern_answer_free(stuck);
    cr_expect(relay(0), "%s", err.message);
    expect_bodies(url, "b ");
    quern_text_free(url);
}

Test(outbox, relay_of_a_cancelled_client_ends_and_blames_no_message)
{
    struct quern_outbox_entries *stuck = NULL;
    char *url = make_queue("q", false);

    add(0, url, "a");
    quern_client_cancel(server.client);
    cr_expect_not(relay(0));
    cr_expect_str_eq(err.code, "Cancelled");
    cr_assert(quern_outbox_list_stuck(inboxes[0], &stuck, &err));
    cr_expect_eq(stuck->count, 0);
    quern_answer_free(stuck);
    quern_text_free(url);
}

Test(outbox, relay_sends_no_more_than_it_is_told)
{
    char *urls[] = {make_queue("q", false), make_queue("r", false)};

    for (int i = 0; i < 4; i++) {
        add(0, urls[i % 2], "m");
    }
    cr_expect(quern_outbox_relay(inboxes[0], server.client, 3, &sent, &err));
    cr_expect_eq(sent, 3);
    expect_bodies(urls[1], "m "); /* the youngest is left */
    quern_text_free(urls[0]);
    quern_text_free(urls[1]);
}

/* ---- what a message says ---- */

Test(outbox, attributes_trace_header_and_delay_are_kept)
{
    static const unsigned char bytes[] = {0, 1, 255};
    const struct quern_attribute attributes[] = {
        {.name = "kind", .data_type = "String", .text = "order"},
        {.name = "raw", .data_type = "Binary", .bytes = bytes, .byte_count = sizeof(bytes)}};
    const struct quern_message message = {.body = "a",
                                          .body_len = 1,
                                          .attributes = attributes,
                                          .attribute_count = 2,
                                          .delay_s = 1,
                                          .trace_header = "Root=1-2-3"};
    const struct quern_receive_options options = {.wait_s = 20, .visibility_s = 600};
    struct quern_messages *messages;
    char *url = make_queue("q", false);

    add_message(0, url, &message);
    cr_expect(relay(0), "%s", err.message);
    expect_bodies(url, "");
    cr_assert(quern_receive_message(server.client, url, &options, &messages, &err));
    cr_assert_eq(messages->count, 1);
    const struct quern_received *got = &messages->items[0];
    cr_expect_str_eq(quern_received_system(got, "AWSTraceHeader"), "Root=1-2-3");
    cr_expect_str_eq(quern_received_attribute(got, "kind")->text, "order");
    const struct quern_attribute *raw = quern_received_attribute(got, "raw");
    cr_assert_eq(raw->byte_count, sizeof(bytes));
    cr_expect_arr_eq(raw->bytes, bytes, sizeof(bytes));
    quern_answer_free(messages);
    quern_text_free(url);
}

Test(outbox, message_that_is_no_text_is_refused_when_it_is_added)
{
    const struct quern_message message = {
        .body = "a", .body_len = 1, .delay_s = QUERN_NOT_GIVEN, .trace_header = "\xff"};
    sqlite3 *db;

    cr_assert(quern_store_take(inboxes[0], &db, &err));
    cr_expect_not(quern_outbox_add(db, "http://127.0.0.1:1/1/q", &message, &err));
    cr_expect_str_eq(err.code, "InvalidText");
    quern_store_give(inboxes[0], db);
    cr_expect_eq(left(0), 0);
}
