/* A consumer that is right, or wrong in one chosen way: what `quern check` is tested with. */
#include "tests/consumers/worker/worker.h"

static const struct rules right = {
    .may_poll = receive_may_poll,
    .room = receive_room,
    .admit = receive_admit,
    .on_empty = receive_on_empty,
    .on_receive_error = receive_on_error,
    .on_call_error = receive_on_call_error,
    .on_start = work_on_start,
    .pick = work_pick,
    .is_live = job_is_live,
    .work = work_do,
    .is_valid = work_is_valid,
    .text = work_text,
    .effect = work_effect,
    .key = work_key,
    .keep_state = work_keep_state,
    .publish = work_publish,
    .settle = settle_outcome,
    .acknowledge = settle_acknowledge,
    .failed = settle_failed,
    .resend = settle_by_retry_queue,
    .reject = settle_reject,
    .delete_batch = batch_delete,
    .may_beat = beat_may,
    .beat_every_ms = beat_every_ms,
    .on_beat_error = beat_on_error,
    .again = beat_again,
    .over = beat_over,
    .on_term = stop_on_term,
    .drain = stop_drain,
};

int main(int argc, char **argv)
{
    struct worker worker = {.rules = right};
    int code;

    return settings_read(argc, argv, &worker, &code) ? worker_run(&worker) : code;
}
