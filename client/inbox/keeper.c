/* Renews the claims of this process while their work goes on, so that only those of a process that
 * has died get stale, however long work takes. */
#include <string.h>
#include <time.h>

#include "client/inbox/store.h"

enum { RENEWALS = 3 }; /* before a claim would be stale */

/* A claim as it was when the round began: its work may end meanwhile. */
struct renewal {
    char *key;
    char *owner;
};

static char *copy(const char *text)
{
    return qn_memory_copy_text(text, strlen(text));
}

static void renew(const struct quern_inbox *inbox, sqlite3 *db, const struct renewal *renewal)
{
    const char *const texts[] = {inbox->consumer, renewal->key, renewal->owner};
    struct quern_error ignored; /* the next round may have more luck */
    sqlite3_stmt *row = quern_store_prepare(db, quern_sql_renew, texts, 3, &ignored);

    if (row != NULL) {
        (void)sqlite3_bind_int64(row, 4, quern_store_now_ms(inbox));
        (void)quern_store_finish(db, row, &ignored);
    }
}

/* Under the lock, which is free during the writes. */
static void renew_all(struct quern_inbox *inbox)
{
    struct renewal *renewals = qn_memory_new_array(inbox->claim_count, sizeof(*renewals));
    const struct quern_claimed *claimed;
    struct quern_error ignored;
    sqlite3 *db = NULL;
    size_t count = 0;

    LIST_FOREACH(claimed, &inbox->claims, all)
    {
        renewals[count++] = (struct renewal){copy(claimed->key), copy(claimed->owner)};
    }
    (void)pthread_mutex_unlock(&inbox->lock);
    if (quern_store_take(inbox, &db, &ignored)) {
        for (size_t i = 0; i < count; i++) {
            renew(inbox, db, &renewals[i]);
        }
        quern_store_give(inbox, db);
    }
    for (size_t i = 0; i < count; i++) {
        qn_memory_free(renewals[i].key);
        qn_memory_free(renewals[i].owner);
    }
    qn_memory_free(renewals);
    (void)pthread_mutex_lock(&inbox->lock);
}

static void pause_until_next(struct quern_inbox *inbox)
{
    int64_t pause_ms = inbox->stale_ms / RENEWALS + 1;
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(pause_ms / 1000);
    until.tv_nsec += (long)(pause_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (!inbox->is_closing &&
           pthread_cond_timedwait(&inbox->changed, &inbox->lock, &until) == 0) {
    }
}

static void *keep(void *state)
{
    struct quern_inbox *inbox = state;

    (void)pthread_mutex_lock(&inbox->lock);
    while (!inbox->is_closing) {
        if (inbox->claim_count == 0) {
            (void)pthread_cond_wait(&inbox->changed, &inbox->lock);
            continue;
        }
        pause_until_next(inbox);
        if (!inbox->is_closing && inbox->claim_count > 0) {
            renew_all(inbox);
        }
    }
    (void)pthread_mutex_unlock(&inbox->lock);
    return NULL;
}

void quern_keeper_init(struct quern_inbox *inbox)
{
    pthread_condattr_t attributes;

    LIST_INIT(&inbox->claims);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&inbox->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

void quern_keeper_done(struct quern_inbox *inbox)
{
    (void)pthread_mutex_lock(&inbox->lock);
    inbox->is_closing = true;
    (void)pthread_cond_signal(&inbox->changed);
    (void)pthread_mutex_unlock(&inbox->lock);
    if (inbox->has_keeper) {
        (void)pthread_join(inbox->keeper, NULL);
    }
    (void)pthread_cond_destroy(&inbox->changed);
}

void quern_keeper_add(struct quern_inbox *inbox, struct quern_claimed *claimed)
{
    (void)pthread_mutex_lock(&inbox->lock);
    LIST_INSERT_HEAD(&inbox->claims, claimed, all);
    inbox->claim_count++;
    if (!inbox->has_keeper) { /* without a thread claims get stale in their time */
        inbox->has_keeper = pthread_create(&inbox->keeper, NULL, keep, inbox) == 0;
    }
    (void)pthread_cond_signal(&inbox->changed);
    (void)pthread_mutex_unlock(&inbox->lock);
}

void quern_keeper_remove(struct quern_inbox *inbox, struct quern_claimed *claimed)
{
    (void)pthread_mutex_lock(&inbox->lock);
    LIST_REMOVE(claimed, all);
    inbox->claim_count--;
    (void)pthread_mutex_unlock(&inbox->lock);
}
