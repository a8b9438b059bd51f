/* One process per message: what `quern consume` does with each. */
#ifndef QN_CLI_CONSUME_H
#define QN_CLI_CONSUME_H

#include "client/quern_consumer.h"

/* Exit codes of the command, as in sysexits.h. Any other, and a signal, is a retry. */
enum { QN_CONSUME_PERMANENT = 65, QN_CONSUME_RETRY = 75 };

struct qn_consume {
    const char *queue_url;
    const char *endpoint;
    const char *region;     /* or NULL */
    char **command;         /* ends in NULL */
    const char *quarantine; /* URL of the queue for what can never succeed, or NULL */
};

/* The handler: starts the command in a process group of its own, gives it the body on stdin and the
 * rest in its environment, and waits for its end. When the work is cancelled it is told SIGTERM and
 * soon killed. */
struct quern_result qn_consume_handle(void *consume, struct quern_delivery *delivery);
/* Sends the message with its attributes to the quarantine. */
bool qn_consume_quarantine(void *consume, const struct quern_delivery *delivery,
                           const char *reason);

/* consume_environment.c: the environment of the command; free with qn_consume_environment_free. */
char **qn_consume_environment(const struct qn_consume *consume,
                              const struct quern_delivery *delivery, char *const *inherited);
void qn_consume_environment_free(char **environment);

#endif
