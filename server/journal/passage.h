/* Failpoints beside an append: crash tests stop the process where an entry of some kind is just not
 * kept, or just kept. What an entry is of is told by its rows. */
#ifndef QN_JOURNAL_PASSAGE_H
#define QN_JOURNAL_PASSAGE_H

#include "server/base/str.h"

/* "redrive.before_commit", and "send_batch.entry:N" for each message of a batch. */
void qn_passage_before(struct qn_str entry);
/* "redrive.after_commit", "movetask.after_chunk", "dedup.after_insert". */
void qn_passage_after(struct qn_str entry);

#endif
