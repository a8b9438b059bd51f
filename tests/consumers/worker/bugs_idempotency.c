/* Effects that count twice, or never. */
#include <string.h>
#include <unistd.h>

#include "tests/consumers/worker/bugs.h"

static const char mark_done[] = "done";
static const char mark_busy[] = "busy";

/* no-idempotency */
static void no_key(struct hand *hand, struct job *job, const json_t *body, struct qn_buf *key)
{
    (void)hand;
    (void)job;
    (void)body;
    (void)key;
}

static void set_no_idempotency(struct worker *w)
{
    w->rules.key = no_key;
}

/* key-is-message-id: another message of the same business has another id. */
static void message_id_key(struct hand *hand, struct job *job, const json_t *body,
                           struct qn_buf *key)
{
    (void)hand;
    (void)body;
    qn_buf_append_str(key, qn_str_from_cstr(job->id));
}

static void set_key_is_message_id(struct worker *w)
{
    w->rules.key = message_id_key;
}

/* key-is-receipt-handle: that is another one at every receive. */
static void handle_key(struct hand *hand, struct job *job, const json_t *body, struct qn_buf *key)
{
    (void)body;
    (void)pthread_mutex_lock(&hand->worker->lock);
    qn_buf_append_str(key, qn_str_from_cstr(job->handle));
    (void)pthread_mutex_unlock(&hand->worker->lock);
}

static void set_key_is_receipt_handle(struct worker *w)
{
    w->rules.key = handle_key;
}

/* new-key-per-attempt */
static void attempt_key(struct hand *hand, struct job *job, const json_t *body, struct qn_buf *key)
{
    work_key(hand, job, body, key);
    qn_buf_append_format(key, "-%lld", (long long)job->receive_count);
}

static void set_new_key_per_attempt(struct worker *w)
{
    w->rules.key = attempt_key;
}

/* check-then-act: looks up, then applies, with room for another in between. */
static enum outcome look_then_apply(struct hand *hand, struct job *job, const json_t *body)
{
    struct call look = {.method = "GET", .if_version_lower = -1};
    struct qn_buf path;

    qn_buf_init(&path, SIZE_MAX / 2);
    qn_buf_append_format(&path, "/v1/effects/%s", body_key(body));
    qn_buf_append_char(&path, '\0');
    look.path = path.ptr;
    world_call(hand->world, &look);
    qn_buf_done(&path);
    if (look.ret_status == 200) {
        return OUTCOME_REPLAYED;
    }
    return look.ret_status == 404 ? work_post(hand, job, "/v1/effects", "") : OUTCOME_RETRY;
}

static void set_check_then_act(struct worker *w)
{
    w->rules.effect = look_then_apply;
    w->rules.again = bugs_take_again;
}

/* memory-only-dedupe: what was done is known to this process alone. */
static enum outcome apply_once_here(struct hand *hand, struct job *job, const json_t *body)
{
    struct worker *w = hand->worker;
    const char *key = body_key(body);

    (void)pthread_mutex_lock(&w->lock);
    const char *state = json_string_value(json_object_get(w->memory, key));
    enum outcome known = state == NULL                   ? OUTCOME_DONE
                         : strcmp(state, mark_done) == 0 ? OUTCOME_REPLAYED
                                                         : OUTCOME_RETRY;
    if (known == OUTCOME_DONE) {
        json_object_set_new(w->memory, key, json_string(mark_busy));
    }
    (void)pthread_mutex_unlock(&w->lock);
    if (known != OUTCOME_DONE) {
        return known;
    }
    enum outcome outcome = work_post(hand, job, "/v1/effects", "");
    (void)pthread_mutex_lock(&w->lock);
    if (outcome == OUTCOME_DONE) {
        json_object_set_new(w->memory, key, json_string(mark_done));
    } else {
        json_object_del(w->memory, key);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return outcome;
}

static void set_memory_only_dedupe(struct worker *w)
{
    w->memory = json_object();
    w->rules.effect = apply_once_here;
}

/* mark-before-effect: COMPLETED is committed, then the effect begins. */
static enum outcome mark_then_apply(struct hand *hand, struct job *job, const json_t *body)
{
    if (!ledger_claim(body_key(body), mark_done)) {
        return OUTCOME_REPLAYED;
    }
    return work_effect(hand, job, body);
}

static void set_mark_before_effect(struct worker *w)
{
    w->rules.effect = mark_then_apply;
}

/* inbox-outside-tx: the effect commits, the row of the inbox follows in a transaction of its own.
 */
static enum outcome apply_then_mark(struct hand *hand, struct job *job, const json_t *body)
{
    char *there = ledger_get(body_key(body));
    enum outcome outcome = OUTCOME_REPLAYED;

