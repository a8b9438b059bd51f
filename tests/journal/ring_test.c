#include "server/journal/ring.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>

#include "server/base/random.h"

enum { SIZE = 4096, BOOT = 3 };

static _Alignas(8) char data[SIZE];
static struct qn_ring *ring;
static struct qn_ring_cursor cursor;
static bool is_broken;        /* what the last start said */
static struct qn_ring *other; /* over the same bytes: what a start after kill -9 finds */

static void open_ring(void)
{
    memset(data, 0, sizeof(data));
    ring = qn_ring_new(data, SIZE, 77);
    qn_ring_recover(ring, BOOT, (struct qn_ring_position){.lsn = 10, .offset = 0}, &cursor);
    other = NULL;
}

static void close_ring(void)
{
    qn_ring_free(ring);
    qn_ring_free(other);
}

TestSuite(ring, .init = open_ring, .fini = close_ring);

static struct qn_str text(uint64_t number, size_t len)
{
    static char bytes[SIZE];
    memset(bytes, 'a' + (int)(number % 26), len);
    return qn_str(bytes, len);
}

static struct qn_ring_record take(void)
{
    struct qn_ring_record record;
    cr_assert(qn_ring_take(ring, &cursor, &record), "a record is missing");
    return record;
}

/* Starts again on the same bytes; returns how many records are found. */
static uint64_t recover(uint64_t boot, struct qn_ring_position position)
{
    struct qn_ring_cursor found;
    qn_ring_free(other);
    other = qn_ring_new(data, SIZE, 77);
    qn_ring_recover(other, boot, position, &found);
    uint64_t count = 0;
    struct qn_ring_record record;
    while (qn_ring_take(other, &found, &record)) {
        count++;
        cr_expect_eq(record.lsn, position.lsn + count);
    }
    cr_expect_eq(qn_ring_last_lsn(other), position.lsn + count);
    is_broken = qn_ring_is_broken(other);
    return count;
}

Test(ring, what_is_appended_is_taken_in_order)
{
    cr_expect_eq(qn_ring_append(ring, QN_STR("one"), 100), 11);
    cr_expect_eq(qn_ring_append(ring, QN_STR(""), 101), 12);
    struct qn_ring_record record = take();
    cr_expect_eq(record.lsn, 11);
    cr_expect_eq(record.now_ms, 100);
    cr_expect(qn_str_equal(record.payload, QN_STR("one")));
    record = take();
    cr_expect_eq(record.lsn, 12);
    cr_expect_eq(record.payload.len, 0);
    cr_expect_not(qn_ring_take(ring, &cursor, &record));
    cr_expect_eq(qn_ring_last_lsn(ring), 12);
}

Test(ring, room_comes_back_only_when_it_is_released)
{
    while (qn_ring_has_room(ring)) {
        (void)qn_ring_append(ring, text(0, 200), 0);
    }
    uint64_t used = qn_ring_used(ring);
    cr_expect_geq(used, SIZE - SIZE / 4);
    cr_expect_eq(qn_ring_max_used(ring), used);
    (void)qn_ring_append(ring, text(0, qn_ring_payload_max(ring)),
                         0); /* one that was let in before */
    while (qn_ring_has_room(ring) == false) {
        (void)take();
        cr_expect_leq(qn_ring_used(ring), SIZE);
        qn_ring_release(ring, &cursor);
    }
    cr_expect_lt(qn_ring_used(ring), SIZE - SIZE / 4);
}

Test(ring, records_of_all_sizes_go_round_and_any_restart_finds_exactly_the_rest)
{
    struct qn_random random;
    struct qn_ring_position position = qn_ring_position(ring, &cursor);
    uint64_t appended = 10;
    qn_random_init(&random, 5, 0, 0);
    for (int i = 0; i < 20000; i++) {
        if (qn_ring_has_room(ring) && qn_random_below(&random, 2) == 0) {
            size_t len = (size_t)qn_random_below(&random, qn_ring_payload_max(ring) + 1);
            appended++;
            cr_assert_eq(qn_ring_append(ring, text(appended, len), i), appended);
        } else if (appended > cursor.lsn) {
            struct qn_ring_record record = take();
            cr_assert(qn_str_equal(record.payload, text(record.lsn, record.payload.len)));
            if (appended == cursor.lsn || qn_random_below(&random, 3) == 0) {
                qn_ring_release(ring, &cursor);
                position = qn_ring_position(ring, &cursor);
            }
        }
        cr_assert_eq(recover(BOOT, position), appended - position.lsn, "at step %d", i);
        cr_assert_not(is_broken, "at step %d", i);
    }
    cr_expect_gt(appended, 1000, "many laps");
}

Test(ring, a_record_that_is_not_whole_is_the_end)
{
    struct qn_ring_position start = qn_ring_position(ring, &cursor);
    for (int i = 0; i < 3; i++) {
        (void)qn_ring_append(ring, text((uint64_t)i, 40), i);
    }
    cr_expect_eq(recover(BOOT, start), 3);
    cr_expect_not(is_broken);
    for (size_t at = 0; at < 3 * 64; at++) { /* each record takes 64 bytes */
        data[at] = (char)(data[at] ^ 1);
        cr_expect_eq(recover(BOOT, start), at / 64, "byte %zu", at);
        cr_expect(is_broken, "byte %zu", at);
        data[at] = (char)(data[at] ^ 1);
    }
}

