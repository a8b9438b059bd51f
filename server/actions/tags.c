/* What AWS refuses about tags (TG-1 to TG-4). */
#include "server/actions/letters.h"
#include "server/actions/queue_attributes.h"

static const char allowed[] = "_.:/=+-@";

static bool check_one(const struct qn_pair *tag, struct qn_error *err)
{
    struct qn_str key = qn_str_first(tag->key, 512);

    if (tag->key.len == 0 || qn_count_characters(tag->key) > QN_TAG_KEY_MAX ||
        !qn_is_letters(tag->key, allowed, true)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "Tag key '%.*s' is invalid. Keys have 1 to 128 letters, digits, blanks and "
                       "_.:/=+-@.",
                       QN_STR_ARG(key));
    }
    if (qn_count_characters(tag->value) > QN_TAG_VALUE_MAX ||
        !qn_is_letters(tag->value, allowed, true)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "The value of tag '%.*s' is invalid. Values have up to 256 letters, digits, "
                       "blanks and _.:/=+-@.",
                       QN_STR_ARG(key));
    }
    if (qn_str_starts_with_nocase(tag->key, QN_STR("aws:")) ||
        qn_str_starts_with_nocase(tag->value, QN_STR("aws:"))) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "Tag '%.*s' is invalid: the prefix aws: is reserved.", QN_STR_ARG(key));
    }
    return true;
}

bool qn_tags_check(struct qn_list tags, size_t existing_others, struct qn_error *err)
{
    const struct qn_pair *items = tags.items;

    for (size_t i = 0; i < tags.count; i++) {
        if (!check_one(&items[i], err)) {
            return false;
        }
    }
    return existing_others + tags.count <= QN_TAGS_MAX ||
           qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "Too many tags: a queue can have at most %d.", QN_TAGS_MAX);
}
