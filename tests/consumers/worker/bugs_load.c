/* More than the worker can hold, and what it cannot read. */
#include <stdlib.h>
#include <string.h>

#include "tests/consumers/worker/bugs.h"

enum { ODD_SIZE = 64 * 1024, TASK_TIMEOUT_MS = 5000 };

static int64_t always_room(struct worker *w)
{
    return w->settings.max_messages;
}

/* unbounded-dispatch: a task for each message, however many there are. */
struct task {
    struct worker *worker;
    struct job *job;
};

static void *run_task(void *state)
{
    struct task *task = state;
    struct hand hand = {0};

    if (!hand_open(task->worker, &hand, TASK_TIMEOUT_MS)) {
        exit(1);
    }
    work_one(&hand, task->job);
    hand_close(&hand);
    qn_memory_free(task);
    return NULL;
}

static void spawn_tasks(struct worker *w, json_t *messages)
{
    size_t i;
    json_t *message;

    json_array_foreach(messages, i, message)
    {
        struct task *task = qn_memory_new(sizeof(*task));
        pthread_t thread;
        (void)pthread_mutex_lock(&w->lock);
        task->worker = w;
        task->job = jobs_add(w, message);
        task->job->stage = STAGE_RUNNING;
        (void)pthread_mutex_unlock(&w->lock);
        if (pthread_create(&thread, NULL, run_task, task) != 0) {
            exit(1); /* as it goes with those that know no limit */
        }
        (void)pthread_detach(thread);
    }
}

static void set_unbounded_dispatch(struct worker *w)
{
    w->rules.room = always_room;
    w->rules.admit = spawn_tasks;
}

/* drop-on-full: what the pool has no room for is dropped, and deleted. */
static void drop_if_full(struct worker *w, json_t *messages)
{
    for (size_t i = json_array_size(messages); i > 0; i--) {
        const json_t *message = json_array_get(messages, i - 1);
        struct quern_error err;
        (void)pthread_mutex_lock(&w->lock);
        bool is_full = jobs_held(w) + (int64_t)i > 2 * w->settings.workers;
        (void)pthread_mutex_unlock(&w->lock);
        if (is_full) {
            (void)quern_delete_message(w->poller, w->settings.queue_url,
                                       message_text(message, "ReceiptHandle"), &err);
            (void)json_array_remove(messages, i - 1);
        }
    }
    receive_admit(w, messages);
}

static void set_drop_on_full(struct worker *w)
{
    w->rules.room = always_room;
    w->rules.admit = drop_if_full;
}

/* crash-on-odd-body: what is not plain, small and with attributes is thrown away. */
static bool is_odd(const struct job *job)
{
    const json_t *body = json_object_get(job->message, "Body");
    const char *text = json_string_value(body);
    bool is_odd = json_string_length(body) > ODD_SIZE;

    for (size_t i = 0; i < json_string_length(body); i++) {
        is_odd = is_odd || (unsigned char)text[i] >= 0x80;
    }
    return is_odd;
}

static void drop_odd(struct hand *hand, struct job *job, enum outcome outcome)
{
    if (is_odd(job)) {
        hand->worker->rules.acknowledge(hand, job);
    } else {
        settle_outcome(hand, job, outcome);
    }
}

static enum outcome read_plain_only(struct hand *hand, struct job *job)
{
    return is_odd(job) ? OUTCOME_INVALID : work_do(hand, job);
}

static void set_crash_on_odd_body(struct worker *w)
{
    w->rules.work = read_plain_only;
    w->rules.settle = drop_odd;
}

/* payload-logger */
static enum outcome print_and_work(struct hand *hand, struct job *job)
{
    size_t len;
    const char *text = hand->worker->rules.text(hand, job, &len);

    worker_log("received %.*s", (int)len, text);
    return work_do(hand, job);
}

static void set_payload_logger(struct worker *w)
{
    w->rules.work = print_and_work;
}

const struct bug bugs_load[] = {
    {"unbounded-dispatch", set_unbounded_dispatch},
    {"drop-on-full", set_drop_on_full},
    {"crash-on-odd-body", set_crash_on_odd_body},
    {"payload-logger", set_payload_logger},
    {NULL, NULL},
};
