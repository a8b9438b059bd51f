/* One process per message: what `quern consume` does with each. */
#ifndef QN_CLI_CONSUME_H
#define QN_CLI_CONSUME_H

#include <stdatomic.h>

#include "client/quern_consumer.h"
#include "server/base/guard.h"

/* Exit codes of the command, as in sysexits.h. Any other, and a signal, is a retry. */
enum { QN_CONSUME_PERMANENT = 65, QN_CONSUME_RETRY = 75 };

struct qn_consume {
    const char *queue_url;
    const char *endpoint;
    const char *region;     /* or NULL */
    char **command;         /* ends in NULL */
    const char *quarantine; /* URL of the queue for what can never succeed, or NULL */
    struct quern_consumer *consumer;
    struct qn_guard guard;  /* over the commands */
    atomic_int start_error; /* errno of a start that no other can better; 0: none */
};

/* The handler: starts the command in a process group of its own, gives it the body on stdin and the
 * rest in its environment, and waits for its end. When the work is cancelled it is told SIGTERM and
 * soon killed, and so are the processes that it left behind: before the message is deleted or given
 * back. A command that is no longer there stops the consumer: else each message would be
 * received until it is a dead letter. */
struct quern_result qn_consume_handle(void *consume, struct quern_delivery *delivery);
/* Sends the message with its attributes to the quarantine. */
bool qn_consume_quarantine(void *consume, const struct quern_delivery *delivery,
                           const char *reason);

/* consume_environment.c: the environment of the command; free with qn_consume_environment_free. */
char **qn_consume_environment(const struct qn_consume *consume,
                              const struct quern_delivery *delivery, char *const *inherited);
void qn_consume_environment_free(char **environment);

#endif
