/* The actions on queues, with C types. */
#include <string.h>

#include "client/internal.h"
#include "client/quern.h"

enum { LIST_PAGE = 1000 };

/* Gives a copy of the text member `name` of the answer. */
static bool take_text(const json_t *answer, const char *name, char **ret_text,
                      struct quern_error *err)
{
    const char *text = json_string_value(json_object_get(answer, name));

    if (text == NULL) {
        return quern_fail(err, "UnreadableAnswer", 200, "the answer has no %s", name);
    }
    *ret_text = qn_memory_copy_text(text, strlen(text));
    return true;
}

static bool call_for_url(struct quern_client *client, const char *action, const json_t *input,
                         char **ret_url, struct quern_error *err)
{
    json_t *answer = NULL;
    bool ok = quern_client_call(client, action, input, &answer, err) &&
              take_text(answer, "QueueUrl", ret_url, err);

    json_decref(answer);
    return ok;
}

bool quern_create_queue(struct quern_client *client, const char *name, const json_t *attributes,
                        char **ret_url, struct quern_error *err)
{
    json_t *input = json_pack("{s:s}", "QueueName", name);

    if (attributes != NULL) {
        json_object_set_new(input, "Attributes", json_deep_copy(attributes));
    }
    bool ok = call_for_url(client, "CreateQueue", input, ret_url, err);
    json_decref(input);
    return ok;
}

bool quern_get_queue_url(struct quern_client *client, const char *name, char **ret_url,
                         struct quern_error *err)
{
    json_t *input = json_pack("{s:s}", "QueueName", name);
    bool ok = call_for_url(client, "GetQueueUrl", input, ret_url, err);

    json_decref(input);
    return ok;
}

bool quern_list_queues(struct quern_client *client, const char *prefix, json_t **ret_urls,
                       struct quern_error *err)
{
    json_t *urls = json_array();
    json_t *input = json_pack("{s:i}", "MaxResults", LIST_PAGE);
    bool ok = true;

    if (prefix != NULL) {
        json_object_set_new(input, "QueueNamePrefix", json_string(prefix));
    }
    for (bool more = true; ok && more;) {
        json_t *page = NULL;
        more = false;
        ok = quern_client_call(client, "ListQueues", input, &page, err);
        if (ok) {
            json_t *token = json_object_get(page, "NextToken");
            json_t *found = json_object_get(page, "QueueUrls");
            if (json_is_array(found)) {
                json_array_extend(urls, found);
            }
            if (json_is_string(token) && json_string_length(token) > 0) {
                json_object_set(input, "NextToken", token);
                more = true;
            }
        }
        json_decref(page);
    }
    json_decref(input);
    if (!ok) {
        json_decref(urls);
        return false;
    }
    *ret_urls = urls;
    return true;
}

bool quern_get_queue_attributes(struct quern_client *client, const char *queue_url,
                                json_t **ret_attributes, struct quern_error *err)
{
    json_t *input = json_pack("{s:s, s:[s]}", "QueueUrl", queue_url, "AttributeNames", "All");
    json_t *answer = NULL;
    bool ok = quern_client_call(client, "GetQueueAttributes", input, &answer, err);

    if (ok) {
        json_t *attributes = json_object_get(answer, "Attributes");
        *ret_attributes = attributes != NULL ? json_incref(attributes) : json_object();
    }
    json_decref(answer);
    json_decref(input);
    return ok;
}

bool quern_set_queue_attributes(struct quern_client *client, const char *queue_url,
                                const json_t *attributes, struct quern_error *err)
{
    json_t *input = json_pack("{s:s}", "QueueUrl", queue_url);

    json_object_set_new(input, "Attributes", json_deep_copy(attributes));
    bool ok = quern_client_call(client, "SetQueueAttributes", input, NULL, err);
    json_decref(input);
    return ok;
}

static bool call_with_url(struct quern_client *client, const char *action, const char *queue_url,
                          struct quern_error *err)
{
    json_t *input = json_pack("{s:s}", "QueueUrl", queue_url);
    bool ok = quern_client_call(client, action, input, NULL, err);

    json_decref(input);
    return ok;
}

bool quern_purge_queue(struct quern_client *client, const char *queue_url, struct quern_error *err)
{
    return call_with_url(client, "PurgeQueue", queue_url, err);
}

bool quern_delete_queue(struct quern_client *client, const char *queue_url, struct quern_error *err)
{
    return call_with_url(client, "DeleteQueue", queue_url, err);
}
