/* Queues by number: what is gone leaves nothing behind. */
#include <criterion/criterion.h>

#include "server/engine/state.h"
#include "tests/support/fixture.h"

static struct fixture f;

static void open_fixture(void)
{
    fixture_open(&f);
}

static void close_fixture(void)
{
    fixture_close(&f);
}

TestSuite(numbers, .init = open_fixture, .fini = close_fixture);

static uint32_t pages_in_use(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < f.engine->by_number.page_count; i++) {
        count += f.engine->by_number.pages[i] != NULL;
    }
    return count;
}

Test(numbers, queues_that_come_and_go_leave_no_memory_behind)
{
    fixture_create(&f, "stays", "");
    for (int i = 0; i < 2000; i++) {
        fixture_create(&f, "passes", "");
        cr_assert_leq(pages_in_use(), 2);
        fixture_must(&f, "DeleteQueue", "'QueueUrl':'passes'");
    }
    cr_expect_gt(f.engine->by_number.page_count, 7, "numbers went on");
    fixture_send(&f, "stays", "m");
    cr_expect_str_eq(fixture_receive(&f, "stays", 1), "m");
    fixture_must(&f, "DeleteQueue", "'QueueUrl':'stays'");
    cr_expect_eq(pages_in_use(), 0);
}
