/* A slow program is no wrong one: how long a consumer takes between two messages. */
#include "chaos/check/judge/pace.h"

enum { FEWEST = 3 }; /* of less there is no median to speak of */

/* Of one instance: where it stands between two messages. */
struct step {
    int64_t ended_ms; /* 0: no work has ended since the last began */
    bool has_deleted; /* ... and what it was for was deleted */
};

static bool is_begin(const struct qn_judge_input *in, const struct qn_check_event *event)
{
    return in->level < QN_LEVEL_SINK
               ? event->kind == QN_CHECK_LEASE_GRANT && qn_judge_on_source(in, event)
               : event->kind == QN_CHECK_WORK_BEGIN;
}

/* The gap that ends with this event, or -1. */
static int64_t gap_at(const struct qn_judge_input *in, struct step *step,
                      const struct qn_check_event *event)
{
    bool is_end = event->kind == QN_CHECK_WORK_COMMIT;
    int64_t gap_ms = -1;

    if (qn_judge_asks_to_delete(in, event)) {
        step->has_deleted = true;
        if (in->level < QN_LEVEL_SINK) {
            step->ended_ms = event->wt;
        }
    } else if (is_end) {
        *step = (struct step){.ended_ms = event->wt};
    } else if (is_begin(in, event)) {
        gap_ms = step->ended_ms != 0 && step->has_deleted ? event->wt - step->ended_ms : -1;
        *step = (struct step){0};
    }
    return gap_ms;
}

int64_t qn_pace_ms(const struct qn_judge_input *in)
{
    const struct qn_history *history = in->history;
    struct qn_table steps; /* struct step, by instance */
    size_t count = 0;

    if (in->concurrency > 1) {
        return 0;
    }
    int64_t *gaps = qn_memory_new_array(history->count + 1, sizeof(*gaps));
    qn_table_init(&steps, sizeof(struct step));
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        const struct qn_book_instance *instance = qn_book_instance_of(in->book, event->instance);
        if (instance == NULL) {
            continue;
        }
        gaps[count] = gap_at(in, qn_table_at(&steps, instance->name), event);
        count += gaps[count] >= 0;
    }
    int64_t pace_ms = count >= FEWEST ? qn_judge_median(gaps, count) : 0;
    qn_table_done(&steps);
    qn_memory_free(gaps);
    return pace_ms;
}

int64_t qn_pace_count(const struct qn_judge_input *in, uint64_t from_seq, uint64_t to_seq)
{
    int64_t count = 0;

    for (size_t i = 0; i < in->history->count; i++) {
        const struct qn_check_event *event = &in->history->events[i];
        count += event->seq > from_seq && event->seq < to_seq && is_begin(in, event) &&
                 qn_book_instance_of(in->book, event->instance) != NULL;
    }
    return count;
}
