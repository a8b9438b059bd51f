/* The command line of `quern check`. */
#include <criterion/criterion.h>
#include <stdarg.h>

#include "chaos/check/options.h"
#include "server/base/arena.h"

static struct qn_check_options options;
static struct qn_error err;
static struct qn_arena arena;

/* What the options point to lives as long as the test. */
static char *words[2 * QN_OPTIONS_LIST_MAX + 8];

/* The words of the command line, the last one NULL. */
static bool read_words(const char *first, ...)
{
    va_list list;
    int count = 1;

    words[0] = (char *)(uintptr_t) "check";
    va_start(list, first);
    for (const char *word = first; word != NULL; word = va_arg(list, const char *)) {
        words[count++] = (char *)(uintptr_t)word;
    }
    va_end(list);
    words[count] = NULL;
    return qn_options_read(count, words, &options, &err);
}

#define READ(...) read_words(__VA_ARGS__, (const char *)NULL)

Test(options, command_comes_after_two_dashes)
{
    cr_assert(READ("--", "python", "-v", "worker.py"));
    cr_expect_str_eq(options.command[0], "python");
    cr_expect_str_eq(options.command[1], "-v");
    cr_expect_not(options.verbose);
    cr_expect_not(options.has_seed);
    cr_expect_str_eq(options.tempo, "fast");
    cr_expect_eq(options.grace_ms, 10000);
    cr_expect_eq(options.startup_ms, 60000);
}

Test(options, minutes_may_have_a_fraction)
{
    cr_assert(READ("--", "x"));
    cr_expect_eq(options.soak_ms, 60000);
    cr_assert(READ("--minutes", "2.5", "--", "x"));
    cr_expect_eq(options.soak_ms, 150000);
    cr_assert(READ("--minutes", "0.1", "--", "x"));
    cr_expect_eq(options.soak_ms, 6000);
    cr_assert(READ("--minutes", "600", "--", "x"));
    static const char *const wrong[] = {"0.099", "600.001", "", ".", "1.", "1.2345", "-1", "1m"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_not(READ("--minutes", wrong[i], "--", "x"), "%s", wrong[i]);
    }
    cr_expect_str_eq(err.message, "--minutes takes minutes from 0.1 to 600, not \"1m\"");
}

Test(options, each_option_is_read)
{
    cr_assert(READ("--only", "std.*", "--only=base.*", "--skip", "fifo.order", "--seed", "42",
                   "--json", "f", "--profile", "fifo", "--tempo", "real", "--visibility", "30",
                   "--concurrency", "4", "--grace", "500ms", "--strict", "--no-skip", "--keep", "d",
                   "--env", "Q={queue_url}", "--startup-timeout", "2m", "--server", "s", "-v",
                   "--sink-busy", "409", "--sink-capacity", "3", "--", "x"),
              "%s", err.message);
    cr_expect_eq(options.only.count, 2);
    cr_expect_str_eq(options.only.items[1], "base.*");
    cr_expect_eq(options.skip.count, 1);
    cr_expect(options.has_seed && options.seed == 42);
    cr_expect(options.is_fifo);
    cr_expect_str_eq(options.tempo, "real");
    cr_expect_eq(options.visibility_s, 30);
    cr_expect_eq(options.concurrency, 4);
    cr_expect_eq(options.grace_ms, 500);
    cr_expect_eq(options.startup_ms, 120000);
    cr_expect(options.strict && options.no_skip && options.verbose);
    cr_expect(options.sink_busy_is_409);
    cr_expect_eq(options.sink_capacity, 3);
    cr_expect_str_eq(options.environment.items[0], "Q={queue_url}");
}

Test(options, each_scenario_may_be_named_on_its_own)
{
    int count = 0;

    words[count++] = (char *)(uintptr_t) "check";
    for (int i = 0; i < QN_OPTIONS_LIST_MAX; i++) {
        words[count++] = (char *)(uintptr_t) "--only";
        words[count++] = (char *)(uintptr_t) "fifo.order";
    }
    int list_end = count;
    words[count++] = (char *)(uintptr_t) "--";
    words[count++] = (char *)(uintptr_t) "x";
    words[count] = NULL;
    cr_assert(qn_options_read(count, words, &options, &err), "%s", err.message);
    cr_expect_eq(options.only.count, QN_OPTIONS_LIST_MAX);
    words[list_end] = (char *)(uintptr_t) "--only=std.*";
    cr_expect_not(qn_options_read(list_end + 1, words, &options, &err));
    cr_expect_str_eq(err.message, "--only is given at most 256 times");
}

