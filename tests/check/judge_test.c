/* Each checker on small histories, on both sides of its bound. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/check/judge/judge.h"

struct row {
    char file[56];
    enum qn_outcome outcome;
    char broken[24]; /* the invariant that the verdict names, or empty */
};

static bool read_history(const char *name, struct qn_history *history)
{
    char path[128];
    char block[4096];
    size_t len;
    struct qn_buf text;
    struct qn_error err;

    (void)snprintf(path, sizeof(path), "tests/check/traces/%s.jsonl", name);
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file, "%s", path);
    qn_buf_init(&text, 1024 * 1024);
    while ((len = fread(block, 1, sizeof(block), file)) > 0) {
        qn_buf_append(&text, block, len);
    }
    (void)fclose(file);
    qn_history_init(history);
    bool ok = qn_history_read(history, qn_buf_str(&text), &err);
    qn_buf_done(&text);
    qn_history_settle(history);
    return ok;
}

static const struct row rows[] = {
#include "tests/check/judge_rows.def"
};

ParameterizedTestParameters(judge, history_gets_its_verdict)
{
    return cr_make_param_array(struct row, (struct row *)(uintptr_t)rows,
                               sizeof(rows) / sizeof(rows[0]));
}

ParameterizedTest(struct row *row, judge, history_gets_its_verdict)
{
    struct qn_history history;
    struct qn_judgement judgement;
    struct qn_error err;

    cr_assert(read_history(row->file, &history), "%s", row->file);
    cr_assert(qn_judge(&history, &judgement, &err), "%s: %s", row->file, err.message);
    cr_expect_eq(judgement.outcome, row->outcome, "%s: %s %s", row->file,
                 qn_outcome_name(judgement.outcome), judgement.text);
    for (size_t i = 0; i < judgement.invariant_count; i++) {
        const struct qn_invariant *invariant = &judgement.invariants[i];
        bool is_broken = invariant->finding.result == QN_RESULT_FAIL;
        if (strcmp(invariant->name, row->broken) == 0) {
            cr_expect(is_broken, "%s: %s held", row->file, invariant->name);
            cr_expect(invariant->finding.text[0] != '\0');
        } else if (row->outcome == QN_OUTCOME_PASS || row->broken[0] != '\0') {
            cr_expect_not(is_broken && invariant->severity == QN_MUST, "%s: %s %s", row->file,
                          invariant->name, invariant->finding.text);
        }
    }
    qn_judgement_done(&judgement);
    qn_history_done(&history);
}

static struct qn_judgement judgement_of(const char *file, struct qn_history *history)
{
    struct qn_judgement judgement;
    struct qn_error err;

    cr_assert(read_history(file, history));
    cr_assert(qn_judge(history, &judgement, &err), "%s", err.message);
    return judgement;
}

Test(judge, witnesses_of_a_double_effect_are_its_two_commits)
{
    struct qn_history history;
    struct qn_judgement judgement = judgement_of("once-broken", &history);
    const struct qn_finding *finding = &judgement.invariants[0].finding;

    cr_assert_eq(finding->witness_count, 2);
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(history.events[finding->witness[i] - 1].kind, QN_CHECK_WORK_COMMIT);
    }
    cr_expect_neq(finding->witness[0], finding->witness[1]);
    qn_judgement_done(&judgement);
    qn_history_done(&history);
}

/* As with squiss-ts: the copy under the other handle is extended for ever. */
Test(judge, witness_of_a_copy_that_stays_is_what_holds_it)
{
    struct qn_history history;
    struct qn_judgement judgement = judgement_of("drained-broken-copy", &history);
    const struct qn_finding *finding = &judgement.invariants[0].finding;

    cr_assert_eq(finding->witness_count, 1);
    cr_expect_eq(history.events[finding->witness[0] - 1].kind, QN_CHECK_LEASE_EXTEND);
    cr_expect_not_null(strstr(finding->text, "among them k-001"), "%s", finding->text);
    qn_judgement_done(&judgement);
    qn_history_done(&history);
}

Test(judge, without_the_sink_its_invariants_are_not_observable)
{
    struct qn_history history;
    struct qn_judgement judgement = judgement_of("verdict-needs-sink", &history);

    cr_expect_eq(judgement.invariants[0].finding.result, QN_RESULT_NOT_OBSERVABLE);
    cr_expect_eq(judgement.level, QN_LEVEL_PROTOCOL);
    qn_judgement_done(&judgement);
    qn_history_done(&history);
}

static void expect_keys(const json_t *keys, const char *wanted)
{
    char text[200] = "";
    size_t i;
    const json_t *key;

    json_array_foreach(keys, i, key)
    {
        size_t len = strlen(text);
        (void)snprintf(text + len, sizeof(text) - len, "%s%s", i > 0 ? " " : "",
                       json_string_value(key));
    }
    cr_expect_str_eq(text, wanted);
}

