/* A queue's attributes and tags: defaults, copies, values as text, and the byte form. */
#include <criterion/criterion.h>

#include "server/model/queue_settings.h"

static const struct qn_limits limits = {QN_IN_FLIGHT_MAX, QN_MESSAGE_SIZE_MAX, QN_RETENTION_MIN_S,
                                        QN_BATCH_ENTRIES_MAX};
static struct qn_queue_settings settings;
static struct qn_buf buf;

static void start(void)
{
    qn_buf_init(&buf, SIZE_MAX);
    qn_queue_settings_init(&settings, true, &limits);
}

static void stop(void)
{
    qn_queue_settings_done(&settings);
    qn_buf_done(&buf);
}

TestSuite(queue_settings, .init = start, .fini = stop);

static void fill(void)
{
    const struct qn_str arns[] = {QN_STR("arn:aws:sqs:us-east-1:1:a"), QN_STR("arn:b")};

    settings.visibility_timeout_s = 1;
    settings.maximum_message_size = 2000;
    settings.retention_s = 3;
    settings.delay_s = 4;
    settings.wait_s = 5;
    settings.max_receive_count = 6;
    settings.kms_reuse_s = 600;
    settings.created_at_ms = 8000;
    settings.modified_at_ms = 9000;
    settings.purged_at_ms = 10000;
    settings.sqs_managed_sse = false;
    settings.content_based_deduplication = true;
    settings.scope_is_group = true;
    settings.created_with_group_scope = true;
    settings.throughput_per_group = true;
    settings.redrive_permission = QN_REDRIVE_BY_QUEUE;
    qn_queue_settings_set_text(&settings.policy, QN_STR("{\"a\":1}"));
    qn_queue_settings_set_text(&settings.redrive_policy, QN_STR("{\"r\":1}"));
    qn_queue_settings_set_text(&settings.dead_letter_target_arn, QN_STR("arn:dead"));
    qn_queue_settings_set_text(&settings.redrive_allow_policy, QN_STR("{\"w\":1}"));
    qn_queue_settings_set_text(&settings.kms_master_key_id, QN_STR("alias/k"));
    qn_queue_settings_set_sources(&settings, arns, 2);
    qn_queue_settings_set_tag(&settings, QN_STR("b"), QN_STR("2"));
    qn_queue_settings_set_tag(&settings, QN_STR("a"), QN_STR(""));
}

static void expect_same_bytes(const struct qn_queue_settings *other)
{
    struct qn_buf bytes;

    qn_buf_clear(&buf);
    qn_buf_init(&bytes, SIZE_MAX);
    qn_queue_settings_encode(&settings, &buf);
    qn_queue_settings_encode(other, &bytes);
    cr_expect(qn_str_equal(qn_buf_str(&buf), qn_buf_str(&bytes)));
    qn_buf_done(&bytes);
}

Test(queue_settings, come_back_from_their_bytes)
{
    struct qn_queue_settings back;

    fill();
    qn_queue_settings_encode(&settings, &buf);
    cr_assert(qn_queue_settings_decode(qn_buf_str(&buf), &back));
    cr_expect_eq(back.purged_at_ms, 10000);
    cr_expect_str_eq(back.kms_master_key_id, "alias/k");
    cr_expect_eq(back.redrive_permission, QN_REDRIVE_BY_QUEUE);
    cr_expect_str_eq(back.redrive_source_arns[1], "arn:b");
    expect_same_bytes(&back);
    qn_queue_settings_done(&back);
}

Test(queue_settings, defaults_come_back_from_their_bytes)
{
    struct qn_queue_settings back;

    qn_queue_settings_encode(&settings, &buf);
    cr_assert(qn_queue_settings_decode(qn_buf_str(&buf), &back));
    cr_expect_null(back.policy);
    cr_expect_eq(back.purged_at_ms, -1);
    cr_expect_eq(back.tag_count, 0);
    expect_same_bytes(&back);
    qn_queue_settings_done(&back);
}

Test(queue_settings, bytes_that_were_cut_or_of_another_version_are_refused)
{
    struct qn_queue_settings back;

    fill();
    qn_queue_settings_encode(&settings, &buf);
    for (size_t len = 0; len < buf.len; len++) {
        cr_expect_not(qn_queue_settings_decode(qn_str_first(qn_buf_str(&buf), len), &back));
    }
    buf.ptr[0]++;
    cr_expect_not(qn_queue_settings_decode(qn_buf_str(&buf), &back));
}

Test(queue_settings, a_copy_shares_nothing)
{
    struct qn_queue_settings copy;

    fill();
    qn_queue_settings_copy(&copy, &settings);
    expect_same_bytes(&copy);
    qn_queue_settings_set_text(&copy.policy, QN_STR("other"));
    qn_queue_settings_set_tag(&copy, QN_STR("b"), QN_STR("other"));
    qn_queue_settings_set_sources(&copy, NULL, 0);
    cr_expect_str_eq(settings.policy, "{\"a\":1}");
    cr_expect(qn_str_equal(settings.tags[1].value, QN_STR("2")));
    cr_expect_eq(settings.redrive_source_count, 2);
    qn_queue_settings_done(&copy);
}

