/* Connections and statements of the inbox. */
#ifndef QUERN_INBOX_STORE_H
#define QUERN_INBOX_STORE_H

#include <pthread.h>
#include <sqlite3.h>

#include "client/quern_inbox.h"
#include "server/base/random.h"

enum { QUERN_IDLE_MAX = 16 };

struct quern_inbox {
    char *path;
    char *consumer;
    int64_t stale_ms;
    int64_t busy_ms;
    int64_t (*now_ms)(void *state);
    void *state;
    pthread_mutex_t lock; /* of the rest */
    sqlite3 *idle[QUERN_IDLE_MAX];
    size_t idle_count;
    struct qn_random random;
};

#define QN_INBOX_SQL(name, text) extern const char quern_sql_##name[];
#include "client/inbox/sql.def"
#undef QN_INBOX_SQL

/* A connection for one call; given back afterwards, also after a failure. */
bool quern_store_take(struct quern_inbox *inbox, sqlite3 **ret_db, struct quern_error *err);
void quern_store_give(struct quern_inbox *inbox, sqlite3 *db);
bool quern_store_run(sqlite3 *db, const char *sql, struct quern_error *err);
/* Prepares and binds texts (NULL: null) to ?1, ?2, ... NULL when that failed. */
sqlite3_stmt *quern_store_prepare(sqlite3 *db, const char *sql, const char *const *texts,
                                  size_t count, struct quern_error *err);
/* Runs to the end and finalizes. */
bool quern_store_finish(sqlite3 *db, sqlite3_stmt *statement, struct quern_error *err);
/* Always false. */
bool quern_store_fail(sqlite3 *db, struct quern_error *err);
int64_t quern_store_now_ms(const struct quern_inbox *inbox);

#endif
