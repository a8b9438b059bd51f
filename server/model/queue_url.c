/* The forms of queue URLs. */
#include "server/model/queue_url.h"

#include "server/model/limits.h"

enum { ACCOUNT_DIGITS = 12 };

/* The end of a path. */
struct path {
    struct qn_str account; /* the last segment but one */
    struct qn_str name;    /* the last */
    bool is_all;           /* nothing stands before these two */
};

/* Takes the last segment off. Empty segments count for nothing: clients join bases and paths
 * carelessly. */
static struct qn_str take_segment(struct qn_str *path)
{
    size_t end;
    size_t start;

    for (end = path->len; end > 0 && path->ptr[end - 1] == '/'; end--) {
    }
    for (start = end; start > 0 && path->ptr[start - 1] != '/'; start--) {
    }
    path->len = start;
    return qn_str_from(qn_str(path->ptr, end), start);
}

static struct path split_path(struct qn_str text)
{
    struct path path;

    path.name = take_segment(&text);
    path.account = take_segment(&text);
    path.is_all = take_segment(&text).len == 0;
    return path;
}

/* "/queue/orders", as ElasticMQ writes it: no account. */
static bool has_no_account(const struct path *path)
{
    return path->is_all && qn_str_equal(path->account, QN_STR("queue"));
}

static bool is_account(struct qn_str text)
{
    int64_t number;

    return text.len == ACCOUNT_DIGITS && text.ptr[0] != '-' &&
           qn_str_to_int64(text, 0, INT64_MAX, &number);
}

static bool is_bare_name(struct qn_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!qn_char_is_alphanumeric(c) && c != '-' && c != '_' && c != '.') {
            return false;
        }
    }
    return text.len > 0 && text.len <= QN_QUEUE_NAME_MAX;
}

/* Cuts scheme and host off. Without them *ret_is_url is false, and the text is a path already. */
static struct qn_str path_of(struct qn_str url, bool *ret_is_url)
{
    size_t scheme = qn_str_find(url, QN_STR("://"));
    struct qn_str path;

    *ret_is_url = scheme < url.len && scheme > 0;
    if (!*ret_is_url) {
        return url;
    }
    qn_str_cut(qn_str_from(url, scheme + 3), '/', &path);
    return path;
}

bool qn_queue_url_split(struct qn_str url, bool bare_names, struct qn_str *ret_account,
                        struct qn_str *ret_name)
{
    struct qn_str ignored;
    bool is_url;
    struct path path;

    if (bare_names && is_bare_name(url)) {
        *ret_account = QN_STR_NONE;
        *ret_name = url;
        return true;
    }
    url = qn_str_cut(qn_str_cut(url, '#', &ignored), '?', &ignored);
    path = split_path(path_of(url, &is_url));
    if (path.account.len == 0) {
        return false;
    }
    /* "localhost:9324/000000000000/orders": without a scheme the account must look like one. */
    if (!is_url && url.ptr[0] != '/' && !is_account(path.account)) {
        return false;
    }
    *ret_account = has_no_account(&path) ? QN_STR_NONE : path.account;
    *ret_name = path.name;
    return true;
}
