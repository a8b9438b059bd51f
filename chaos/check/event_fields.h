/* The members of an event's line, as the reader and the writer share them. */
#ifndef QN_CHECK_EVENT_FIELDS_H
#define QN_CHECK_EVENT_FIELDS_H

#include "chaos/check/history.h"

enum qn_check_field_type {
    QN_CHECK_FIELD_TEXT,
    QN_CHECK_FIELD_NUMBER,
    QN_CHECK_FIELD_UNREAD, /* the server writes it, and no checker asks */
};

struct qn_check_field {
    struct qn_str name;
    enum qn_check_field_type type;
    bool is_detail; /* the offset is in struct qn_check_detail */
    size_t offset;
};

enum { QN_CHECK_FIELD_COUNT = 41 };
extern const struct qn_check_field qn_check_fields[QN_CHECK_FIELD_COUNT];

/* Where the field lies: in the event, or in its detail. */
struct qn_str *qn_check_field_text(struct qn_check_event *event, struct qn_check_detail *detail,
                                   size_t field);
int64_t *qn_check_field_number(struct qn_check_event *event, struct qn_check_detail *detail,
                               size_t field);

#endif
