/* One scenario while it runs: what the parts of the harness share. */
#ifndef QN_CHECK_RUNNING_H
#define QN_CHECK_RUNNING_H

#include "chaos/check/faults.h"
#include "chaos/check/load.h"
#include "chaos/check/log.h"
#include "chaos/check/options.h"
#include "chaos/check/processor.h"
#include "chaos/check/profile.h"
#include "chaos/check/ready.h"
#include "chaos/check/run.h"
#include "chaos/check/server.h"
#include "chaos/check/sink.h"
#include "chaos/check/terms.h"
#include "chaos/check/watch.h"
#include "chaos/check/windows.h"

enum { QN_INSTANCES_MAX = 16 };

struct qn_instance {
    int number;         /* from 1 */
    char name[32];      /* its access key: QUERN0001 */
    pid_t pid;          /* 0: not running */
    bool is_ready;      /* it called ReceiveMessage, or the sink's ready */
    bool was_told;      /* a signal of ours may end it */
    bool is_shell;      /* it was one when it was told to end */
    bool shell_is_deaf; /* ... and its child was not told */
    int exits_before_ready;
    int last_status; /* of its last exit, as waitpid has it */
    /* Monotonic instants; 0: never. */
    int64_t respawn_at_ms;   /* it is started again */
    int64_t continue_at_ms;  /* it was stopped, and goes on */
    int64_t kill_at_ms;      /* its grace period is over */
    int64_t prolonged_ms;    /* of that, what the machine is to blame for */
    int64_t respawn_wait_ms; /* a rule says when it comes back after its end; below 0: none does */
    struct qn_log_reader log;
    size_t log_seen; /* events of the history up to which its lines were looked at */
    struct qn_ready_probe probe;
    pid_t stop_pid; /* of --stop-cmd while it runs; 0: it does not */
    int stop_exit;  /* its exit code */
};

struct qn_running {
    struct qn_check_options own_options; /* with what the scenario knows better */
    const struct qn_check_options *options;
    const struct qn_scenario *scenario;
    const struct qn_profile *learned;
    const char *run_id;
    qn_run_watcher *watcher;
    void *watcher_state;
    int64_t begin_ms; /* monotonic */
    int64_t next_progress_ms;
    size_t fired;             /* faults, of the events up to the watch's read_count */
    struct qn_keeper *keeper; /* NULL: nothing is kept */
    struct qn_run_process process;
    uint64_t seed;
    char directory[4096];
    struct qn_arena arena;
    struct qn_history history;
    struct qn_recorder recorder;
    struct qn_server server;
    struct qn_sink *sink;
    struct qn_load load;
    struct qn_watch watch;
    struct qn_faults faults;
    struct qn_windows windows;
    const char *window_rule;     /* of the one that is open, as the server has it */
    bool is_window_load_planned; /* the load that waits for the last one */
    struct qn_str set_outcome;   /* by a rule, of the attempt that was asked for last */
    struct qn_effect_script set_script;
    struct qn_instance instances[QN_INSTANCES_MAX];
    size_t instance_count;
    size_t instance_limit; /* with those that rules spawn */
    int signal_fd;
    /* Queues. */
    struct qn_str queue_name, dlq_name;
    char *queue_url, *dlq_url;
    char *output_queue_url, *retry_queue_url; /* NULL: not declared */
    struct qn_terms terms;
    bool is_queue_there;    /* the source; it may be made later */
    int64_t queue_wait_ms;  /* from the first start until it is made */
    bool was_queue_deleted; /* once its first load was done */
    int64_t queue_back_ms;  /* virtual: then it is made again */
    int64_t turned_ms; /* virtual: a rule moved dead letters back into it, or a window opened or
                          ended; 0: none did */
    /* Course of events. */
    int64_t first_spawn_ms;   /* monotonic */
    size_t starts;            /* of a function, up to its first question for an event */
    size_t failed_starts;     /* of it: it never asked */
    size_t slow_starts;       /* of those: within the time that Lambda leaves for it */
    int64_t ready_virtual_ms; /* 0: nobody is ready so far */
    int64_t paused_ms;        /* of the time since then, while somebody was starting */
    int64_t settle_ms, run_for_ms;
    int64_t limit_ms;          /* since readiness */
    int64_t fewest_left;       /* messages that were in the queue at some time; 0: none counted */
    int64_t progress_ms;       /* since readiness, when there were so few for the first time */
    int64_t drained_since_ms;  /* monotonic; 0: not drained */
    int64_t server_restart_ms; /* monotonic; 0: none due */
    int64_t next_trace_ms;     /* monotonic */
    int64_t next_count_ms;     /* monotonic */
    int64_t last_pass_ms;
    struct qn_processor_waits waits;
    int64_t next_look_ms;                /* monotonic: for who waits for a processor */
    int64_t waited_ms;                   /* ... and what was not told so far */
    int64_t busy_ms;                     /* ... and what was, all of it */
    int64_t visible, in_flight, delayed; /* of the source queue, when last asked */
    int trace_failures;
    char trouble[400];     /* of a command of the user's; empty: none */
    int64_t give_up_at_ms; /* monotonic: whatever happens */
    bool is_interrupted;
    bool is_out_of_time; /* by --scenario-timeout */
    bool is_cut;         /* by that, before the scenario's own limit */
    bool is_over;
};

