/* The MD5 sums of messages, with vectors computed by the algorithm of the SQS developer guide. */
#include <criterion/criterion.h>

#include "client/digests.h"

static char sum[QUERN_DIGEST_TEXT];

Test(digests, body)
{
    quern_digest_body(QN_STR("hello"), sum);
    cr_expect_str_eq(sum, "5d41402abc4b2a76b9719d911017c592");
}

Test(digests, attributes_in_the_order_of_their_names)
{
    const struct quern_attribute attributes[] = {
        {.name = "b", .data_type = "String", .text = "text"},
        {.name = "c", .data_type = "Binary.png", .bytes = "\0\xff\x01", .byte_count = 3},
        {.name = "a", .data_type = "Number.euro", .text = "12.50"},
    };

    quern_digest_attributes(attributes, 3, sum);
    cr_expect_str_eq(sum, "15fcae26958da2ac286fe5ca62cf065f");
    quern_digest_attributes(attributes, 0, sum);
    cr_expect_str_eq(sum, "");
}

Test(digests, sum_that_was_not_told_is_not_compared)
{
    cr_expect(quern_digest_is_right(NULL, "ab"));
    cr_expect(quern_digest_is_right("AB", "ab"));
    cr_expect_not(quern_digest_is_right("", "ab"));
    cr_expect_not(quern_digest_is_right("ab", ""));
}
