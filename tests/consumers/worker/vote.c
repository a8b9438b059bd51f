/* For bugs that settle an answer as a whole: nothing of it is deleted unless all of it succeeded.
 */
#include "tests/consumers/worker/vote.h"

/* Under the lock: whether the work on the answer is over. */
static bool is_over(const struct worker *w, int64_t answer)
{
    for (const struct job *job = w->jobs; job != NULL; job = job->next) {
        if (job->answer == answer && job->stage != STAGE_DELETING) {
            return false;
        }
    }
    return true;
}

/* Under the lock: one of the answer in this stage, or NULL. */
static struct job *one_of(struct worker *w, int64_t answer, enum stage stage)
{
    for (struct job *job = w->jobs; job != NULL; job = job->next) {
        if (job->answer == answer && job->stage == stage) {
            jobs_stop_beat(w, job);
            return job;
        }
    }
    return NULL;
}

static bool all_succeeded(const struct worker *w, int64_t answer)
{
    for (const struct job *job = w->jobs; job != NULL; job = job->next) {
        if (job->answer == answer && job->is_lost) {
            return false;
        }
    }
    return true;
}

static void hand_back_waiting(struct hand *hand, int64_t answer)
{
    struct worker *w = hand->worker;
    struct job *job;

    do {
        (void)pthread_mutex_lock(&w->lock);
        job = one_of(w, answer, STAGE_WAITING);
        if (job != NULL) {
            job->stage = STAGE_RUNNING;
        }
        (void)pthread_mutex_unlock(&w->lock);
        if (job != NULL) {
            (void)settle_make_visible(hand, job, 0);
            settle_forget(hand, job);
        }
    } while (job != NULL);
}

static void finish(struct hand *hand, int64_t answer, bool deletes)
{
    struct worker *w = hand->worker;
    struct job *job;

    do {
        (void)pthread_mutex_lock(&w->lock);
        job = one_of(w, answer, STAGE_DELETING);
        (void)pthread_mutex_unlock(&w->lock);
        if (job != NULL && deletes) {
            (void)settle_delete(hand, job);
        }
        if (job != NULL) {
            settle_forget(hand, job);
        }
    } while (job != NULL);
}

void vote_settle(struct hand *hand, struct job *job, enum outcome outcome, bool stops)
{
    struct worker *w = hand->worker;
    bool failed = outcome != OUTCOME_DONE && outcome != OUTCOME_REPLAYED;
    int64_t answer = job->answer;

    (void)pthread_mutex_lock(&w->lock);
    job->is_lost = failed; /* no extension either */
    (void)pthread_mutex_unlock(&w->lock);
    if (failed && stops) {
        hand_back_waiting(hand, answer);
    }
    (void)pthread_mutex_lock(&w->lock);
    job->stage = STAGE_DELETING;
    bool over = is_over(w, answer);
    bool deletes = over && all_succeeded(w, answer);
    (void)pthread_mutex_unlock(&w->lock);
    if (over) {
        finish(hand, answer, deletes);
    }
}
