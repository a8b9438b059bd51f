/* What the consumers of this folder share: running until they are told to stop, a statement of
 * SQL and a call over HTTP. Everything else stands in the example itself. */
#ifndef QUERN_EXAMPLE_H
#define QUERN_EXAMPLE_H

#include <quern_consumer.h>
#include <sqlite3.h>

/* The first thing in main: SIGTERM and SIGINT wait for quern_example_run, in all threads to come.
 */
void quern_example_begin(void);

/* Consumes until SIGTERM or SIGINT. Returns the exit code of the program. */
int quern_example_run(const struct quern_consumer_options *options);

/* Opens a database that other threads and processes write to as well, and makes its tables. NULL:
 * it is said on stderr why. */
sqlite3 *quern_example_open(const char *path, const char *tables);

/* Runs one statement with these texts as its parameters, up to a NULL; `row`, when there is one, is
 * called for each row of its result. */
bool quern_example_sql(sqlite3 *database, const char *sql, const char *const *texts,
                       void (*row)(void *state, sqlite3_stmt *statement), void *state);

/* A call with an Idempotency-Key: POST with a body, GET without. The HTTP status; 0: no answer, and
 * nobody knows whether it was done. */
long quern_example_http(const char *url, const char *key, const char *body, long timeout_ms);

#endif
