/* What the parts of the parser ask of each other. Everything here returns false after filling the
 * noting a mistake. */
#ifndef QN_CHAOS_PARSE_H
#define QN_CHAOS_PARSE_H

#include "chaos/lex.h"
#include "chaos/rule.h"

enum { QN_PARSE_DEPTH_MAX = 32 };

struct qn_parse {
    struct qn_lex lex;
    struct qn_rule *rule;
    const struct qn_rule_names *names;
    int depth;           /* of brackets in a predicate */
    bool event_is_known; /* what may follow depends on it */
};

/* count * size zeroed bytes of the rule's arena. */
QN_MUST_CHECK bool qn_parse_alloc(struct qn_parse *parse, size_t count, size_t size, void *ret_ptr);

/* One token each; `what` completes "expected ...". */
QN_MUST_CHECK bool qn_parse_value(struct qn_parse *parse, const char *what,
                                  struct qn_str *ret_text);
QN_MUST_CHECK bool qn_parse_integer(struct qn_parse *parse, const char *what, int64_t min,
                                    int64_t max, int64_t *ret_value);
QN_MUST_CHECK bool qn_parse_duration(struct qn_parse *parse, int64_t *ret_ms);
/* VALUE {"," VALUE}, with or without brackets. */
QN_MUST_CHECK bool qn_parse_list(struct qn_parse *parse, const char *what, struct qn_str **ret_list,
                                 size_t *ret_count);

/* predicate.c */
QN_MUST_CHECK bool qn_parse_predicate(struct qn_parse *parse, struct qn_rule_pred **ret_pred);
/* Whether a comparison looks at a message; at the answer's code. */
bool qn_pred_names_message(const struct qn_rule_pred *pred);
bool qn_pred_names_code(const struct qn_rule_pred *pred);
/* Whether it asks for a queue whose name ends in .fifo. */
bool qn_pred_wants_fifo(const struct qn_rule_pred *pred);

/* when.c: one clause, if one begins here; *ret_taken says so. */
QN_MUST_CHECK bool qn_parse_when(struct qn_parse *parse, bool *ret_taken);
extern const char *const qn_when_words[];
extern const size_t qn_when_word_count;

/* action.c */
QN_MUST_CHECK bool qn_parse_action(struct qn_parse *parse, struct qn_rule_action *ret_action);
/* arguments.c: behind the action's word. */
QN_MUST_CHECK bool qn_parse_arguments(struct qn_parse *parse, struct qn_rule_action *action);

/* attribute.c: NAME = VALUE of a queue. */
QN_MUST_CHECK bool qn_parse_attribute(struct qn_parse *parse, struct qn_rule_action *action);

/* sound.c: chooses the point, and refuses what cannot happen or would break a promise of AWS. */
QN_MUST_CHECK bool qn_parse_finish(struct qn_parse *parse, size_t event_at, size_t point_at);

/* promise.c: what SQS promises and the action breaks, NULL for nothing; whether it is promised for
 * FIFO queues alone. */
const char *qn_rule_promise(const struct qn_rule *rule, const struct qn_rule_action *action,
                            bool is_fifo, bool *ret_of_fifo);

/* Texts as values. */
QN_MUST_CHECK bool qn_value_number(struct qn_str text, double *ret_value);
QN_MUST_CHECK bool qn_value_duration(struct qn_str text, int64_t *ret_ms);

#endif