Test(options, declarations_are_read_and_the_last_pair_of_a_name_counts)
{
    cr_assert(READ("--prefetch", "6", "--work-max", "12h", "--heartbeat", "no", "--idempotency",
                   "message-id", "--at-most-once", "--poison", "discard", "--fifo-on-failure",
                   "skip", "--retry-queue", "r", "--output-queue", "o", "--references",
                   "--expect-exit", "0", "--expect-exit=3", "--restart", "on-failure", "--env",
                   "A=1", "--env", "B=", "--env", "A=x=y", "--waive", "std.*=agreed", "--", "x"),
              "%s", err.message);
    cr_expect_eq(options.prefetch, 6);
    cr_expect_eq(options.work_max_ms, 12 * 3600000);
    cr_expect_str_eq(options.heartbeat, "no");
    cr_expect_str_eq(options.idempotency, "message-id");
    cr_expect(options.at_most_once);
    cr_expect_str_eq(options.poison, "discard");
    cr_expect_str_eq(options.fifo_on_failure, "skip");
    cr_expect_str_eq(options.retry_queue, "r");
    cr_expect_str_eq(options.output_queue, "o");
    cr_expect(options.references);
    cr_expect_str_eq(options.restart, "on-failure");
    cr_expect_eq(options.expect_exit.count, 2);
    cr_expect_eq(options.environment.count, 2);
    cr_expect_str_eq(options.environment.items[0], "A=x=y");
    cr_expect_str_eq(options.waive.items[0], "std.*=agreed");
}

Test(options, the_grace_period_follows_the_tempo_unless_it_is_said)
{
    cr_assert(READ("--tempo", "real", "--", "x"));
    cr_expect_eq(options.grace_ms, 30000);
    cr_expect_not(options.is_grace_said);
    cr_assert(READ("--tempo", "real", "--grace", "0", "--", "x"));
    cr_expect_eq(options.grace_ms, 0);
    cr_expect(options.is_grace_said);
}

static void expect_complaint(bool ok, const char *about)
{
    cr_expect_not(ok, "%s", about);
    cr_expect_not_null(strstr(err.message, about), "%s", err.message);
    cr_expect_null(strchr(err.message, '\n'));
}

Test(options, mistakes_are_told_in_one_line)
{
    expect_complaint(READ("--onyl", "x", "--", "c"), "--onyl");
    expect_complaint(READ("worker.py"), "worker.py");
    expect_complaint(READ("--seed"), "--seed");
    expect_complaint(READ("--seed", "many", "--", "c"), "many");
    expect_complaint(READ("--grace", "soon", "--", "c"), "soon");
    expect_complaint(READ("--visibility", "0", "--", "c"), "a number from 1 to 43200, not \"0\"");
    expect_complaint(READ("--only", "--", "c"), "--only needs ID");
    expect_complaint(READ("--env", "X", "--", "c"), "NAME=TEXT");
    expect_complaint(READ("--visibility", "43201", "--", "c"), "--visibility");
    expect_complaint(READ("--profile", "other", "--", "c"), "standard, fifo, lambda");
    expect_complaint(READ("--heartbeat", "maybe", "--", "c"), "auto, yes, no, not \"maybe\"");
    expect_complaint(READ("--expect-exit", "256", "--", "c"), "from 0 to 255, not \"256\"");
    expect_complaint(READ("--waive", "std.delete-lost", "--", "c"), "ID=REASON");
    expect_complaint(READ("--work-max", "13h", "--", "c"), "up to 12h");
    expect_complaint(READ("--config", "no-such.json", "--", "c"), "no-such.json");
    expect_complaint(READ("--strict=yes", "--", "c"), "--strict");
    expect_complaint(READ("--strict"), "no consumer");
    expect_complaint(READ("--"), "no consumer");
}

static void expect_again(const char *expected)
{
    struct qn_buf text;

    qn_buf_init(&text, 4096);
    qn_options_append_again(&options, QN_STR("std.delete-lost"), 42, &text);
    cr_expect_str_eq(qn_arena_copy(&arena, qn_buf_str(&text)).ptr, expected);
    qn_buf_done(&text);
}