/* setup.c: names and terms, which is all that can be had without a server; the arena is to be done.
 */
void qn_running_prepare(struct qn_running *run);
/* From nothing to a loaded queue, and the header of the history. */
QN_MUST_CHECK bool qn_running_set_up(struct qn_running *run, struct qn_error *err);
void qn_running_tear_down(struct qn_running *run);
/* A rule as the server gets it. Lies in the run's arena, or is the text. */
const char *qn_running_rule(struct qn_running *run, struct qn_str text);

/* queues.c: their names, and the attributes of the source queue; the caller has a reference. */
void qn_running_name_queues(struct qn_running *run);
json_t *qn_running_queue_attributes(struct qn_running *run);
/* The queues, as far as they are there from the start, and the load that comes before it.
 */
QN_MUST_CHECK bool qn_running_create_queues(struct qn_running *run, struct qn_error *err);
/* The source queue, when the scenario wants it later, or again, and its time has come. */
QN_MUST_CHECK bool qn_running_create_late(struct qn_running *run, int64_t now_ms,
                                          struct qn_error *err);
/* Takes the source queue away; qn_running_create_late() makes it again when its time has come. */
QN_MUST_CHECK bool qn_running_delete_queue(struct qn_running *run, struct qn_error *err);
/* What of the load is due so long after readiness; below 0: what comes before. */
QN_MUST_CHECK bool qn_running_send(struct qn_running *run, int64_t since_ready_ms,
                                   struct qn_error *err);
/* Asks the server for the counts of the source queue. */
QN_MUST_CHECK bool qn_running_count(struct qn_running *run, struct qn_error *err);

/* run.c: the course of it, from the first start to the drained queue or the end of the time. */
QN_MUST_CHECK bool qn_running_go(struct qn_running *run, struct qn_error *err);
/* New events of the server, into the history and the live picture. */
QN_MUST_CHECK bool qn_running_read_trace(struct qn_running *run, struct qn_error *err);

/* lambda.c: what stands before the command of a function. Fewer than 32 words; returns how many. */
size_t qn_lambda_arguments(struct qn_running *run, const struct qn_instance *instance,
                           const char **arguments);

/* windows_run.c: an event for them, of the server or our own. */
void qn_running_feed_windows(struct qn_running *run, const struct qn_check_event *event);
/* Opens and ends the windows whose time has come. After a failure, as when the server has just
 * died, it may be called again. */
QN_MUST_CHECK bool qn_running_move_windows(struct qn_running *run, struct qn_error *err);

/* orders.c: does what rules want done by now. */
QN_MUST_CHECK bool qn_running_carry_out(struct qn_running *run, struct qn_error *err);
/* Of that what changes the sink: may be called while it begins or ends a run. */
void qn_running_change_sink(struct qn_running *run);

/* crash.c: how long the server that has just been killed stays down, as the rule says that did it;
 * false: none did. */
bool qn_running_restart_delay(const struct qn_running *run, int64_t *ret_delay_ms);

/* conclude.c: the last event, and the verdict. trouble is what the harness could not do, NULL for
 * none. */
QN_MUST_CHECK bool qn_running_mark_end(struct qn_running *run, struct qn_error *err);
void qn_running_conclude(struct qn_running *run, const struct qn_error *trouble,
                         struct qn_run_result *result);
/* Shows an event while it happens. */
void qn_running_tell(const struct qn_check_event *event);

/* environment.c */
enum { QN_ENVIRONMENT_MAX = 128 };
/* Of the effect sink, as the consumer reaches it. */
struct qn_str qn_running_sink_url(struct qn_running *run);
/* Fills in {queue_url} and the others; braces around anything else stay. The text lies in the run's
 * arena. */
const char *qn_instance_fill_in(struct qn_running *run, const struct qn_instance *instance,
                                const char *text);
