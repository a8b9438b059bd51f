/* The armed failpoints and how often each was passed. */
#include "server/base/failpoint.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { DELAY_MAX_MS = 600000, EXIT_KILLED = 128 + SIGKILL };

static const struct qn_failpoint_row rows[] = {
#define QN_FAILPOINT(name, need, proves) {name, QN_FAILPOINT_##need, proves},
#include "server/base/failpoint.def"
#undef QN_FAILPOINT
};

/* Passed by the loop and by the journal's threads alike, and only in crash tests: hence state
 * without an owner, and a lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct qn_failpoint_table own_table;
static struct qn_failpoint_table *armed = &own_table;

bool qn_failpoint_any_armed;

const struct qn_failpoint_row *qn_failpoint_row(size_t i)
{
    return i < sizeof(rows) / sizeof(rows[0]) ? &rows[i] : NULL;
}

static bool parse_mode(struct qn_str text, struct qn_failpoint_state *ret_point)
{
    struct qn_str amount;
    struct qn_str word = qn_str_cut(text, ' ', &amount);

    if (qn_str_equal(word, QN_STR("delay"))) {
        ret_point->mode = QN_FAILPOINT_DELAY;
        return qn_str_to_int64(amount, 0, DELAY_MAX_MS, &ret_point->delay_ms);
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

static bool set_name(struct qn_str name, struct qn_failpoint_state *ret_point)
{
    *ret_point = (struct qn_failpoint_state){.is_armed = true, .restart_ms = -1};
    if (name.len == 0 || name.len >= sizeof(ret_point->name)) {
        return false;
    }
    memcpy(ret_point->name, name.ptr, name.len);
    return true;
}

static bool parse(struct qn_str spec, struct qn_failpoint_state *ret_point)
{
    struct qn_str action;
    struct qn_str name = qn_str_cut(spec, '=', &action);
    struct qn_str passage;
    struct qn_str mode = qn_str_cut(action, ':', &passage);

    return set_name(name, ret_point) &&
           (qn_str_is_none(passage) ||
            qn_str_to_int64(passage, 1, INT64_MAX, &ret_point->at_passage)) &&
           parse_mode(mode, ret_point);
}

static struct qn_failpoint_state *find(struct qn_failpoint_table *table, const char *name)
{
    for (size_t i = 0; i < QN_FAILPOINTS_MAX; i++) {
        if (table->points[i].is_armed && strcmp(table->points[i].name, name) == 0) {
            return &table->points[i];
        }
    }
    return NULL;
}

static struct qn_failpoint_state *find_place(struct qn_failpoint_table *table, const char *name)
{
    struct qn_failpoint_state *place = find(table, name);

    for (size_t i = 0; place == NULL && i < QN_FAILPOINTS_MAX; i++) {
        place = table->points[i].is_armed ? NULL : &table->points[i];
    }
    return place;
}

/* The process may end at any instruction, and the table may outlive it: what is armed is whole. */
static void put(struct qn_failpoint_state *place, const struct qn_failpoint_state *point)
{
    struct qn_failpoint_state disarmed = *point;

    disarmed.is_armed = false;
    __atomic_store_n(&place->is_armed, false, __ATOMIC_SEQ_CST);
    *place = disarmed;
    __atomic_store_n(&place->is_armed, true, __ATOMIC_SEQ_CST);
}

/* Under the lock. */
static void look_for_armed(void)
{
    bool any = false;

    for (size_t i = 0; i < QN_FAILPOINTS_MAX; i++) {
        any = any || armed->points[i].is_armed;
    }
    __atomic_store_n(&qn_failpoint_any_armed, any, __ATOMIC_RELEASE);
}

void qn_failpoint_share(struct qn_failpoint_table *table)
{
    pthread_mutex_lock(&lock);
    armed = table;
    look_for_armed();
    pthread_mutex_unlock(&lock);
}

static bool arm(const struct qn_failpoint_state *point, struct qn_error *err)
{
    struct qn_failpoint_state *place = find_place(armed, point->name);

    if (place == NULL) {
        return qn_fail(err, QN_ERR_OVER_LIMIT, "more than %d failpoints", QN_FAILPOINTS_MAX);
    }
    put(place, point);
    return true;
}

/* Whether they all can be armed, tried on a copy. */
static bool can_arm(const struct qn_str *specs, size_t count, struct qn_error *err)
{
    struct qn_failpoint_table copy = *armed;
    struct qn_failpoint_state point;

    for (size_t i = 0; i < count; i++) {
        if (!parse(specs[i], &point)) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                           "failpoint '%.*s': want NAME=kill|abort|error|delay MS, then optionally "
                           ":N",
                           QN_STR_ARG(qn_str_first(specs[i], 200)));
        }
        struct qn_failpoint_state *place = find_place(&copy, point.name);
        if (place == NULL) {
            return qn_fail(err, QN_ERR_OVER_LIMIT, "more than %d failpoints", QN_FAILPOINTS_MAX);
        }
        *place = point;
    }
    return true;
}

