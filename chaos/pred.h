/* A parsed predicate: shared by its parser and its evaluation. */
#ifndef QN_CHAOS_PRED_H
#define QN_CHAOS_PRED_H

#include "chaos/parse.h"

enum qn_pred_kind { QN_PRED_COMPARE, QN_PRED_AND, QN_PRED_OR, QN_PRED_NOT };

enum qn_pred_field {
    QN_FIELD_QUEUE,
    QN_FIELD_INSTANCE,
    QN_FIELD_CODE,
    QN_FIELD_ATTEMPT,
    QN_FIELD_SIZE,
    QN_FIELD_WAIT,
    QN_FIELD_MAX,
    QN_FIELD_ENTRIES,
    QN_FIELD_TIME,
    /* From here on: of a message. */
    QN_FIELD_MID,
    QN_FIELD_RC,
    QN_FIELD_GROUP,
    QN_FIELD_TENANT,
    QN_FIELD_KEY,
    QN_FIELD_TAG,
    QN_FIELD_BODY,
    QN_FIELD_ATTRIBUTE
};

enum qn_pred_op {
    QN_OP_EQUAL,
    QN_OP_UNEQUAL,
    QN_OP_LESS,
    QN_OP_AT_MOST,
    QN_OP_MORE,
    QN_OP_AT_LEAST,
    QN_OP_GLOB,
    QN_OP_IN
};

struct qn_pred_value {
    struct qn_str text;
    bool is_number;
    double number;
};

enum { QN_HELD_MAX = 2 };

/* What a field holds: none, one value, or two of which either may fit (key). */
struct qn_held {
    struct qn_pred_value values[QN_HELD_MAX];
    size_t count;
};

struct qn_rule_pred {
    enum qn_pred_kind kind;
    struct qn_rule_pred *left; /* of NOT the only one */
    struct qn_rule_pred *right;
    enum qn_pred_field field;
    struct qn_str path; /* of body and attr */
    enum qn_pred_op op;
    struct qn_pred_value *values; /* one, of `in` as many as were listed */
    size_t value_count;
};

/* The only text that the field may have if it is to hold, or none. */
struct qn_str qn_pred_only(const struct qn_rule_pred *pred, enum qn_pred_field field);

/* field.c: these add to what is held. */
void qn_field_of_request(enum qn_pred_field field, const struct qn_rule_subject *subject,
                         struct qn_held *held);
void qn_field_of_message(const struct qn_rule_pred *pred, const struct qn_rule_subject *subject,
                         const struct qn_fact_message *message, struct qn_held *held);

#endif
