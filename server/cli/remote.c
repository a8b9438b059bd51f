/* Finding the server, and saying what went wrong there. */
#include "server/cli/remote.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/internal.h"

static const char default_port[] = "9324";

/* An empty variable is as good as none. */
static const char *variable(const char *name)
{
    const char *text = getenv(name);

    return text != NULL && text[0] == '\0' ? NULL : text;
}

/* Never Amazon itself, unless somebody says so. What tells a server its port tells us too: in a
 * container both have the same environment. */
static const char *endpoint_of(struct qn_remote *remote)
{
    const char *endpoint = qn_options_text(&remote->options, QN_REMOTE_ENDPOINT);
    const char *port = variable("QUERN_PORT");

    endpoint = endpoint != NULL ? endpoint : variable("AWS_ENDPOINT_URL_SQS");
    endpoint = endpoint != NULL ? endpoint : variable("AWS_ENDPOINT_URL");
    if (endpoint == NULL) {
        (void)snprintf(remote->on_this_machine, sizeof(remote->on_this_machine),
                       "http://127.0.0.1:%s", port != NULL ? port : default_port);
        endpoint = remote->on_this_machine;
    }
    return endpoint;
}

int qn_remote_misuse(const struct qn_remote *remote, const struct qn_error *err)
{
    (void)fprintf(stderr, "quern %s: %s\n", remote->word, err->message);
    return QN_EXIT_USAGE;
}

/* In the code of SQS, or in the words of the control API, which has no codes. */
static bool is_about_no_queue(const struct quern_error *err)
{
    static const char words[] = "there is no queue ";

    return strcmp(err->code, "QueueDoesNotExist") == 0 ||
           (err->http_status == 404 && strncmp(err->message, words, strlen(words)) == 0);
}

/* Of a URL, what is behind its last slash. */
static const char *name_in(const char *word)
{
    const char *slash = strrchr(word, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : word;
}

int qn_remote_fail(const struct qn_remote *remote, const struct quern_error *err)
{
    const char *endpoint = remote->client != NULL ? quern_client_endpoint(remote->client) : NULL;
    const char *queue = remote->queue;

    if (queue == NULL && remote->options.word_count > 0) {
        queue = remote->options.words[0];
    }
    if (queue != NULL && endpoint != NULL && is_about_no_queue(err)) {
        (void)fprintf(stderr,
                      "quern %s: there is no queue %s at %s (quern queues --endpoint %s lists "
                      "them)\n",
                      remote->word, name_in(queue), endpoint, endpoint);
        return QN_EXIT_FAILED;
    }
    /* The control API has no codes. */
    if (strcmp(err->code, "UnreadableAnswer") == 0 && err->http_status >= 400) {
        (void)fprintf(stderr, "quern %s: %s\n", remote->word, err->message);
    } else {
        (void)fprintf(stderr, "quern %s: %s: %s\n", remote->word, err->code, err->message);
    }
    return QN_EXIT_FAILED;
}

/* A table that marks more than the endpoint, which is in all of them, has a short page. */
static bool has_short_page(const struct qn_option *table, size_t count)
{
    size_t marked = 0;

    for (size_t i = 0; i < count; i++) {
        marked += (table[i].flags & QN_OPTION_COMMON) != 0;
    }
    return marked > 1;
}

static void print_help(const struct qn_remote *remote, bool all, const struct qn_option *table,
                       size_t count)
{
    (void)printf("usage: quern %s\n\n", remote->usage);
    if (all || !has_short_page(table, count)) {
        qn_options_print(table, count, false, "", stdout);
        return;
    }
    qn_options_print_common(table, count, stdout);
    (void)printf("\nThese are the common ones; quern %s --help all has every one.\n", remote->word);
}

static bool check_words(const struct qn_remote *remote, size_t min, size_t max,
                        struct qn_error *err)
{
    if (remote->options.word_count < min || remote->options.word_count > max) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "usage: quern %s", remote->usage);
    }
    return true;
}

static bool is_utf8(const char *text)
{
    return qn_str_is_utf8(qn_str_from_cstr(text));
}

/* JSON carries nothing else: what is not UTF-8 would be left out of the request. */
static bool check_utf8(const struct qn_options *options, struct qn_error *err)
{
    for (size_t i = 0; i < options->word_count; i++) {
        if (!is_utf8(options->words[i])) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "word %zu is not UTF-8", i + 1);
        }
    }
    for (size_t i = 0; i < options->count; i++) {
        const char *text = qn_options_text(options, i);
        if (text != NULL && !is_utf8(text)) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "the value of --%s is not UTF-8",
                           options->table[i].name);
        }
    }
    return true;
}

bool qn_remote_read(struct qn_remote *remote, const char *usage, const struct qn_option *table,
                    size_t count, size_t words_min, size_t words_max, int argc, char **argv,
                    int *ret_code)
{
    struct qn_error err;

    *remote = (struct qn_remote){.word = argv[0], .usage = usage};
    if (!qn_options_parse(&remote->options, table, count, argc, argv, NULL, &err)) {
        *ret_code = qn_remote_misuse(remote, &err);
        return false;
    }
    if (remote->options.wants_help) {
        print_help(remote, remote->options.wants_all_help, table, count);
        *ret_code = QN_EXIT_OK;
    } else if (!check_words(remote, words_min, words_max, &err) ||
               !check_utf8(&remote->options, &err)) {
        *ret_code = qn_remote_misuse(remote, &err);
    } else {
        return true;
    }
    qn_remote_close(remote);
    return false;
}

