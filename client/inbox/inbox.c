/* Which keys are done, and who is at one now. */
#include <string.h>

#include "client/inbox/store.h"
#include "server/base/digest.h"

enum { OWNER_CHARS = 37, HASH_BYTES = 32 };

struct claim {
    struct quern_inbox *inbox;
    sqlite3 *db;
    const struct quern_inbox_work *work;
    uint8_t hash[HASH_BYTES];
    char owner[OWNER_CHARS];
    int64_t
        ret_stale_in_ms; /* FOUND_BUSY: unless it is renewed, which it is while its owner lives */
};

enum finding {
    FOUND_NOTHING,
    FOUND_OURS,
    FOUND_DONE,
    FOUND_OTHER_PAYLOAD,
    FOUND_BUSY,
    FOUND_ERROR
};

static enum finding judge(struct claim *claim, sqlite3_stmt *row)
{
    bool is_done = strcmp((const char *)sqlite3_column_text(row, 0), "done") == 0;
    bool is_same = sqlite3_column_bytes(row, 1) == HASH_BYTES &&
                   memcmp(sqlite3_column_blob(row, 1), claim->hash, HASH_BYTES) == 0;
    bool is_ours = strcmp((const char *)sqlite3_column_text(row, 2), claim->owner) == 0;
    int64_t age_ms = quern_store_now_ms(claim->inbox) - sqlite3_column_int64(row, 3);

    if (!is_same) {
        return FOUND_OTHER_PAYLOAD;
    }
    if (is_done) {
        return FOUND_DONE;
    }
    if (is_ours) {
        return FOUND_OURS;
    }
    claim->ret_stale_in_ms = claim->inbox->stale_ms - age_ms;
    return claim->ret_stale_in_ms <= 0 ? FOUND_NOTHING : FOUND_BUSY;
}

static enum finding find(struct claim *claim, struct quern_error *err)
{
    const char *const texts[] = {claim->inbox->consumer, claim->work->key};
    sqlite3_stmt *row = quern_store_prepare(claim->db, quern_sql_find, texts, 2, err);
    enum finding finding = FOUND_ERROR;

    if (row == NULL) {
        return FOUND_ERROR;
    }
    int code = sqlite3_step(row);
    if (code == SQLITE_ROW) {
        finding = judge(claim, row);
    } else if (code == SQLITE_DONE) {
        finding = FOUND_NOTHING;
    } else {
        (void)quern_store_fail(claim->db, err);
    }
    (void)sqlite3_finalize(row);
    return finding;
}

static bool put(const struct claim *claim, const char *state, struct quern_error *err)
{
    const char *const texts[] = {claim->inbox->consumer, claim->work->key, state};
    sqlite3_stmt *row = quern_store_prepare(claim->db, quern_sql_put, texts, 3, err);

    if (row == NULL) {
        return false;
    }
    (void)sqlite3_bind_blob(row, 4, claim->hash, HASH_BYTES, SQLITE_TRANSIENT);
    (void)sqlite3_bind_text(row, 5, claim->owner, -1, SQLITE_TRANSIENT);
    (void)sqlite3_bind_int64(row, 6, quern_store_now_ms(claim->inbox));
    return quern_store_finish(claim->db, row, err);
}

static struct quern_result retry_for(const char *why)
{
    struct quern_result result = quern_retry(-1);

    struct qn_str text = qn_str_first(qn_str_from_cstr(why), sizeof(result.reason) - 1);

    memcpy(result.reason, text.ptr, text.len); /* the rest is zeros */
    return result;
}

/* What follows when there is nothing to do. */
static struct quern_result answer_to(const struct claim *claim, enum finding finding,
                                     const struct quern_error *err)
{
    struct quern_result busy = retry_for("another is at this key");

    switch (finding) {
    case FOUND_DONE:
        return quern_done();
    case FOUND_OTHER_PAYLOAD:
        return quern_permanent("the key was used for another payload");
    case FOUND_ERROR:
        return retry_for(err->message);
    default:
        /* If that one has died nobody gets the key until its claim is stale. Each receive before
         * that would only bring the message nearer to the dead-letter queue. */
        busy.delay_s = claim->ret_stale_in_ms / 1000 + 1;
        busy.is_no_failure = true;
        return busy;
    }
}

