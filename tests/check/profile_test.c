/* What the harness learns about a consumer. */
#include <criterion/criterion.h>

#include "chaos/check/profile.h"

static struct qn_history history;

static struct qn_profile learn(const char *trace)
{
    struct qn_error err;
    struct qn_profile profile;
    const struct qn_judge_input in = {.history = &history,
                                      .level = QN_LEVEL_SINK,
                                      .queue = QN_STR("q"),
                                      .self = QN_STR("QUERNCHECK")};

    qn_history_init(&history);
    cr_assert(qn_history_read(&history, qn_str_from_cstr(trace), &err), "%s", err.message);
    qn_history_settle(&history);
    qn_profile_learn(&profile, &in);
    qn_history_done(&history);
    return profile;
}

Test(profile, polls_and_leases_tell_batch_wait_and_visibility)
{
    const struct qn_profile profile = learn(
        "{\"seq\":1,\"wt\":1000,\"kind\":\"proc\",\"what\":\"spawn\",\"instance\":\"QUERN0001\"}\n"
        "{\"seq\":2,\"wt\":1400,\"vt\":1400,\"kind\":\"api.in\",\"action\":\"ReceiveMessage\","
        "\"queue\":\"q\","
        "\"params\":{\"MaxNumberOfMessages\":10,\"WaitTimeSeconds\":20}}\n"
        "{\"seq\":3,\"vt\":1400,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"a\","
        "\"deadline\":5400}\n"
        "{\"seq\":4,\"vt\":1400,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"b\","
        "\"deadline\":5400}\n"
        "{\"seq\":5,\"vt\":1450,\"kind\":\"api.in\",\"action\":\"DeleteMessage\",\"queue\":\"q\"}\n"
        "{\"seq\":6,\"vt\":1450,\"kind\":\"msg.delete\",\"queue\":\"q\",\"mid\":\"a\"}\n");

    cr_expect_eq(profile.startup_ms, 400);
    cr_expect_eq(profile.batch, 10);
    cr_expect_eq(profile.wait_s, 20);
    cr_expect_eq(profile.visibility_ms, 4000);
    cr_expect_not(profile.overrides_visibility);
    cr_expect(profile.deletes_single);
    cr_expect_not(profile.deletes_batch);
    cr_expect_eq(profile.held, 2);
    cr_expect_eq(profile.handling_p50_ms, 50);
    cr_expect_eq(profile.heartbeat_ms, 0);
}

static struct qn_profile learn_agent(const char *agent)
{
    struct qn_buf text;

    qn_buf_init(&text, 4096);
    qn_buf_append_format(&text,
                         "{\"seq\":1,\"kind\":\"api.in\",\"action\":\"ReceiveMessage\",\"queue\":"
                         "\"q\",\"agent\":\"%s\",\"params\":{\"AttributeNames\":[\"All\"],"
                         "\"MessageAttributeNames\":[\"kind\",\"size\"]}}\n",
                         agent);
    qn_buf_append_char(&text, '\0');
    const struct qn_profile profile = learn(text.ptr);
    qn_buf_done(&text);
    return profile;
}

static void expect_agent(const char *agent, const char *name, const char *mode)
{
    const struct qn_profile profile = learn_agent(agent);

    cr_expect_str_eq(profile.agent, name);
    cr_expect_str_eq(profile.retry_mode, mode, "%s: %s", agent, profile.retry_mode);
}

Test(profile, sdk_and_retry_mode_are_words_of_the_user_agent)
{
    expect_agent("Boto3/1.35.2 md/Botocore#1.35.2 ua/2.0 os/linux cfg/retry-mode#legacy",
                 "Boto3/1.35.2", "legacy");
    expect_agent("aws-sdk-java/2.20.1 Linux/5.10 cfg/retry-mode/standard", "aws-sdk-java/2.20.1",
                 "standard");
    expect_agent("shop/7 aws-sdk-js/3.600.0 ua/2.1 api/sqs#3.600.0 m/b,F", "aws-sdk-js/3.600.0",
                 "adaptive");
    expect_agent("curl/8.1", "curl/8.1", "");
    expect_agent("aws-sdk-go-v2/1.30 m/E ua/2.1", "aws-sdk-go-v2/1.30", "standard");
}

Test(profile, attributes_that_are_asked_for_are_known)
{
    cr_expect_str_eq(learn_agent("x").asked, "All,*kind,*size");
}

Test(profile, query_requests_carry_their_numbers_as_text)
{
    const struct qn_profile profile =
        learn("{\"seq\":1,\"kind\":\"api.in\",\"action\":\"ReceiveMessage\",\"queue\":\"q\","
              "\"params\":{\"MaxNumberOfMessages\":\"5\",\"VisibilityTimeout\":\"300\"}}\n");

    cr_expect_eq(profile.batch, 5);
    cr_expect(profile.overrides_visibility);
    cr_expect_eq(profile.wait_s, QN_EVENT_NO_INT);
}

