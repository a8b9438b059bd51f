/* Queues and what belongs to them, against a real server process. */
#include <criterion/criterion.h>

#include "client/quern.h"
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

TestSuite(queues, .init = start, .fini = stop);

Test(queues, queues_are_created_listed_and_deleted)
{
    struct quern_pair visibility = {"VisibilityTimeout", "7"};
    const struct quern_pairs attributes = {&visibility, 1};
    struct quern_queue_list *list = NULL;
    struct quern_pairs *got = NULL;
    char *url = NULL;
    char *found = NULL;

    cr_assert(quern_create_queue(live.client, "another", &attributes, NULL, &url, &live.err), "%s",
              live.err.message);
    cr_assert(quern_list_all_queues(live.client, "ano", &list, &live.err));
    cr_assert_eq(list->count, 1);
    cr_expect_str_eq(list->urls[0], url);
    cr_assert(quern_get_queue_url(live.client, "another", NULL, &found, &live.err));
    cr_expect_str_eq(found, url);
    cr_assert(quern_get_queue_attributes(live.client, url, NULL, 0, &got, &live.err));
    cr_expect_str_eq(quern_pairs_get(got, "VisibilityTimeout"), "7");
    cr_expect_gt(got->count, 5);
    visibility.value = "8";
    cr_expect(quern_set_queue_attributes(live.client, url, &attributes, &live.err), "%s",
              live.err.message);
    quern_answer_free(got);
    cr_assert(quern_get_queue_attributes(live.client, url, &visibility.name, 1, &got, &live.err));
    cr_assert_eq(got->count, 1);
    cr_expect_str_eq(got->items[0].value, "8");
    cr_expect(quern_delete_queue(live.client, url, &live.err));
    quern_answer_free(list);
    quern_answer_free(got);
    quern_text_free(url);
    quern_text_free(found);
}

Test(queues, all_pages_of_a_list_are_read)
{
    const struct quern_list_options two = {.prefix = "many-", .max_results = 2};
    struct quern_queue_list *list = NULL;

    for (int i = 0; i < 1005; i++) {
        char name[32];
        char *url = NULL;
        (void)snprintf(name, sizeof(name), "many-%d", i);
        cr_assert(quern_create_queue(live.client, name, NULL, NULL, &url, &live.err), "%s",
                  live.err.message);
        quern_text_free(url);
    }
    cr_assert(quern_list_all_queues(live.client, "many-", &list, &live.err), "%s",
              live.err.message);
    cr_expect_eq(list->count, 1005);
    cr_expect_null(list->next_token);
    for (size_t i = 1; i < list->count; i++) {
        cr_assert_str_neq(list->urls[i - 1], list->urls[i]);
    }
    quern_answer_free(list);
    cr_assert(quern_list_queues(live.client, &two, &list, &live.err), "%s", live.err.message);
    cr_expect_eq(list->count, 2);
    cr_expect_not_null(list->next_token);
    quern_answer_free(list);
}

Test(queues, tags_are_set_listed_and_taken_away)
{
    const struct quern_pair items[] = {{"team", "a"}, {"cost", ""}};
    const struct quern_pairs tags = {items, 2};
    static const char *const keys[] = {"team", "nothing"};
    struct quern_pairs *got = NULL;

    cr_assert(quern_tag_queue(live.client, live.queue_url, &tags, &live.err), "%s",
              live.err.message);
    cr_assert(quern_untag_queue(live.client, live.queue_url, keys, 2, &live.err), "%s",
              live.err.message);
    cr_assert(quern_list_queue_tags(live.client, live.queue_url, &got, &live.err), "%s",
              live.err.message);
    cr_assert_eq(got->count, 1);
    cr_expect_str_eq(quern_pairs_get(got, "cost"), "");
    cr_expect_null(quern_pairs_get(got, "team"));
    quern_answer_free(got);
}

Test(queues, queue_is_created_with_tags)
{
    const struct quern_pair item = {"team", "a"};
    const struct quern_pairs tags = {&item, 1};
    struct quern_pairs *got = NULL;
    char *url = NULL;

    cr_assert(quern_create_queue(live.client, "tagged", NULL, &tags, &url, &live.err), "%s",
              live.err.message);
    cr_assert(quern_list_queue_tags(live.client, url, &got, &live.err), "%s", live.err.message);
    cr_expect_str_eq(quern_pairs_get(got, "team"), "a");
    quern_answer_free(got);
    quern_text_free(url);
}

