/* When each request is sent: at its time, or as soon as the one before it was answered or parked.
 */
#include <unistd.h>

#include "server/base/clock.h"
#include "server/cli/replay/replay.h"

enum {
    LOOK_MS = 5,            /* how often a Quern is asked whether all wait */
    PARKED_AFTER_MS = 1000, /* nobody else can be asked */
    GRACE_MS = 25,          /* for a request to arrive that is expected to wait */
    TAKEN_UP_WITHIN_MS = 5000,
    PROGRESS_MS = 200
};

static bool fail_remote(const struct quern_error *failure, struct qn_error *err)
{
    return qn_fail(err, QN_ERR_INTERNAL, "%s: %s", failure->code, failure->message);
}

static void show_progress(struct qn_replay *replay)
{
    int64_t now_ms = qn_clock_monotonic_ms();

    if (replay->shows_progress && now_ms >= replay->next_progress_ms) {
        replay->next_progress_ms = now_ms + PROGRESS_MS;
        (void)fprintf(stderr, "\rreplayed %zu of %zu requests\033[K", replay->done,
                      replay->session.request_count);
        (void)fflush(stderr);
    }
}

static bool wait_for_news(struct qn_replay *replay, int64_t wait_ms, struct qn_error *err)
{
    show_progress(replay);
    if (replay->shows_progress && (wait_ms < 0 || wait_ms > PROGRESS_MS)) {
        wait_ms = PROGRESS_MS;
    }
    return qn_replay_wait(replay, wait_ms > INT32_MAX ? INT32_MAX : (int)wait_ms, err);
}

static bool is_lost(const struct qn_replay *replay, uint32_t item)
{
    json_t *line = qn_session_load(&replay->session, item);
    bool lost = json_is_true(json_object_get(line, "lost"));

    json_decref(line);
    return lost;
}

/* ---- as fast as it goes ---- */

/* Until the request was answered, or waits for something that others do. */
static bool await(struct qn_replay *replay, uint32_t request, struct qn_error *err)
{
    int64_t begin_ms = qn_clock_monotonic_ms();

    while (replay->states[request] != QN_REPLAY_DONE && !replay->is_interrupted) {
        if (!wait_for_news(replay, LOOK_MS, err)) {
            return false;
        }
        if (replay->states[request] == QN_REPLAY_DONE ||
            (replay->target.is_quern ? qn_replay_is_parked(replay)
                                     : qn_clock_monotonic_ms() - begin_ms > PARKED_AFTER_MS)) {
            break;
        }
    }
    return true;
}

/* Until a request that waited then is where it waits. */
static bool await_arrival(struct qn_replay *replay, uint32_t request, struct qn_error *err)
{
    int64_t limit_ms = replay->target.is_quern ? TAKEN_UP_WITHIN_MS : GRACE_MS;
    int64_t end_ms = qn_clock_monotonic_ms() + limit_ms;

    while (replay->states[request] != QN_REPLAY_DONE && qn_clock_monotonic_ms() < end_ms &&
           !replay->is_interrupted) {
        if (!wait_for_news(replay, 1, err)) {
            return false;
        }
        if (replay->target.is_quern && qn_replay_is_taken_up(replay)) {
            break;
        }
    }
    return true;
}

/* Its answer came before anything else happened. */
static bool was_answered_at_once(const struct qn_replay *replay, uint32_t request)
{
    const struct qn_session_request *at = &replay->session.requests[request];

    return at->answer == at->item + 1;
}

static bool send_in_turn(struct qn_replay *replay, uint32_t request, struct qn_error *err)
{
    struct qn_replay_connection *connection =
        &replay->connections[replay->session.requests[request].connection];

    connection->waiting++;
    while (replay->states[request] == QN_REPLAY_UNSENT && !replay->is_interrupted) {
        if (!qn_replay_try(replay, connection, err)) {
            return false;
        }
        if (replay->states[request] == QN_REPLAY_UNSENT && !wait_for_news(replay, -1, err)) {
            return false;
        }
    }
    return was_answered_at_once(replay, request) || await_arrival(replay, request, err);
}

