/* The console report: one line per scenario, more on trouble. */
#include <inttypes.h>

#include "chaos/check/report/report.h"

enum { STUCK_GROUPS_TOLD = 3 };

static const struct {
    const char *word; /* four letters, so that the column stands */
    const char *colour;
} looks[QN_OUTCOME_COUNT] = {
    [QN_OUTCOME_PASS] = {"PASS", "\033[32m"},    [QN_OUTCOME_WARN] = {"WARN", "\033[33m"},
    [QN_OUTCOME_INFO] = {"INFO", "\033[36m"},    [QN_OUTCOME_FAIL] = {"FAIL", "\033[31m"},
    [QN_OUTCOME_SKIP] = {"SKIP", "\033[90m"},    [QN_OUTCOME_INCONCLUSIVE] = {"INCO", "\033[35m"},
    [QN_OUTCOME_ERROR] = {"ERR ", "\033[31;1m"},
};

/* What the consumer wrote must not move the cursor, nor break the pipe of who reads UTF-8. */
static void print_clean(FILE *file, struct qn_str s)
{
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_report_clean(&text, s);
    (void)fwrite(text.len > 0 ? text.ptr : "", 1, text.len, file);
    qn_buf_done(&text);
}

void qn_report_begin(const struct qn_report *report)
{
    const struct qn_check_options *o = report->options;

    (void)fprintf(report->console,
                  "quern check %s  profile %s  seed %" PRIu64 "  tempo %s  consumer: ", QN_VERSION,
                  o->profile, report->seed, o->tempo);
    struct qn_buf command;

    qn_buf_init(&command, SIZE_MAX / 2);
    qn_options_append_command(o->command, &command);
    print_clean(report->console, qn_buf_str(&command));
    if (o->config_path != NULL) {
        (void)fprintf(report->console, "  declared in %s", o->config_path);
    }
    (void)fputc('\n', report->console);
    if (o->at_most_once) {
        (void)fputs("  declared at most once: a delete before the effect is no fault, and messages "
                    "may be lost\n",
                    report->console);
    }
    (void)fflush(report->console);
    qn_buf_done(&command);
}

static void print_sdk(FILE *file, const struct qn_profile *p)
{
    if (p->agent[0] != '\0' || p->has_sdk) {
        (void)fputs(p->has_sdk ? " sdk=" : " program=", file);
        print_clean(file, qn_str_from_cstr(p->agent[0] != '\0' ? p->agent : "aws"));
    }
    if (p->has_sdk && p->retry_mode[0] != '\0') {
        (void)fputs(" retries=", file);
        print_clean(file, qn_str_from_cstr(p->retry_mode));
    }
    if (p->has_sdk) {
        (void)fprintf(file, " attempts=%" PRId64, p->sdk_attempts);
    }
}

/* A column for what was seen, and one for whether it fits. */
static void print_card(const struct qn_report *report)
{
    struct qn_card card;
    struct qn_buf line;

    qn_report_audit_card(report, &card);
    qn_buf_init(&line, SIZE_MAX / 2);
    for (size_t i = 0; i < card.count; i++) {
        const struct qn_audit *row = &card.rows[i];
        qn_buf_append_format(&line, "    %-13s %-38s %s%s%s\n", row->name, row->seen,
                             qn_report_audit_name(row->result), row->text[0] != '\0' ? ": " : "",
                             row->text);
    }
    print_clean(report->console, qn_buf_str(&line));
    qn_buf_done(&line);
}

