/* The functions of expressions that count something for each message, one row each. */
#include "chaos/check/judge/expression.h"

static const struct per_key {
    const char *name;
    size_t offset;
    enum qn_level needs;
    const char *pattern; /* of the events that it counts */
} per_keys[] = {
    {"sent", offsetof(struct qn_tally_key, sent), QN_LEVEL_PROTOCOL, "msg.send"},
    {"outputs", offsetof(struct qn_tally_key, outputs), QN_LEVEL_PROTOCOL, "msg.send"},
    {"resent", offsetof(struct qn_tally_key, resent), QN_LEVEL_PROTOCOL, "msg.send"},
    {"resent_at_once", offsetof(struct qn_tally_key, resent_at_once), QN_LEVEL_PROTOCOL,
     "msg.send"},
    {"changed", offsetof(struct qn_tally_key, changed), QN_LEVEL_SINK, "work.begin"},
    {"leases", offsetof(struct qn_tally_key, leases), QN_LEVEL_PROTOCOL, "lease.grant"},
    {"attempts", offsetof(struct qn_tally_key, attempts), QN_LEVEL_SINK, "work.begin"},
    {"effects", offsetof(struct qn_tally_key, effects), QN_LEVEL_COMMAND, "work.commit"},
    {"deletes", offsetof(struct qn_tally_key, deletes), QN_LEVEL_PROTOCOL, "msg.delete"},
    {"rejects", offsetof(struct qn_tally_key, rejects), QN_LEVEL_SINK, "reject"},
    {"dead", offsetof(struct qn_tally_key, dead), QN_LEVEL_PROTOCOL, "msg.dlq"},
};

enum { PER_KEY_COUNT = sizeof(per_keys) / sizeof(per_keys[0]) };

static const struct per_key *find_per_key(struct qn_str name)
{
    for (size_t i = 0; i < PER_KEY_COUNT; i++) {
        if (qn_str_equal(name, qn_str_from_cstr(per_keys[i].name))) {
            return &per_keys[i];
        }
    }
    return NULL;
}

bool qn_expression_is_per_key(struct qn_str name)
{
    return find_per_key(name) != NULL;
}

void qn_expression_need(struct qn_expression *x, enum qn_level level)
{
    x->needs = level > x->needs ? level : x->needs;
}

static double count_of(const struct per_key *function, const struct qn_tally_key *key)
{
    return (double)*(const int64_t *)(const void *)((const char *)key + function->offset);
}

static void look_at(struct qn_expression *x, const struct per_key *function, struct qn_str selector)
{
    qn_expression_need(x, function->needs);
    x->pattern = qn_str_from_cstr(function->pattern);
    x->selector = selector;
}

/* Over all messages that are meant; without an argument over all. */
double qn_expression_sum(struct qn_expression *x, struct qn_str name, struct qn_str selector)
{
    const struct per_key *function = find_per_key(name);
    double sum = 0;

    look_at(x, function, selector);
    for (const struct qn_table_item *item = x->in->tally->keys.first; item != NULL;
         item = item->next) {
        if (qn_tally_selects(x->in->tally, selector, item->key)) {
            sum += count_of(function, item->value);
        }
    }
    return sum;
}

double qn_expression_extreme(struct qn_expression *x, struct qn_str name, struct qn_str selector,
                             bool is_max)
{
    const struct per_key *function = find_per_key(name);
    double best = 0;
    bool any = false;

    look_at(x, function, selector);
    for (const struct qn_table_item *item = x->in->tally->keys.first; item != NULL;
         item = item->next) {
        const struct qn_tally_key *key = item->value;
        double count = count_of(function, key);
        if (key->sent == 0 || !qn_tally_selects(x->in->tally, selector, item->key)) {
            continue;
        }
        if (!any || (is_max ? count > best : count < best)) {
            best = count;
            x->selector = item->key;
        }
        any = true;
    }
    return best;
}

size_t qn_expression_per_key_names(const char **ret_names)
{
    for (size_t i = 0; i < PER_KEY_COUNT; i++) {
        ret_names[i] = per_keys[i].name;
    }
    return PER_KEY_COUNT;
}