bool qn_remote_open(struct qn_remote *remote, const char *usage, const struct qn_option *table,
                    size_t count, size_t words_min, size_t words_max, int argc, char **argv,
                    int *ret_code)
{
    struct quern_options options = {0};
    struct quern_error failure;

    if (!qn_remote_read(remote, usage, table, count, words_min, words_max, argc, argv, ret_code)) {
        return false;
    }
    options.endpoint = endpoint_of(remote);
    options.region = qn_options_text(&remote->options, QN_REMOTE_REGION);
    if (quern_client_new(&options, &remote->client, &failure)) {
        return true;
    }
    (void)qn_remote_fail(remote, &failure);
    *ret_code = QN_EXIT_USAGE;
    qn_remote_close(remote);
    return false;
}

void qn_remote_close(struct qn_remote *remote)
{
    quern_client_free(remote->client);
    remote->client = NULL;
    qn_options_done(&remote->options);
}

bool qn_remote_wants_json(const struct qn_remote *remote)
{
    return qn_options_is_on(&remote->options, QN_REMOTE_JSON);
}

void qn_remote_print_json(json_t *document_take)
{
    (void)json_dumpf(document_take, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
    (void)putchar('\n');
    json_decref(document_take);
}

bool qn_remote_find_url(struct qn_remote *remote, const char *word, char **ret_url,
                        struct quern_error *err)
{
    struct qn_str text = qn_str_from_cstr(word);

    remote->queue = word;
    if (qn_str_find(text, QN_STR("://")) < text.len) {
        *ret_url = qn_memory_copy_text(text.ptr, text.len);
        return true;
    }
    return quern_get_queue_url(remote->client, word, NULL, ret_url, err);
}

bool qn_remote_find_arn(struct qn_remote *remote, const char *url, char **ret_arn,
                        struct quern_error *err)
{
    static const char *const names[] = {"QueueArn"};
    struct quern_pairs *pairs = NULL;
    const char *arn;

    if (!quern_get_queue_attributes(remote->client, url, names, 1, &pairs, err)) {
        return false;
    }
    arn = quern_pairs_get(pairs, names[0]);
    if (arn != NULL) {
        *ret_arn = qn_memory_copy_text(arn, strlen(arn));
    }
    quern_answer_free(pairs);
    return arn != NULL ||
           quern_fail(err, "UnreadableAnswer", 0, "the server tells no ARN of %s", url);
}

/* What is known of the queue beside its URL: NULL where it may not be asked. */
static bool look_up_arn(struct qn_remote *remote, const char *url, char **ret_arn,
                        struct quern_error *err)
{
    remote->queue = url;
    return qn_remote_find_arn(remote, url, ret_arn, err) || !is_about_no_queue(err);
}

bool qn_remote_compare(struct qn_remote *remote, const char *url, const char *other,
                       bool *ret_are_same, struct quern_error *err)
{
    char *arn = NULL;
    char *other_arn = NULL;
    bool ok = look_up_arn(remote, url, &arn, err) && look_up_arn(remote, other, &other_arn, err);

    if (ok) {
        *ret_are_same = strcmp(url, other) == 0 ||
                        (arn != NULL && other_arn != NULL && strcmp(arn, other_arn) == 0);
    }
    qn_memory_free(arn);
    qn_memory_free(other_arn);
    return ok;
}

bool qn_remote_is_amazon(const struct qn_remote *remote)
{
    struct qn_str host = qn_str_from_cstr(quern_client_endpoint(remote->client));

    host = qn_str_from(host, qn_str_find(host, QN_STR("://")) + strlen("://"));
    host = qn_str_first(host, qn_str_find_char(host, '/'));
    host = qn_str_first(host, qn_str_find_char(host, ':'));
    return qn_str_ends_with(host, QN_STR(".amazonaws.com")) ||
           qn_str_ends_with(host, QN_STR(".amazonaws.com.cn")) ||
           qn_str_ends_with(host, QN_STR(".api.aws"));
}

bool qn_remote_ask_quern(struct qn_remote *remote, json_t **ret_info, struct quern_error *err)
{
    json_t *info = NULL;

    *ret_info = NULL;
    if (qn_remote_is_amazon(remote)) {
        return true;
    }
    if (!quern_http_get(remote->client, "/_quern/info", &info, err)) {
        return err->http_status != 0;
    }
    if (json_object_get(info, "clock") != NULL && json_object_get(info, "requests") != NULL) {
        *ret_info = info;
    } else {
        json_decref(info);
    }
    return true;
}

bool qn_remote_check_quern(struct qn_remote *remote, const char *what, struct quern_error *err)
{
    json_t *info = NULL;
    bool ok = qn_remote_ask_quern(remote, &info, err);

    if (ok && info == NULL) {
        ok = quern_fail(err, "NoQuern", 0, "%s is no Quern%s",
                        quern_client_endpoint(remote->client), what);
    }
    json_decref(info);
    return ok;
}
