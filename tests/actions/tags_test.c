/* Tags of a queue, and PurgeQueue's refusal within a minute. */
#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    fixture_create(&f, "q", "");
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(tags, .init = start, .fini = stop);

static enum qn_error_code tag(const char *tags)
{
    return fixture_code(&f, "TagQueue", "'QueueUrl':'q','Tags':{%s}", tags);
}

static size_t count_tags(void)
{
    fixture_must(&f, "ListQueueTags", "'QueueUrl':'q'");
    return fixture_count(&f, "Tags");
}

Test(tags, TG_1_keys_of_128_and_values_of_256_characters)
{
    cr_expect_eq(tag(fixture_format(&f, "'%0128d':'%0256d'", 1, 1)), QN_ERR_NONE);
    cr_expect_eq(tag(fixture_format(&f, "'%0129d':'1'", 1)), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(tag(fixture_format(&f, "'a':'%0257d'", 1)), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(tag("'':'1'"), QN_ERR_INVALID_PARAMETER_VALUE);
}

Test(tags, TG_1_characters_are_counted_and_not_bytes)
{
    struct qn_buf key;

    qn_buf_init(&key, SIZE_MAX);
    for (int i = 0; i < 128; i++) {
        qn_buf_append_literal(&key, "\xc3\xa4");
    }
    cr_expect_eq(tag(fixture_format(&f, "'%.*s':'1'", QN_STR_ARG(qn_buf_str(&key)))), QN_ERR_NONE);
    qn_buf_done(&key);
}

Test(tags, TG_1_case_matters)
{
    tag("'a':'1','A':'2'");
    cr_expect_eq(count_tags(), 2);
    cr_expect_str_eq(fixture_get(&f, "Tags.A"), "2");
}

Test(tags, TG_2_letters_digits_blanks_and_some_signs)
{
    cr_expect_eq(tag("'a b_.:/=+-@9':'x_.:/=+-@ y'"), QN_ERR_NONE);
    cr_expect_eq(tag("'\xe6\x97\xa5\xe6\x9c\xac':'\xc3\xa9'"), QN_ERR_NONE);
    static const char *const bad[] = {"!", "#", "$", "%%", "&", "(", "*", ",", ";", "<", "?", "~"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(tag(fixture_format(&f, "'a%s':'1'", bad[i])), QN_ERR_INVALID_PARAMETER_VALUE);
        cr_expect_eq(tag(fixture_format(&f, "'a':'%s'", bad[i])), QN_ERR_INVALID_PARAMETER_VALUE);
    }
}

Test(tags, TG_3_the_prefix_aws_is_reserved)
{
    cr_expect_eq(tag("'aws:a':'1'"), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(tag("'AWS:a':'1'"), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(tag("'a':'aws:1'"), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(tag("'awsa':'1'"), QN_ERR_NONE);
}

Test(tags, TG_4_fifty_and_no_more)
{
    for (int i = 0; i < 50; i++) {
        cr_expect_eq(tag(fixture_format(&f, "'t%d':'1'", i)), QN_ERR_NONE);
    }
    cr_expect_eq(tag("'t50':'1'"), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(tag("'t49':'2','t50':'1'"), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(tag("'t48':'2','t49':'2'"), QN_ERR_NONE);
    cr_expect_eq(count_tags(), 50);
    cr_expect_str_eq(fixture_get(&f, "Tags.t49"), "2");
}

Test(tags, TG_5_tagging_overwrites_and_untagging_ignores_what_is_not_there)
{
    tag("'a':'1','b':'2'");
    tag("'b':'3','c':''");
    cr_expect_eq(count_tags(), 3);
    cr_expect_str_eq(fixture_get(&f, "Tags.b"), "3");
    cr_expect_str_eq(fixture_get(&f, "Tags.c"), "");
    fixture_must(&f, "UntagQueue", "'QueueUrl':'q','TagKeys':['a','x','c']");
    cr_expect_eq(count_tags(), 1);
    fixture_must(&f, "UntagQueue", "'QueueUrl':'q','TagKeys':['a']");
    cr_expect_eq(count_tags(), 1);
}

Test(tags, TG_6_a_queue_without_tags_answers_without_them)
{
    fixture_must(&f, "ListQueueTags", "'QueueUrl':'q'");
    cr_expect_eq(json_object_size(f.answer), 0);
}

Test(tags, TG_8_at_least_one)
{
    cr_expect_eq(tag(""), QN_ERR_MISSING_PARAMETER);
    cr_expect_eq(fixture_code(&f, "TagQueue", "'QueueUrl':'q'"), QN_ERR_MISSING_PARAMETER);
    cr_expect_eq(fixture_code(&f, "UntagQueue", "'QueueUrl':'q','TagKeys':[]"),
                 QN_ERR_MISSING_PARAMETER);
    cr_expect_eq(fixture_code(&f, "UntagQueue", "'QueueUrl':'q'"), QN_ERR_MISSING_PARAMETER);
}

Test(tags, one_bad_tag_sets_none)
{
    cr_expect_eq(tag("'a':'1','b!':'2'"), QN_ERR_INVALID_PARAMETER_VALUE);
    cr_expect_eq(count_tags(), 0);
}

/* ---- PurgeQueue (7.7) ---- */

Test(tags, purge_can_be_repeated_at_once_by_default)
{
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q'");
    cr_expect_eq(fixture_code(&f, "PurgeQueue", "'QueueUrl':'q'"), QN_ERR_NONE);
}

Test(tags, purge_with_the_waits_of_aws_is_refused_for_a_minute)
{
    f.options.aws_waits = true;
    fixture_restart(&f);
    fixture_create(&f, "other", "");
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q'");
    fixture_send(&f, "q", "m");
    fixture_advance_ms(&f, 59999);
    cr_expect_eq(fixture_code(&f, "PurgeQueue", "'QueueUrl':'q'"), QN_ERR_PURGE_QUEUE_IN_PROGRESS);
    cr_expect_str_eq(f.err.message,
                     "Only one PurgeQueue operation on q is allowed every 60 seconds.");
    cr_expect_eq(fixture_code(&f, "PurgeQueue", "'QueueUrl':'other'"), QN_ERR_NONE);
    cr_expect_str_eq(fixture_counts(&f, "q"), "1 0 0");
    fixture_advance_ms(&f, 1);
    cr_expect_eq(fixture_code(&f, "PurgeQueue", "'QueueUrl':'q'"), QN_ERR_NONE);
}

Test(tags, purge_leaves_sequence_numbers_going_on)
{
    fixture_create(&f, "q.fifo", "");
    fixture_send(&f, "q.fifo", "a1");
    const char *before = fixture_get(&f, "SequenceNumber");
    fixture_must(&f, "PurgeQueue", "'QueueUrl':'q.fifo'");
    fixture_send(&f, "q.fifo", "a1");
    cr_expect_gt(strcmp(fixture_get(&f, "SequenceNumber"), before), 0);
}