void qn_report_profile_print(const struct qn_report *report)
{
    const struct qn_profile *p = &report->profile;
    FILE *file = report->console;

    (void)fprintf(file, "  learned: V=%.3gs(%s)", (double)p->visibility_ms / 1000,
                  p->overrides_visibility ? "own" : "queue");
    if (p->wait_s != QN_EVENT_NO_INT) {
        (void)fprintf(file, " W=%" PRId64 "s", p->wait_s);
    }
    (void)fprintf(file, " batch=%" PRId64 " delete=%s", p->batch,
                  p->deletes_batch ? (p->deletes_single ? "both" : "batch")
                                   : (p->deletes_single ? "single" : "none"));
    if (p->concurrency > 0) {
        (void)fprintf(file, " C=%" PRId64, p->concurrency);
    }
    if (p->prefetch > 0) {
        (void)fprintf(file, " P=%" PRId64, p->prefetch);
    }
    if (p->heartbeat_ms > 0) {
        (void)fprintf(file, " heartbeat=%.2gs", (double)p->heartbeat_ms / 1000);
    }
    print_sdk(file, p);
    (void)fprintf(file, " start=%.2gs handling p50=%" PRId64 "ms p99=%" PRId64 "ms\n",
                  (double)p->startup_ms / 1000, p->handling_p50_ms, p->handling_p99_ms);
    print_card(report);
    if (p->level == QN_LEVEL_PROTOCOL) {
        (void)fputs(
            "  no call was seen that the effect sink could take ($QUERN_SINK_URL): judged by "
            "the protocol alone\n",
            file);
    }
}

static void print_trouble(const struct qn_report *report, const struct qn_report_entry *entry)
{
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_report_trouble(report, entry, "       ", &text);
    print_clean(report->console, qn_buf_str(&text));
    qn_buf_done(&text);
}

/* The log of who did not get going. */
static void print_log(FILE *file, struct qn_str log)
{
    while (log.len > 0) {
        struct qn_str line = qn_str_cut(log, '\n', &log);
        (void)fputs("       | ", file);
        print_clean(file, line);
        (void)fputc('\n', file);
    }
}

static void print_tenants(FILE *file, const struct qn_report_entry *entry)
{
    struct qn_tenants tenants;

    qn_report_tenants(entry, &tenants);
    for (size_t i = 0; i < tenants.count; i++) {
        const struct qn_tenant *one = &tenants.items[i];
        (void)fprintf(
            file,
            "       | tenant %.*s: %zu of %zu done, half of them within %.3g s, 95 of 100 "
            "within %.3g s\n",
            QN_STR_ARG(one->name), one->done, one->sent, (double)one->p50_ms / 1000,
            (double)one->p95_ms / 1000);
    }
}

/* Beside a good verdict; else they are told with what is wrong. */
static void print_refusals(FILE *file, const struct qn_judgement *judgement)
{
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    for (size_t i = 0; i < judgement->refusal_count; i++) {
        qn_buf_append_literal(&text, "       | ");
        qn_report_refusal(&judgement->refusals[i], &text);
        qn_buf_append_char(&text, '\n');
    }
    print_clean(file, qn_buf_str(&text));
    qn_buf_done(&text);
}

/* Groups that stood still for longer than a lease lasts, the longest first. */
static void print_stuck_groups(FILE *file, const struct qn_report_entry *entry)
{
    struct qn_group_holds holds;
    size_t told = 0;

    qn_report_group_holds(entry, &holds);
    for (size_t i = 0; i < holds.count && told < STUCK_GROUPS_TOLD; i++) {
        const struct qn_group_hold *one = &holds.items[i];
        if (one->is_stuck) {
            (void)fprintf(file,
                          "       | group %.*s stood still for %.3g s behind %.*s (leases %" PRId64
                          ", waiting %" PRId64 ")\n",
                          QN_STR_ARG(one->name), (double)one->held_ms / 1000,
                          QN_STR_ARG(one->behind), one->leases, one->waiting);
            told++;
        }
    }
}

/* The first of them: the others are mostly like it. */
static void print_not_taken(FILE *file, const struct qn_history *history, int64_t count)
{
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (event->kind == QN_CHECK_REFUSED) {
            (void)fprintf(file, "       | the sink could not take %" PRId64 " call%s: %" PRId64 " ",
                          count, count == 1 ? "" : "s", event->status);
            print_clean(file, event->detail->reason);
            (void)fputs(" (", file);
            print_clean(file, event->detail->target);
            (void)fputs(")\n", file);
            return;
        }
    }
}

/* More calls open at once than --sink-capacity, or the scenario, allows: what is downstream would
 * be overrun. What a fault refuses is the scenario's own doing. */