    if (there == NULL) {
        outcome = work_post(hand, job, "/v1/effects", "");
        if (outcome == OUTCOME_DONE) {
            ledger_put(body_key(body), mark_done);
        }
    }
    qn_memory_free(there);
    return outcome;
}

static void set_inbox_outside_tx(struct worker *w)
{
    w->rules.effect = apply_then_mark;
}

/* stuck-processing: the row of a worker that died says PROCESSING for ever. */
static enum outcome claim_then_apply(struct hand *hand, struct job *job, const json_t *body)
{
    const char *key = body_key(body);

    if (!ledger_claim(key, mark_busy)) {
        char *state = ledger_get(key);
        bool is_done = state != NULL && strcmp(state, mark_done) == 0;
        qn_memory_free(state);
        return is_done ? OUTCOME_REPLAYED : OUTCOME_RETRY;
    }
    enum outcome outcome = work_effect(hand, job, body);
    ledger_put(key, outcome == OUTCOME_DONE || outcome == OUTCOME_REPLAYED ? mark_done : "");
    return outcome;
}

static void set_stuck_processing(struct worker *w)
{
    w->rules.effect = claim_then_apply;
}

/* local-journal-replay: what was received and is not finished is done again after a restart,
 * whoever has its lease by then. */
static enum outcome journal_then_work(struct hand *hand, struct job *job)
{
    size_t len;
    const char *text = hand->worker->rules.text(hand, job, &len);

    ledger_put(job->id, text);
    return work_do(hand, job);
}

static void settle_then_journal(struct hand *hand, struct job *job, enum outcome outcome)
{
    char id[128];

    (void)snprintf(id, sizeof(id), "%s", job->id);
    settle_outcome(hand, job, outcome);
    ledger_put(id, "");
}

static void replay_journal(struct worker *w, struct hand *hand)
{
    json_t *all = ledger_all();
    const char *id;
    json_t *text;

    (void)w;
    json_object_foreach(all, id, text)
    {
        json_t *body = json_loads(json_string_value(text), 0, NULL);
        struct call call = {.method = "POST",
                            .path = "/v1/effects",
                            .body = json_string_value(text),
                            .body_len = json_string_length(text),
                            .key = body_key(body),
                            .message_id = id,
                            .if_version_lower = -1};
        if (json_string_length(text) > 0) {
            world_call(hand->world, &call);
            ledger_put(id, "");
        }
        json_decref(body);
    }
    json_decref(all);
}

static void set_local_journal_replay(struct worker *w)
{
    w->rules.work = journal_then_work;
    w->rules.settle = settle_then_journal;
    w->rules.on_start = replay_journal;
}

const struct bug bugs_idempotency[] = {
    {"no-idempotency", set_no_idempotency},
    {"key-is-message-id", set_key_is_message_id},
    {"key-is-receipt-handle", set_key_is_receipt_handle},
    {"check-then-act", set_check_then_act},
    {"memory-only-dedupe", set_memory_only_dedupe},
    {"mark-before-effect", set_mark_before_effect},
    {"inbox-outside-tx", set_inbox_outside_tx},
    {"stuck-processing", set_stuck_processing},
    {"new-key-per-attempt", set_new_key_per_attempt},
    {"local-journal-replay", set_local_journal_replay},
    {NULL, NULL},
};
