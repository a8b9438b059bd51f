/* An execution environment: one function that runs one invocation at a time, started when it is
 * needed and kept for the next. */
#ifndef QN_LAMBDA_ENVIRONMENT_H
#define QN_LAMBDA_ENVIRONMENT_H

#include "client/lambda/mapping.h"
#include "client/lambda/runtime.h"
#include "server/base/clock.h"

/* So begins why a function was not started that used up the time Lambda leaves for it. */
#define QN_LAMBDA_INIT_TIMEOUT "the function did not ask for an event within 10 s of its start"

enum qn_lambda_way {
    QN_LAMBDA_BY_RUNTIME_API, /* the command is a function with a runtime client, and stays */
    QN_LAMBDA_BY_URL,         /* the runtime interface emulator of a container */
    QN_LAMBDA_BY_STDIN,       /* a process for each event: event on stdin, answer on stdout */
};

struct qn_lambda_function {
    enum qn_lambda_way way;
    char *const *argv;   /* ends in NULL; without meaning BY_URL */
    const char *url;     /* BY_URL: http://HOST:PORT */
    const char *handler; /* _HANDLER for the command, or NULL: what is in the environment */
    const struct qn_lambda_mapping *mapping;
    bool is_provisioned;
    const char *arn;
    const char *region;
    struct qn_clock clock; /* of the deadlines that functions are told */
    int stop_fd;           /* readable: end what runs now, at once */
    int leave_fd;          /* readable: nothing is received any more, so nothing need be warm */
    const struct qn_guard *guard;
};

enum qn_lambda_end {
    QN_LAMBDA_END_RETURNED,
    QN_LAMBDA_END_ERROR,   /* the function said so, or left, or could not start */
    QN_LAMBDA_END_TIMEOUT, /* it was killed */
    QN_LAMBDA_END_STOPPED,
};

/* Of the process, where it had to be started for this. */
enum qn_lambda_start {
    QN_LAMBDA_START_NONE,   /* it ran already, or was stopped meanwhile */
    QN_LAMBDA_START_DONE,   /* it has asked for an event */
    QN_LAMBDA_START_FAILED, /* it has not, and will not */
};

struct qn_lambda_outcome {
    enum qn_lambda_end end;
    enum qn_lambda_start start;
    struct qn_buf answer; /* RETURNED: what it said */
    char why[300];        /* otherwise */
};

struct qn_lambda_environment {
    const struct qn_lambda_function *function;
    pid_t pid; /* 0: not running */
    int pid_fd;
    struct qn_lambda_runtime *runtime;
};

void qn_lambda_environment_init(struct qn_lambda_environment *environment,
                                const struct qn_lambda_function *function);
/* False: the next invocation starts it. */
bool qn_lambda_environment_is_running(const struct qn_lambda_environment *environment);
/* Starts it before there is an event, as provisioned concurrency does; false with the reason in
 * outcome->why. Does nothing for the other ways. */
bool qn_lambda_environment_warm(struct qn_lambda_environment *environment,
                                struct qn_lambda_outcome *outcome);
/* Kills what runs. */
void qn_lambda_environment_done(struct qn_lambda_environment *environment);

/* Runs the function on one event, in at most its timeout; start-up has 10 s of its own. The
 * outcome's answer is the caller's, who has initialised it. */
void qn_lambda_environment_invoke(struct qn_lambda_environment *environment,
                                  struct qn_lambda_invocation *invocation,
                                  struct qn_lambda_outcome *outcome);

#endif
