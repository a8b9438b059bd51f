/* The server under the harness: a child process on one port, one database and one trace, which may
 * be killed and started again; and what the harness asks of it over its control API. */
#ifndef QN_CHECK_SERVER_H
#define QN_CHECK_SERVER_H

#include <jansson.h>
#include <sys/types.h>

#include "chaos/check/record.h"
#include "client/quern.h"

struct qn_server_options {
    const char *program;   /* the executable that knows `serve` */
    const char *bind;      /* address to listen on */
    const char *directory; /* for the database, the trace and the log */
    uint64_t seed;
    size_t port_count; /* that it listens on, one for each instance; at least 1 */
};

enum { QN_SERVER_PORTS_MAX = 16 };

struct qn_server {
    struct qn_server_options options;
    int port; /* the first of all */
    int ports[QN_SERVER_PORTS_MAX];
    pid_t pid; /* 0: not running */
    char endpoint[64];
    char trace_path[4096];
    struct quern_client *client;
    json_t *rules; /* texts, to be set again after a restart */
    struct qn_recorder *recorder;
    uint64_t last_seq; /* of the trace, as far as it was read */
    int64_t start_ms;  /* from its spawn to its first answer: how busy the machine is */
};

/* The access key of the harness's own calls. */
#define QN_SERVER_SELF "QUERNCHECK"

/* Starts it with a virtual clock at the present, which then runs at rate 1. The recorder gets the
 * shared counter. */
QN_MUST_CHECK bool qn_server_start(struct qn_server *server,
                                   const struct qn_server_options *options,
                                   struct qn_recorder *recorder, struct qn_error *err);
/* After a crash: same port, database and trace; the clock where it would be; the rules that were
 * set. */
QN_MUST_CHECK bool qn_server_restart(struct qn_server *server, struct qn_error *err);
/* Ends it (SIGTERM, then SIGKILL) and forgets everything. Accepts a zeroed server. */
void qn_server_stop(struct qn_server *server);

/* Adds one rule, now and after each restart. */
QN_MUST_CHECK bool qn_server_add_rule(struct qn_server *server, const char *text,
                                      struct qn_error *err);
/* Takes one away that was added, by its text and its name. */
QN_MUST_CHECK bool qn_server_remove_rule(struct qn_server *server, const char *text,
                                         const char *name, struct qn_error *err);
/* Takes all rules away. */
QN_MUST_CHECK bool qn_server_remove_rules(struct qn_server *server, struct qn_error *err);
/* Removes what is in a queue, at once and as often as wanted. */
QN_MUST_CHECK bool qn_server_empty(struct qn_server *server, const char *queue,
                                   struct qn_error *err);
/* Leaves out what the trace has so far: it is another scenario's. */
QN_MUST_CHECK bool qn_server_skip_trace(struct qn_server *server, struct qn_error *err);
/* Lets go what the rule holds. False when it could not be said. */
bool qn_server_release(struct qn_server *server, const char *rule);
/* One action of the fault grammar, now. Texts may be NULL, or none. */
struct qn_server_act {
    const char *action;
    const char *rule; /* under whose name */
    const char *queue;
    const char *message_id;
    const char *handle;
    int64_t receive_count; /* below 0: not said */
    struct qn_str instance;
};
QN_MUST_CHECK bool qn_server_do(struct qn_server *server, const struct qn_server_act *act,
                                struct qn_error *err);
/* Sets a mark in the trace: "ready" is where the times of rules begin. */
bool qn_server_mark(struct qn_server *server, const char *name);
/* Reads the new part of the trace into the history. */
bool qn_server_read_trace(struct qn_server *server, struct qn_error *err);
/* Moves the clock on. Parked polls keep their real length, or end as they would. */
bool qn_server_advance(struct qn_server *server, int64_t by_ms, bool keeps_polls);

/* Fills err from an error of the client. Returns false. */
bool qn_server_fail(struct qn_error *err, const char *what, const struct quern_error *cause);

#endif
