/* One process per message: what `quern consume` does with each. */
#ifndef QN_CLI_CONSUME_H
#define QN_CLI_CONSUME_H

#include <jansson.h>
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
/* consume_quarantine.c: sends the message to the quarantine, with its attributes and why it is
 * there as far as that queue takes them. What was left out, and a failure, are told in a line. */
bool qn_consume_quarantine(void *consume, const struct quern_delivery *delivery,
                           const char *reason);

/* consume_environment.c: what a command learns of its message beside the body. */
struct qn_consume_environment {
    char **texts; /* ends in NULL */
    size_t count;
    int *files; /* which the command inherits: attributes that were too long */
    size_t file_count;
    json_t *in_files; /* their names */
};

/* Of one variable, with its name and the byte at its end. Source: execve(2), MAX_ARG_STRLEN. */
enum { QN_CONSUME_VARIABLE_MAX = 128 * 1024 };

/* An attribute that makes a variable longer than longest is given in a file, and the variable with
 * _FILE at its end says where. 0, or errno: there is no room for the files. */
int qn_consume_environment_init(struct qn_consume_environment *environment,
                                const struct qn_consume *consume,
                                const struct quern_delivery *delivery, char *const *inherited,
                                size_t longest);
void qn_consume_environment_done(struct qn_consume_environment *environment);

#endif
