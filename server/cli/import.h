/* Lines of an import: what each must be, and what is sent of it. */
#ifndef QN_CLI_IMPORT_H
#define QN_CLI_IMPORT_H

#include <jansson.h>

#include "server/base/random.h"
#include "server/cli/lines.h"

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

#endif
