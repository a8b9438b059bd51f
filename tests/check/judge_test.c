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
    {"once-held", QN_OUTCOME_PASS, ""},
    {"once-held-replay", QN_OUTCOME_PASS, ""},
    {"once-held-steps", QN_OUTCOME_PASS, ""},
    {"once-broken", QN_OUTCOME_FAIL, "ONCE"},
    {"once-broken-steps", QN_OUTCOME_FAIL, "ONCE"},
    {"ack-after-effect-held", QN_OUTCOME_PASS, ""},
    {"ack-after-effect-held-reject", QN_OUTCOME_PASS, ""},
    {"ack-after-effect-held-unexecuted", QN_OUTCOME_PASS, ""},
    {"ack-after-effect-broken", QN_OUTCOME_FAIL, "ACK-AFTER-EFFECT"},
    {"ack-after-effect-broken-arrival", QN_OUTCOME_FAIL, "ACK-AFTER-EFFECT"},
    {"ack-after-effect-broken-open", QN_OUTCOME_FAIL, "ACK-AFTER-EFFECT"},
    {"ack-after-effect-broken-never", QN_OUTCOME_FAIL, "ACK-AFTER-EFFECT"},
    {"no-loss-held", QN_OUTCOME_PASS, ""},
    {"no-loss-held-dead", QN_OUTCOME_PASS, ""},
    {"no-loss-held-reject", QN_OUTCOME_PASS, ""},
    {"no-loss-held-own-key", QN_OUTCOME_PASS, ""},
    {"no-loss-broken", QN_OUTCOME_FAIL, "NO-LOSS"},
    {"no-loss-held-steps-alone", QN_OUTCOME_PASS, ""},
    {"no-loss-broken-step", QN_OUTCOME_FAIL, "NO-LOSS"},
    {"no-loss-broken-taken-for-another", QN_OUTCOME_FAIL, "NO-LOSS"},
    {"no-loss-broken-never-there", QN_OUTCOME_FAIL, "NO-LOSS"},
    {"no-loss-level-0-held", QN_OUTCOME_PASS, ""},
    {"no-loss-level-0-left", QN_OUTCOME_INCONCLUSIVE, ""},
    {"no-loss-level-0-broken", QN_OUTCOME_FAIL, "NO-LOSS"},
    {"no-phantom-held", QN_OUTCOME_PASS, ""},
    {"no-phantom-broken", QN_OUTCOME_FAIL, "NO-PHANTOM"},
    {"drained-held", QN_OUTCOME_PASS, ""},
    {"drained-broken-visible", QN_OUTCOME_FAIL, "DRAINED"},
    {"drained-broken-in-flight", QN_OUTCOME_FAIL, "DRAINED"},
    {"drained-broken-delayed", QN_OUTCOME_FAIL, "DRAINED"},
    {"drained-broken-copy", QN_OUTCOME_FAIL, "DRAINED"},
    {"leases-held-dropped-by-the-client", QN_OUTCOME_PASS, ""},
    {"leases-broken-dropped-by-a-rule", QN_OUTCOME_FAIL, "ONE-LEASE"},
    {"dlq-exact-held", QN_OUTCOME_PASS, ""},
    {"dlq-exact-held-poison", QN_OUTCOME_PASS, ""},
    {"dlq-exact-broken-premature", QN_OUTCOME_FAIL, "DLQ-EXACT"},
    {"dlq-exact-broken-missing", QN_OUTCOME_FAIL, "DLQ-EXACT"},
    {"group-serial-held", QN_OUTCOME_PASS, ""},
    {"group-serial-held-same-message", QN_OUTCOME_PASS, ""},
    {"group-serial-held-after-abort", QN_OUTCOME_PASS, ""},
    {"group-serial-broken", QN_OUTCOME_FAIL, "GROUP-SERIAL"},
    {"group-order-held", QN_OUTCOME_PASS, ""},
    {"group-order-held-dead", QN_OUTCOME_PASS, ""},
    {"group-order-held-long-numbers", QN_OUTCOME_PASS, ""},
    {"group-order-broken", QN_OUTCOME_FAIL, "GROUP-ORDER"},
    {"group-order-broken-after-failure", QN_OUTCOME_FAIL, "GROUP-ORDER"},
    {"group-order-level-0-held", QN_OUTCOME_PASS, ""},
    {"group-order-level-0-held-one-batch", QN_OUTCOME_PASS, ""},
    {"group-order-level-0-broken", QN_OUTCOME_FAIL, "GROUP-ORDER"},
    {"survives-held", QN_OUTCOME_PASS, ""},
    {"survives-broken", QN_OUTCOME_FAIL, "SURVIVES"},
    {"survives-broken-after-restart", QN_OUTCOME_FAIL, "SURVIVES"},
    {"survives-implied", QN_OUTCOME_WARN, "SURVIVES"},
    {"verdict-never-ready", QN_OUTCOME_INCONCLUSIVE, ""},
    {"verdict-fault-unfired", QN_OUTCOME_INCONCLUSIVE, ""},
    {"verdict-fault-fired", QN_OUTCOME_PASS, ""},
    {"verdict-fault-shadowed", QN_OUTCOME_INCONCLUSIVE, ""},
    {"verdict-fault-vain", QN_OUTCOME_INCONCLUSIVE, ""},
    {"verdict-fault-vain-other", QN_OUTCOME_PASS, ""},
    {"verdict-fault-vain-once-more", QN_OUTCOME_PASS, ""},
    {"verdict-broken-before-fault", QN_OUTCOME_FAIL, "ONCE"},
    {"verdict-no-drain", QN_OUTCOME_INCONCLUSIVE, ""},
    {"verdict-cut", QN_OUTCOME_INCONCLUSIVE, ""},
    {"verdict-cut-broken-before", QN_OUTCOME_FAIL, "ONCE"},
    {"verdict-should-before-drain", QN_OUTCOME_WARN, "SECOND-LEASE"},
    {"verdict-never-extends", QN_OUTCOME_SKIP, ""},
    {"verdict-says-it-extends", QN_OUTCOME_INCONCLUSIVE, ""},
    {"verdict-needs-sink", QN_OUTCOME_SKIP, ""},
    {"verdict-needs-reject", QN_OUTCOME_SKIP, ""},
    {"verdict-needs-reject-declared", QN_OUTCOME_INCONCLUSIVE, ""},
    {"verdict-needs-reject-seen", QN_OUTCOME_PASS, ""},
    {"verdict-needs-state", QN_OUTCOME_SKIP, ""},
    {"verdict-needs-steps", QN_OUTCOME_SKIP, ""},
    {"verdict-needs-steps-seen", QN_OUTCOME_PASS, ""},
    {"verdict-needs-named-output", QN_OUTCOME_SKIP, ""},
    {"verdict-should", QN_OUTCOME_WARN, "max(leases) == 1"},
    {"verdict-should-scenario", QN_OUTCOME_WARN, "ONCE"},
    {"verdict-missed", QN_OUTCOME_INCONCLUSIVE, ""},
    {"undone-by-crash", QN_OUTCOME_PASS, ""},
    {"undone-by-crash-left", QN_OUTCOME_FAIL, "deletes(k-000) == 1"},
    {"lease-cover-held", QN_OUTCOME_PASS, ""},
    {"lease-cover-broken", QN_OUTCOME_FAIL, "LEASE-COVER"},
    {"lease-cover-held-extended", QN_OUTCOME_PASS, ""},
    {"lease-cover-held-fault", QN_OUTCOME_PASS, ""},
    {"lease-cover-held-stopped", QN_OUTCOME_PASS, ""},
    {"lease-cover-held-excepted", QN_OUTCOME_PASS, ""},
    {"lease-cover-held-began-late", QN_OUTCOME_PASS, ""},
    {"lease-cover-held-ambiguous", QN_OUTCOME_PASS, ""},
    {"lease-cover-broken-by-header", QN_OUTCOME_FAIL, "LEASE-COVER"},
    {"lease-cover-broken-by-work-max", QN_OUTCOME_FAIL, "LEASE-COVER"},
    {"lease-cover-broken-declared", QN_OUTCOME_FAIL, "LEASE-COVER"},
    {"lease-cover-held-undeclared", QN_OUTCOME_PASS, ""},
    {"lease-cover-level-0-broken", QN_OUTCOME_WARN, "LEASE-COVER"},
    {"lease-cover-level-0-held", QN_OUTCOME_PASS, ""},
    {"start-live-held-margin", QN_OUTCOME_PASS, ""},
    {"start-live-broken", QN_OUTCOME_FAIL, "START-LIVE"},
    {"start-live-held", QN_OUTCOME_PASS, ""},
    {"start-live-held-deleted-first", QN_OUTCOME_PASS, ""},
    {"start-live-held-on-its-way", QN_OUTCOME_PASS, ""},
    {"start-live-broken-no-lease", QN_OUTCOME_FAIL, "START-LIVE"},
    {"start-live-held-fault", QN_OUTCOME_PASS, ""},
    {"start-live-held-own-credentials", QN_OUTCOME_PASS, ""},
    {"newest-handle-held", QN_OUTCOME_PASS, ""},
    {"newest-handle-broken", QN_OUTCOME_FAIL, "NEWEST-HANDLE"},
    {"newest-handle-broken-stopped", QN_OUTCOME_FAIL, "NEWEST-HANDLE"},
    {"newest-handle-held-died", QN_OUTCOME_PASS, ""},
    {"newest-handle-held-crossing", QN_OUTCOME_PASS, ""},
    {"newest-handle-held-second-run", QN_OUTCOME_PASS, ""},
    {"newest-handle-held-gone", QN_OUTCOME_PASS, ""},
    {"no-ghost-extend-held", QN_OUTCOME_PASS, ""},
    {"no-ghost-extend-held-slack", QN_OUTCOME_PASS, ""},
    {"no-ghost-extend-broken", QN_OUTCOME_FAIL, "NO-GHOST-EXTEND"},
    {"no-ghost-extend-broken-released", QN_OUTCOME_FAIL, "NO-GHOST-EXTEND"},
    {"no-ghost-extend-held-sdk-retry", QN_OUTCOME_PASS, ""},
    {"no-ghost-extend-held-heartbeat", QN_OUTCOME_PASS, ""},
    {"no-ghost-extend-held-release", QN_OUTCOME_PASS, ""},
    {"no-ack-on-fail-broken", QN_OUTCOME_FAIL, "NO-ACK-ON-FAIL"},
    {"no-ack-on-fail-held", QN_OUTCOME_PASS, ""},
    {"no-ack-on-fail-held-permanent", QN_OUTCOME_PASS, ""},
    {"no-ack-on-fail-held-own-copy", QN_OUTCOME_PASS, ""},
    {"no-ack-on-fail-broken-copy-elsewhere", QN_OUTCOME_FAIL, "NO-ACK-ON-FAIL"},
    {"poison-held-discard", QN_OUTCOME_PASS, ""},
    {"at-most-once-held", QN_OUTCOME_PASS, ""},
    {"at-most-once-held-poison", QN_OUTCOME_PASS, ""},
    {"distinct-ids-held", QN_OUTCOME_PASS, ""},
    {"distinct-ids-broken", QN_OUTCOME_FAIL, "DISTINCT-IDS"},
    {"bounded-held", QN_OUTCOME_PASS, ""},
    {"bounded-held-failed", QN_OUTCOME_PASS, ""},
    {"bounded-warned", QN_OUTCOME_WARN, "BOUNDED"},
    {"bounded-broken-fivefold", QN_OUTCOME_FAIL, "BOUNDED"},
    {"bounded-held-declared", QN_OUTCOME_PASS, ""},
    {"bounded-warned-declared", QN_OUTCOME_WARN, "BOUNDED"},
    {"bounded-held-concurrency", QN_OUTCOME_PASS, ""},
    {"bounded-warned-concurrency", QN_OUTCOME_WARN, "BOUNDED"},
    {"bounded-broken-concurrency", QN_OUTCOME_FAIL, "BOUNDED"},
    {"bounded-broken-growing", QN_OUTCOME_FAIL, "BOUNDED"},
    {"bounded-warned-level", QN_OUTCOME_WARN, "BOUNDED"},
    {"no-gap-ack-held", QN_OUTCOME_PASS, ""},
    {"no-gap-ack-broken", QN_OUTCOME_FAIL, "NO-GAP-ACK"},
    {"no-gap-ack-broken-after-failure", QN_OUTCOME_FAIL, "NO-GAP-ACK"},
    {"no-gap-ack-held-skip", QN_OUTCOME_PASS, ""},
    {"no-gap-ack-held-dead", QN_OUTCOME_PASS, ""},
    {"no-gap-ack-held-reject", QN_OUTCOME_PASS, ""},
    {"no-gap-ack-level-0-held", QN_OUTCOME_PASS, ""},
    {"no-gap-ack-level-0-broken", QN_OUTCOME_FAIL, "NO-GAP-ACK"},
    {"no-gap-ack-level-0-held-one-batch", QN_OUTCOME_PASS, ""},
    {"backoff-held", QN_OUTCOME_PASS, ""},
    {"backoff-held-slow", QN_OUTCOME_PASS, ""},
    {"backoff-warned", QN_OUTCOME_WARN, "BACKOFF"},
    {"backoff-held-rate", QN_OUTCOME_PASS, ""},
    {"backoff-broken-cut", QN_OUTCOME_FAIL, "BACKOFF"},
    {"backoff-broken-rate", QN_OUTCOME_FAIL, "BACKOFF"},
    {"backoff-warned-rate", QN_OUTCOME_WARN, "BACKOFF"},
    {"backoff-held-sdk", QN_OUTCOME_PASS, ""},
    {"backoff-broken-http", QN_OUTCOME_FAIL, "BACKOFF"},
    {"backoff-held-pollers", QN_OUTCOME_PASS, ""},
    {"backoff-held-resume", QN_OUTCOME_PASS, ""},
    {"backoff-broken-resume", QN_OUTCOME_FAIL, "BACKOFF"},
    {"backoff-held-resume-long-gap", QN_OUTCOME_PASS, ""},
    {"backoff-broken-resume-long-gap", QN_OUTCOME_FAIL, "BACKOFF"},
    {"backoff-held-exit", QN_OUTCOME_WARN, "SURVIVES"},
    {"backoff-broken-never", QN_OUTCOME_FAIL, "BACKOFF"},
    {"quiet-held", QN_OUTCOME_PASS, ""},
    {"quiet-held-slack", QN_OUTCOME_PASS, ""},
    {"quiet-broken", QN_OUTCOME_FAIL, "QUIET"},
    {"quiet-held-sdk-retry", QN_OUTCOME_PASS, ""},
    {"quiet-held-final", QN_OUTCOME_INCONCLUSIVE, ""},
    {"quiet-broken-final", QN_OUTCOME_FAIL, "QUIET"},
    {"exit-in-grace-held", QN_OUTCOME_PASS, ""},
    {"exit-in-grace-held-slack", QN_OUTCOME_PASS, ""},
    {"exit-in-grace-broken", QN_OUTCOME_FAIL, "EXIT-IN-GRACE"},
    {"exit-in-grace-broken-killed", QN_OUTCOME_FAIL, "EXIT-IN-GRACE"},
    {"exit-in-grace-broken-killed-rounded", QN_OUTCOME_FAIL, "EXIT-IN-GRACE"},
    {"exit-in-grace-held-killed-early", QN_OUTCOME_PASS, ""},
    {"exit-in-grace-broken-never", QN_OUTCOME_FAIL, "EXIT-IN-GRACE"},
    {"exit-in-grace-held-history-ends", QN_OUTCOME_PASS, ""},
    {"no-strand-held", QN_OUTCOME_PASS, ""},
    {"no-strand-broken", QN_OUTCOME_FAIL, "NO-STRAND"},
    {"no-strand-held-given-back", QN_OUTCOME_PASS, ""},
    {"no-strand-held-given-back-longer", QN_OUTCOME_PASS, ""},
    {"no-strand-broken-given-back-late", QN_OUTCOME_FAIL, "NO-STRAND"},
    {"no-strand-broken-extended", QN_OUTCOME_FAIL, "NO-STRAND"},
    {"no-strand-held-undelivered", QN_OUTCOME_PASS, ""},
    {"no-strand-held-short", QN_OUTCOME_PASS, ""},
    {"no-strand-broken-short", QN_OUTCOME_FAIL, "NO-STRAND"},
    {"left-done-held", QN_OUTCOME_PASS, ""},
    {"left-done-held-lapsed", QN_OUTCOME_PASS, ""},
    {"left-done-held-killed", QN_OUTCOME_PASS, ""},
    {"left-done-broken", QN_OUTCOME_FAIL, "DELETED-AT-EXIT"},
    {"left-done-broken-given-back", QN_OUTCOME_FAIL, "DELETED-AT-EXIT"},
    {"left-begun-held", QN_OUTCOME_PASS, ""},
    {"left-begun-held-failed", QN_OUTCOME_PASS, ""},
    {"left-begun-held-not-begun", QN_OUTCOME_PASS, ""},
    {"left-begun-broken", QN_OUTCOME_FAIL, "NO-STRAND"},
    {"progress-held", QN_OUTCOME_PASS, ""},
    {"progress-broken", QN_OUTCOME_FAIL, "PROGRESS"},
    {"progress-held-other", QN_OUTCOME_PASS, ""},
    {"progress-held-slack", QN_OUTCOME_PASS, ""},
    {"progress-broken-slack", QN_OUTCOME_FAIL, "PROGRESS"},
    {"progress-held-most-slack", QN_OUTCOME_PASS, ""},
    {"progress-broken-most-slack", QN_OUTCOME_FAIL, "PROGRESS"},
    {"progress-held-slack-of-leases", QN_OUTCOME_PASS, ""},
    {"progress-broken-key", QN_OUTCOME_FAIL, "PROGRESS"},
    {"progress-level-0-held", QN_OUTCOME_PASS, ""},
    {"progress-level-0-broken", QN_OUTCOME_FAIL, "PROGRESS"},
    {"progress-broken-never", QN_OUTCOME_FAIL, "PROGRESS"},
    {"idle-hold-held-at-bound", QN_OUTCOME_PASS, ""},
    {"extend-margin-held", QN_OUTCOME_PASS, ""},
    {"extend-margin-held-given-back", QN_OUTCOME_PASS, ""},
    {"extend-margin-broken", QN_OUTCOME_WARN, "EXTEND-MARGIN"},
    {"verdict-heartbeat-kept", QN_OUTCOME_PASS, ""},
    {"verdict-heartbeat-unneeded", QN_OUTCOME_INFO, ""},
    {"verdict-heartbeat-lapsed", QN_OUTCOME_INFO, "LEASE-COVER"},
    {"idle-hold-broken", QN_OUTCOME_FAIL, "IDLE-HOLD"},
    {"idle-hold-held-begun", QN_OUTCOME_PASS, ""},
    {"idle-hold-held-worked-off", QN_OUTCOME_PASS, ""},
    {"idle-hold-held-other", QN_OUTCOME_PASS, ""},
    {"group-serial-held-made", QN_OUTCOME_PASS, ""},
    {"group-serial-broken-lapsed", QN_OUTCOME_FAIL, "GROUP-SERIAL"},
    {"level-1-held", QN_OUTCOME_PASS, ""},
    {"level-1-broken-once", QN_OUTCOME_FAIL, "ONCE"},
    {"level-1-held-poison", QN_OUTCOME_PASS, ""},
    {"level-1-broken-poison", QN_OUTCOME_FAIL, "DLQ-EXACT"},
    {"level-1-broken-loss", QN_OUTCOME_FAIL, "NO-LOSS"},
    {"level-1-broken-phantom", QN_OUTCOME_FAIL, "NO-PHANTOM"},
    {"level-1-counts-nothing", QN_OUTCOME_SKIP, ""},
    {"once-held-message-id", QN_OUTCOME_PASS, ""},
    {"once-broken-message-id", QN_OUTCOME_FAIL, "ONCE"},
    {"once-broken-business-key", QN_OUTCOME_FAIL, "ONCE"},
    {"once-held-none", QN_OUTCOME_PASS, ""},
    {"own-copy-held", QN_OUTCOME_PASS, ""},
    {"dlq-exact-broken-own-copy", QN_OUTCOME_FAIL, "DLQ-EXACT"},
    {"own-copy-held-retry-queue", QN_OUTCOME_PASS, ""},
    {"own-copy-broken-delete-first", QN_OUTCOME_FAIL, "ACK-AFTER-EFFECT"},
    {"dlq-exact-held-quarantine", QN_OUTCOME_PASS, ""},
    {"dlq-exact-broken-quarantine", QN_OUTCOME_FAIL, "DLQ-EXACT"},
    {"dlq-exact-held-named", QN_OUTCOME_PASS, ""},
    {"dlq-exact-broken-none", QN_OUTCOME_FAIL, "DLQ-EXACT"},
    {"dlq-exact-broken-named", QN_OUTCOME_FAIL, "DLQ-EXACT"},
    {"verdict-named-expression", QN_OUTCOME_FAIL, "SECOND-LEASE"},
    {"verdict-unexercised", QN_OUTCOME_INCONCLUSIVE, ""},
    {"function-never-started", QN_OUTCOME_INCONCLUSIVE, ""},
    {"function-started-late", QN_OUTCOME_FAIL, "DLQ-EXACT"},
    {"verdict-unexercised-should", QN_OUTCOME_PASS, ""},
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
