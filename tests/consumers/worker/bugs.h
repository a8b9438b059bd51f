/* The mutants, by family. Each is small, and stands where what it breaks can be read beside it. */
#ifndef WORKER_BUGS_H
#define WORKER_BUGS_H

#include "tests/consumers/worker/worker.h"

struct bug {
    const char *name;
    void (*set)(struct worker *w);
};

/* Each ends in a row without a name. */
extern const struct bug bugs_ack[];
extern const struct bug bugs_idempotency[];
extern const struct bug bugs_batch[];
extern const struct bug bugs_lease[];
extern const struct bug bugs_load[];
extern const struct bug bugs_poll[];
extern const struct bug bugs_retry[];
extern const struct bug bugs_output[];
extern const struct bug bugs_fifo[];
extern const struct bug bugs_stop[];

/* For rules.again. As in any process without a table of its own, a second delivery is a second
 * piece of work. */
void bugs_take_again(struct worker *w, struct job *job, json_t *message);

/* ledger.c: a table on disk that outlives the process and is shared by all of a run; each call
 * takes the lock of its file. */
/* The newest value of the key, or NULL; free with qn_memory_free. */
char *ledger_get(const char *key);
void ledger_put(const char *key, const char *value);
/* Sets the value if there is none. False when there is one. */
bool ledger_claim(const char *key, const char *value);
/* The newest value of each key. */
json_t *ledger_all(void);

#endif
