#include "server/base/memory.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

Test(memory, new_memory_is_zeroed)
{
    unsigned char *bytes = qn_memory_new(1000);

    for (int i = 0; i < 1000; i++) {
        cr_assert_eq(bytes[i], 0);
    }
    qn_memory_free(bytes);
}

Test(memory, size_zero_gives_a_pointer_and_free_accepts_null)
{
    void *one = qn_memory_new(0);
    void *other = qn_memory_new_raw(0);

    cr_expect_not_null(one);
    cr_expect_not_null(other);
    qn_memory_free(one);
    qn_memory_free(other);
    qn_memory_free(NULL);
}

Test(memory, resize_keeps_what_was_there)
{
    int32_t *numbers = qn_memory_resize(NULL, 2, sizeof(*numbers));

    numbers[0] = 7;
    numbers[1] = 8;
    numbers = qn_memory_resize(numbers, 1000, sizeof(*numbers));
    cr_expect_eq(numbers[0], 7);
    cr_expect_eq(numbers[1], 8);
    qn_memory_free(numbers);
}

Test(memory, copied_text_ends_with_a_nul)
{
    char *text = qn_memory_copy_text("queue-name", 5);

    cr_expect_str_eq(text, "queue");
    qn_memory_free(text);
}

Test(memory, an_array_too_large_to_count_ends_the_process, .signal = SIGABRT)
{
    (void)qn_memory_new_array(SIZE_MAX / 2, 3);
}
