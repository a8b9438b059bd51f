/* The console report: one line per scenario, more on trouble. */
#include <inttypes.h>

#include "chaos/check/report/report.h"

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
        (void)fputs("  no call to the effect sink was seen: judged by the protocol alone\n", file);
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

void qn_report_entry_print(const struct qn_report *report, const struct qn_report_entry *entry)
{
    const struct qn_judgement *judgement = &entry->result.judgement;
    FILE *file = report->console;
    const char *word = looks[judgement->outcome].word;

    if (report->colours) {
        (void)fprintf(file, " %s%s\033[0m", looks[judgement->outcome].colour, word);
    } else {
        (void)fprintf(file, " %s", word);
    }
    (void)fprintf(file, "  %-42.*s", QN_STR_ARG(entry->scenario->id));
    if (entry->result.wall_ms > 0) {
        (void)fprintf(file, " %5.1fs", (double)entry->result.wall_ms / 1000);
    } else {
        (void)fputs("       ", file);
    }
    (void)fputs(judgement->text[0] != '\0' ? "   " : "", file);
    print_clean(file, qn_str_from_cstr(judgement->text));
    print_process(file, &entry->result.process);
    (void)fputc('\n', file);
    print_tenants(file, entry);
    print_log(file, qn_str_from_cstr(entry->result.log_tail));
    if (!qn_report_is_fine(judgement->outcome)) {
        print_trouble(report, entry);
    }
    (void)fflush(file);
}

void qn_report_end(const struct qn_report *report)
{
    size_t counts[QN_OUTCOME_COUNT];
    int64_t sent = 0;
    int64_t applied = 0;
    size_t duplicated = 0;
    size_t lost = 0;
    size_t waived = 0;
    char waivers[48] = "";

    qn_report_count(report, counts);
    for (size_t i = 0; i < report->count; i++) {
        const struct qn_accounting *accounting = &report->entries[i].result.judgement.accounting;
        sent += accounting->attempts;
        applied += accounting->applied;
        duplicated += json_array_size(accounting->duplicated);
        lost += json_array_size(accounting->lost);
        waived += report->entries[i].waiver != NULL;
    }
    if (waived > 0) {
        (void)snprintf(waivers, sizeof(waivers), " (%zu waived)", waived);
    }
    (void)fprintf(report->console,
                  "\n %zu scenario%s: %zu pass, %zu warn, %zu info, %zu fail, %zu skip%s, %zu "
                  "inconclusive, %zu error       observed semantics: %s\n",
                  report->count, report->count == 1 ? "" : "s", counts[QN_OUTCOME_PASS],
                  counts[QN_OUTCOME_WARN], counts[QN_OUTCOME_INFO], counts[QN_OUTCOME_FAIL],
                  counts[QN_OUTCOME_SKIP], waivers, counts[QN_OUTCOME_INCONCLUSIVE],
                  counts[QN_OUTCOME_ERROR], qn_report_semantics(report));
    if (report->profile.level >= QN_LEVEL_SINK) {
        (void)fprintf(report->console,
                      " effects %" PRId64 " sent / %" PRId64
                      " applied / %zu duplicated / %zu lost\n",
                      sent, applied, duplicated, lost);
    } else {
        (void)fprintf(report->console, " messages %" PRId64 " sent\n", sent);
    }
    if (report->options->wants_checklist) {
        qn_report_checklists_print(report);
    }
}
