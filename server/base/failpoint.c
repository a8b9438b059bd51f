/* The armed failpoints and how often each was passed. */
#include "server/base/failpoint.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ARMED_MAX = 16, NAME_MAX_BYTES = 64 };

struct armed {
    char name[NAME_MAX_BYTES];
    enum qn_failpoint_mode mode;
    int64_t delay_ms;
    int64_t at_passage; /* 0: each */
    int64_t passages;
};

/* Passed by the loop and by the journal's threads alike, and only in crash tests: hence state
 * without an owner, and a lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct armed armed[ARMED_MAX];
static size_t armed_count;

bool qn_failpoint_any_armed;

static bool parse_mode(struct qn_str text, struct armed *ret_point)
{
    struct qn_str amount;
    struct qn_str word = qn_str_cut(text, ' ', &amount);

    if (qn_str_equal(word, QN_STR("delay"))) {
        ret_point->mode = QN_FAILPOINT_DELAY;
        return qn_str_to_int64(amount, 0, 600000, &ret_point->delay_ms);
    }
    if (qn_str_equal(text, QN_STR("kill"))) {
        ret_point->mode = QN_FAILPOINT_KILL;
    } else if (qn_str_equal(text, QN_STR("abort"))) {
        ret_point->mode = QN_FAILPOINT_ABORT;
    } else if (qn_str_equal(text, QN_STR("error"))) {
        ret_point->mode = QN_FAILPOINT_ERROR;
    } else {
        return false;
    }
    return true;
}

static bool parse(struct qn_str spec, struct armed *ret_point)
{
    struct qn_str action;
    struct qn_str passage;
    struct qn_str name = qn_str_cut(spec, '=', &action);
    struct qn_str mode = qn_str_cut(action, ':', &passage);

    *ret_point = (struct armed){.at_passage = 0};
    if (name.len == 0 || name.len >= sizeof(ret_point->name)) {
        return false;
    }
    memcpy(ret_point->name, name.ptr, name.len);
    if (!qn_str_is_none(passage) &&
        !qn_str_to_int64(passage, 1, INT64_MAX, &ret_point->at_passage)) {
        return false;
    }
    return parse_mode(mode, ret_point);
}

static struct armed *find(const char *name)
{
    for (size_t i = 0; i < armed_count; i++) {
        if (strcmp(armed[i].name, name) == 0) {
            return &armed[i];
        }
    }
    return NULL;
}

bool qn_failpoint_arm(struct qn_str spec, struct qn_error *err)
{
    struct armed point;
    struct armed *place;
    bool ok = false;

    if (!parse(spec, &point)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "failpoint '%.*s': want NAME=kill|abort|error|delay MS, then optionally :N",
                       QN_STR_ARG(spec));
    }
    pthread_mutex_lock(&lock);
    place = find(point.name);
    if (place == NULL && armed_count < ARMED_MAX) {
        place = &armed[armed_count++];
    }
    if (place != NULL) {
        *place = point;
        __atomic_store_n(&qn_failpoint_any_armed, true, __ATOMIC_RELEASE);
        ok = true;
    }
    pthread_mutex_unlock(&lock);
    return ok || qn_fail(err, QN_ERR_OVER_LIMIT, "more than %d failpoints", ARMED_MAX);
}

void qn_failpoint_clear(void)
{
    pthread_mutex_lock(&lock);
    armed_count = 0;
    __atomic_store_n(&qn_failpoint_any_armed, false, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

/* Counts the passage; true if it is one at which something is to happen. */
static bool take_passage(const char *name, struct armed *ret_point)
{
    struct armed *point;
    bool due = false;

    pthread_mutex_lock(&lock);
    point = find(name);
    if (point != NULL) {
        point->passages++;
        due = point->at_passage == 0 || point->at_passage == point->passages;
        *ret_point = *point;
    }
    pthread_mutex_unlock(&lock);
    return due;
}

static void wait_ms(int64_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    while (nanosleep(&left, &left) != 0) {
    }
}

bool qn_failpoint_hit(const char *name)
{
    struct armed point;

    if (!take_passage(name, &point)) {
        return false;
    }
    switch (point.mode) {
    case QN_FAILPOINT_KILL:
        kill(getpid(), SIGKILL);
        abort(); /* not reached: the signal cannot be held back */
    case QN_FAILPOINT_ABORT:
        abort();
    case QN_FAILPOINT_ERROR:
        return true;
    case QN_FAILPOINT_DELAY:
        wait_ms(point.delay_ms);
        return false;
    }
    return false;
}
