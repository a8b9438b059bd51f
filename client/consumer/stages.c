/* The stages that a message passes, up to the decision whether it is deleted. */
#include "client/consumer/internal.h"
#include "client/internal.h"
#include "client/quern_inbox.h"
#include "server/base/buf.h"

static struct quern_result result_of(enum quern_outcome outcome, int64_t delay_s,
                                     const char *reason)
{
    struct quern_result result = {.outcome = outcome, .delay_s = delay_s};

    (void)snprintf(result.reason, sizeof(result.reason), "%s", reason != NULL ? reason : "");
    return result;
}

struct quern_result quern_done(void)
{
    return result_of(QUERN_DONE, -1, NULL);
}

struct quern_result quern_retry(int64_t delay_s)
{
    return result_of(QUERN_RETRY, delay_s, NULL);
}

struct quern_result quern_permanent(const char *reason)
{
    return result_of(QUERN_PERMANENT, -1, reason);
}

struct quern_result quern_ambiguous(const char *key)
{
    return result_of(QUERN_AMBIGUOUS, -1, key);
}

/* ---- before the work ---- */

static bool read_envelope(const struct quern_consumer_options *o, struct quern_delivery *d,
                          char reason[QUERN_REASON_MAX])
{
    struct quern_envelope envelope;

    /* One that came again while it was given back has been read. */
    if (o->kinds == NULL || d->envelope.document != NULL) {
        return true;
    }
    if (!quern_envelope_read(d->received->body, d->received->body_len, o->kinds, o->kind_count,
                             &envelope, reason)) {
        return false;
    }
    (void)pthread_mutex_lock(&d->consumer->lock); /* who writes a line about it looks there */
    d->envelope = envelope;
    (void)pthread_mutex_unlock(&d->consumer->lock);
    return true;
}

static bool is_ours(const struct quern_consumer_options *o, struct quern_delivery *d,
                    char reason[QUERN_REASON_MAX])
{
    return read_envelope(o, d, reason) && (o->validate == NULL || o->validate(o->state, d, reason));
}

/* ---- the gate ---- */

static struct quern_result do_once(const struct quern_consumer_options *o, struct quern_delivery *d,
                                   const char *key, const void *payload, size_t payload_len,
                                   bool *ret_was_done)
{
    const struct quern_inbox_work work = {.key = key,
                                          .payload = payload,
                                          .payload_len = payload_len,
                                          .prepare = o->handler,
                                          .apply = o->apply,
                                          .state = o->state};

    return quern_inbox_do(o->inbox, d, &work, ret_was_done);
}

/* The envelope has another id and another time when the same thing is sent again, and a sender may
 * write the members of the payload in another order. */
static struct quern_result do_envelope_once(const struct quern_consumer_options *o,
                                            struct quern_delivery *d, bool *ret_was_done)
{
    struct qn_buf payload;

    qn_buf_init(&payload, SIZE_MAX / 2);
    quern_json_write_sorted(d->envelope.payload, &payload);
    struct quern_result result =
        do_once(o, d, d->envelope.idempotency_key, payload.ptr, payload.len, ret_was_done);
    qn_buf_done(&payload);
    return result;
}

static struct quern_result pass_gate(const struct quern_consumer_options *o,
                                     struct quern_delivery *d, bool *ret_was_done)
{
    struct quern_identity identity = {.payload = d->received->body,
                                      .payload_len = d->received->body_len};

    if (o->identify == NULL) {
        return do_envelope_once(o, d, ret_was_done);
    }
    bool has_key = o->identify(o->state, d, &identity);
    identity.key[QUERN_KEY_MAX - 1] = '\0';
    if (!has_key || identity.key[0] == '\0') {
        return quern_permanent("the message has no key");
    }
    return do_once(o, d, identity.key, identity.payload, identity.payload_len, ret_was_done);
}

static struct quern_result work_on(struct quern_consumer *c, struct quern_delivery *d)
{
    const struct quern_consumer_options *o = &c->options;
    bool was_done = false;

    if (o->inbox == NULL) {
        return o->handler(o->state, d);
    }
    struct quern_result result = pass_gate(o, d, &was_done);
    if (was_done) {
        (void)pthread_mutex_lock(&c->lock);
        c->hand.counters.duplicates++;
        (void)pthread_mutex_unlock(&c->lock);
    }
    return result;
}

/* ---- all of them ---- */

struct quern_result quern_work_on(struct quern_consumer *c, struct quern_delivery *d,
                                  bool *ret_deletes)
{
    const struct quern_consumer_options *o = &c->options;
    struct quern_result result = quern_permanent("");

    if (is_ours(o, d, result.reason)) {
        result = work_on(c, d);
    }
    result.reason[QUERN_REASON_MAX - 1] = '\0';
    switch (result.outcome) {
    case QUERN_DONE:
        *ret_deletes = true;
        break;
    case QUERN_PERMANENT:
        *ret_deletes = o->quarantine != NULL && o->quarantine(o->state, d, result.reason);
        break;
    case QUERN_AMBIGUOUS:
        *ret_deletes = o->reconcile != NULL && o->reconcile(o->state, d, result.reason);
        break;
    default:
        *ret_deletes = false;
        break;
    }
    return result;
}
