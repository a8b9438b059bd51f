/* The time that a machine with too much to do kept the consumer waiting. */
#include "chaos/check/judge/busy.h"

/* Beyond this it is not the machine any more; and a stop has to come to its end. */
enum { GRACE_TIMES = 2 };

void qn_busy_collect(struct qn_book *book)
{
    const struct qn_history *history = book->in->history;
    size_t count = 0;

    for (size_t i = 0; i < history->count; i++) {
        count += history->events[i].kind == QN_CHECK_BUSY;
    }
    book->busy = qn_arena_alloc(&book->arena, (count + 1) * sizeof(struct qn_check_event *));
    for (size_t i = 0; i < history->count; i++) {
        if (history->events[i].kind == QN_CHECK_BUSY) {
            book->busy[book->busy_count++] = &history->events[i];
        }
    }
}

int64_t qn_busy_ms(const struct qn_judge_input *in, uint64_t from_seq, uint64_t to_seq,
                   int64_t limit_ms)
{
    int64_t busy_ms = 0;

    for (size_t i = 0; i < in->book->busy_count; i++) {
        const struct qn_check_event *event = in->book->busy[i];
        if (event->seq > from_seq && event->seq < to_seq && event->n > 0) {
            busy_ms += event->n;
        }
    }
    return busy_ms < limit_ms ? busy_ms : limit_ms;
}

int64_t qn_busy_grace_limit_ms(int64_t grace_ms)
{
    return GRACE_TIMES * grace_ms;
}
