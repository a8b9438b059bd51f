/* The actions on queues themselves. */
#include "client/calls.h"
#include "client/internal.h"

enum { LIST_PAGE = 1000 };

/* ---- one queue ---- */

/* What an action on queues may be told; each shape names what its action takes. */
struct input {
    const char *name;
    const char *owner_account;
    const char *queue_url;
    const char *label;
    struct quern_pairs pairs;
    struct quern_pairs tags;
    const char *const *texts;
    size_t text_count;
    struct quern_list_options list;
    struct quern_permission permission;
};

#define AT(member) offsetof(struct input, member)
#define QUEUE_URL                                                                                  \
    {                                                                                              \
        .name = "QueueUrl", .is_required = true, .offset = AT(queue_url)                           \
    }
#define SHAPE(fields) QUERN_SHAPE(struct input, fields)

static const struct quern_field create_fields[] = {
    {.name = "QueueName", .is_required = true, .offset = AT(name)},
    {.name = "Attributes", .kind = QUERN_PAIRS, .offset = AT(pairs)},
    {.name = "tags", .kind = QUERN_PAIRS, .offset = AT(tags)}, /* in small letters in the model */
};
static const struct quern_field find_fields[] = {
    {.name = "QueueName", .is_required = true, .offset = AT(name)},
    {.name = "QueueOwnerAWSAccountId", .offset = AT(owner_account)},
};
static const struct quern_field plain_fields[] = {QUEUE_URL};
static const struct quern_field get_fields[] = {
    QUEUE_URL,
    {.name = "AttributeNames", .kind = QUERN_TEXTS, .offset = AT(texts), .count = AT(text_count)},
};
static const struct quern_field set_fields[] = {
    QUEUE_URL,
    {.name = "Attributes", .kind = QUERN_PAIRS, .is_required = true, .offset = AT(pairs)},
};
static const struct quern_field tag_fields[] = {
    QUEUE_URL,
    {.name = "Tags", .kind = QUERN_PAIRS, .is_required = true, .offset = AT(pairs)},
};
static const struct quern_field untag_fields[] = {
    QUEUE_URL,
    {.name = "TagKeys",
     .kind = QUERN_TEXTS,
     .is_required = true,
     .offset = AT(texts),
     .count = AT(text_count)},
};
static const struct quern_field add_fields[] = {
    QUEUE_URL,
    {.name = "Label", .is_required = true, .offset = AT(permission.label)},
    {.name = "AWSAccountIds",
     .kind = QUERN_TEXTS,
     .is_required = true,
     .offset = AT(permission.accounts),
     .count = AT(permission.account_count)},
    {.name = "Actions",
     .kind = QUERN_TEXTS,
     .is_required = true,
     .offset = AT(permission.actions),
     .count = AT(permission.action_count)},
};
static const struct quern_field remove_fields[] = {
    QUEUE_URL,
    {.name = "Label", .is_required = true, .offset = AT(label)},
};

static const struct quern_shape create_shape = SHAPE(create_fields);
static const struct quern_shape find_shape = SHAPE(find_fields);
static const struct quern_shape plain_shape = SHAPE(plain_fields);
static const struct quern_shape get_shape = SHAPE(get_fields);
static const struct quern_shape set_shape = SHAPE(set_fields);
static const struct quern_shape tag_shape = SHAPE(tag_fields);
static const struct quern_shape untag_shape = SHAPE(untag_fields);
static const struct quern_shape add_shape = SHAPE(add_fields);
static const struct quern_shape remove_shape = SHAPE(remove_fields);

/* An action whose answer has no members. */
static bool act(struct quern_client *client, const char *action, const struct quern_shape *shape,
                const struct input *input, struct quern_error *err)
{
    const struct quern_call call = {.action = action, .input_shape = shape, .input = input};

    return quern_call_make(client, &call, NULL, err);
}

struct url_output {
    const char *url;
};

static const struct quern_field url_fields[] = {
    {.name = "QueueUrl", .is_required = true, .offset = offsetof(struct url_output, url)},
};
static const struct quern_shape url_shape = QUERN_SHAPE(struct url_output, url_fields);

static bool ask_url(struct quern_client *client, const char *action,
                    const struct quern_shape *shape, const struct input *input, char **ret_url,
                    struct quern_error *err)
{
    const struct quern_call call = {
        .action = action, .input_shape = shape, .input = input, .output_shape = &url_shape};
    void *output = NULL;

    if (!quern_call_make(client, &call, &output, err)) {
        return false;
    }
    const char *url = ((const struct url_output *)output)->url;
    *ret_url = qn_memory_copy_text(url, strlen(url));
    quern_answer_free(output);
    return true;
}