void qn_instance_environment(struct qn_running *run, const struct qn_instance *instance,
                             const char **environment);
/* The same as a file of lines, for `docker run --env-file {env_file}`. */
QN_MUST_CHECK bool qn_instance_write_environment(struct qn_running *run,
                                                 const struct qn_instance *instance,
                                                 const char *const *environment,
                                                 struct qn_error *err);

/* commands.c: what the user gives for consumers that run elsewhere. */
/* Starts --stop-cmd, which takes the place of SIGTERM. False: there is none. */
bool qn_instance_stop_elsewhere(struct qn_running *run, struct qn_instance *instance);
/* True: the process was an instance's --stop-cmd. */
bool qn_instance_stop_has_ended(struct qn_running *run, pid_t pid, int status);
/* The instance did not end: a stop command that failed would look like one that does not hear. */
void qn_instance_tell_failed_stop(struct qn_running *run, const struct qn_instance *instance);
/* Runs --kill-cmd, if there is one, which takes the place of SIGKILL, and waits for the end of the
 * instance. *ret_status is its status, or -1 when it has not ended. */
void qn_instance_kill_elsewhere(struct qn_running *run, const struct qn_instance *instance,
                                int *ret_status);

/* user_command.c: runs a command of the user's by a shell, in the environment of the first
 * instance. False: it failed, or went on for too long. */
struct qn_user_command {
    const char *option; /* that gave it, for complaints */
    const char *text;
    const char *input;  /* file that it reads */
    const char *output; /* file that it writes */
};
QN_MUST_CHECK bool qn_running_run_command(struct qn_running *run,
                                          const struct qn_user_command *command,
                                          struct qn_error *err);

/* key_map.c: what --key-map says, into the history: an effect of a key that no message has becomes
 * one of each message behind it. */
QN_MUST_CHECK bool qn_running_map_keys(struct qn_running *run, struct qn_error *err);

/* letters.c: dead letters that the consumer sent itself, each with the message that it is about. */
QN_MUST_CHECK bool qn_running_read_letters(struct qn_running *run, struct qn_error *err);

/* effects_command.c: what --effects-cmd says, into the history. */
QN_MUST_CHECK bool qn_running_count_effects(struct qn_running *run, struct qn_error *err);

/* instances.c */
enum { QN_ARGUMENTS_MAX = 256 };
/* Its command, with placeholders filled in; ends in NULL. */
void qn_instance_arguments(struct qn_running *run, const struct qn_instance *instance,
                           const char **arguments);
/* Records what has become of it: an event of its process without exit code and signal. */
void qn_instance_record(struct qn_running *run, const struct qn_instance *instance,
                        const char *what);
QN_MUST_CHECK bool qn_instance_spawn(struct qn_running *run, struct qn_instance *instance,
                                     struct qn_error *err);
/* By access key; the only one when there is only one; NULL: none of ours. */
struct qn_instance *qn_instance_find(struct qn_running *run, struct qn_str name);
/* Its leader has ended, and its group is ended with it. */
void qn_instance_has_ended(struct qn_running *run, struct qn_instance *instance, int status);
/* SIGKILL to its group; returns when all of it is gone. */
void qn_instance_kill(struct qn_running *run, struct qn_instance *instance);
void qn_instance_signal(struct qn_running *run, struct qn_instance *instance, int number);
/* By --ready-log or --ready-url. */
bool qn_instance_says_ready(struct qn_running *run, struct qn_instance *instance, int64_t now_ms);
void qn_instance_mark_ready(struct qn_running *run, struct qn_instance *instance);
/* SIGSTOP to its group, and SIGCONT so much later. */
void qn_instance_pause(struct qn_running *run, struct qn_instance *instance, int64_t for_ms);
/* It is started again so long after its end, which may have been, whatever the scenario says. */
void qn_instance_respawn(struct qn_running *run, struct qn_instance *instance, int64_t after_ms);
/* As many more as there is room for. */
QN_MUST_CHECK bool qn_instances_spawn_more(struct qn_running *run, size_t count,
                                           struct qn_error *err);
/* What has fallen due: goes on, is killed, is started again. */
QN_MUST_CHECK bool qn_instances_tick(struct qn_running *run, int64_t now_ms, struct qn_error *err);
/* waits.c: looks now and then at how long the consumer and the server waited for a processor. What
 * is worth telling is an event, which is returned in ms, and gives so much more time to instances
 * that were told to end. */
int64_t qn_running_note_waits(struct qn_running *run, int64_t now_ms);
/* SIGTERM, the grace period, SIGKILL. */
void qn_instances_stop(struct qn_running *run);

#endif