static void print_overload(FILE *file, const struct qn_report_entry *entry)
{
    struct qn_counts counts;

    qn_report_counts(entry, &counts);
    if (counts.over_capacity > 0) {
        (void)fprintf(file,
                      "       | the sink refused %" PRId64
                      " of the calls (429): more were open than it takes\n",
                      counts.over_capacity);
    }
    if (counts.not_taken > 0) {
        print_not_taken(file, &entry->result.history, counts.not_taken);
    }
}

static void print_exits(FILE *file, const struct qn_report_entry *entry)
{
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_report_exits(entry, "       | ", &text);
    print_clean(file, qn_buf_str(&text));
    qn_buf_done(&text);
}

/* With --reuse: what was kept, and what was not. */
static void print_process(FILE *file, const struct qn_run_process *process)
{
    if (process->kept_from[0] != '\0') {
        (void)fprintf(file, "   (process of %s)", process->kept_from);
    } else if (process->started[0] != '\0') {
        (void)fputs("   (new process: ", file);
        print_clean(file, qn_str_from_cstr(process->started));
        (void)fputc(')', file);
    }
}

/* The verdict in its column, and what it is about. */
static void print_head(const struct qn_report *report, enum qn_outcome outcome, struct qn_str name,
                       int64_t wall_ms)
{
    FILE *file = report->console;

    if (report->colours) {
        (void)fprintf(file, " %s%s\033[0m", looks[outcome].colour, looks[outcome].word);
    } else {
        (void)fprintf(file, " %s", looks[outcome].word);
    }
    (void)fprintf(file, "  %-42.*s", QN_STR_ARG(name));
    if (wall_ms > 0) {
        (void)fprintf(file, " %5.1fs", (double)wall_ms / 1000);
    } else {
        (void)fputs("       ", file);
    }
}

static void print_entry(const struct qn_report *report, const struct qn_report_entry *entry)
{
    const struct qn_judgement *judgement = &entry->result.judgement;
    FILE *file = report->console;

    print_head(report, judgement->outcome, entry->scenario->id, entry->result.wall_ms);
    (void)fputs(judgement->text[0] != '\0' ? "   " : "", file);
    print_clean(file, qn_str_from_cstr(judgement->text));
    print_process(file, &entry->result.process);
    (void)fputc('\n', file);
    print_tenants(file, entry);
    print_stuck_groups(file, entry);
    print_overload(file, entry);
    print_exits(file, entry);
    print_log(file, qn_str_from_cstr(entry->result.log_tail));
    if (!qn_report_is_fine(judgement->outcome)) {
        print_trouble(report, entry);
    } else {
        print_refusals(file, judgement);
    }
    (void)fflush(file);
}

/* Skipped before it was run, so that it has neither a time nor a log nor a process to tell of. */
static bool is_plain_skip(const struct qn_report_entry *entry)
{
    return entry->result.judgement.outcome == QN_OUTCOME_SKIP && entry->result.wall_ms == 0;
}

/* Of those that are held back. A family that is skipped for one reason is one line. */
static void print_family(struct qn_report *report, struct qn_str family, bool is_whole)
{
    const struct qn_report_entry *first = NULL;
    size_t held = 0;

    for (size_t i = 0; i < report->planned; i++) {
        const struct qn_report_entry *entry = &report->entries[i];
        if (entry->is_held && qn_str_equal(qn_report_family(entry), family)) {
            first = first != NULL ? first : entry;
            held++;
        }
    }
    bool is_one_line = is_whole && held > 1;
    if (is_one_line) {
        char name[64];
        (void)snprintf(name, sizeof(name), "%.*s.*", QN_STR_ARG(family));
        print_head(report, QN_OUTCOME_SKIP, qn_str_from_cstr(name), 0);
        (void)fputs("   ", report->console);
        print_clean(report->console, qn_str_from_cstr(first->result.judgement.text));
        (void)fprintf(report->console, " (%zu scenarios)\n", held);
    }
    for (size_t i = 0; i < report->planned && held > 0; i++) {
        struct qn_report_entry *entry = &report->entries[i];
        if (entry->is_held && qn_str_equal(qn_report_family(entry), family)) {
            entry->is_held = false;
            if (!is_one_line) {
                print_entry(report, entry);
            }
        }
    }
}