bool quern_create_queue(struct quern_client *client, const char *name,
                        const struct quern_pairs *attributes, const struct quern_pairs *tags,
                        char **ret_url, struct quern_error *err)
{
    static const struct quern_pairs none = {0};
    const struct input input = {
        .name = name,
        .pairs = attributes != NULL ? *attributes : none,
        .tags = tags != NULL ? *tags : none,
    };

    return ask_url(client, "CreateQueue", &create_shape, &input, ret_url, err);
}

bool quern_get_queue_url(struct quern_client *client, const char *name, const char *owner_account,
                         char **ret_url, struct quern_error *err)
{
    const struct input input = {.name = name, .owner_account = owner_account};

    return ask_url(client, "GetQueueUrl", &find_shape, &input, ret_url, err);
}

bool quern_purge_queue(struct quern_client *client, const char *queue_url, struct quern_error *err)
{
    const struct input input = {.queue_url = queue_url};

    return act(client, "PurgeQueue", &plain_shape, &input, err);
}

bool quern_delete_queue(struct quern_client *client, const char *queue_url, struct quern_error *err)
{
    const struct input input = {.queue_url = queue_url};

    return act(client, "DeleteQueue", &plain_shape, &input, err);
}

/* ---- attributes, tags, permissions ---- */

static const struct quern_field attributes_fields[] = {{.name = "Attributes", .kind = QUERN_PAIRS}};
static const struct quern_field tags_fields[] = {{.name = "Tags", .kind = QUERN_PAIRS}};
static const struct quern_shape attributes_shape =
    QUERN_SHAPE(struct quern_pairs, attributes_fields);
static const struct quern_shape tags_shape = QUERN_SHAPE(struct quern_pairs, tags_fields);

bool quern_get_queue_attributes(struct quern_client *client, const char *queue_url,
                                const char *const *names, size_t name_count,
                                struct quern_pairs **ret_attributes, struct quern_error *err)
{
    static const char *const all[] = {"All"};
    const struct input input = {
        .queue_url = queue_url,
        .texts = name_count > 0 ? names : all,
        .text_count = name_count > 0 ? name_count : 1,
    };
    const struct quern_call call = {
        .action = "GetQueueAttributes",
        .input_shape = &get_shape,
        .input = &input,
        .output_shape = &attributes_shape,
    };
    void *output = NULL;
    bool ok = quern_call_make(client, &call, &output, err);

    if (ok) {
        *ret_attributes = output;
    }
    return ok;
}

bool quern_set_queue_attributes(struct quern_client *client, const char *queue_url,
                                const struct quern_pairs *attributes, struct quern_error *err)
{
    const struct input input = {.queue_url = queue_url, .pairs = *attributes};

    return act(client, "SetQueueAttributes", &set_shape, &input, err);
}

bool quern_tag_queue(struct quern_client *client, const char *queue_url,
                     const struct quern_pairs *tags, struct quern_error *err)
{
    const struct input input = {.queue_url = queue_url, .pairs = *tags};

    return act(client, "TagQueue", &tag_shape, &input, err);
}

bool quern_untag_queue(struct quern_client *client, const char *queue_url, const char *const *keys,
                       size_t key_count, struct quern_error *err)
{
    const struct input input = {.queue_url = queue_url, .texts = keys, .text_count = key_count};

    return act(client, "UntagQueue", &untag_shape, &input, err);
}

bool quern_list_queue_tags(struct quern_client *client, const char *queue_url,
                           struct quern_pairs **ret_tags, struct quern_error *err)
{
    const struct input input = {.queue_url = queue_url};
    const struct quern_call call = {
        .action = "ListQueueTags",
        .input_shape = &plain_shape,
        .input = &input,
        .output_shape = &tags_shape,
    };
    void *output = NULL;
    bool ok = quern_call_make(client, &call, &output, err);

    if (ok) {
        *ret_tags = output;
    }
    return ok;
}

bool quern_add_permission(struct quern_client *client, const char *queue_url,
                          const struct quern_permission *permission, struct quern_error *err)
{
    const struct input input = {.queue_url = queue_url, .permission = *permission};

    return act(client, "AddPermission", &add_shape, &input, err);
}

bool quern_remove_permission(struct quern_client *client, const char *queue_url, const char *label,
                             struct quern_error *err)
{
    const struct input input = {.queue_url = queue_url, .label = label};

    return act(client, "RemovePermission", &remove_shape, &input, err);
}