Test(queue_settings, tags_are_sorted_replaced_and_removed_by_key)
{
    qn_queue_settings_set_tag(&settings, QN_STR("c"), QN_STR("1"));
    qn_queue_settings_set_tag(&settings, QN_STR("a"), QN_STR("2"));
    qn_queue_settings_set_tag(&settings, QN_STR("b"), QN_STR("3"));
    qn_queue_settings_set_tag(&settings, QN_STR("a"), QN_STR("4"));
    cr_assert_eq(settings.tag_count, 3);
    cr_expect(qn_str_equal(settings.tags[0].key, QN_STR("a")));
    cr_expect(qn_str_equal(settings.tags[0].value, QN_STR("4")));
    cr_expect(qn_str_equal(settings.tags[2].key, QN_STR("c")));
    qn_queue_settings_remove_tag(&settings, QN_STR("b"));
    qn_queue_settings_remove_tag(&settings, QN_STR("unknown"));
    cr_assert_eq(settings.tag_count, 2);
    cr_expect(qn_str_equal(settings.tags[1].key, QN_STR("c")));
}

static bool has(enum qn_attribute_id id, const char *expected)
{
    qn_buf_clear(&buf);
    return qn_queue_settings_get(&settings, id, &buf) &&
           qn_str_equal(qn_buf_str(&buf), qn_str_from_cstr(expected));
}

Test(queue_settings, values_as_text)
{
    fill();
    cr_expect(has(QN_ATTRIBUTE_ID_visibility_timeout, "1"));
    cr_expect(has(QN_ATTRIBUTE_ID_maximum_message_size, "2000"));
    cr_expect(has(QN_ATTRIBUTE_ID_message_retention_period, "3"));
    cr_expect(has(QN_ATTRIBUTE_ID_delay_seconds, "4"));
    cr_expect(has(QN_ATTRIBUTE_ID_receive_message_wait_time_seconds, "5"));
    cr_expect(has(QN_ATTRIBUTE_ID_policy, "{\"a\":1}"));
    cr_expect(has(QN_ATTRIBUTE_ID_redrive_policy, "{\"r\":1}"));
    cr_expect(has(QN_ATTRIBUTE_ID_redrive_allow_policy, "{\"w\":1}"));
    cr_expect(has(QN_ATTRIBUTE_ID_kms_master_key_id, "alias/k"));
    cr_expect(has(QN_ATTRIBUTE_ID_kms_data_key_reuse_period_seconds, "600"));
    cr_expect(has(QN_ATTRIBUTE_ID_sqs_managed_sse_enabled, "false"));
    cr_expect(has(QN_ATTRIBUTE_ID_fifo_queue, "true"));
    cr_expect(has(QN_ATTRIBUTE_ID_content_based_deduplication, "true"));
    cr_expect(has(QN_ATTRIBUTE_ID_deduplication_scope, "messageGroup"));
    cr_expect(has(QN_ATTRIBUTE_ID_fifo_throughput_limit, "perMessageGroupId"));
    cr_expect(has(QN_ATTRIBUTE_ID_created_timestamp, "8"));
    cr_expect(has(QN_ATTRIBUTE_ID_last_modified_timestamp, "9"));
}

Test(queue_settings, what_is_not_set_or_hangs_on_the_queue_s_state_has_no_value)
{
    static const enum qn_attribute_id without[] = {
        QN_ATTRIBUTE_ID_policy,
        QN_ATTRIBUTE_ID_redrive_policy,
        QN_ATTRIBUTE_ID_redrive_allow_policy,
        QN_ATTRIBUTE_ID_kms_master_key_id,
        QN_ATTRIBUTE_ID_kms_data_key_reuse_period_seconds,
        QN_ATTRIBUTE_ID_queue_arn,
        QN_ATTRIBUTE_ID_number_of_messages,
    };

    for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
        cr_expect_not(qn_queue_settings_get(&settings, without[i], &buf));
    }
}

Test(queue_settings, a_standard_queue_has_no_fifo_attributes)
{
    struct qn_queue_settings standard;

    qn_queue_settings_init(&standard, false, &limits);
    for (size_t i = 0; i < QN_ATTRIBUTE_ID_COUNT; i++) {
        enum qn_attribute_id id = (enum qn_attribute_id)i;
        if ((qn_attribute_info(id)->flags & QN_ATTRIBUTE_FIFO_ONLY) != 0) {
            cr_expect_not(qn_queue_settings_get(&standard, id, &buf));
        }
    }
    qn_queue_settings_done(&standard);
}

Test(queue_settings, attributes_are_found_by_their_names)
{
    enum qn_attribute_id found;

    for (size_t i = 0; i < QN_ATTRIBUTE_ID_COUNT; i++) {
        enum qn_attribute_id id = (enum qn_attribute_id)i;
        cr_assert(qn_attribute_find(qn_str_from_cstr(qn_attribute_info(id)->name), &found));
        cr_expect_eq(found, id);
    }
    cr_expect_not(qn_attribute_find(QN_STR("All"), &found));
    cr_expect_not(qn_attribute_find(QN_STR("delayseconds"), &found));
    cr_expect_not(qn_attribute_find(QN_STR(""), &found));
}

Test(queue_settings, limits_for_tests_are_the_default_of_the_message_size)
{
    struct qn_limits small = limits;
    struct qn_queue_settings other;

    small.message_size = 2048;
    qn_queue_settings_init(&other, false, &small);
    cr_expect_eq(other.maximum_message_size, 2048);
    qn_queue_settings_done(&other);
}
