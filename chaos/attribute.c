/* A queue attribute in a rule: what of it is wrong whatever the queue is like. The rest the queue
 * says when the time has come. */
#include "chaos/parse.h"

#include <jansson.h>

#include "server/model/queue_settings.h"

static bool fail_name(struct qn_parse *parse)
{
    const char *words[QN_ATTRIBUTE_ID_COUNT];
    size_t count = 0;

    for (int id = 0; id < QN_ATTRIBUTE_ID_COUNT; id++) {
        const struct qn_attribute_info *info = qn_attribute_info((enum qn_attribute_id)id);
        if (info->kind != QN_ATTRIBUTE_READ_ONLY) {
            words[count++] = info->name;
        }
    }
    return qn_lex_fail_words(&parse->lex, "an attribute that can be set", words, count);
}

static bool is_json(struct qn_str text)
{
    json_t *value = json_loadb(text.ptr, text.len, 0, NULL);
    bool ok = value != NULL;

    json_decref(value);
    return ok;
}

/* The server may have other limits for sizes and retention than AWS: those are for it to say. */
static bool is_integer(enum qn_attribute_id id, struct qn_str text)
{
    const struct qn_attribute_info *info = qn_attribute_info(id);
    bool is_free = id == QN_ATTRIBUTE_ID_maximum_message_size ||
                   id == QN_ATTRIBUTE_ID_message_retention_period;
    int64_t ignored;

    return qn_str_to_int64(text, is_free ? 1 : info->min, is_free ? INT64_MAX : info->max,
                           &ignored);
}

static bool is_one_of(struct qn_str text, const char *a, const char *b)
{
    return qn_str_equal(text, qn_str_from_cstr(a)) || qn_str_equal(text, qn_str_from_cstr(b));
}

static bool fits(enum qn_attribute_id id, struct qn_str text)
{
    switch (qn_attribute_info(id)->kind) {
    case QN_ATTRIBUTE_INTEGER:
        return is_integer(id, text);
    case QN_ATTRIBUTE_BOOLEAN:
        return qn_str_equal_nocase(text, QN_STR("true")) ||
               qn_str_equal_nocase(text, QN_STR("false"));
    case QN_ATTRIBUTE_SCOPE:
        return is_one_of(text, "queue", "messageGroup");
    case QN_ATTRIBUTE_THROUGHPUT:
        return is_one_of(text, "perQueue", "perMessageGroupId");
    case QN_ATTRIBUTE_POLICY:
    case QN_ATTRIBUTE_REDRIVE:
    case QN_ATTRIBUTE_ALLOW:
        return text.len == 0 || is_json(text);
    default:
        return true;
    }
}

bool qn_parse_attribute(struct qn_parse *parse, struct qn_rule_action *action)
{
    struct qn_lex *lex = &parse->lex;
    enum qn_attribute_id id;

    if ((lex->kind != QN_LEX_WORD && lex->kind != QN_LEX_TEXT) ||
        !qn_attribute_find(lex->text, &id) ||
        qn_attribute_info(id)->kind == QN_ATTRIBUTE_READ_ONLY) {
        return fail_name(parse);
    }
    action->text = lex->text;
    qn_lex_next(lex);
    if (!qn_lex_expect(lex, "=")) {
        return false;
    }
    size_t at = lex->from;
    if (!qn_parse_value(parse, "an attribute's value", &action->value)) {
        return false;
    }
    return fits(id, action->value) ||
           qn_lex_fail_at(lex, at, "SetQueueAttributes refuses this value for %.*s",
                          QN_STR_ARG(action->text));
}