/* ---- lists ---- */

#define LIST_FIELDS                                                                                \
    {.name = "MaxResults", .kind = QUERN_NUMBER, .offset = AT(list.max_results)},                  \
    {                                                                                              \
        .name = "NextToken", .offset = AT(list.next_token)                                         \
    }

static const struct quern_field list_fields[] = {
    {.name = "QueueNamePrefix", .offset = AT(list.prefix)},
    LIST_FIELDS,
};
static const struct quern_field sources_fields[] = {QUEUE_URL, LIST_FIELDS};
static const struct quern_shape list_shape = SHAPE(list_fields);
static const struct quern_shape sources_shape = SHAPE(sources_fields);

#define LIST_OUTPUT(wire_name)                                                                     \
    {.name = (wire_name),                                                                          \
     .kind = QUERN_TEXTS,                                                                          \
     .offset = offsetof(struct quern_queue_list, urls),                                            \
     .count = offsetof(struct quern_queue_list, count)},                                           \
    {                                                                                              \
        .name = "NextToken", .offset = offsetof(struct quern_queue_list, next_token)               \
    }

static const struct quern_field listed_fields[] = {LIST_OUTPUT("QueueUrls")};
static const struct quern_field sources_found_fields[] = {LIST_OUTPUT("queueUrls")};
static const struct quern_shape listed_shape = QUERN_SHAPE(struct quern_queue_list, listed_fields);
static const struct quern_shape sources_found_shape =
    QUERN_SHAPE(struct quern_queue_list, sources_found_fields);

static bool list(struct quern_client *client, struct quern_call *call, const char *queue_url,
                 const struct quern_list_options *options, struct quern_queue_list **ret_list,
                 struct quern_error *err)
{
    struct input input = {.queue_url = queue_url};
    void *output = NULL;

    if (options != NULL) {
        input.list = *options;
    }
    if (input.list.max_results == 0) {
        input.list.max_results = LIST_PAGE; /* without it there is no token for the rest */
    }
    call->input = &input;
    bool ok = quern_call_make(client, call, &output, err);
    if (ok) {
        *ret_list = output;
    }
    return ok;
}

bool quern_list_queues(struct quern_client *client, const struct quern_list_options *options,
                       struct quern_queue_list **ret_list, struct quern_error *err)
{
    struct quern_call call = {
        .action = "ListQueues", .input_shape = &list_shape, .output_shape = &listed_shape};

    return list(client, &call, NULL, options, ret_list, err);
}

bool quern_list_dead_letter_source_queues(struct quern_client *client, const char *queue_url,
                                          const struct quern_list_options *options,
                                          struct quern_queue_list **ret_list,
                                          struct quern_error *err)
{
    struct quern_call call = {.action = "ListDeadLetterSourceQueues",
                              .input_shape = &sources_shape,
                              .output_shape = &sources_found_shape};

    return list(client, &call, queue_url, options, ret_list, err);
}

/* Room for what more a page brings; copies belong to the list. */
static bool add_page(struct quern_queue_list *all, const struct quern_queue_list *page)
{
    struct qn_arena *arena = quern_answer_arena(all);
    const char **urls = qn_arena_alloc(arena, (all->count + page->count + 1) * sizeof(*urls));

    if (urls == NULL) {
        return false;
    }
    if (all->count > 0) {
        memcpy((void *)urls, (const void *)all->urls, all->count * sizeof(*urls));
    }
    for (size_t i = 0; i < page->count; i++) {
        urls[all->count + i] = qn_arena_copy(arena, qn_str_from_cstr(page->urls[i])).ptr;
    }
    all->urls = urls;
    all->count += page->count;
    return true;
}

bool quern_list_all_queues(struct quern_client *client, const char *prefix,
                           struct quern_queue_list **ret_list, struct quern_error *err)
{
    struct quern_queue_list *all = quern_answer_new(sizeof(*all));
    struct quern_list_options options = {.prefix = prefix};
    struct quern_queue_list *page = NULL;
    bool ok = true;

    do {
        struct quern_queue_list *before = page; /* its token is asked with */
        page = NULL;
        ok = quern_list_queues(client, &options, &page, err);
        quern_answer_free(before);
        if (ok && !add_page(all, page)) {
            ok = quern_fail(err, "UnreadableAnswer", 200, "there are too many queues");
        }
        options.next_token = ok ? page->next_token : NULL;
    } while (options.next_token != NULL);
    quern_answer_free(page);
    if (!ok) {
        quern_answer_free(all);
        return false;
    }
    *ret_list = all;
    return true;
}
