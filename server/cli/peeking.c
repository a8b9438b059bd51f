/* The control API's page of messages. */
#include "server/cli/peeking.h"

#include "client/internal.h"
#include "server/model/queue_url.h"

enum { PATH_BYTES = 4096 };

static bool is_plain(struct qn_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!qn_char_is_alphanumeric(text.ptr[i]) && strchr("-_.", text.ptr[i]) == NULL) {
            return false;
        }
    }
    return text.len > 0;
}

/* Name and account from the word, which may be a URL; what cannot be either names no queue. */
static bool name_queue(const struct qn_remote *remote, struct qn_str *ret_name,
                       struct qn_str *ret_account, struct quern_error *err)
{
    const char *word = remote->options.words[0];

    return (qn_queue_url_split(qn_str_from_cstr(word), true, ret_account, ret_name) &&
            is_plain(*ret_name)) ||
           quern_fail(err, "InvalidAddress", 400, "%s cannot be the name of a queue", word);
}

bool qn_peeking_check(struct qn_remote *remote, struct quern_error *err)
{
    return qn_remote_check_quern(remote,
                                 ", and SQS shows messages to those that receive them only: quern "
                                 "receive QUEUE --wait 20, or quern export QUEUE",
                                 err);
}

/* Which of several queues of the name. */
static void append_owner(struct qn_buf *path, struct qn_str account, struct qn_str region)
{
    if (is_plain(account)) {
        qn_buf_append_format(path, "&account=%.*s", QN_STR_ARG(account));
    }
    if (is_plain(region)) {
        qn_buf_append_format(path, "&region=%.*s", QN_STR_ARG(region));
    }
    qn_buf_append_char(path, '\0');
}

bool qn_peeking_page(struct qn_remote *remote, const char *account, int64_t after, int64_t limit,
                     json_t **ret_page, struct quern_error *err)
{
    struct qn_str region = qn_str_from_cstr(qn_options_text(&remote->options, QN_REMOTE_REGION));
    struct qn_str owner;
    struct qn_str name;
    struct qn_buf path;
    bool ok;

    if (!name_queue(remote, &name, &owner, err)) {
        return false;
    }
    if (account != NULL) {
        owner = qn_str_from_cstr(account);
    }
    qn_buf_init(&path, PATH_BYTES);
    qn_buf_append_format(&path, "/_quern/queues/%.*s/messages?limit=%lld&after=%lld",
                         QN_STR_ARG(name), (long long)limit, (long long)after);
    append_owner(&path, owner, region);
    ok = quern_http_get(remote->client, path.ptr, ret_page, err);
    qn_buf_done(&path);
    return ok;
}

int64_t qn_peeking_count_sent(struct qn_remote *remote, const char *url)
{
    struct qn_str account;
    struct qn_str name;
    struct qn_buf path;
    struct quern_error ignored;
    json_t *document = NULL;
    int64_t count = -1;

    if (qn_remote_is_amazon(remote) ||
        !qn_queue_url_split(qn_str_from_cstr(url), true, &account, &name) || !is_plain(name)) {
        return -1;
    }
    qn_buf_init(&path, PATH_BYTES);
    qn_buf_append_format(&path, "/_quern/queues/%.*s?", QN_STR_ARG(name));
    append_owner(&path, account,
                 qn_str_from_cstr(qn_options_text(&remote->options, QN_REMOTE_REGION)));
    if (quern_http_get(remote->client, path.ptr, &document, &ignored)) {
        const json_t *sent =
            json_object_get(json_object_get(document, "metrics"), "NumberOfMessagesSent");
        count = json_is_integer(sent) ? json_integer_value(sent) : -1;
    }
    json_decref(document);
    qn_buf_done(&path);
    return count;
}
