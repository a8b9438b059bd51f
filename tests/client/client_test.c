/* The life of a client, against a real server process. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "client/internal.h"
#include "server/base/clock.h"
#include "tests/support/live_client.h"

static struct live_client live;

static void start(void)
{
    live_client_start(&live, QN_TEST_PROGRAM);
}

static void stop(void)
{
    live_client_stop(&live);
}

TestSuite(client, .init = start, .fini = stop);

Test(client, endpoint_has_no_slash_at_its_end)
{
    cr_expect_null(strstr(quern_client_endpoint(live.client) + 8, "/"));
}

Test(client, error_of_the_service_has_its_code_and_is_not_repeated)
{
    char *url = NULL;

    cr_expect_not(quern_get_queue_url(live.client, "nowhere", NULL, &url, &live.err));
    cr_expect_str_eq(live.err.code, "QueueDoesNotExist");
    cr_expect_eq(live.err.http_status, 400);
    cr_expect_eq(live.err.attempts, 1);
    cr_expect(live.err.message[0] != '\0');
    cr_expect_eq(strlen(live.err.request_id), 36);
    cr_expect_not(live.err.is_retryable);
    cr_expect_not(live.err.is_unknown);
}

Test(client, control_pages_are_read_and_their_errors_told)
{
    json_t *answer = NULL;
    char *text = NULL;
    size_t len = 0;

    cr_assert(quern_http_get(live.client, "/_quern/health", &answer, &live.err), "%s",
              live.err.message);
    cr_expect(json_is_object(answer));
    json_decref(answer);
    cr_expect_not(quern_http_get(live.client, "/_quern/nothing", &answer, &live.err));
    cr_expect_eq(live.err.http_status, 404);
    cr_expect(live.err.message[0] != '\0');
    cr_assert(quern_http_get_text(live.client, "/_quern/trace?since=0", &text, &len, &live.err));
    cr_expect_eq(strlen(text), len);
    quern_text_free(text);
    cr_assert(quern_http_delete(live.client, "/_quern/rules", &answer, &live.err), "%s",
              live.err.message);
    json_decref(answer);
}

/* Waits until the server has parked a receive, and then ends it from outside. */
static void *cancel_when_parked(void *state)
{
    void (*cancel)(struct quern_client *) = *(void (**)(struct quern_client *))state;
    struct quern_client *other = NULL;
    struct quern_error problem;
    const struct quern_options options = {.endpoint = quern_client_endpoint(live.client),
                                          .max_attempts = 1};

    if (quern_client_new(&options, &other, &problem)) {
        bool is_parked = false;
        while (!is_parked) {
            json_t *answer = NULL;
            (void)quern_http_get(other, "/_quern/queues", &answer, &problem);
            const json_t *queue = json_array_get(json_object_get(answer, "queues"), 0);
            is_parked = json_integer_value(json_object_get(queue, "waiting_polls")) > 0;
            json_decref(answer);
        }
        cancel(live.client);
    }
    quern_client_free(other);
    return NULL;
}

static void poll_until_cancelled(void (*cancel)(struct quern_client *))
{
    const struct quern_receive_options options = {.wait_s = 20, .visibility_s = QUERN_NOT_GIVEN};
    struct quern_messages *messages = NULL;
    pthread_t canceller;

    cr_assert_eq(pthread_create(&canceller, NULL, cancel_when_parked, (void *)&cancel), 0);
    int64_t start_ms = qn_clock_monotonic_ms();
    cr_expect_not(
        quern_receive_message(live.client, live.queue_url, &options, &messages, &live.err));
    cr_expect_lt(qn_clock_monotonic_ms() - start_ms, 5000);
    pthread_join(canceller, NULL);
    cr_expect_str_eq(live.err.code, "Cancelled");
    cr_expect_not(live.err.is_retryable);
    cr_expect_eq(live.err.attempts, 1);
}

Test(client, long_poll_is_ended_from_another_thread)
{
    poll_until_cancelled(quern_client_cancel);
    cr_expect_not(quern_delete_message(live.client, live.queue_url, "later", &live.err),
                  "it stays cancelled");
    cr_expect_str_eq(live.err.code, "Cancelled");
}

Test(client, receives_are_ended_and_other_calls_go_on)
{
    struct quern_messages *messages = NULL;

    poll_until_cancelled(quern_client_cancel_receives);
    live_client_send(&live, "x");
    cr_expect_not(quern_receive_message(live.client, live.queue_url, NULL, &messages, &live.err));
    cr_expect_str_eq(live.err.code, "Cancelled");
}

Test(client, endpoint_where_nobody_listens_is_tried_three_times)
{
    const struct quern_options options = {
        .endpoint = "http://127.0.0.1:1", .access_key = "a", .secret_key = "b", .retry_base_ms = 1};
    struct quern_client *lonely = NULL;

    cr_assert(quern_client_new(&options, &lonely, &live.err));
    cr_expect_not(quern_client_call(lonely, "ListQueues", NULL, NULL, &live.err));
    cr_expect_str_eq(live.err.code, "ConnectionError");
    cr_expect_eq(live.err.http_status, 0);
    cr_expect_eq(live.err.attempts, 3);
    cr_expect(live.err.is_retryable);
    cr_expect_not(live.err.is_unknown, "nothing was sent");
    quern_client_free(lonely);
}

Test(client, calls_one_after_the_other_share_a_connection)
{
    for (int i = 0; i < 5; i++) {
        live_client_send(&live, "x");
    }
    cr_expect_eq(live.client->idle_count, 1);
    cr_expect(LIST_EMPTY(&live.client->busy));
}

Test(client, wait_of_a_receive_is_no_part_of_its_time_limit)
{
    const struct quern_receive_options options = {.wait_s = 1, .visibility_s = QUERN_NOT_GIVEN};
    struct quern_messages *messages = NULL;

    live.client->timeout_ms = 500;
    cr_assert(quern_receive_message(live.client, live.queue_url, &options, &messages, &live.err),
              "%s", live.err.message);
    cr_expect_eq(messages->count, 0);
    quern_answer_free(messages);
}
