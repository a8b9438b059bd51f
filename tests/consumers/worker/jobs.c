/* The messages in hand, in the order of their arrival. */
#include <string.h>

#include "server/base/clock.h"
#include "tests/consumers/worker/worker.h"

const char *message_text(const json_t *message, const char *name)
{
    return json_string_value(json_object_get(message, name));
}

const char *message_attribute(const json_t *message, const char *name)
{
    return json_string_value(json_object_get(json_object_get(message, "Attributes"), name));
}

static int64_t count_of(const json_t *message)
{
    int64_t count;

    return qn_str_to_int64(qn_str_from_cstr(message_attribute(message, "ApproximateReceiveCount")),
                           0, INT32_MAX, &count)
               ? count
               : 1;
}

struct job *jobs_add(struct worker *w, json_t *message)
{
    struct job *job = qn_memory_new(sizeof(*job));
    struct job **end = &w->jobs;
    const char *handle = message_text(message, "ReceiptHandle");

    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = job;
    job->message = json_incref(message);
    job->id = message_text(message, "MessageId");
    job->group = w->is_fifo ? message_attribute(message, "MessageGroupId") : NULL;
    job->handle = qn_memory_copy_text(handle, strlen(handle));
    job->receive_count = count_of(message);
    job->answer = w->answers;
    job->lease_end_ms = qn_clock_monotonic_ms() + (w->settings.receive_visibility_s >= 0
                                                       ? w->settings.receive_visibility_s * 1000
                                                       : w->visibility_ms);
    job->next_beat_ms = qn_clock_monotonic_ms() + w->rules.beat_every_ms(w);
    job->beats = !w->settings.no_heartbeat;
    return job;
}

struct job *jobs_find(const struct worker *w, const char *id)
{
    for (struct job *job = w->jobs; job != NULL; job = job->next) {
        if (strcmp(job->id, id) == 0) {
            return job;
        }
    }
    return NULL;
}

int64_t jobs_count(const struct worker *w, enum stage stage)
{
    int64_t count = 0;

    for (const struct job *job = w->jobs; job != NULL; job = job->next) {
        count += job->stage == stage;
    }
    return count;
}

int64_t jobs_held(const struct worker *w)
{
    int64_t count = 0;

    for (const struct job *job = w->jobs; job != NULL; job = job->next) {
        count++;
    }
    return count;
}

/* On a FIFO queue a message waits for all that came before it in its group. */
bool jobs_may_begin(const struct worker *w, const struct job *job)
{
    if (job->stage != STAGE_WAITING) {
        return false;
    }
    for (const struct job *one = w->jobs; job->group != NULL && one != job; one = one->next) {
        if (one->stage != STAGE_DELETING && !one->is_aside && one->group != NULL &&
            strcmp(one->group, job->group) == 0) {
            return false;
        }
    }
    return true;
}

void jobs_remove(struct worker *w, struct job *job)
{
    for (struct job **link = &w->jobs; *link != NULL; link = &(*link)->next) {
        if (*link == job) {
            *link = job->next;
            break;
        }
    }
    w->rules.over(w, job);
    (void)pthread_cond_broadcast(&w->changed);
}

void jobs_stop_beat(struct worker *w, struct job *job)
{
    job->beats = false;
    while (job->is_beating) {
        (void)pthread_cond_wait(&w->changed, &w->lock);
    }
}

bool job_is_live(const struct job *job)
{
    return qn_clock_monotonic_ms() + LEASE_MARGIN_MS < job->lease_end_ms;
}

void job_free(struct job *job)
{
    json_decref(job->message);
    qn_memory_free(job->handle);
    qn_memory_free(job->note);
    qn_memory_free(job);
}