/* As a power cut leaves pages that were not written. */
Test(ring, a_hole_before_good_records_is_told_and_one_at_the_end_is_the_end)
{
    struct qn_ring_position start = qn_ring_position(ring, &cursor);
    static char before[SIZE];
    for (int i = 0; i < 20; i++) {
        (void)qn_ring_append(ring, text((uint64_t)i, 40), i);
    }
    memcpy(before, data, SIZE);
    for (size_t first = 0; first < 20; first++) {
        for (size_t end = first + 1; end <= 20; end++) {
            memset(data + first * 64, 0, (end - first) * 64);
            cr_assert_eq(recover(BOOT, start), first);
            cr_assert_eq(is_broken, end < 20, "%zu to %zu", first, end);
            memcpy(data, before, SIZE);
        }
    }
}

Test(ring, damage_at_the_turn_of_a_lap_is_told)
{
    struct qn_ring_position start;
    while (qn_ring_used(ring) + 464 <= SIZE) {
        (void)qn_ring_append(ring, text(0, 440), 0);
    }
    while (qn_ring_take(ring, &cursor, &(struct qn_ring_record){.lsn = 0})) {
    }
    qn_ring_release(ring, &cursor);
    start = qn_ring_position(ring, &cursor);
    (void)qn_ring_append(ring, text(1, 440), 0); /* at the start, behind a mark that says so */
    cr_assert_eq(recover(BOOT, start), 1);
    cr_expect_not(is_broken);
    for (size_t at = start.offset; at < start.offset + 24; at++) {
        data[at] = (char)(data[at] ^ 1);
        cr_expect_eq(recover(BOOT, start), 0, "byte %zu", at);
        cr_expect(is_broken, "byte %zu", at);
        data[at] = (char)(data[at] ^ 1);
    }
    data[100] = (char)(data[100] ^ 1);
    cr_expect_eq(recover(BOOT, start), 0);
    cr_expect(is_broken);
}

Test(ring, a_length_beyond_the_end_is_the_end)
{
    struct qn_ring_position start = qn_ring_position(ring, &cursor);
    (void)qn_ring_append(ring, text(0, 40), 0);
    for (uint32_t length = UINT32_MAX; length > UINT32_MAX - 64; length--) {
        memcpy(data + 4, &length, sizeof(length));
        cr_expect_eq(recover(BOOT, start), 0);
    }
}

Test(ring, records_of_another_start_or_database_are_not_taken_for_its_own)
{
    struct qn_ring_position start = qn_ring_position(ring, &cursor);
    (void)qn_ring_append(ring, text(0, 40), 0);
    (void)qn_ring_append(ring, text(1, 40), 0);
    cr_expect_eq(recover(BOOT + 1, start), 0);
    cr_expect_eq(recover(BOOT, start), 2);

    struct qn_ring_cursor found;
    struct qn_ring *foreign = qn_ring_new(data, SIZE, 78);
    qn_ring_recover(foreign, BOOT, start, &found);
    cr_expect_eq(qn_ring_used(foreign), 0);
    qn_ring_free(foreign);
}

Test(ring, LSNs_given_out_again_after_a_power_cut_do_not_revive_old_records)
{
    struct qn_ring_position start = qn_ring_position(ring, &cursor);
    for (int i = 0; i < 5; i++) {
        (void)qn_ring_append(ring, text(0, 40), 0);
    }
    data[64 + 30] ^= 1; /* the second one did not reach the disk, those behind it did */
    cr_assert_eq(recover(BOOT, start), 1);
    struct qn_ring_position position = {.lsn = 11, .offset = 64};
    qn_ring_set_boot(other, BOOT + 1);
    cr_expect_eq(qn_ring_append(other, text(1, 40), 0), 12);
    cr_expect_eq(recover(BOOT + 1, position), 1,
                 "the third would fit behind it in every byte but one");
}

Test(ring, a_position_of_a_larger_ring_starts_at_the_beginning)
{
    struct qn_ring_position far = {.lsn = 10, .offset = SIZE + 64};
    cr_expect_eq(recover(BOOT, far), 0);
    cr_expect_eq(qn_ring_append(other, QN_STR("x"), 0), 11);
    cr_expect_eq(recover(BOOT, far), 1);
}

Test(ring, a_full_ring_is_walked_once)
{
    struct qn_ring_position start = qn_ring_position(ring, &cursor);
    uint64_t count = 0;
    while (qn_ring_has_room(ring)) {
        (void)qn_ring_append(ring, text(0, 104), 0);
        count++;
    }
    while (qn_ring_used(ring) + 128 <= SIZE) {
        (void)qn_ring_append(ring, text(0, 104), 0);
        count++;
    }
    cr_expect_eq(qn_ring_used(ring), SIZE);
    cr_expect_eq(recover(BOOT, start), count);
}

Test(ring, an_entry_that_does_not_fit_ends_the_process_before_it_destroys_others, .signal = SIGABRT)
{
    for (;;) {
        (void)qn_ring_append(ring, text(0, qn_ring_payload_max(ring)), 0);
        cr_assert_leq(qn_ring_used(ring), SIZE);
    }
}
