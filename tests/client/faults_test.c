/* What the client makes of a server and a network that fail. */
#include <criterion/criterion.h>

#include "client/internal.h"
#include "tests/support/live_client.h"

static struct live_client live;
static int64_t pauses_ms[16];
static size_t pause_count;

/* No test waits for the pauses between attempts. */
static bool note_pause(struct quern_client *client, bool is_receive, int64_t pause_ms)
{
    (void)client;
    (void)is_receive;
    pauses_ms[pause_count++ % 16] = pause_ms;
    return true;
}

static void start(void)
{
    live_client_start(&live, QN_TEST_PROGRAM);
    live.client->pause = note_pause;
    live.client->retry_base_ms = 1000;
}

static void stop(void)
{
    live_client_stop(&live);
}

TestSuite(faults, .init = start, .fini = stop);

static bool send_one(void)
{
    const struct quern_message message = {.body = "x", .body_len = 1, .delay_s = QUERN_NOT_GIVEN};

    return quern_send_message(live.client, live.queue_url, &message, NULL, &live.err);
}

static bool receive_some(struct quern_messages **ret_messages)
{
    const struct quern_receive_options options = {.wait_s = 0, .visibility_s = 30};

    return quern_receive_message(live.client, live.queue_url, &options, ret_messages, &live.err);
}

Test(faults, two_failures_of_the_server_are_outlived_by_the_third_attempt)
{
    live_client_add_rule(&live, "on SendMessage first 2 at arrive do 5xx 503");
    cr_expect(send_one());
    cr_assert_eq(pause_count, 2);
    cr_expect(pauses_ms[0] <= 1000 && pauses_ms[1] <= 2000);
    cr_expect(pauses_ms[0] != 1000 || pauses_ms[1] != 2000, "they are random");
    cr_expect_eq(live_client_count(&live), 1);
}

Test(faults, third_failure_is_given_up)
{
    live_client_add_rule(&live, "on SendMessage at arrive do 5xx 500");
    cr_expect_not(send_one());
    cr_expect_eq(live.err.http_status, 500);
    cr_expect_eq(live.err.attempts, 3);
    cr_expect(live.err.is_retryable);
    cr_expect(live.err.is_unknown);
    cr_expect_eq(strlen(live.err.request_id), 36);
}

Test(faults, throttling_is_outlived_and_nothing_is_unknown_of_it)
{
    live_client_add_rule(&live, "on SendMessage first 2 do throttle");
    cr_expect(send_one());
    live_client_add_rule(&live, "on SendMessage do throttle");
    cr_expect_not(send_one());
    cr_expect_str_eq(live.err.code, "ThrottlingException");
    cr_expect(live.err.is_retryable);
    cr_expect_not(live.err.is_unknown);
}

Test(faults, refusal_of_rights_is_not_repeated)
{
    live_client_add_rule(&live, "on SendMessage do 403");
    cr_expect_not(send_one());
    cr_expect_eq(live.err.attempts, 1);
    cr_expect_not(live.err.is_retryable);
}

Test(faults, connection_that_breaks_is_a_reason_to_repeat)
{
    live_client_add_rule(&live, "on SendMessage first 2 at post-commit do reset 0");
    cr_expect(send_one());
}

Test(faults, nothing_is_sent_again_behind_its_back)
{
    live_client_add_rule(&live, "on SendMessage first 3 at post-commit do reset 0");
    cr_expect_not(send_one());
    cr_expect_str_eq(live.err.code, "ConnectionError");
    cr_expect_eq(live.err.attempts, 3);
    cr_expect(live.err.is_unknown, "the answer was lost");
    cr_expect_eq(live_client_count(&live), 3);
}

Test(faults, what_an_earlier_attempt_left_unknown_stays_so)
{
    live_client_add_rule(&live, "on SendMessage first 1 at post-commit do reset 0");
    live_client_add_rule(&live, "on SendMessage nth 2 do 403");
    cr_expect_not(send_one());
    cr_expect_eq(live.err.attempts, 2);
    cr_expect_eq(live.err.http_status, 403);
    cr_expect(live.err.is_unknown);
}

Test(faults, answer_that_is_cut_is_a_lost_one)
{
    live_client_add_rule(&live, "on SendMessage at mid-response do truncate 0.5");
    cr_expect_not(send_one());
    cr_expect_str_eq(live.err.code, "ConnectionError");
    cr_expect_eq(live.err.attempts, 3);
    cr_expect(live.err.is_unknown);
}

