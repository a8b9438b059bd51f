/* A consumer whose effect is a row in its own database. The row and the note that the message is
 * done are written in one transaction, so a message that comes twice is there once, whatever dies
 * in between.
 *
 *     QUEUE_URL=... ./inbox_worker orders.db           consume until SIGTERM
 *     ./inbox_worker orders.db --effects               how often each key is there
 *
 * What proves it:
 *
 *     quern check --effects-cmd './inbox_worker {run}.db --effects' -- ./inbox_worker {run}.db
 */
#include <quern_envelope.h>
#include <quern_inbox.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"

/* No key: that an order is there once is the inbox's doing. */
static const char tables[] = "CREATE TABLE IF NOT EXISTS orders (order_key TEXT, item TEXT)";

static const struct quern_envelope_kind kinds[] = {{"order.placed", 1, 1},
                                                   {"quern.work", 1, 1} /* of `quern check` */};

/* The effect, in the transaction of the inbox. It neither commits nor rolls back. */
static struct quern_result write_order(void *state, struct quern_delivery *delivery,
                                       sqlite3 *transaction)
{
    const struct quern_envelope *order = quern_delivery_envelope(delivery);
    const char *item = json_string_value(json_object_get(order->payload, "id"));
    const char *const row[] = {order->idempotency_key, item, NULL};

    (void)state;
    if (item == NULL) {
        return quern_permanent("an order of nothing");
    }
    return quern_example_sql(transaction, "INSERT INTO orders VALUES (?, ?)", row, NULL, NULL)
               ? quern_done()
               : quern_retry(-1);
}

static void print_effect(void *state, sqlite3_stmt *row)
{
    (void)state;
    (void)printf("%s\t%d\n", (const char *)sqlite3_column_text(row, 0), sqlite3_column_int(row, 1));
}

int main(int argc, char **argv)
{
    bool is_asked = argc == 3 && strcmp(argv[2], "--effects") == 0;
    struct quern_inbox *inbox;
    struct quern_error err;

    if (argc != 2 && !is_asked) {
        (void)fprintf(stderr, "usage: QUEUE_URL=URL inbox_worker DATABASE [--effects]\n");
        return 2;
    }
    quern_example_begin();
    sqlite3 *database = quern_example_open(argv[1], tables);
    if (database == NULL) {
        return 1;
    }
    bool ok = !is_asked ||
              quern_example_sql(database, "SELECT order_key, COUNT(*) FROM orders GROUP BY 1", NULL,
                                print_effect, NULL);
    (void)sqlite3_close(database);
    if (is_asked) {
        return ok ? 0 : 1;
    }

    const struct quern_inbox_options kept = {.path = argv[1], .consumer = "orders"};
    if (!quern_inbox_open(&kept, &inbox, &err)) {
        (void)fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 1;
    }
    /* There is no quarantine here, so the redrive policy of the queue brings what is no order to
     * the dead-letter queue. */
    const struct quern_consumer_options options = {
        .queue_url = getenv("QUEUE_URL"),
        .kinds = kinds,
        .kind_count = sizeof(kinds) / sizeof(kinds[0]),
        .inbox = inbox,
        .apply = write_order,
        .allows_short_leases = true, /* those of `quern check` are */
    };
    int status = quern_example_run(&options);
    quern_inbox_close(inbox);
    return status;
}
