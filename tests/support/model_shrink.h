/* Runs random tests in processes of their own, and finds the fewest steps that still fail. */
#ifndef QN_TESTS_MODEL_SHRINK_H
#define QN_TESTS_MODEL_SHRINK_H

#include "tests/support/model_step.h"

struct model_failure {
    struct model_step *steps; /* free with model_failure_done */
    int count;
    char problem[700];
};

/* True when the seed's steps bring the same on both sides. Otherwise the failure, shrunk. */
bool model_try_seed(const struct model_options *options, struct model_failure *ret_failure);
void model_failure_done(struct model_failure *failure);
/* Seed, steps and what differs. */
void model_print_failure(FILE *out, const struct model_options *options,
                         const struct model_failure *failure);

#endif
