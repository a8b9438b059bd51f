/* Connections and statements of the inbox. */
#ifndef QUERN_INBOX_STORE_H
#define QUERN_INBOX_STORE_H

#include <pthread.h>
#include <sqlite3.h>
#include <sys/queue.h>

#include "client/quern_inbox.h"
#include "server/base/random.h"

enum { QUERN_IDLE_MAX = 16 };

/* A key that somebody of this process is at; in the storage of that one. */
struct quern_claimed {
    LIST_ENTRY(quern_claimed) all;
    const char *key;
    const char *owner;
};
LIST_HEAD(quern_claims, quern_claimed);

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
    struct quern_claims claims;
    size_t claim_count;
    pthread_cond_t changed; /* there is a claim, or it is closing: for the keeper */
    pthread_t keeper;       /* of the claims; started with the first */
    bool has_keeper;
    bool is_closing;
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

/* What renews claims while their work goes on. */
void quern_keeper_init(struct quern_inbox *inbox);
void quern_keeper_done(struct quern_inbox *inbox);
void quern_keeper_add(struct quern_inbox *inbox, struct quern_claimed *claimed);
void quern_keeper_remove(struct quern_inbox *inbox, struct quern_claimed *claimed);

int64_t quern_store_now_ms(const struct quern_inbox *inbox);

#endif