Test(profile, extensions_that_come_again_are_a_heartbeat)
{
    const struct qn_profile profile = learn("{\"seq\":1,\"vt\":1000,\"kind\":\"lease.grant\","
                                            "\"queue\":\"q\",\"mid\":\"a\",\"deadline\":5000}\n"
                                            "{\"seq\":2,\"vt\":3000,\"kind\":\"lease.extend\","
                                            "\"queue\":\"q\",\"mid\":\"a\",\"deadline\":7000}\n"
                                            "{\"seq\":3,\"vt\":5000,\"kind\":\"lease.extend\","
                                            "\"queue\":\"q\",\"mid\":\"a\",\"deadline\":9000}\n");

    cr_expect_eq(profile.heartbeat_ms, 2000);
}

Test(profile, runs_that_overlap_are_the_concurrency)
{
    const struct qn_profile profile =
        learn("{\"seq\":1,\"kind\":\"work.begin\",\"k\":\"a\",\"run\":1}\n"
              "{\"seq\":2,\"kind\":\"work.begin\",\"k\":\"b\",\"run\":2}\n"
              "{\"seq\":3,\"kind\":\"work.reply\",\"k\":\"a\",\"run\":1}\n"
              "{\"seq\":4,\"kind\":\"work.begin\",\"k\":\"c\",\"run\":3}\n");

    cr_expect_eq(profile.concurrency, 2);
}

Test(profile, calls_of_the_harness_are_not_the_consumers)
{
    const struct qn_profile profile =
        learn("{\"seq\":1,\"kind\":\"api.in\",\"action\":\"DeleteMessageBatch\",\"instance\":"
              "\"QUERNCHECK\"}\n");

    cr_expect_not(profile.deletes_batch);
}

/* One after the other, and the work begins only some time after the message is there. */
Test(profile, who_takes_one_at_a_time_prefetches_nothing)
{
    const struct qn_profile profile =
        learn("{\"seq\":1,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"a\",\"k\":\"k-0\"}\n"
              "{\"seq\":2,\"kind\":\"work.begin\",\"k\":\"k-0\",\"run\":1}\n"
              "{\"seq\":3,\"kind\":\"work.reply\",\"k\":\"k-0\",\"run\":1}\n"
              "{\"seq\":4,\"kind\":\"msg.delete\",\"queue\":\"q\",\"mid\":\"a\"}\n"
              "{\"seq\":5,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"b\",\"k\":\"k-1\"}\n");

    cr_expect_eq(profile.prefetch, 0);
}

Test(profile, messages_that_all_workers_begin_are_no_prefetch)
{
    const struct qn_profile profile =
        learn("{\"seq\":1,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"a\",\"k\":\"k-0\"}\n"
              "{\"seq\":2,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"b\",\"k\":\"k-1\"}\n"
              "{\"seq\":3,\"kind\":\"work.begin\",\"k\":\"k-0\",\"run\":1}\n"
              "{\"seq\":4,\"kind\":\"work.begin\",\"k\":\"k-1\",\"run\":2}\n");

    cr_expect_eq(profile.concurrency, 2);
    cr_expect_eq(profile.prefetch, 0);
}

Test(profile, what_is_done_and_waits_for_its_delete_is_no_prefetch)
{
    const struct qn_profile profile =
        learn("{\"seq\":1,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"a\",\"k\":\"k-0\"}\n"
              "{\"seq\":2,\"kind\":\"work.begin\",\"k\":\"k-0\",\"run\":1}\n"
              "{\"seq\":3,\"kind\":\"work.reply\",\"k\":\"k-0\",\"run\":1}\n"
              "{\"seq\":4,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"b\",\"k\":\"k-1\"}\n");

    cr_expect_eq(profile.held, 2);
    cr_expect_eq(profile.prefetch, 0);
}

Test(profile, leases_beyond_the_workers_are_the_prefetch)
{
    const struct qn_profile profile =
        learn("{\"seq\":1,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"a\"}\n"
              "{\"seq\":2,\"kind\":\"work.begin\",\"k\":\"a\",\"run\":1}\n"
              "{\"seq\":3,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"b\"}\n"
              "{\"seq\":4,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"c\"}\n");

    cr_expect_eq(profile.held, 3);
    cr_expect_eq(profile.prefetch, 2);
}

Test(profile, ids_of_an_sdk_and_its_attempts_are_seen)
{
    const struct qn_profile with =
        learn("{\"seq\":1,\"kind\":\"api.in\",\"action\":\"ReceiveMessage\",\"queue\":\"q\","
              "\"invocation\":\"i-1\",\"attempt\":1}\n"
              "{\"seq\":2,\"kind\":\"api.in\",\"action\":\"ReceiveMessage\",\"queue\":\"q\","
              "\"invocation\":\"i-1\",\"attempt\":3}\n");
    const struct qn_profile without =
        learn("{\"seq\":1,\"kind\":\"api.in\",\"action\":\"ReceiveMessage\",\"queue\":\"q\"}\n");

    cr_expect(with.has_sdk);
    cr_expect_eq(with.sdk_attempts, 3);
    cr_expect_not(without.has_sdk);
}