bool qn_failpoint_check_all(const struct qn_str *specs, size_t count, struct qn_error *err)
{
    bool ok;

    pthread_mutex_lock(&lock);
    ok = can_arm(specs, count, err);
    pthread_mutex_unlock(&lock);
    return ok;
}

bool qn_failpoint_arm_all(const struct qn_str *specs, size_t count, struct qn_error *err)
{
    struct qn_failpoint_state point;
    bool ok;

    pthread_mutex_lock(&lock);
    ok = can_arm(specs, count, err);
    for (size_t i = 0; ok && i < count; i++) {
        ok = parse(specs[i], &point) && arm(&point, err);
    }
    look_for_armed();
    pthread_mutex_unlock(&lock);
    return ok;
}

bool qn_failpoint_arm(struct qn_str spec, struct qn_error *err)
{
    return qn_failpoint_arm_all(&spec, 1, err);
}

bool qn_failpoint_arm_once(struct qn_str name, struct qn_str mode, int64_t restart_ms,
                           struct qn_error *err)
{
    struct qn_failpoint_state point;
    bool ok;

    if (!set_name(name, &point) || !parse_mode(mode, &point)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "a failpoint is met with kill, abort, error or delay MS, not with '%.*s'",
                       QN_STR_ARG(qn_str_first(mode, 200)));
    }
    point.at_passage = 1;
    point.restart_ms = restart_ms;
    pthread_mutex_lock(&lock);
    ok = arm(&point, err);
    look_for_armed();
    pthread_mutex_unlock(&lock);
    return ok;
}

bool qn_failpoint_find(struct qn_str name, struct qn_failpoint_state *ret_state)
{
    struct qn_failpoint_state wanted;
    struct qn_failpoint_state *found = NULL;

    if (set_name(name, &wanted)) {
        pthread_mutex_lock(&lock);
        found = find(armed, wanted.name);
        if (found != NULL) {
            *ret_state = *found;
        }
        pthread_mutex_unlock(&lock);
    }
    return found != NULL;
}

bool qn_failpoint_disarm(struct qn_str name)
{
    struct qn_failpoint_state wanted;
    struct qn_failpoint_state *found = NULL;

    if (set_name(name, &wanted)) {
        pthread_mutex_lock(&lock);
        found = find(armed, wanted.name);
        if (found != NULL) {
            found->is_armed = false;
        }
        look_for_armed();
        pthread_mutex_unlock(&lock);
    }
    return found != NULL;
}

void qn_failpoint_clear(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < QN_FAILPOINTS_MAX; i++) {
        armed->points[i].is_armed = false;
    }
    look_for_armed();
    pthread_mutex_unlock(&lock);
}

struct qn_str qn_failpoint_mode_text(const struct qn_failpoint_state *state, char out[32])
{
    static const char *const words[] = {
        [QN_FAILPOINT_KILL] = "kill",
        [QN_FAILPOINT_ABORT] = "abort",
        [QN_FAILPOINT_ERROR] = "error",
    };

    if (state->mode != QN_FAILPOINT_DELAY) {
        return qn_str_from_cstr(words[state->mode]);
    }
    (void)snprintf(out, 32, "delay %lld", (long long)state->delay_ms);
    return qn_str_from_cstr(out);
}

/* Counts the passage; true if it is one at which something is to happen. */
static bool take_passage(const char *name, struct qn_failpoint_state *ret_point)
{
    struct qn_failpoint_state *point;
    bool due = false;

    pthread_mutex_lock(&lock);
    point = find(armed, name);
    if (point != NULL) {
        point->passages++;
        due = point->at_passage == 0 || point->at_passage == point->passages;
        *ret_point = *point;
        if (due && (point->mode == QN_FAILPOINT_KILL || point->mode == QN_FAILPOINT_ABORT)) {
            __atomic_store_n(&armed->fatal, (int)(point - armed->points) + 1, __ATOMIC_SEQ_CST);
        }
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

void qn_failpoint_die(void)
{
    (void)kill(getpid(), SIGKILL);
    _exit(EXIT_KILLED); /* the first process of a container cannot kill itself */
}

bool qn_failpoint_hit(const char *name)
{
    struct qn_failpoint_state point;

    if (!take_passage(name, &point)) {
        return false;
    }
    switch (point.mode) {
    case QN_FAILPOINT_KILL:
        qn_failpoint_die();
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