void qn_report_entry_print(struct qn_report *report, struct qn_report_entry *entry)
{
    struct qn_str family = qn_report_family(entry);
    bool is_alike = is_plain_skip(entry);
    bool is_whole = true;

    for (size_t i = 0; i < report->planned; i++) {
        const struct qn_report_entry *other = &report->entries[i];
        if (qn_str_equal(qn_report_family(other), family) && other->is_done) {
            is_alike = is_alike && is_plain_skip(other) &&
                       strcmp(other->result.judgement.text, entry->result.judgement.text) == 0;
        } else if (qn_str_equal(qn_report_family(other), family)) {
            is_whole = false;
        }
    }
    entry->is_held = is_alike;
    if (!is_alike || is_whole) {
        print_family(report, family, is_whole && is_alike);
    }
    if (!is_alike) {
        print_entry(report, entry);
    }
}

void qn_report_entries_end(struct qn_report *report)
{
    for (size_t i = 0; i < report->planned; i++) {
        if (report->entries[i].is_held) {
            print_family(report, qn_report_family(&report->entries[i]), false);
        }
    }
}

/* How many passed and failed is always said, the others only if there are some. */
static void print_counts(const struct qn_report *report, const size_t counts[QN_OUTCOME_COUNT],
                         const char *waivers)
{
    static const struct {
        enum qn_outcome outcome;
        const char *name;
        bool is_always_told;
    } parts[] = {
        {QN_OUTCOME_PASS, "pass", true},
        {QN_OUTCOME_WARN, "warn", false},
        {QN_OUTCOME_INFO, "info", false},
        {QN_OUTCOME_FAIL, "fail", true},
        {QN_OUTCOME_INCONCLUSIVE, "inconclusive", false},
        {QN_OUTCOME_ERROR, "error", false},
        {QN_OUTCOME_SKIP, "skip", false},
    };

    (void)fprintf(report->console, "\n %zu scenario%s", report->count,
                  report->count == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t count = counts[parts[i].outcome];
        if (count > 0 || parts[i].is_always_told) {
            (void)fprintf(report->console, "%s %zu %s", i == 0 ? ":" : ",", count, parts[i].name);
        }
    }
    (void)fprintf(report->console, "%s       observed semantics: %s\n", waivers,
                  qn_report_semantics(report));
}

/* What was deleted stands beside the effects: a queue that is empty proves nothing. */
static void print_totals(const struct qn_report *report)
{
    size_t duplicated = 0;
    size_t lost = 0;
    struct qn_counts sum;
    struct qn_buf text;

    for (size_t i = 0; i < report->count; i++) {
        const struct qn_accounting *accounting = &report->entries[i].result.judgement.accounting;
        duplicated += json_array_size(accounting->duplicated);
        lost += json_array_size(accounting->lost);
    }
    qn_report_total_counts(report, &sum);
    (void)fprintf(report->console, " messages %" PRId64 " sent / %" PRId64 " deleted", sum.sent,
                  sum.deleted);
    if (sum.sees_effects) {
        (void)fprintf(report->console,
                      "       effects %" PRId64 " applied / %zu duplicated / %zu lost", sum.applied,
                      duplicated, lost);
    }
    (void)fputc('\n', report->console);
    qn_buf_init(&text, SIZE_MAX / 2);
    qn_report_sink_refusals(&sum, &text);
    if (text.len > 0) {
        (void)fprintf(report->console, " %.*s\n", QN_STR_ARG(qn_buf_str(&text)));
    }
    qn_buf_done(&text);
}

void qn_report_end(const struct qn_report *report)
{
    size_t counts[QN_OUTCOME_COUNT];
    size_t waived = 0;
    char waivers[48] = "";

    qn_report_count(report, counts);
    for (size_t i = 0; i < report->count; i++) {
        waived += report->entries[i].waiver != NULL;
    }
    if (waived > 0) {
        (void)snprintf(waivers, sizeof(waivers), " (%zu waived)", waived);
    }
    print_counts(report, counts, waivers);
    print_totals(report);
    if (report->options->wants_checklist) {
        qn_report_checklists_print(report);
    }
}