Test(queues, permissions_are_added_and_taken_back)
{
    static const char *const accounts[] = {"111122223333"};
    static const char *const actions[] = {"SendMessage", "ReceiveMessage"};
    static const char *const policy[] = {"Policy"};
    const struct quern_permission permission = {
        .label = "friends",
        .accounts = accounts,
        .account_count = 1,
        .actions = actions,
        .action_count = 2,
    };
    struct quern_pairs *got = NULL;

    cr_assert(quern_add_permission(live.client, live.queue_url, &permission, &live.err), "%s",
              live.err.message);
    cr_assert(quern_get_queue_attributes(live.client, live.queue_url, policy, 1, &got, &live.err));
    cr_assert_eq(got->count, 1);
    cr_expect_not_null(strstr(got->items[0].value, "111122223333"));
    cr_expect_not_null(strstr(got->items[0].value, "SQS:ReceiveMessage"));
    quern_answer_free(got);
    cr_assert(quern_remove_permission(live.client, live.queue_url, "friends", &live.err), "%s",
              live.err.message);
    cr_assert(quern_get_queue_attributes(live.client, live.queue_url, policy, 1, &got, &live.err));
    cr_expect_eq(got->count, 0);
    quern_answer_free(got);
}

/* A queue whose messages go to queue_url after one receive. */
static char *create_source(void)
{
    const struct quern_pair item = {
        "RedrivePolicy",
        "{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:q\",\"maxReceiveCount\":1}"};
    const struct quern_pairs attributes = {&item, 1};
    char *url = NULL;

    cr_assert(quern_create_queue(live.client, "source", &attributes, NULL, &url, &live.err), "%s",
              live.err.message);
    return url;
}

Test(queues, sources_of_a_dead_letter_queue_are_listed)
{
    struct quern_queue_list *list = NULL;
    char *source = create_source();

    cr_assert(
        quern_list_dead_letter_source_queues(live.client, live.queue_url, NULL, &list, &live.err),
        "%s", live.err.message);
    cr_assert_eq(list->count, 1);
    cr_expect_str_eq(list->urls[0], source);
    quern_answer_free(list);
    quern_text_free(source);
}

Test(queues, move_tasks_are_started_listed_and_cancelled)
{
    const struct quern_move move = {.source_arn = "arn:aws:sqs:us-east-1:000000000000:q",
                                    .destination_arn = "arn:aws:sqs:us-east-1:000000000000:source",
                                    .max_per_second = 1};
    struct quern_move_tasks *tasks = NULL;
    char *source = create_source();
    char *handle = NULL;
    int64_t moved = -7;

    for (int i = 0; i < 5; i++) {
        live_client_send(&live, "dead");
    }
    cr_assert(quern_start_message_move_task(live.client, &move, &handle, &live.err), "%s",
              live.err.message);
    cr_assert(quern_list_message_move_tasks(live.client, move.source_arn, 0, &tasks, &live.err),
              "%s", live.err.message);
    cr_assert_eq(tasks->count, 1);
    cr_expect_str_eq(tasks->items[0].task_handle, handle);
    cr_expect_str_eq(tasks->items[0].status, "RUNNING");
    cr_expect_str_eq(tasks->items[0].source_arn, move.source_arn);
    cr_expect_str_eq(tasks->items[0].destination_arn, move.destination_arn);
    cr_expect_eq(tasks->items[0].max_per_second, 1);
    cr_expect_eq(tasks->items[0].to_move, 5);
    cr_expect_gt(tasks->items[0].started_at_ms, 1600000000000);
    quern_answer_free(tasks);
    cr_assert(quern_cancel_message_move_task(live.client, handle, &moved, &live.err), "%s",
              live.err.message);
    cr_expect(moved >= 0 && moved < 5);
    quern_text_free(handle);
    quern_text_free(source);
}

Test(queues, purge_empties_the_queue)
{
    live_client_send(&live, "x");
    cr_expect(quern_purge_queue(live.client, live.queue_url, &live.err), "%s", live.err.message);
    cr_expect_eq(live_client_count(&live), 0);
}