Test(faults, noise_is_no_answer_and_no_success)
{
    live_client_add_rule(&live, "on SendMessage at post-commit do garbage");
    cr_expect_not(send_one());
    cr_expect_str_eq(live.err.code, "UnreadableAnswer");
    cr_expect_eq(live.err.http_status, 200);
    cr_expect(live.err.is_unknown);
}

Test(faults, server_that_never_answers_is_left_when_the_time_is_over)
{
    live.client->timeout_ms = 200;
    live_client_add_rule(&live, "on SendMessage do hang");
    cr_expect_not(send_one());
    cr_expect_str_eq(live.err.code, "Timeout");
    cr_expect_eq(live.err.attempts, 3);
    cr_expect(live.err.is_unknown);
    cr_expect_eq(live.client->quota.tokens, QUERN_QUOTA_MAX - 2 * QUERN_QUOTA_TIMEOUT);
}

Test(faults, send_with_a_wrong_digest_is_repeated)
{
    live_client_add_rule(&live, "on SendMessage first 2 at post-commit do bad-md5");
    cr_expect(send_one());
    cr_expect_eq(live_client_count(&live), 3);
    live_client_add_rule(&live, "on SendMessage at post-commit do bad-md5");
    cr_expect_not(send_one());
    cr_expect_str_eq(live.err.code, "ChecksumMismatch");
    cr_expect(live.err.is_unknown);
    cr_expect(live.err.is_retryable);
}

Test(faults, answer_without_digests_is_taken)
{
    live_client_add_rule(&live, "on any at post-commit do no-md5");
    cr_expect(send_one());
    struct quern_messages *messages = live_client_receive(&live);
    cr_expect_eq(messages->count, 1);
    quern_answer_free(messages);
}

Test(faults, entry_with_a_wrong_digest_has_failed)
{
    const struct quern_message messages[2] = {{.body = "a", .body_len = 1, .delay_s = -1},
                                              {.body = "b", .body_len = 1, .delay_s = -1}};
    struct quern_batch *batch = NULL;

    live_client_add_rule(&live, "on SendMessageBatch at post-commit do bad-md5");
    cr_assert(quern_send_message_batch(live.client, live.queue_url, messages, 2, &batch, &live.err),
              "%s", live.err.message);
    cr_expect_eq(batch->failed_count, 2);
    cr_expect_str_eq(batch->entries[0].code, "ChecksumMismatch");
    cr_expect(batch->entries[1].is_unknown && batch->entries[1].is_retryable);
    quern_answer_free(batch);
}

Test(faults, damaged_messages_are_left_out_of_a_receive)
{
    struct quern_messages *messages = NULL;

    live_client_send(&live, "a");
    live_client_send(&live, "b");
    live_client_add_rule(&live, "on ReceiveMessage first 1 at post-commit do bad-md5");
    cr_expect(receive_some(&messages));
    cr_expect_eq(messages->count, 0, "both were damaged, and nothing was left for the repetition");
    quern_answer_free(messages);
}

Test(faults, receive_of_damaged_messages_only_is_a_failure_at_last)
{
    struct quern_messages *messages = NULL;

    live.client->settings.max_attempts = 1;
    live_client_send(&live, "a");
    live_client_add_rule(&live, "on ReceiveMessage at post-commit do bad-md5");
    cr_expect_not(receive_some(&messages));
    cr_expect_str_eq(live.err.code, "ChecksumMismatch");
    cr_expect(live.err.is_retryable);
}

Test(faults, retries_end_when_the_quota_is_used_up_and_begin_again_with_success)
{
    live.client->settings.max_attempts = 1000;
    live_client_add_rule(&live, "on SendMessage first 101 at arrive do 5xx 500");
    cr_expect_not(send_one());
    cr_expect_eq(live.err.attempts, 1 + QUERN_QUOTA_MAX / QUERN_QUOTA_RETRY);
    cr_expect_eq(live.client->quota.tokens, 0);
    cr_expect(send_one());
    cr_expect_eq(live.client->quota.tokens, QUERN_QUOTA_CALL);
    live_client_add_rule(&live, "on SendMessage first 1 at arrive do 5xx 500");
    cr_expect_not(send_one());
    cr_expect_eq(live.err.attempts, 1, "one token pays for no retry");
}

Test(faults, success_gives_back_what_its_retry_took)
{
    live_client_add_rule(&live, "on SendMessage first 2 at arrive do 5xx 500");
    cr_expect(send_one());
    cr_expect_eq(live.client->quota.tokens, QUERN_QUOTA_MAX - QUERN_QUOTA_RETRY);
}
