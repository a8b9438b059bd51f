/* The queues that --queue and --config want to exist at start. */
#ifndef QN_CLI_QUEUE_LIST_H
#define QN_CLI_QUEUE_LIST_H

#include "server/cli/settings.h"
#include "server/http/loop.h"

/* [{"name", "attributes": {}, "tags": {}, "redrive": {"to", "max"}}]: the form of the file, which
 * --queue is brought into as well. */
struct qn_queue_list {
    json_t *queues;
};

/* Reads both; what the server would refuse is not found here. */
QN_MUST_CHECK bool qn_queue_list_read(const struct qn_options *options,
                                      struct qn_queue_list *ret_list, struct qn_error *err);
void qn_queue_list_done(struct qn_queue_list *list);
/* Where they are created. */
struct qn_queue_list_place {
    struct qn_loop *loop;
    struct qn_engine *engine;
    const struct qn_settings *settings;
    bool is_rehearsal; /* in memory; what it does not know may be in the database */
};

/* Creates those that are not there, by the ordinary action. */
QN_MUST_CHECK bool qn_queue_list_create(const struct qn_queue_list *list,
                                        const struct qn_queue_list_place *place,
                                        struct qn_error *err);

#endif
