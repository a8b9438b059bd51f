/* The file of the redo ring, PATH-ring: its lock, its header page, its mapping. */
#ifndef QN_JOURNAL_RING_FILE_H
#define QN_JOURNAL_RING_FILE_H

#include "server/base/error.h"

struct qn_ring_file {
    char *path;
    int fd;
    bool is_made; /* by this open: removed again unless it is kept */
    char *mapping;
    uint64_t size; /* of the data area, a multiple of 4096 */
};

/* Opens PATH-ring, creating it empty, and locks it for this process's life: a second process fails
 * here. The lock goes with the process, however that ends. */
QN_MUST_CHECK bool qn_ring_file_open(const char *path, struct qn_ring_file **ret_file,
                                     struct qn_error *err);
/* From here on the file stays, whatever happens. */
void qn_ring_file_keep(struct qn_ring_file *file);
/* Accepts NULL. A file that was made and not kept is removed. */
void qn_ring_file_close(struct qn_ring_file *file);

/* Nothing is in it yet: it is new, or its making was cut short. */
bool qn_ring_file_is_blank(const struct qn_ring_file *file);

/* Makes it a blank one: what it holds is given up. */
QN_MUST_CHECK bool qn_ring_file_clear(struct qn_ring_file *file, struct qn_error *err);

/* Maps the ring of this database. A blank file is made first, with `size` bytes of data; a file
 * that holds another database's ring, or none of ours, is refused. */
QN_MUST_CHECK bool qn_ring_file_map(struct qn_ring_file *file, uint64_t database_id, uint64_t size,
                                    struct qn_error *err);
/* Where the records lie. */
char *qn_ring_file_data(const struct qn_ring_file *file);

/* What was stored into the mapping before the call is on disk afterwards. False: errno says why. */
QN_MUST_CHECK bool qn_ring_file_sync(const struct qn_ring_file *file);

#endif
