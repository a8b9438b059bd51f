/* The members of an event's line, as the reader and the writer share them. */
#ifndef QN_CHECK_EVENT_FIELDS_H
#define QN_CHECK_EVENT_FIELDS_H

#include "chaos/check/history.h"

struct qn_check_field {
    struct qn_str name;
    bool is_text;
    size_t offset;
};

enum { QN_CHECK_FIELD_COUNT = 36 };
extern const struct qn_check_field qn_check_fields[QN_CHECK_FIELD_COUNT];

struct qn_str *qn_check_field_text(struct qn_check_event *event, size_t field);
int64_t *qn_check_field_number(struct qn_check_event *event, size_t field);

#endif
