/* `quern attributes`: what a queue is set to, and setting it. */
#include <stdio.h>

#include "server/cli/remote.h"

enum { CHANGES_MAX = 64, WORDS_MAX = CHANGES_MAX + 1 };

static const struct qn_option attributes_options[] = {QN_REMOTE_OPTIONS};

static void print_pairs(const struct quern_pairs *pairs)
{
    struct qn_columns table;

    qn_columns_begin(&table, (const char *const[]){"ATTRIBUTE", "VALUE"}, 2);
    for (size_t i = 0; i < pairs->count; i++) {
        qn_columns_add(&table, pairs->items[i].name);
        qn_columns_add(&table, pairs->items[i].value);
    }
    qn_columns_print(&table);
    qn_columns_done(&table);
}

static void print_pairs_json(const struct quern_pairs *pairs)
{
    json_t *document = json_object();

    for (size_t i = 0; i < pairs->count; i++) {
        json_object_set_new(document, pairs->items[i].name, json_string(pairs->items[i].value));
    }
    qn_remote_print_json(document);
}

static int show(struct qn_remote *remote, const char *url, const char *const *names, size_t count)
{
    struct quern_pairs *pairs = NULL;
    struct quern_error err;

    if (!quern_get_queue_attributes(remote->client, url, names, count, &pairs, &err)) {
        return qn_remote_fail(remote, &err);
    }
    if (qn_remote_wants_json(remote)) {
        print_pairs_json(pairs);
    } else {
        print_pairs(pairs);
    }
    quern_answer_free(pairs);
    return QN_EXIT_OK;
}

/* Sets them, and shows what the server then has. */
static int change(struct qn_remote *remote, const char *url, const struct quern_pair *pairs,
                  size_t count)
{
    const struct quern_pairs changes = {.items = pairs, .count = count};
    const char *names[CHANGES_MAX];
    struct quern_error err;

    for (size_t i = 0; i < count; i++) {
        names[i] = pairs[i].name;
    }
    if (!quern_set_queue_attributes(remote->client, url, &changes, &err)) {
        return qn_remote_fail(remote, &err);
    }
    return show(remote, url, names, count);
}

/* The words behind the queue: all of them NAME, or all of them NAME=VALUE. Cuts them in place. */
static bool split_words(char **words, size_t count, struct quern_pair *pairs, bool *ret_changes,
                        struct qn_error *err)
{
    size_t changes = 0;

    for (size_t i = 0; i < count; i++) {
        char *equals = strchr(words[i], '=');
        if (equals == words[i] || words[i][0] == '\0') {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                           "%s has no name: say NAME to see an attribute, NAME=VALUE to set it",
                           words[i]);
        }
        if (equals != NULL) {
            *equals = '\0';
            changes++;
        }
        pairs[i] = (struct quern_pair){words[i], equals != NULL ? equals + 1 : NULL};
    }
    if (changes != 0 && changes != count) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "say NAME to see attributes or NAME=VALUE to set them, not both at once");
    }
    *ret_changes = changes > 0;
    return true;
}

static int run(struct qn_remote *remote)
{
    size_t count = remote->options.word_count - 1;
    struct quern_pair pairs[CHANGES_MAX];
    const char *names[CHANGES_MAX];
    struct quern_error failure;
    struct qn_error err;
    char *url = NULL;
    bool changes = false;
    int code;

    if (!split_words(remote->options.words + 1, count, pairs, &changes, &err)) {
        return qn_remote_misuse(remote, &err);
    }
    if (!qn_remote_find_url(remote, remote->options.words[0], &url, &failure)) {
        return qn_remote_fail(remote, &failure);
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = pairs[i].name;
    }
    code = changes ? change(remote, url, pairs, count) : show(remote, url, names, count);
    quern_text_free(url);
    return code;
}

int qn_attributes_main(int argc, char **argv)
{
    struct qn_remote remote;
    int code;

    if (!qn_remote_open(&remote, "attributes QUEUE [NAME... | NAME=VALUE...] [OPTIONS]",
                        attributes_options, QN_REMOTE_COUNT, 1, WORDS_MAX, argc, argv, &code)) {
        return code;
    }
    code = run(&remote);
    qn_remote_close(&remote);
    return code;
}
