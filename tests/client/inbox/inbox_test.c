/* Effects that happen once: the inbox and the ledger in a database of their own. */
#include "client/quern_inbox.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/inbox/store.h"

enum { STALE_MS = 1000, LIVE_STALE_MS = 1500 };

static char path[] = "/tmp/quern-inbox-XXXXXX";
static struct quern_inbox *inbox;
static struct quern_error err;
static int64_t now_ms = 1000000;
static int prepared;
static bool applies_nothing; /* the effect fails */
static bool prepares_nothing;
static struct quern_inbox *other_process; /* asked for the same key during the work */

static int64_t tell_now(void *state)
{
    (void)state;
    return now_ms;
}

static struct quern_inbox *open_one(const char *consumer)
{
    const struct quern_inbox_options options = {
        .path = path, .consumer = consumer, .stale_ms = STALE_MS, .now_ms = tell_now};
    struct quern_inbox *opened = NULL;

    cr_assert(quern_inbox_open(&options, &opened, &err), "%s", err.message);
    return opened;
}

static int64_t count(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *row;

    cr_assert(quern_store_take(inbox, &db, &err));
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_step(row), SQLITE_ROW);
    int64_t found = sqlite3_column_int64(row, 0);
    (void)sqlite3_finalize(row);
    quern_store_give(inbox, db);
    return found;
}

static void open_all(void)
{
    sqlite3 *db;
    int fd = mkstemp(path);

    cr_assert_geq(fd, 0);
    (void)close(fd);
    inbox = open_one("shipping");
    cr_assert(quern_store_take(inbox, &db, &err));
    cr_assert(quern_store_run(db, "CREATE TABLE shipment (number INTEGER)", &err));
    quern_store_give(inbox, db);
}

static void remove_store(const char *store)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char name[sizeof(path) + 8];

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", store, ends[i]);
        (void)unlink(name);
    }
}

static void close_all(void)
{
    quern_inbox_close(inbox);
    remove_store(path);
}

TestSuite(inbox, .init = open_all, .fini = close_all);

static struct quern_result ship(void *state, struct quern_delivery *delivery,
                                struct sqlite3 *transaction)
{
    const struct quern_message told = {.body = "shipped", .body_len = 7};

    (void)delivery;
    cr_expect(quern_store_run(transaction, "INSERT INTO shipment VALUES (1)", &err));
    if (state != NULL) {
        cr_expect(quern_outbox_add(transaction, state, &told, &err));
    }
    return applies_nothing ? quern_retry(-1) : quern_done();
}

static struct quern_result work(struct quern_inbox *with, const char *key, const char *payload,
                                struct quern_result (*prepare)(void *, struct quern_delivery *),
                                bool *ret_was_done)
{
    const struct quern_inbox_work wanted = {.key = key,
                                            .payload = payload,
                                            .payload_len = strlen(payload),
                                            .prepare = prepare,
                                            .apply = ship};

    return quern_inbox_do(with, NULL, &wanted, ret_was_done);
}

static struct quern_result prepare(void *state, struct quern_delivery *delivery)
{
    (void)state;
    (void)delivery;
    prepared++;
    if (other_process != NULL) {
        struct quern_inbox *other = other_process;
        other_process = NULL;
        cr_expect_eq(work(other, "k", "p", prepare, NULL).outcome, QUERN_RETRY);
    }
    return prepares_nothing ? quern_retry(-1) : quern_done();
}

static int64_t shipments(void)
{
    return count("SELECT count(*) FROM shipment");
}

Test(inbox, key_that_is_done_is_not_done_again)
{
    bool was_done = true;

    cr_expect_eq(work(inbox, "k", "p", NULL, &was_done).outcome, QUERN_DONE);
    cr_expect_not(was_done);
    cr_expect_eq(work(inbox, "k", "p", NULL, &was_done).outcome, QUERN_DONE);
    cr_expect(was_done);
    cr_expect_eq(shipments(), 1);
}

Test(inbox, done_is_remembered_across_a_restart)
{
    cr_expect_eq(work(inbox, "k", "p", NULL, NULL).outcome, QUERN_DONE);
    quern_inbox_close(inbox);
    inbox = open_one("shipping");
    cr_expect_eq(work(inbox, "k", "p", NULL, NULL).outcome, QUERN_DONE);
    cr_expect_eq(shipments(), 1);
}

Test(inbox, effect_that_fails_leaves_nothing_and_may_be_tried_again)
{
    applies_nothing = true;
    cr_expect_eq(work(inbox, "k", "p", NULL, NULL).outcome, QUERN_RETRY);
    cr_expect_eq(shipments(), 0);
    applies_nothing = false;
    cr_expect_eq(work(inbox, "k", "p", NULL, NULL).outcome, QUERN_DONE);
    cr_expect_eq(shipments(), 1);
}

Test(inbox, same_key_with_another_payload_is_a_mistake_for_good)
{
    cr_expect_eq(work(inbox, "k", "p", NULL, NULL).outcome, QUERN_DONE);
    cr_expect_eq(work(inbox, "k", "q", NULL, NULL).outcome, QUERN_PERMANENT);
    cr_expect_eq(shipments(), 1);
}

Test(inbox, two_consumers_of_one_database_do_it_once_each)
{
    struct quern_inbox *billing = open_one("billing");

    cr_expect_eq(work(inbox, "k", "p", NULL, NULL).outcome, QUERN_DONE);
    cr_expect_eq(work(billing, "k", "p", NULL, NULL).outcome, QUERN_DONE);
    cr_expect_eq(shipments(), 2);
    quern_inbox_close(billing);
}