Test(options, the_command_that_runs_a_scenario_again_says_what_differs_from_the_defaults)
{
    qn_arena_init(&arena, SIZE_MAX / 2);
    cr_assert(READ("--only", "*", "--tempo", "fast", "--json", "f", "--", "worker"));
    expect_again("quern check --only std.delete-lost --seed 42 -- worker");
    cr_assert(READ("--expect-exit", "0", "--expect-exit", "143", "--", "worker"));
    expect_again("quern check --only std.delete-lost --seed 42 -- worker");
    cr_assert(READ("--expect-exit", "0", "--", "worker"));
    expect_again("quern check --only std.delete-lost --expect-exit 0 --seed 42 -- worker");
    cr_assert(READ("--profile", "fifo", "--tempo", "real", "--visibility", "7", "--concurrency",
                   "4", "--grace", "1500ms", "--env", "Q={queue_url}", "--no-idle-skip",
                   "--sink-busy", "409", "--sink-capacity", "3", "--startup-timeout", "2m", "--",
                   "sh", "-c", "it's $HOME", ""));
    expect_again("quern check --only std.delete-lost --tempo real --visibility 7 "
                 "--startup-timeout 120000ms --env 'Q={queue_url}' --no-idle-skip "
                 "--sink-capacity 3 --sink-busy 409 --profile fifo --concurrency 4 --grace 1500ms "
                 "--seed 42 -- sh -c 'it'\\''s $HOME' ''");
    cr_assert(READ("--tempo", "real", "--", "worker"));
    expect_again("quern check --only std.delete-lost --tempo real --seed 42 -- worker");
    cr_assert(READ("--server", "old quern", "--strict", "--no-skip", "--tier", "1", "--", "=x",
                   "a^b", "a=b", "1%"));
    expect_again("quern check --only std.delete-lost --tier 1 --server 'old quern' --strict "
                 "--no-skip --seed 42 -- '=x' 'a^b' a=b 1%");
    qn_arena_done(&arena);
}

static bool read_judge_words(const char *first, const char *second, const char *third)
{
    words[0] = (char *)(uintptr_t) "judge";
    words[1] = (char *)(uintptr_t)first;
    words[2] = (char *)(uintptr_t)second;
    words[3] = (char *)(uintptr_t)third;
    words[4] = NULL;
    int count = first == NULL ? 1 : second == NULL ? 2 : third == NULL ? 3 : 4;
    return qn_options_read_judge(count, words, &options, &err);
}

Test(options, judge_takes_traces_and_the_options_of_reports)
{
    cr_assert(read_judge_words("a.jsonl", "--junit=f", "-"));
    cr_expect_eq(options.traces.count, 2);
    cr_expect_str_eq(options.traces.items[0], "a.jsonl");
    cr_expect_str_eq(options.traces.items[1], "-");
    cr_expect_str_eq(options.junit_path, "f");
    expect_complaint(read_judge_words("--seed", "1", "a"), "unknown option --seed");
    expect_complaint(read_judge_words("--tap", NULL, NULL), "--tap needs FILE");
    expect_complaint(read_judge_words("--strict", NULL, NULL), "no trace given");
    expect_complaint(read_judge_words(NULL, NULL, NULL), "no trace given");
    cr_expect(read_judge_words("--help", NULL, NULL));
}

Test(options, help_and_list_need_no_command)
{
    cr_expect(READ("--help"));
    cr_expect(options.wants_help);
    cr_expect(READ("--list"));
    cr_expect(options.wants_list);
}

Test(options, times_have_units)
{
    int64_t ms;

    cr_expect(qn_options_duration(QN_STR("10"), &ms) && ms == 10000);
    cr_expect(qn_options_duration(QN_STR("250ms"), &ms) && ms == 250);
    cr_expect(qn_options_duration(QN_STR("1h"), &ms) && ms == 3600000);
    cr_expect_not(qn_options_duration(QN_STR("s"), &ms));
    cr_expect_not(qn_options_duration(QN_STR(""), &ms));
    cr_expect_not(qn_options_duration(QN_STR("-1s"), &ms));
    cr_expect_not(qn_options_duration(QN_STR("1 s"), &ms));
}