static bool take_answer_in_turn(struct qn_replay *replay, uint32_t item, struct qn_error *err)
{
    uint32_t request = replay->session.items[item].request;

    if (!await(replay, request, err)) {
        return false;
    }
    if (is_lost(replay, item) && replay->states[request] == QN_REPLAY_SENT) {
        qn_replay_hang_up(replay, request);
        while (replay->states[request] != QN_REPLAY_DONE) {
            if (!wait_for_news(replay, -1, err)) {
                return false;
            }
        }
    }
    return true;
}

static bool run_in_turn(struct qn_replay *replay, struct qn_error *err)
{
    struct quern_error failure;

    for (size_t i = 0; i < replay->session.item_count && !replay->is_interrupted; i++) {
        const struct qn_session_item *item = &replay->session.items[i];
        bool ok = true;
        if (item->kind == QN_SESSION_QUEUE) {
            continue;
        }
        if (!qn_replay_follow_clock(replay, item, &failure)) {
            return fail_remote(&failure, err);
        }
        if (item->kind == QN_SESSION_CLOCK &&
            !qn_replay_move_clock(replay, (uint32_t)i, &failure)) {
            return fail_remote(&failure, err);
        }
        if (item->kind == QN_SESSION_REQUEST) {
            ok = send_in_turn(replay, item->request, err);
        } else if (item->kind == QN_SESSION_ANSWER) {
            ok = take_answer_in_turn(replay, (uint32_t)i, err);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

/* ---- at their times ---- */

static bool try_all(struct qn_replay *replay, struct qn_error *err)
{
    for (size_t i = 0; i < replay->session.connection_count; i++) {
        if (replay->connections[i].waiting > 0 &&
            !qn_replay_try(replay, &replay->connections[i], err)) {
            return false;
        }
    }
    return true;
}

/* Its time has come. */
static bool release(struct qn_replay *replay, uint32_t i, struct qn_error *err)
{
    const struct qn_session_item *item = &replay->session.items[i];
    struct quern_error failure;

    if (item->kind == QN_SESSION_QUEUE) {
        return true;
    }
    if (!qn_replay_follow_clock(replay, item, &failure) ||
        (item->kind == QN_SESSION_CLOCK && !qn_replay_move_clock(replay, i, &failure))) {
        return fail_remote(&failure, err);
    }
    if (item->kind == QN_SESSION_REQUEST) {
        replay->connections[replay->session.requests[item->request].connection].waiting++;
    } else if (item->kind == QN_SESSION_ANSWER && is_lost(replay, i)) {
        qn_replay_hang_up(replay, item->request);
    }
    return true;
}

static bool run_by_time(struct qn_replay *replay, struct qn_error *err)
{
    const struct qn_session *session = &replay->session;
    int64_t begin_ms = qn_clock_monotonic_ms();
    size_t next = 0;

    while (next < session->item_count && !replay->is_interrupted) {
        double now_ms = (double)(qn_clock_monotonic_ms() - begin_ms) * replay->options.speed;
        while (next < session->item_count && (double)session->items[next].at_ms <= now_ms) {
            if (!release(replay, (uint32_t)next++, err)) {
                return false;
            }
        }
        if (!try_all(replay, err)) {
            return false;
        }
        if (next < session->item_count) {
            double left_ms = ((double)session->items[next].at_ms - now_ms) / replay->options.speed;
            if (!wait_for_news(replay, left_ms < 1 ? 1 : (int64_t)left_ms, err)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- the end ---- */

/* A client that got no answer then has gone away by the end. */
static void hang_up_the_lost(struct qn_replay *replay)
{
    for (uint32_t i = 0; i < replay->session.request_count; i++) {
        if (replay->session.requests[i].answer == QN_SESSION_NONE) {
            qn_replay_hang_up(replay, i);
        }
    }
}

bool qn_replay_run(struct qn_replay *replay, struct qn_error *err)
{
    bool ok = replay->options.speed > 0 ? run_by_time(replay, err) : run_in_turn(replay, err);

    if (ok && !replay->is_interrupted) {
        hang_up_the_lost(replay);
    }
    while (ok && replay->done < replay->session.request_count && !replay->is_interrupted) {
        ok = try_all(replay, err) && wait_for_news(replay, -1, err);
    }
    if (replay->shows_progress) {
        (void)fputs("\r\033[K", stderr);
    }
    return ok;
}
