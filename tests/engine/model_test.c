/* Random requests against the engine and against a slow reference side by side: the same answers in
 * the same order, the same counts, the same messages, restarts in between. A seed that fails prints
 * the fewest of its steps that still do.
 *
 * QUERN_MODEL_SEEDS and QUERN_MODEL_STEPS ask for more than the usual; QUERN_MODEL_SEED plays one.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/support/model_shrink.h"

enum { PARTS = 4, SEEDS = 300, STEPS = 2000, FAULT_STEPS = 400, FAULT_SEEDS = 40, SHRUNK_MAX = 10 };

static unsigned setting(const char *name, unsigned usual)
{
    const char *text = getenv(name);

    return text == NULL ? usual : (unsigned)strtoul(text, NULL, 10);
}

static void try_seed(unsigned seed, unsigned *failed)
{
    struct model_options options = {.seed = seed,
                                    .steps = (int)setting("QUERN_MODEL_STEPS", STEPS)};
    struct model_failure failure = {.count = 0};

    cr_assert_leq(options.steps, MODEL_STEPS_MAX);
    if (!model_try_seed(&options, &failure)) {
        model_print_failure(stderr, &options, &failure);
        (*failed)++;
    }
    model_failure_done(&failure);
}

static void try_seeds(unsigned part)
{
    unsigned failed = 0;
    unsigned seeds = setting("QUERN_MODEL_SEEDS", SEEDS);

    if (getenv("QUERN_MODEL_SEED") != NULL) {
        if (part == 0) {
            try_seed(setting("QUERN_MODEL_SEED", 0), &failed);
        }
        seeds = 0;
    }
    /* Three that fail are enough to look at. */
    for (unsigned seed = part; seed < seeds && failed < 3; seed += PARTS) {
        try_seed(seed, &failed);
    }
    cr_expect_eq(failed, 0);
}

#define PART(part)                                                                                 \
    Test(model, I1_to_I9_random_requests_give_what_the_reference_gives_part_##part)                \
    {                                                                                              \
        try_seeds(part);                                                                           \
    }

PART(0)
PART(1)
PART(2)
PART(3)

/* A reference with one wrong rule differs soon, and few steps show it. */
static void expect_found(enum reference_fault fault)
{
    struct model_options options = {.steps = FAULT_STEPS, .fault = fault};
    struct model_failure failure = {.count = 0};

    while (options.seed < FAULT_SEEDS && model_try_seed(&options, &failure)) {
        options.seed++;
    }
    cr_assert_lt(options.seed, (unsigned)FAULT_SEEDS, "no seed has noticed fault %d", (int)fault);
    if (failure.count > SHRUNK_MAX) {
        model_print_failure(stderr, &options, &failure);
    }
    cr_expect_leq(failure.count, SHRUNK_MAX, "fault %d took %d steps", (int)fault, failure.count);
    model_failure_done(&failure);
}

Test(model, DED_1_a_wrong_deduplication_window_is_noticed_in_few_steps)
{
    expect_found(REFERENCE_DUPLICATES_EXTEND_THE_WINDOW);
}

Test(model, DLQ_1_a_wrong_receive_limit_is_noticed_in_few_steps)
{
    expect_found(REFERENCE_ONE_RECEIVE_MORE_BEFORE_THE_DLQ);
}

Test(model, RCV_9_a_wrong_place_after_a_lapse_is_noticed_in_few_steps)
{
    expect_found(REFERENCE_LAPSED_MESSAGES_GO_TO_THE_END);
}

Test(model, FIFO_2_a_group_that_is_not_blocked_is_noticed_in_few_steps)
{
    expect_found(REFERENCE_A_GROUP_IS_NEVER_BLOCKED);
}

Test(model, SM_11_an_old_handle_that_deletes_is_noticed_in_few_steps)
{
    expect_found(REFERENCE_OLD_HANDLES_DELETE);
}

Test(model, MV_4_a_moved_message_that_keeps_its_count_is_noticed_in_few_steps)
{
    expect_found(REFERENCE_MOVED_MESSAGES_KEEP_THEIR_COUNT);
}
