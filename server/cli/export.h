/* What the two ways of exporting a queue share. */
#ifndef QN_CLI_EXPORT_H
#define QN_CLI_EXPORT_H

#include <stdio.h>

#include "client/internal.h"
#include "server/cli/remote.h"

struct qn_export {
    struct qn_remote *remote;
    FILE *out;
    const char *path; /* NULL: stdout */
    char *partial;    /* its name until it is whole */
    int64_t visibility_s;
    int64_t count;
    int64_t left;         /* about so many could not be received */
    bool is_still_hidden; /* messages could not be given back */
    int signals;          /* a signalfd */
    bool is_interrupted;
    bool is_unread; /* stdout was a pipe, and its reader has gone */
    bool shows_progress;
};

/* One message as ReceiveMessage gives it, without its handle. */
QN_MUST_CHECK bool qn_export_write(struct qn_export *export, json_t *message_take,
                                   struct quern_error *err);
/* Whether somebody wants it to end. */
bool qn_export_is_interrupted(struct qn_export *export);

/* export_receive.c: of any server, by receiving and giving back. */
QN_MUST_CHECK bool qn_export_by_receiving(struct qn_export *export, struct quern_error *err);

#endif
