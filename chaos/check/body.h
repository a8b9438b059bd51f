/* The bodies of the load: the envelope that the harness uses, and those that are not well. */
#ifndef QN_CHECK_BODY_H
#define QN_CHECK_BODY_H

#include "chaos/check/load.h"

/* Fills in body and attributes. */
void qn_body_make(struct qn_load_message *message, const struct qn_load_options *options,
                  int64_t size_bytes, struct qn_arena *arena);

/* What must not turn up in a log: in the body, and in what it points to. */
unsigned qn_body_canary(const struct qn_load_message *message,
                        const struct qn_load_options *options);

/* Of JSON, however its members are ordered and its text is laid out. */
uint64_t qn_body_hash(const json_t *json);
/* The same of the member payload, as an event tells it; QN_EVENT_NO_INT without one. */
int64_t qn_body_digest(const json_t *unit);

#endif