Test(judge, accounting_names_what_was_duplicated_and_lost)
{
    struct qn_history history;
    struct qn_judgement judgement = judgement_of("once-broken", &history);

    cr_expect_eq(judgement.accounting.attempts, 1);
    cr_expect_eq(judgement.accounting.acked, 1);
    cr_expect_eq(judgement.accounting.applied, 2);
    expect_keys(judgement.accounting.duplicated, "k-000");
    qn_judgement_done(&judgement);
    qn_history_done(&history);

    judgement = judgement_of("no-loss-broken", &history);
    expect_keys(judgement.accounting.lost, "k-000");
    cr_expect_eq(json_array_size(judgement.accounting.premature), 1);
    qn_judgement_done(&judgement);
    qn_history_done(&history);
}

Test(judge, accounting_tells_six_ways_in_which_sums_do_not_match)
{
    struct qn_history history;
    struct qn_judgement judgement = judgement_of("accounting", &history);
    const struct qn_accounting *accounting = &judgement.accounting;

    cr_expect_eq(accounting->attempts, 7);
    cr_expect_eq(accounting->acked, 6);
    cr_expect_eq(accounting->applied, 6);
    expect_keys(accounting->lost, "k-lost");
    expect_keys(accounting->unexpected, "k-phantom");
    expect_keys(accounting->duplicated, "k-twice");
    expect_keys(accounting->recovered, "k-recovered");
    expect_keys(accounting->orphaned, "k-orphan");
    expect_keys(accounting->premature, "k-lost k-early");
    qn_judgement_done(&judgement);
    qn_history_done(&history);
}

Test(judge, accounting_by_the_counts_of_a_command)
{
    struct qn_history history;
    struct qn_judgement judgement = judgement_of("level-1-broken-once", &history);

    cr_expect_eq(judgement.level, QN_LEVEL_COMMAND);
    expect_keys(judgement.accounting.duplicated, "k-000");
    expect_keys(judgement.accounting.premature, "");
    qn_judgement_done(&judgement);
    qn_history_done(&history);
    judgement = judgement_of("level-1-broken-loss", &history);
    expect_keys(judgement.accounting.lost, "k-001");
    qn_judgement_done(&judgement);
    qn_history_done(&history);
}

Test(judge, fault_of_a_batch_counts_once_per_message)
{
    struct qn_history history;
    struct qn_judgement judgement = judgement_of("verdict-fault-fired", &history);

    cr_assert_eq(judgement.fault_count, 1);
    cr_expect_eq(judgement.faults[0].planned, 2);
    cr_expect_eq(judgement.faults[0].fired, 2);
    qn_judgement_done(&judgement);
    qn_history_done(&history);
}

Test(judge, fault_that_came_too_late_has_not_fired_and_is_told_why)
{
    struct qn_history history;
    struct qn_judgement judgement = judgement_of("verdict-fault-vain", &history);

    cr_expect_eq(judgement.faults[0].fired, 1);
    cr_expect_str_eq(judgement.text, "fault f came too late to have an effect (the lease is over): "
                                     "the consumer was not put to the test");
    qn_judgement_done(&judgement);
    qn_history_done(&history);
}

static void expect_refused(const char *text)
{
    struct qn_history history;
    struct qn_judgement judgement;
    struct qn_error err = {0};

    qn_history_init(&history);
    bool ok = qn_history_read(&history, qn_str_from_cstr(text), &err);
    if (ok) {
        qn_history_settle(&history);
        ok = qn_judge(&history, &judgement, &err);
    }
    cr_expect_not(ok, "%s", text);
    cr_expect(err.message[0] != '\0');
    qn_history_done(&history);
}

Test(judge, trace_without_a_sound_header_is_refused)
{
    expect_refused("");
    expect_refused("{\"seq\":1,\"kind\":\"boot\"}\n");
    expect_refused("{\"kind\":\"header\",\"scenario\":{},\"run\":{}}\n");
    expect_refused("{\"kind\":\"header\",\"scenario\":{\"severity\":\"must\"}}\n");
    expect_refused("not json\n");
    expect_refused("[]\n");
}

Test(judge, expression_that_cannot_be_read_is_an_error_and_no_verdict)
{
    expect_refused(
        "{\"kind\":\"header\",\"scenario\":{\"severity\":\"must\",\"must\":[\"leases(\"]},"
        "\"run\":{}}\n");
}

Test(judge, history_that_was_written_reads_back_the_same)
{
    struct qn_history history;
    struct qn_history again;
    struct qn_check_event own;
    struct qn_error err;
    char *text = NULL;
    size_t len = 0;

    cr_assert(read_history("once-broken", &history));
    qn_check_event_init(&own, NULL, QN_CHECK_WORK_COMMIT);
    own.seq = 1000;
    own.k = QN_STR("k-\"quoted\"");
    own.replayed = true;
    own.run = 7;
    qn_history_add(&history, &own);
    FILE *file = open_memstream(&text, &len);
    qn_history_write(&history, file);
    (void)fclose(file);
    qn_history_init(&again);
    cr_assert(qn_history_read(&again, qn_str(text, len), &err), "%s", err.message);
    free(text);
    cr_assert_eq(again.count, history.count);
    const struct qn_check_event *last = &again.events[again.count - 1];
    cr_expect_eq(last->seq, 1000);
    cr_expect(qn_str_equal(last->k, own.k));
    cr_expect(last->replayed);
    cr_expect_eq(last->run, 7);
    cr_expect_eq(last->n, QN_EVENT_NO_INT);
    qn_history_done(&again);
    qn_history_done(&history);
}
