/* The scenarios that there are: those inside the program, and the user's own from files. */
#ifndef QN_CHECK_CATALOGUE_H
#define QN_CHECK_CATALOGUE_H

#include "chaos/check/scenario.h"

struct qn_catalogue {
    struct qn_scenario **scenarios; /* in the order in which they are run */
    size_t count;
};

/* What is left of them; a zeroed filter leaves all. */
struct qn_catalogue_filter {
    int64_t tier;        /* 0: any */
    const char *profile; /* NULL: any */
};

/* files are paths. Everything that is wrong with any of them, a line each, is appended to mistakes.
 * A zeroed catalogue comes in; it is to be closed in any case. */
QN_MUST_CHECK bool qn_catalogue_open(struct qn_catalogue *catalogue, const char *const *files,
                                     size_t file_count, struct qn_buf *mistakes);
void qn_catalogue_close(struct qn_catalogue *catalogue);
/* NULL: there is none of this id. */
const struct qn_scenario *qn_catalogue_find(const struct qn_catalogue *catalogue, struct qn_str id);
/* The id that somebody probably meant, a view into the catalogue; NULL when none is like it. */
const char *qn_catalogue_nearest(const struct qn_catalogue *catalogue, struct qn_str id);
bool qn_catalogue_passes(const struct qn_catalogue_filter *filter,
                         const struct qn_scenario *scenario);
/* The tier of a scenario file; 1 when it does not say. */
int64_t qn_catalogue_tier(const struct qn_scenario *scenario);
/* "standard,fifo" */
const char *qn_catalogue_profiles(const struct qn_scenario *scenario);

/* Pages of `quern explain`. NULL when there is none of this name. */
const struct qn_embedded *qn_catalogue_page(struct qn_str name);
/* The name of a page that is like this one; NULL when none is. */
const char *qn_catalogue_nearest_page(struct qn_str name);

#endif
