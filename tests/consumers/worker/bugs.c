/* Which mutants there are. */
#include "tests/consumers/worker/bugs.h"

#include <string.h>

static const struct bug *const families[] = {
    bugs_ack,  bugs_idempotency, bugs_batch,  bugs_lease, bugs_load,
    bugs_poll, bugs_retry,       bugs_output, bugs_fifo,  bugs_stop,
};

void bugs_take_again(struct worker *w, struct job *job, json_t *message)
{
    (void)job;
    (void)jobs_add(w, message);
}

bool bugs_set(struct worker *w, const char *name)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        for (const struct bug *bug = families[i]; bug->name != NULL; bug++) {
            if (strcmp(bug->name, name) == 0) {
                bug->set(w);
                return true;
            }
        }
    }
    return false;
}

void bugs_list(FILE *file)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        for (const struct bug *bug = families[i]; bug->name != NULL; bug++) {
            (void)fprintf(file, "%s\n", bug->name);
        }
    }
}