/* A transaction of its own: from its end on others see that somebody is at it. */
static enum finding take(struct claim *claim, struct quern_error *err)
{
    if (!quern_store_run(claim->db, quern_sql_begin, err)) {
        return FOUND_ERROR;
    }
    enum finding finding = find(claim, err);
    if (finding == FOUND_NOTHING &&
        (!put(claim, "claimed", err) || !quern_store_run(claim->db, quern_sql_commit, err))) {
        finding = FOUND_ERROR;
    }
    if (sqlite3_get_autocommit(claim->db) == 0) {
        struct quern_error ignored;
        (void)quern_store_run(claim->db, quern_sql_rollback, &ignored);
    }
    return finding;
}

static void drop(const struct claim *claim)
{
    const char *const texts[] = {claim->inbox->consumer, claim->work->key, claim->owner};
    struct quern_error ignored; /* then it gets stale */

    (void)quern_store_finish(
        claim->db, quern_store_prepare(claim->db, quern_sql_drop_claim, texts, 3, &ignored),
        &ignored);
}

/* The effect, and the note that it is done, or neither. */
static struct quern_result apply(struct claim *claim, struct quern_delivery *delivery,
                                 bool is_claimed, bool *ret_was_done, struct quern_error *err)
{
    if (!quern_store_run(claim->db, quern_sql_begin, err)) {
        return answer_to(claim, FOUND_ERROR, err);
    }
    enum finding finding = find(claim, err);
    struct quern_result result = answer_to(claim, finding, err);
    *ret_was_done = finding == FOUND_DONE;
    if (finding == (is_claimed ? FOUND_OURS : FOUND_NOTHING)) {
        result = claim->work->apply(claim->work->state, delivery, claim->db);
        if (result.outcome == QUERN_DONE &&
            (!put(claim, "done", err) || !quern_store_run(claim->db, quern_sql_commit, err))) {
            result = retry_for(err->message);
        }
    }
    if (sqlite3_get_autocommit(claim->db) == 0) {
        struct quern_error ignored;
        (void)quern_store_run(claim->db, quern_sql_rollback, &ignored);
    }
    return result;
}

static struct quern_result run(struct claim *claim, struct quern_delivery *delivery,
                               bool *ret_was_done)
{
    const struct quern_inbox_work *work = claim->work;
    struct quern_claimed claimed = {.key = work->key, .owner = claim->owner};
    struct quern_error err;

    if (work->prepare == NULL) {
        return apply(claim, delivery, false, ret_was_done, &err);
    }
    enum finding finding = take(claim, &err);
    if (finding != FOUND_NOTHING) {
        *ret_was_done = finding == FOUND_DONE;
        return answer_to(claim, finding, &err);
    }
    quern_keeper_add(claim->inbox, &claimed);
    struct quern_result result = work->prepare(work->state, delivery);
    if (result.outcome == QUERN_DONE) {
        result = apply(claim, delivery, true, ret_was_done, &err);
    }
    quern_keeper_remove(claim->inbox, &claimed);
    if (result.outcome != QUERN_DONE) {
        drop(claim); /* the next attempt need not wait until it is stale */
    }
    return result;
}

struct quern_result quern_inbox_do(struct quern_inbox *inbox, struct quern_delivery *delivery,
                                   const struct quern_inbox_work *work, bool *ret_was_done)
{
    struct claim claim = {.inbox = inbox, .work = work};
    struct quern_error err;
    bool was_done = false;
    uint8_t id[16];

    if (!quern_store_take(inbox, &claim.db, &err)) {
        return retry_for(err.message);
    }
    (void)pthread_mutex_lock(&inbox->lock);
    qn_random_uuid(&inbox->random, id);
    (void)pthread_mutex_unlock(&inbox->lock);
    qn_random_format_uuid(id, claim.owner);
    qn_digest_sha256(qn_str(work->payload, work->payload_len), claim.hash);
    struct quern_result result = run(&claim, delivery, &was_done);
    quern_store_give(inbox, claim.db);
    if (ret_was_done != NULL) {
        *ret_was_done = was_done;
    }
    return result;
}
