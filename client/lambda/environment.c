/* Environments whose function talks to the Runtime API. */
#include "client/lambda/environment.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/lambda/invoke.h"
#include "client/lambda/process.h"
#include "server/base/clock.h"

enum { INIT_LIMIT_MS = 10000, TEXT_ROOM = 400 };

void qn_lambda_environment_init(struct qn_lambda_environment *environment,
                                const struct qn_lambda_function *function)
{
    *environment = (struct qn_lambda_environment){.function = function, .pid_fd = -1};
}

/* Ends what runs, and tells how it ended by itself, if it did. */
static int stop(struct qn_lambda_environment *environment)
{
    int status = 0;

    if (environment->pid > 0) {
        status = qn_lambda_process_end(environment->function->guard, environment->pid);
        (void)close(environment->pid_fd);
    }
    qn_lambda_runtime_close(environment->runtime);
    qn_lambda_environment_init(environment, environment->function);
    return status;
}

void qn_lambda_environment_done(struct qn_lambda_environment *environment)
{
    (void)stop(environment);
}

/* What the image of a function has as its command names the handler, and Lambda gives it that as
 * _HANDLER: of `npx aws-lambda-ric app.handler` it is the last word. */
static const char *last_word(char *const *argv)
{
    const char *last = "";

    for (size_t i = 0; argv[i] != NULL; i++) {
        last = argv[i];
    }
    return last;
}

static bool start(struct qn_lambda_environment *environment, struct qn_error *err)
{
    const struct qn_lambda_function *function = environment->function;
    char texts[5][TEXT_ROOM];
    char region[TEXT_ROOM];
    char default_region[TEXT_ROOM];
    const char *own_region = getenv("AWS_REGION");
    const char *added[8] = {NULL};
    size_t count = 0;
    const char *const fallback[] = {"LAMBDA_TASK_ROOT=.",
                                    "AWS_LAMBDA_LOG_STREAM_NAME=quern",
                                    "AWS_EXECUTION_ENV=AWS_Lambda_quern",
                                    region,
                                    default_region,
                                    texts[4],
                                    NULL};

    if (!qn_lambda_runtime_open(&environment->runtime, err)) {
        return false;
    }
    (void)snprintf(texts[0], TEXT_ROOM, "AWS_LAMBDA_RUNTIME_API=127.0.0.1:%d",
                   qn_lambda_runtime_port(environment->runtime));
    (void)snprintf(texts[1], TEXT_ROOM, "AWS_LAMBDA_FUNCTION_NAME=%s", function->mapping->function);
    (void)snprintf(texts[2], TEXT_ROOM, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=%lld",
                   (long long)function->mapping->memory_mib);
    (void)snprintf(texts[3], TEXT_ROOM, "AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/%s",
                   function->mapping->function);
    (void)snprintf(texts[4], TEXT_ROOM, "_HANDLER=%.300s",
                   function->handler != NULL ? function->handler : last_word(function->argv));
    (void)snprintf(region, TEXT_ROOM, "AWS_REGION=%.300s", function->region);
    /* In Lambda the two are the same. */
    (void)snprintf(default_region, TEXT_ROOM, "AWS_DEFAULT_REGION=%.300s",
                   own_region != NULL ? own_region : function->region);
    for (size_t i = 0; i < (function->handler != NULL ? 5U : 4U); i++) {
        added[count++] = texts[i];
    }
    added[count++] = "AWS_LAMBDA_FUNCTION_VERSION=$LATEST";
    added[count++] = function->is_provisioned
                         ? "AWS_LAMBDA_INITIALIZATION_TYPE=provisioned-concurrency"
                         : "AWS_LAMBDA_INITIALIZATION_TYPE=on-demand";
    added[count] = NULL;
    if (!qn_lambda_process_start(function->guard, function->argv, added, fallback, -1, -1,
                                 &environment->pid, &environment->pid_fd, err)) {
        environment->pid = 0;
        (void)stop(environment);
        return false;
    }
    return true;
}

/* Waits until the state is another than `from`; false with the outcome when it must not be waited
 * for any longer: by then, or when stop_fd is readable. */
static bool await(struct qn_lambda_environment *environment, enum qn_lambda_state from,
                  int64_t until_ms, int stop_fd, enum qn_lambda_state *ret_state,
                  struct qn_lambda_outcome *outcome)
{
    while ((*ret_state = qn_lambda_runtime_look(environment->runtime)) == from) {
        int64_t left_ms = until_ms - qn_clock_monotonic_ms();
        struct pollfd fds[] = {
            {.fd = qn_lambda_runtime_fd(environment->runtime), .events = POLLIN},
            {.fd = environment->pid_fd, .events = POLLIN},
            {.fd = stop_fd, .events = POLLIN},
        };
        if (left_ms <= 0) {
            outcome->end = QN_LAMBDA_END_TIMEOUT;
            return false;
        }
        if (poll(fds, 3, (int)(left_ms < 60000 ? left_ms : 60000)) < 0 && errno != EINTR) {
            qn_lambda_outcome_end(outcome, QN_LAMBDA_END_ERROR, "poll: %s", strerror(errno));
            return false;
        }
        if (fds[2].revents != 0) {
            qn_lambda_outcome_end(outcome, QN_LAMBDA_END_STOPPED, "the poller was stopped");
            return false;
        }
        if (fds[1].revents != 0 && fds[0].revents == 0) {
            char how[64];
            qn_lambda_process_describe(stop(environment), how, sizeof(how));
            qn_lambda_outcome_end(outcome, QN_LAMBDA_END_ERROR,
                                  "Runtime.ExitError: the function %s", how);
            return false;
        }
    }
    return true;
}

