#include "server/base/arena.h"

#include <criterion/criterion.h>

enum { CEILING = 1 << 20 };

static struct qn_arena arena;

static void open_arena(void)
{
    qn_arena_init(&arena, CEILING);
}

static void close_arena(void)
{
    qn_arena_done(&arena);
}

TestSuite(arena, .init = open_arena, .fini = close_arena);

Test(arena, blocks_are_zeroed_aligned_and_apart)
{
    char *blocks[500];

    for (size_t i = 0; i < 500; i++) {
        blocks[i] = qn_arena_alloc(&arena, i + 1);
        cr_assert_not_null(blocks[i]);
        cr_assert_eq((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
        for (size_t j = 0; j <= i; j++) {
            cr_assert_eq(blocks[i][j], 0);
        }
        memset(blocks[i], (int)(i & 0xFF), i + 1);
    }
    for (size_t i = 0; i < 500; i++) {
        cr_assert_eq((unsigned char)blocks[i][i], i & 0xFF);
    }
}

Test(arena, reused_memory_is_zeroed_again)
{
    memset(qn_arena_alloc(&arena, 100), 0xFF, 100);
    qn_arena_reset(&arena);
    cr_expect_eq(*(char *)qn_arena_alloc(&arena, 100), 0);
}

Test(arena, the_ceiling_itself_fits_and_one_more_does_not)
{
    cr_expect_null(qn_arena_alloc(&arena, CEILING + 1));
    cr_expect_null(qn_arena_alloc(&arena, SIZE_MAX));
    cr_expect_not_null(qn_arena_alloc(&arena, CEILING));
    cr_expect_null(qn_arena_alloc(&arena, 1));
    qn_arena_reset(&arena);
    cr_expect_not_null(qn_arena_alloc(&arena, CEILING), "a reset makes it empty");
}

Test(arena, a_large_block_leaves_the_room_of_the_current_chunk)
{
    char *before = qn_arena_alloc(&arena, 16);
    char *large = qn_arena_alloc(&arena, 100000);
    char *after = qn_arena_alloc(&arena, 16);

    cr_assert_not_null(large);
    cr_expect_leq(after - before, 64);
}

Test(arena, a_copy_ends_with_a_nul_and_none_stays_none)
{
    struct qn_str copy = qn_arena_copy(&arena, qn_str("orders!", 6));

    cr_expect_str_eq(copy.ptr, "orders");
    cr_expect_eq(copy.len, 6);
    cr_expect(qn_str_is_none(qn_arena_copy(&arena, QN_STR_NONE)));
    cr_expect_not(qn_str_is_none(qn_arena_copy(&arena, QN_STR(""))));
}

Test(arena, a_format_of_any_length_is_whole)
{
    struct qn_str text = qn_arena_format(&arena, "%s-%d", "q", 7);

    cr_expect_str_eq(text.ptr, "q-7");
    text = qn_arena_format(&arena, "%05000d", 7);
    cr_expect_eq(text.len, 5000);
    cr_expect_eq(text.ptr[4999], '7');
}

Test(arena, texts_beyond_the_ceiling_are_none)
{
    cr_assert_not_null(qn_arena_alloc_raw(&arena, CEILING));
    cr_expect(qn_str_is_none(qn_arena_copy(&arena, QN_STR("x"))));
    cr_expect(qn_str_is_none(qn_arena_format(&arena, "%d", 1)));
    cr_expect(qn_str_is_none(qn_arena_format(&arena, "%0500d", 1)));
}

Test(arena, the_last_block_shrinks_and_its_room_is_used_again)
{
    char *first = qn_arena_alloc_raw(&arena, 1000);
    char *second;
    char *third;

    qn_arena_shrink(&arena, first, 1000, 10);
    second = qn_arena_alloc_raw(&arena, 100);
    cr_expect_leq(second - first, 48);
    qn_arena_shrink(&arena, first, 10, 1);
    third = qn_arena_alloc_raw(&arena, 100);
    cr_expect_geq(third - second, 100, "a block that is not the last stays as it is");
}

Test(arena, a_large_block_shrinks_too)
{
    (void)!qn_arena_alloc_raw(&arena, 16);
    char *large = qn_arena_alloc_raw(&arena, CEILING - 16);

    cr_assert_not_null(large);
    cr_expect_null(qn_arena_alloc_raw(&arena, 16));
    qn_arena_shrink(&arena, large, CEILING - 16, 5);
    cr_expect_not_null(qn_arena_alloc_raw(&arena, 1000));
}

Test(arena, done_accepts_an_arena_that_was_never_used)
{
    struct qn_arena zeroed = {0};

    qn_arena_done(&zeroed);
    qn_arena_reset(&zeroed);
}

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

Test(arena, what_was_not_handed_out_is_poisoned)
{
    char *block = qn_arena_alloc(&arena, 20);

    cr_expect_not(__asan_address_is_poisoned(block + 19));
    cr_expect(__asan_address_is_poisoned(block + 20));
    cr_expect(__asan_address_is_poisoned(block + 32), "between two blocks");
    qn_arena_shrink(&arena, block, 20, 5);
    cr_expect(__asan_address_is_poisoned(block + 5));
    qn_arena_reset(&arena);
    cr_expect(__asan_address_is_poisoned(block));
}
#endif
