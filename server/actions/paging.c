/* Paged lists of queue URLs. A token holds the last name of its page, so queues that come and go
 * between two pages neither repeat nor hide others. */
#include "server/actions/paging.h"

#include "server/base/digest.h"

static const char token_mark[] = "after:";

/* The name that the token holds, none without a token; false when it is not one of ours. */
static bool read_token(const struct qn_tx *tx, struct qn_str token, struct qn_str *ret_after)
{
    struct qn_str text;

    if (token.len == 0) {
        *ret_after = QN_STR_NONE;
        return true;
    }
    if (!qn_digest_decode_base64(tx->arena, token, &text) ||
        !qn_str_starts_with(text, qn_str_from_cstr(token_mark))) {
        return false;
    }
    *ret_after = qn_str_from(text, sizeof(token_mark) - 1);
    return true;
}

bool qn_page_check(const struct qn_tx *tx, const struct qn_page *page, struct qn_error *err)
{
    struct qn_str after;

    if (!qn_check_range(page->max, 1, QN_LIST_MAX, "MaxResults", "Must be between 1 and 1000.",
                        err)) {
        return false;
    }
    return read_token(tx, page->next_token, &after) ||
           qn_fail_value(err, page->next_token, "NextToken",
                         "It is not a token of an earlier answer.");
}

static bool belongs(const struct qn_page *page, const struct qn_queue *queue)
{
    return qn_str_starts_with(qn_queue_name(queue), page->prefix) &&
           (page->target == NULL || qn_queue_redrives_to(queue, page->target));
}

static struct qn_str make_token(struct qn_tx *tx, struct qn_str name)
{
    return qn_digest_base64(tx->arena,
                            qn_arena_format(tx->arena, "%s%.*s", token_mark, QN_STR_ARG(name)));
}

bool qn_page_fill(struct qn_tx *tx, const struct qn_page *page, struct qn_list *ret_urls,
                  struct qn_str *ret_next_token, struct qn_error *err)
{
    size_t max = page->max.present ? (size_t)page->max.value : QN_LIST_MAX;
    struct qn_str after;
    struct qn_str last = QN_STR_NONE;

    if (!read_token(tx, page->next_token, &after) ||
        !qn_list_new(tx, max, sizeof(struct qn_str), ret_urls, err)) {
        return false;
    }
    if (page->prefix.len > 0 &&
        (qn_str_is_none(after) || qn_str_compare(after, page->prefix) < 0)) {
        after = page->prefix; /* nothing before it can belong; it may itself be a name */
        struct qn_queue *exact =
            qn_engine_find_queue(tx->engine, page->account, page->region, page->prefix);
        if (exact != NULL && belongs(page, exact)) {
            ((struct qn_str *)ret_urls->items)[ret_urls->count++] = qn_queue_url_of(tx, exact);
            last = qn_queue_name(exact);
        }
    }
    for (struct qn_queue *queue = NULL;
         (queue = qn_engine_next_queue(tx->engine, page->account, page->region, after)) != NULL;
         after = qn_queue_name(queue)) {
        if (!qn_str_starts_with(qn_queue_name(queue), page->prefix)) {
            break;
        }
        if (!belongs(page, queue)) {
            continue;
        }
        if (ret_urls->count == max) {
            if (page->max.present) {
                *ret_next_token = make_token(tx, last);
            }
            break;
        }
        ((struct qn_str *)ret_urls->items)[ret_urls->count++] = qn_queue_url_of(tx, queue);
        last = qn_queue_name(queue);
    }
    return true;
}
