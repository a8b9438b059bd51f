/* The smallest consumer on the library, as `quern check` starts it: the runtime does everything,
 * the handler posts the message to the effect sink. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "client/quern_envelope.h"
#include "tests/consumers/worker/worker.h"

enum { SINK_TIMEOUT_MS = 60000 };

struct business {
    const char *sink_url;
    bool leaves_poison; /* to the dead-letter queue */
};

static const struct quern_envelope_kind kinds[] = {{"quern.work", 1, 1}};

static bool read_envelope(const struct quern_delivery *delivery, struct quern_envelope *envelope,
                          char reason[QUERN_REASON_MAX])
{
    size_t len;
    const char *body = quern_delivery_body(delivery, &len);

    return quern_envelope_read(body, len, kinds, 1, envelope, reason);
}

static bool is_valid(void *state, const struct quern_delivery *delivery,
                     char reason[QUERN_REASON_MAX])
{
    struct quern_envelope envelope = {.document = NULL};
    bool ok = read_envelope(delivery, &envelope, reason);

    (void)state;
    quern_envelope_done(&envelope);
    return ok;
}

static void call_sink(const struct business *business, const struct quern_delivery *delivery,
                      struct call *call)
{
    struct world *world = world_open(business->sink_url, SINK_TIMEOUT_MS);

    call->method = "POST";
    call->message_id = quern_delivery_message_id(delivery);
    call->receive_count = quern_delivery_receive_count(delivery);
    call->if_version_lower = -1;
    world_call(world, call);
    world_close(world);
}

static struct quern_result handle(void *state, struct quern_delivery *delivery)
{
    struct call call = {.path = "/v1/effects"};
    struct quern_envelope envelope = {.document = NULL};
    char reason[QUERN_REASON_MAX];

    if (!read_envelope(delivery, &envelope, reason)) {
        return quern_permanent(reason); /* it was valid a moment ago */
    }
    call.body = quern_delivery_body(delivery, &call.body_len);
    call.key = envelope.idempotency_key;
    call.cancel_fd = quern_delivery_cancel_fd(delivery); /* what is to end is not waited for */
    call_sink(state, delivery, &call);
    quern_envelope_done(&envelope);
    if (call.ret_status == 200) {
        return quern_done();
    }
    return call.ret_status == 422 ? quern_permanent("refused") : quern_retry(-1);
}

static bool quarantine(void *state, const struct quern_delivery *delivery, const char *reason)
{
    const struct business *business = state;
    struct call call = {.path = "/v1/rejects"};

    if (business->leaves_poison) {
        return false;
    }
    size_t len;
    const char *text = quern_delivery_body(delivery, &len);
    json_t *body = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
    const char *name = json_string_value(json_object_get(json_object_get(body, "payload"), "id"));
    json_t *record =
        json_pack("{s:s, s:s}", "id", name != NULL ? name : quern_delivery_message_id(delivery),
                  "reason", reason);
    char *bytes = json_dumps(record, JSON_COMPACT);
    call.body = bytes;
    call.body_len = strlen(bytes);
    call_sink(business, delivery, &call);
    free(bytes);
    json_decref(record);
    json_decref(body);
    return call.ret_status == 200;
}

static int64_t variable(const char *name, int64_t otherwise)
{
    int64_t value;

    return qn_str_to_int64(qn_str_from_cstr(getenv(name)), 1, INT32_MAX, &value) ? value
                                                                                 : otherwise;
}

static void *wait_for_stop(void *state)
{
    sigset_t stops;
    int number;

    (void)sigemptyset(&stops);
    (void)sigaddset(&stops, SIGTERM);
    (void)sigwait(&stops, &number);
    quern_consumer_stop(state);
    return NULL;
}

int main(int argc, char **argv)
{
    struct business business = {.sink_url = getenv("QUERN_SINK_URL"),
                                .leaves_poison = argc > 1 && strcmp(argv[1], "--dlq") == 0};
    const struct quern_consumer_options options = {
        .queue_url = getenv("QUEUE_URL"),
        .handler = handle,
        .state = &business,
        .validate = is_valid,
        .quarantine = quarantine,
        .workers = variable("QUERN_CONCURRENCY", 4),
        .max_messages = 10,
        .wait_s = 5,
        .grace_ms = variable("QUERN_GRACE", 10) * 1000,
        .allows_short_leases = true,
    };
    struct quern_consumer *consumer;
    struct quern_error err;
    pthread_t thread;
    sigset_t stops;

    (void)sigemptyset(&stops);
    (void)sigaddset(&stops, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &stops, NULL); /* in all threads to come */
    (void)signal(SIGPIPE, SIG_IGN);
    if (business.sink_url == NULL || !quern_consumer_new(&options, &consumer, &err)) {
        (void)fprintf(stderr, "runtime: start it with `quern check -- runtime`\n");
        return 2;
    }
    (void)pthread_create(&thread, NULL, wait_for_stop, consumer);
    bool ok = quern_consumer_run(consumer, &err);
    if (!ok || quern_consumer_unfinished(consumer) > 0) {
        _Exit(ok ? 0 : 1); /* handlers that do not end are not waited for */
    }
    (void)pthread_join(thread, NULL);
    quern_consumer_free(consumer);
    return 0;
}
