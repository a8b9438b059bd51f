/* One call of the API: its attempts, and what is made of the answer. */
#ifndef QUERN_CALLS_H
#define QUERN_CALLS_H

#include "client/codec.h"

/* Looks at a decoded answer, and may complete it. False makes the attempt a failure, with err as
 * its reason. The arena belongs to the result. */
typedef bool quern_answer_check(void *output, const void *context, struct qn_arena *arena,
                                struct quern_error *err);

struct quern_call {
    const char *action;
    const struct quern_shape *input_shape;
    const void *input;
    const struct quern_shape *output_shape; /* NULL: the answer has no members */
    quern_answer_check *check;              /* or NULL */
    const void *context;                    /* of check */
};

/* Makes the call. *ret_output is a result for quern_answer_free, of the size of the output shape;
 * ret_output may be NULL. */
bool quern_call_make(struct quern_client *client, const struct quern_call *call, void **ret_output,
                     struct quern_error *err);

#endif
