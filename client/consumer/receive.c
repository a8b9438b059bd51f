/* Receiving: when there is room, one poll after the other, with pauses after failures. */
#include <string.h>

#include "client/consumer/internal.h"
#include "server/base/clock.h"
#include "server/base/digest.h"

enum { PAUSE_FIRST_MS = 500, PAUSE_LAST_MS = 5000, ATTEMPT_ID_CHARS = 37 };

static bool is_as_sent(const json_t *message)
{
    const json_t *body = json_object_get(message, "Body");
    const char *told = json_string_value(json_object_get(message, "MD5OfBody"));
    uint8_t digest[16];
    char sum[33];

    if (!json_is_string(body)) {
        return false;
    }
    qn_digest_md5(qn_str(json_string_value(body), json_string_length(body)), digest);
    qn_digest_hex(digest, sizeof(digest), sum);
    return told == NULL || strcmp(told, sum) == 0;
}

static int64_t age_ms(const struct quern_delivery *d)
{
    const char *sent = quern_delivery_attribute(d, "SentTimestamp");
    const struct qn_clock clock = qn_clock_system();
    int64_t sent_at_ms;

    if (!qn_str_to_int64(qn_str_from_cstr(sent), 0, INT64_MAX, &sent_at_ms)) {
        return 0;
    }
    int64_t age = clock.now_ms(clock.state) - sent_at_ms;
    return age > 0 ? age : 0;
}

/* Under the lock. What was damaged on its way comes back by its lease. */
static void admit(struct quern_consumer *c, json_t *messages, int64_t asked)
{
    int64_t now_ms = quern_consumer_now_ms(c);
    int64_t count = (int64_t)json_array_size(messages);

    c->hand.counters.receives++;
    c->hand.counters.empty_receives += count == 0;
    c->receive_failures = 0;
    c->last_was_full = count > 0 && count >= asked;
    while (json_array_size(messages) > 0) {
        json_t *message = json_incref(json_array_get(messages, 0));
        bool is_new = false;
        (void)json_array_remove(messages, 0);
        if (!is_as_sent(message)) {
            json_decref(message);
            continue;
        }
        struct quern_delivery *d = quern_hand_admit_take(&c->hand, message, now_ms, &is_new);
        if (d != NULL) {
            d->consumer = c;
            c->hand.counters.newest_age_ms = age_ms(d);
            (void)pthread_cond_signal(&c->work);
        }
    }
    quern_consumer_wake(c);
}

static json_t *receive_input(const struct quern_consumer *c, int64_t asked, const char *attempt_id)
{
    json_t *input = json_pack("{s:s, s:[s], s:[s], s:I, s:I}", "QueueUrl", c->options.queue_url,
                              "MessageSystemAttributeNames", "All", "MessageAttributeNames", "All",
                              "MaxNumberOfMessages", (json_int_t)asked, "WaitTimeSeconds",
                              (json_int_t)c->options.wait_s);

    if (c->options.visibility_s > 0) {
        json_object_set_new(input, "VisibilityTimeout", json_integer(c->options.visibility_s));
    }
    if (c->is_fifo) {
        json_object_set_new(input, "ReceiveRequestAttemptId", json_string(attempt_id));
    }
    return input;
}

/* Under the lock. A receive beside another is worth while only when there is much to receive. */
static int64_t may_ask(struct quern_consumer *c, const struct quern_caller *caller)
{
    bool has_turn = caller->number == 0 || c->last_was_full;

    return has_turn ? quern_hand_ask(&c->hand, quern_consumer_now_ms(c)) : 0;
}

/* Under the lock: how long there is nothing to do; 0: ask now. */
static int64_t pause_ms(struct quern_consumer *c, int64_t asked)
{
    int64_t now_ms = quern_consumer_now_ms(c);

    if (now_ms < c->receive_after_ms) {
        return c->receive_after_ms - now_ms;
    }
    if (asked > 0) {
        return 0;
    }
    int64_t circuit_ms = quern_circuit_wait_ms(&c->hand.circuit, now_ms);
    return circuit_ms > 0 ? circuit_ms : -1;
}

/* Under the lock. */
static void fail(struct quern_consumer *c)
{
    c->hand.counters.receive_failures++;
    c->receive_failures++;
    c->last_was_full = false;
    c->receive_after_ms =
        quern_consumer_now_ms(c) +
        quern_consumer_pause_ms(c, PAUSE_FIRST_MS, PAUSE_LAST_MS, c->receive_failures);
}

static void name_attempt(struct quern_consumer *c, char attempt_id[ATTEMPT_ID_CHARS])
{
    uint8_t id[16];

    qn_random_uuid(&c->random, id);
    qn_random_format_uuid(id, attempt_id);
}

/* Under the lock, which is free during the call. The same attempt id asks a FIFO queue for the same
 * messages when the answer was lost. */
static void receive(struct quern_caller *caller, int64_t asked, char attempt_id[ATTEMPT_ID_CHARS])
{
    struct quern_consumer *c = caller->consumer;
    json_t *input = receive_input(c, asked, attempt_id);
    json_t *answer = NULL;
    struct quern_error err;

    c->hand.promised += asked;
    (void)pthread_mutex_unlock(&c->lock);
    bool ok = quern_client_call(caller->client, "ReceiveMessage", input, &answer, &err);
    json_decref(input);
    (void)pthread_mutex_lock(&c->lock);
    c->hand.promised -= asked;
    if (ok) {
        json_t *messages = json_object_get(answer, "Messages");
        admit(c, messages, asked);
        name_attempt(c, attempt_id);
    } else if (!c->hand.is_draining) {
        fail(c);
        (void)pthread_mutex_unlock(&c->lock);
        quern_tell_error(c, "receive.failed", &err);
        (void)pthread_mutex_lock(&c->lock);
    }
    json_decref(answer);
}

void *quern_receive_loop(void *state)
{
    struct quern_caller *caller = state;
    struct quern_consumer *c = caller->consumer;
    char attempt_id[ATTEMPT_ID_CHARS];

    (void)pthread_mutex_lock(&c->lock);
    name_attempt(c, attempt_id);
    while (!c->hand.is_draining) {
        int64_t asked = may_ask(c, caller);
        int64_t wait_ms = pause_ms(c, asked);
        if (wait_ms != 0) {
            quern_consumer_wait(c, &c->room, wait_ms);
            continue;
        }
        receive(caller, asked, attempt_id);
    }
    c->receiving--;
    (void)pthread_cond_broadcast(&c->idle);
    (void)pthread_mutex_unlock(&c->lock);
    return NULL;
}
