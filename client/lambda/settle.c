/* How a poller gets rid of messages: deleted or given back, ten at a time. */
#include <stdlib.h>

#include "client/lambda/poller.h"
#include "client/retry.h"

enum { ENTRIES_MAX = 10, TRIES = 3, PAUSE_BASE_MS = 200 };

/* What is done with some records. */
struct settling {
    struct qn_lambda_poller *poller;
    const char *action;
    const json_t *records;
};

static json_t *entries_of(const struct settling *settling, size_t from, bool is_release)
{
    const json_t *records = settling->records;
    json_t *entries = json_array();

    for (size_t i = from; i < json_array_size(records) && i < from + ENTRIES_MAX; i++) {
        const json_t *handle = json_object_get(json_array_get(records, i), "receiptHandle");
        json_t *entry =
            json_pack("{s: o, s: O}", "Id", json_sprintf("%zu", i), "ReceiptHandle", handle);
        if (is_release) {
            (void)json_object_set_new(entry, "VisibilityTimeout", json_integer(0));
        }
        (void)json_array_append_new(entries, entry);
    }
    return entries;
}

static void tell_call(const struct settling *settling, const struct quern_error *err)
{
    qn_lambda_tell_take(settling->poller->lambda, "call-failed",
                        json_pack("{s: s, s: s}", "action", settling->action, "code", err->code),
                        "%s failed: %s: %s", settling->action, err->code, err->message);
}

/* One message of a call that was answered: it stays for its visibility timeout. */
static void tell_entry(const struct settling *settling, const json_t *entry, const json_t *failed)
{
    size_t at = strtoul(json_string_value(json_object_get(entry, "Id")), NULL, 10);
    const json_t *id = json_object_get(json_array_get(settling->records, at), "messageId");
    const char *code = json_string_value(json_object_get(failed, "Code"));
    const char *message = json_string_value(json_object_get(failed, "Message"));

    code = code != NULL ? code : "";
    qn_lambda_tell_take(
        settling->poller->lambda, "entry-failed",
        json_pack("{s: s, s: O, s: s}", "action", settling->action, "id", id, "code", code),
        "%s failed for message %s: %s: %s", settling->action, json_string_value(id), code,
        message != NULL ? message : "");
}

/* The entries that may go through with one more try. Of the others it is told. */
static json_t *left_of(const struct settling *settling, const json_t *entries, const json_t *output,
                       bool is_last)
{
    json_t *left = json_array();
    size_t i;
    json_t *failed;

    json_array_foreach(json_object_get(output, "Failed"), i, failed)
    {
        bool is_hopeless = is_last || json_is_true(json_object_get(failed, "SenderFault"));
        size_t k;
        json_t *entry;
        json_array_foreach(entries, k, entry)
        {
            if (json_equal(json_object_get(entry, "Id"), json_object_get(failed, "Id")) == 0) {
                continue;
            }
            if (is_hopeless) {
                tell_entry(settling, entry, failed);
            } else {
                (void)json_array_append(left, entry);
            }
        }
    }
    return left;
}

/* Takes the entries. */
static void settle_take(const struct settling *settling, json_t *entries)
{
    struct qn_lambda_poller *poller = settling->poller;

    for (int attempt = 1; json_array_size(entries) > 0; attempt++) {
        struct quern_error err;
        json_t *output = NULL;
        json_t *input =
            json_pack("{s: s, s: O}", "QueueUrl", poller->lambda->queue_url, "Entries", entries);
        bool ok = quern_client_call(poller->client, settling->action, input, &output, &err);
        json_decref(input);
        if (!ok) {
            tell_call(settling, &err);
            break;
        }
        json_t *left = left_of(settling, entries, output, attempt == TRIES);
        json_decref(entries);
        json_decref(output);
        entries = left;
        if (json_array_size(entries) > 0) {
            qn_lambda_pause(poller->lambda,
                            quern_retry_delay_ms(&poller->random, PAUSE_BASE_MS, attempt));
        }
    }
    json_decref(entries);
}

static void settle(struct qn_lambda_poller *poller, const char *action, const json_t *records,
                   bool is_release)
{
    const struct settling settling = {poller, action, records};

    for (size_t from = 0; from < json_array_size(records); from += ENTRIES_MAX) {
        settle_take(&settling, entries_of(&settling, from, is_release));
    }
}

void qn_lambda_delete(struct qn_lambda_poller *poller, const json_t *records)
{
    settle(poller, "DeleteMessageBatch", records, false);
}

void qn_lambda_release(struct qn_lambda_poller *poller, const json_t *records)
{
    settle(poller, "ChangeMessageVisibilityBatch", records, true);
}