static void end_with_error(struct qn_lambda_environment *environment,
                           struct qn_lambda_outcome *outcome)
{
    qn_lambda_describe_error(qn_lambda_runtime_answer(environment->runtime), outcome->why,
                             sizeof(outcome->why));
    outcome->end = QN_LAMBDA_END_ERROR;
}

/* By itself, between two invocations. */
static bool has_left(const struct qn_lambda_environment *environment)
{
    struct pollfd ended = {.fd = environment->pid_fd, .events = POLLIN};

    return poll(&ended, 1, 0) > 0;
}

bool qn_lambda_environment_is_running(const struct qn_lambda_environment *environment)
{
    return environment->function->way != QN_LAMBDA_BY_RUNTIME_API ||
           (environment->pid > 0 && !has_left(environment));
}

/* From nothing to a function that waits for its event. */
static bool start_up(struct qn_lambda_environment *environment, int stop_fd,
                     struct qn_lambda_outcome *outcome)
{
    struct qn_error err;
    enum qn_lambda_state state;

    if (!start(environment, &err)) {
        qn_lambda_outcome_end(outcome, QN_LAMBDA_END_ERROR, "%.280s", err.message);
        return false;
    }
    if (!await(environment, QN_LAMBDA_STARTING, qn_clock_monotonic_ms() + INIT_LIMIT_MS, stop_fd,
               &state, outcome)) {
        if (outcome->end == QN_LAMBDA_END_TIMEOUT) {
            qn_lambda_outcome_end(outcome, QN_LAMBDA_END_ERROR,
                                  QN_LAMBDA_INIT_TIMEOUT ": has it a Lambda runtime client?");
        }
        (void)stop(environment);
        return false;
    }
    if (state == QN_LAMBDA_INIT_FAILED) {
        end_with_error(environment, outcome);
        (void)stop(environment);
        return false;
    }
    return true;
}

static bool make_ready(struct qn_lambda_environment *environment, int stop_fd,
                       struct qn_lambda_outcome *outcome)
{
    if (qn_lambda_environment_is_running(environment)) {
        return true;
    }
    (void)stop(environment);
    if (start_up(environment, stop_fd, outcome)) {
        outcome->start = QN_LAMBDA_START_DONE;
        return true;
    }
    if (outcome->end != QN_LAMBDA_END_STOPPED) {
        outcome->start = QN_LAMBDA_START_FAILED;
    }
    return false;
}

static void invoke(struct qn_lambda_environment *environment,
                   struct qn_lambda_invocation *invocation, struct qn_lambda_outcome *outcome)
{
    int64_t timeout_ms = environment->function->mapping->timeout_s * 1000;
    enum qn_lambda_state state;

    if (!make_ready(environment, environment->function->stop_fd, outcome)) {
        return;
    }
    invocation->deadline_ms =
        environment->function->clock.now_ms(environment->function->clock.state) + timeout_ms;
    qn_lambda_runtime_give(environment->runtime, invocation);
    if (!await(environment, QN_LAMBDA_RUNNING, qn_clock_monotonic_ms() + timeout_ms,
               environment->function->stop_fd, &state, outcome)) {
        if (outcome->end == QN_LAMBDA_END_TIMEOUT) {
            qn_lambda_outcome_end(outcome, QN_LAMBDA_END_TIMEOUT,
                                  "Sandbox.Timedout: Task timed out after %lld.00 seconds",
                                  (long long)environment->function->mapping->timeout_s);
        }
        (void)stop(environment);
        return;
    }
    if (state == QN_LAMBDA_FAILED) {
        end_with_error(environment, outcome);
        return;
    }
    outcome->end = QN_LAMBDA_END_RETURNED;
    qn_buf_append_str(&outcome->answer, qn_lambda_runtime_answer(environment->runtime));
}

bool qn_lambda_environment_warm(struct qn_lambda_environment *environment,
                                struct qn_lambda_outcome *outcome)
{
    return environment->function->way != QN_LAMBDA_BY_RUNTIME_API ||
           make_ready(environment, environment->function->leave_fd, outcome);
}

void qn_lambda_environment_invoke(struct qn_lambda_environment *environment,
                                  struct qn_lambda_invocation *invocation,
                                  struct qn_lambda_outcome *outcome)
{
    switch (environment->function->way) {
    case QN_LAMBDA_BY_URL:
        qn_lambda_invoke_url(environment->function, invocation, outcome);
        break;
    case QN_LAMBDA_BY_STDIN:
        qn_lambda_invoke_stdin(environment->function, invocation, outcome);
        break;
    default:
        invoke(environment, invocation, outcome);
    }
    if (outcome->end == QN_LAMBDA_END_RETURNED && outcome->answer.overflow) {
        qn_lambda_outcome_end(outcome, QN_LAMBDA_END_ERROR,
                              "Function.ResponseSizeTooLarge: Response payload size exceeded "
                              "maximum allowed payload size (%d bytes).",
                              QN_LAMBDA_ANSWER_MAX);
    }
}
