/* Lines of an import: what each must be, what is sent of it, and sending it. */
#ifndef QN_CLI_IMPORT_H
#define QN_CLI_IMPORT_H

#include "server/base/random.h"
#include "server/cli/lines.h"
#include "server/cli/progress.h"
#include "server/cli/remote.h"

/* How messages come into the queue. */
struct qn_import_rules {
    bool is_fifo;
    bool has_content_ids; /* the queue makes deduplication ids of bodies */
    const char *group;    /* for those that have none, or NULL */
    bool makes_new_ids;   /* for deduplication */
};

/* The line as a message; NULL with what is wrong in err. The caller owns it. */
json_t *qn_import_read(struct qn_str line, const struct qn_import_rules *rules,
                       struct qn_error *err);
/* The entry of SendMessageBatch for it, without its Id. The caller owns it. */
json_t *qn_import_entry(const json_t *message, const struct qn_import_rules *rules,
                        struct qn_random *random);

/* ---- sending ---- */

enum { QN_IMPORT_BATCH = 10 };

/* One message on its way. */
struct qn_import_item {
    json_t *entry;
    json_t *message_id; /* as it was where it comes from, or NULL */
    int64_t line;
    size_t size;
    bool is_done;
};

struct qn_import {
    struct qn_remote *remote;
    struct qn_import_rules rules;
    struct qn_random random;
    struct qn_progress progress;
    int fd;
    const char *name; /* of the file */
    char *url;
    struct qn_import_item items[QN_IMPORT_BATCH];
    size_t count;
    size_t bytes;
    int64_t sent;
    int64_t failed;
    int64_t repeated; /* of those sent: known to the queue, which stored nothing anew */
    json_t *ids;      /* answered in this run: the newest, of a FIFO queue; or NULL */
    json_t *older_ids;
    int64_t stopped_line; /* 0, or the first one that was not sent when a signal came */
    json_t *failures;
    bool is_given_up; /* nobody answers */
};

/* Sends the items, again where that helps, and empties the list. */
void qn_import_send(struct qn_import *import);

#endif