Test(inbox, key_that_another_is_at_is_a_retry)
{
    struct quern_inbox *other = open_one("shipping");

    other_process = other;
    cr_expect_eq(work(inbox, "k", "p", prepare, NULL).outcome, QUERN_DONE);
    cr_expect_eq(prepared, 1);
    cr_expect_eq(shipments(), 1);
    quern_inbox_close(other);
}

static struct quern_result die(void *state, struct quern_delivery *delivery)
{
    (void)state;
    (void)delivery;
    _exit(0); /* in the middle of the work: the claim stays */
}

Test(inbox, claim_of_a_process_that_died_is_taken_over_when_it_is_stale)
{
    pid_t child = fork();

    if (child == 0) {
        inbox = open_one("shipping"); /* a connection does not cross a fork */
        (void)work(inbox, "k", "p", die, NULL);
        _exit(1);
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    cr_expect_eq(work(inbox, "k", "p", prepare, NULL).delay_s, STALE_MS / 1000 + 1);
    now_ms += STALE_MS - 1;
    struct quern_result busy = work(inbox, "k", "p", prepare, NULL);
    cr_expect_eq(busy.outcome, QUERN_RETRY);
    cr_expect_eq(busy.delay_s, 1);
    now_ms += 1;
    cr_expect_eq(work(inbox, "k", "p", prepare, NULL).outcome, QUERN_DONE);
    cr_expect_eq(shipments(), 1);
}

static struct quern_inbox *patient;

/* Works for twice as long as a claim lasts, then another asks. */
static struct quern_result take_long(void *state, struct quern_delivery *delivery)
{
    (void)state;
    (void)delivery;
    (void)poll(NULL, 0, 2 * LIVE_STALE_MS);
    struct quern_result other = work(patient, "k", "p", prepare, NULL);
    cr_expect_eq(other.outcome, QUERN_RETRY);
    cr_expect(other.delay_s >= 1 && other.delay_s <= LIVE_STALE_MS / 1000 + 1);
    return quern_done();
}

Test(inbox, claim_is_renewed_while_its_work_goes_on)
{
    const struct quern_inbox_options options = {
        .path = path, .consumer = "shipping", .stale_ms = LIVE_STALE_MS};
    struct quern_inbox *busy = NULL;

    cr_assert(quern_inbox_open(&options, &busy, &err));
    cr_assert(quern_inbox_open(&options, &patient, &err));
    cr_expect_eq(work(busy, "k", "p", take_long, NULL).outcome, QUERN_DONE);
    cr_expect_eq(prepared, 0);
    cr_expect_eq(shipments(), 1);
    quern_inbox_close(busy);
    quern_inbox_close(patient);
}

Test(inbox, failed_preparation_gives_its_claim_back_at_once)
{
    prepares_nothing = true;
    cr_expect_eq(work(inbox, "k", "p", prepare, NULL).outcome, QUERN_RETRY);
    prepares_nothing = false;
    cr_expect_eq(work(inbox, "k", "p", prepare, NULL).outcome, QUERN_DONE);
    cr_expect_eq(prepared, 2);
}

Test(inbox, ledger_knows_what_was_begun_and_what_was_answered)
{
    enum quern_ledger_state state;
    char *answer = NULL;

    cr_assert(quern_ledger_begin(inbox, "k", "pay", &state, &answer, &err));
    cr_expect_eq(state, QUERN_LEDGER_NEW);
    cr_assert(quern_ledger_begin(inbox, "k", "pay", &state, &answer, &err));
    cr_expect_eq(state, QUERN_LEDGER_UNKNOWN);
    cr_assert(quern_ledger_finish(inbox, "k", "pay", "receipt 7", &err));
    cr_assert(quern_ledger_begin(inbox, "k", "pay", &state, &answer, &err));
    cr_expect_eq(state, QUERN_LEDGER_DONE);
    cr_expect_str_eq(answer, "receipt 7");
    quern_text_free(answer);
    cr_assert(quern_ledger_begin(inbox, "k", "mail", &state, &answer, &err));
    cr_expect_eq(state, QUERN_LEDGER_NEW);
}

static void ship_and_tell(const char *key, const char *queue_url)
{
    struct quern_inbox_work wanted = {.key = key,
                                      .payload = "p",
                                      .payload_len = 1,
                                      .apply = ship,
                                      .state = (void *)(uintptr_t)queue_url};

    (void)quern_inbox_do(inbox, NULL, &wanted, NULL);
}

Test(inbox, outbox_holds_nothing_of_a_transaction_that_was_not_committed)
{
    applies_nothing = true;
    ship_and_tell("k", "http://127.0.0.1:1/1/q");
    cr_expect_eq(count("SELECT count(*) FROM quern_outbox"), 0);
    applies_nothing = false;
    ship_and_tell("k", "http://127.0.0.1:1/1/q");
    cr_expect_eq(count("SELECT count(*) FROM quern_outbox"), 1);
}

/* Instances of a consumer that are started together, on a database that is not there yet. */
Test(inbox, can_be_opened_by_several_processes_at_once)
{
    enum { ROUNDS = 100, PROCESSES = 4 };
    char fresh[sizeof(path) + 4];
    const struct quern_inbox_options options = {.path = fresh, .consumer = "shipping"};

    (void)snprintf(fresh, sizeof(fresh), "%s-n", path);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PROCESSES; i++) {
            struct quern_inbox *one;
            if (fork() == 0) {
                _exit(quern_inbox_open(&options, &one, &err) ? 0 : 1);
            }
        }
        int status = 0;
        for (int failed = 0; wait(&status) > 0;) {
            failed += status != 0;
            cr_expect_eq(failed, 0);
        }
        remove_store(fresh);
    }
}
