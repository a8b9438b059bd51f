/* All queues with their numbers. */
#include "server/cli/figures.h"

#include "client/internal.h"

const char *qn_figures_arn_name(const char *arn)
{
    const char *colon = strrchr(arn, ':');

    return colon == NULL ? arn : colon + 1;
}

/* ---- any SQS ---- */

static void set_count(json_t *queue, const char *name, const struct quern_pairs *attributes,
                      const char *attribute)
{
    struct qn_str text = qn_str_from_cstr(quern_pairs_get(attributes, attribute));
    int64_t count;

    json_object_set_new(queue, name,
                        qn_str_to_int64(text, 0, INT64_MAX, &count) ? json_integer(count)
                                                                    : json_null());
}

/* arn:PARTITION:sqs:REGION:ACCOUNT:NAME; without an ARN the name is the end of the URL. */
static void set_key(json_t *queue, const char *arn, const char *url)
{
    struct qn_str rest = qn_str_from_cstr(arn);
    const char *slash = strrchr(url, '/');
    struct qn_str parts[5] = {QN_STR_NONE};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        parts[i] = qn_str_cut(rest, ':', &rest);
    }
    const char *name = arn != NULL ? qn_figures_arn_name(arn) : slash != NULL ? slash + 1 : url;
    json_object_set_new(queue, "name", json_string(name));
    json_object_set_new(queue, "account", json_stringn(parts[4].ptr, parts[4].len));
    json_object_set_new(queue, "region", json_stringn(parts[3].ptr, parts[3].len));
    json_object_set_new(queue, "arn", arn != NULL ? json_string(arn) : json_null());
    json_object_set_new(queue, "fifo",
                        json_boolean(qn_str_ends_with(qn_str_from_cstr(name), QN_STR(".fifo"))));
}

static json_t *dead_letter_arn_of(const struct quern_pairs *attributes)
{
    const char *policy = quern_pairs_get(attributes, "RedrivePolicy");
    json_t *document = policy != NULL ? json_loads(policy, 0, NULL) : NULL;
    json_t *arn = json_object_get(document, "deadLetterTargetArn");

    arn = json_is_string(arn) ? json_incref(arn) : json_null();
    json_decref(document);
    return arn;
}

static json_t *queue_of(const struct quern_pairs *attributes, const char *url)
{
    json_t *queue = json_object();

    set_key(queue, quern_pairs_get(attributes, "QueueArn"), url);
    set_count(queue, "visible", attributes, "ApproximateNumberOfMessages");
    set_count(queue, "in_flight", attributes, "ApproximateNumberOfMessagesNotVisible");
    set_count(queue, "delayed", attributes, "ApproximateNumberOfMessagesDelayed");
    json_object_set_new(queue, "oldest_age_s", json_null());
    json_object_set_new(queue, "dead_letter_arn", dead_letter_arn_of(attributes));
    return queue;
}

/* A queue may be deleted between being listed and being asked. */
static bool ask_queue(struct qn_remote *remote, const char *url, json_t *queues,
                      struct quern_error *err)
{
    struct quern_pairs *attributes = NULL;

    if (!quern_get_queue_attributes(remote->client, url, NULL, 0, &attributes, err)) {
        return strcmp(err->code, "QueueDoesNotExist") == 0;
    }
    json_array_append_new(queues, queue_of(attributes, url));
    quern_answer_free(attributes);
    return true;
}

static bool ask_each(struct qn_remote *remote, struct qn_progress *progress, json_t *queues,
                     struct quern_error *err)
{
    struct quern_queue_list *list = NULL;
    bool ok = quern_list_all_queues(remote->client, NULL, &list, err);

    for (size_t i = 0; ok && i < list->count; i++) {
        if (qn_progress_is_interrupted(progress)) {
            ok = quern_fail(err, "Interrupted", 0, "ended by a signal after %zu of %zu queues", i,
                            list->count);
            break;
        }
        ok = ask_queue(remote, list->urls[i], queues, err);
        qn_progress_show(progress, (int64_t)i + 1, (int64_t)list->count);
    }
    quern_answer_free(list);
    return ok;
}

/* ---- both ---- */

bool qn_figures_ask(struct qn_remote *remote, struct qn_progress *progress, json_t **ret_queues,
                    struct quern_error *err)
{
    json_t *answer = NULL;
    json_t *queues = NULL;

    if (!qn_remote_is_amazon(remote)) {
        if (quern_http_get(remote->client, "/_quern/queues", &answer, err)) {
            queues = json_incref(json_object_get(answer, "queues"));
            json_decref(answer);
        } else if (err->http_status == 0) {
            return false; /* nobody is there */
        }
    }
    if (!json_is_array(queues)) {
        json_decref(queues);
        queues = json_array();
        if (!ask_each(remote, progress, queues, err)) {
            json_decref(queues);
            return false;
        }
    }
    *ret_queues = queues;
    return true;
}
