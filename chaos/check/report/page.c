/* The HTML report: one file that needs nothing else. */
#include "chaos/check/report/page.h"

#include "chaos/embedded.h"

static const struct {
    const char *css_class;
    const char *symbol;
} looks[] = {
    {"pass", "\xE2\x9C\x93"}, {"warn", "\xE2\x96\xB2"}, {"info", "i"},  {"fail", "\xE2\x9C\x97"},
    {"skip", "\xE2\x80\x93"}, {"inconclusive", "?"},    {"error", "!"},
};

static const char *const classes[QN_OUTCOME_COUNT] = {
    [QN_OUTCOME_PASS] = "pass",   [QN_OUTCOME_WARN] = "warn",
    [QN_OUTCOME_INFO] = "info",   [QN_OUTCOME_FAIL] = "fail",
    [QN_OUTCOME_SKIP] = "skip",   [QN_OUTCOME_INCONCLUSIVE] = "inconclusive",
    [QN_OUTCOME_ERROR] = "error",
};

const char *qn_page_class(enum qn_outcome outcome)
{
    return classes[outcome];
}

void qn_page_badge(struct qn_buf *buf, const char *css_class, const char *word)
{
    const char *symbol = "";
    struct qn_fill fill;

    for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
        symbol = strcmp(looks[i].css_class, css_class) == 0 ? looks[i].symbol : symbol;
    }
    qn_fill_begin(&fill, "badge");
    qn_fill_format(&fill, "class", "%s", css_class);
    qn_fill_format(&fill, "symbol", "%s", symbol);
    qn_fill_format(&fill, "word", "%s", word);
    qn_fill_end(&fill, buf);
}

void qn_page_outcome(struct qn_buf *buf, enum qn_outcome outcome)
{
    qn_page_badge(buf, classes[outcome], qn_outcome_name(outcome));
}

/* Ran, so there is something to show of it. */
static bool has_page(const struct qn_report_entry *entry)
{
    return entry->result.history.count > 0;
}

static void append_matrix_row(const struct qn_report *report, size_t number, struct qn_buf *buf)
{
    const struct qn_report_entry *entry = &report->entries[number - 1];
    const struct qn_judgement *judgement = &entry->result.judgement;
    struct qn_fill fill;
    struct qn_fill link;
    struct qn_buf part;

    qn_buf_init(&part, SIZE_MAX / 2);
    qn_page_outcome(&part, judgement->outcome);
    qn_fill_begin(&fill, "matrix-row");
    qn_fill_format(&fill, "class", "%s", classes[judgement->outcome]);
    qn_fill_markup(&fill, "badge", qn_buf_str(&part));
    qn_buf_clear(&part);
    if (has_page(entry)) {
        qn_fill_begin(&link, "scenario-link");
        qn_fill_format(&link, "anchor", "s%zu", number);
        qn_fill_text(&link, "id", entry->scenario->id);
        qn_fill_end(&link, &part);
    } else {
        qn_report_escape(&part, entry->scenario->id);
    }
    qn_fill_markup(&fill, "name", qn_buf_str(&part));
    qn_fill_text(&fill, "severity", entry->scenario->severity);
    qn_fill_text(&fill, "text", qn_str_from_cstr(judgement->text));
    if (entry->result.wall_ms > 0) {
        qn_fill_format(&fill, "time", "%.1f s", (double)entry->result.wall_ms / 1000);
    } else {
        qn_fill_format(&fill, "time", "%s", "");
    }
    qn_fill_end(&fill, buf);
    qn_buf_done(&part);
}

static void fill_tally(const struct qn_report *report, struct qn_fill *fill)
{
    size_t counts[QN_OUTCOME_COUNT];
    struct qn_buf tally;
    char word[64];

    qn_report_count(report, counts);
    qn_buf_init(&tally, SIZE_MAX / 2);
    for (int i = 0; i < QN_OUTCOME_COUNT; i++) {
        if (counts[i] > 0) {
            (void)snprintf(word, sizeof(word), "%zu %s", counts[i],
                           qn_outcome_name((enum qn_outcome)i));
            qn_page_badge(&tally, classes[i], word);
            qn_buf_append_char(&tally, '\n');
        }
    }
    qn_fill_markup(fill, "tally", qn_buf_str(&tally));
    qn_buf_done(&tally);
    size_t bad = counts[QN_OUTCOME_FAIL];
    size_t open = counts[QN_OUTCOME_INCONCLUSIVE] + counts[QN_OUTCOME_ERROR];
    if (bad > 0) {
        qn_fill_format(fill, "headline", "%zu of %zu scenarios failed%s", bad, report->count,
                       qn_report_declared(report));
    } else if (open > 0) {
        qn_fill_format(fill, "headline", "%zu of %zu scenarios gave no verdict%s", open,
                       report->count, qn_report_declared(report));
    } else {
        qn_fill_format(fill, "headline", "No scenario failed%s", qn_report_declared(report));
    }
}

static void fill_effects(const struct qn_report *report, struct qn_fill *fill)
{
    struct qn_counts sum;
    struct qn_buf text;
    size_t duplicated = 0;
    size_t lost = 0;

    for (size_t i = 0; i < report->count; i++) {
        const struct qn_accounting *accounting = &report->entries[i].result.judgement.accounting;
        duplicated += json_array_size(accounting->duplicated);
        lost += json_array_size(accounting->lost);
    }
    qn_report_total_counts(report, &sum);
    qn_buf_init(&text, SIZE_MAX / 2);
    qn_report_counts_text(&sum, &text);
    if (sum.sees_effects) {
        qn_buf_append_format(&text, "; %zu keys duplicated, %zu lost", duplicated, lost);
    } else {
        qn_buf_append_literal(&text,
                              "; no call was seen that the effect sink could take, so this is "
                              "judged by the protocol alone");
    }
    qn_fill_text(fill, "effects", qn_buf_str(&text));
    qn_buf_done(&text);
}

static void fill_facts(const struct qn_report *report, struct qn_fill *fill)
{
    const struct qn_check_options *o = report->options;
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_options_append_command(o->command, &text);
    qn_fill_text(fill, "command", qn_buf_str(&text));
    qn_buf_clear(&text);
    qn_report_audit(report, &text);
    qn_fill_text(fill, "alignment", qn_buf_str(&text));
    qn_buf_clear(&text);
    qn_report_standing(report, &text);
    qn_fill_text(fill, "level", qn_buf_str(&text));
    qn_buf_done(&text);
    qn_fill_format(fill, "profile", "%s", o->profile);
    qn_fill_format(fill, "tempo", "%s", o->tempo);
    qn_fill_format(fill, "seed", "%llu", (unsigned long long)report->seed);
    qn_fill_format(fill, "semantics", "%s", qn_report_semantics(report));
    qn_fill_format(fill, "version", "%s", QN_VERSION);
}

/* The profile card: nothing of it where nobody asked for a message. */
static void append_card(const struct qn_report *report, struct qn_buf *buf)
{
    static const char *const classes_of[] = {
        [QN_AUDIT_FITS] = "pass", [QN_AUDIT_ADVICE] = "info", [QN_AUDIT_MISFIT] = "warn"};
    struct qn_card card;
    struct qn_fill fill;
    struct qn_buf rows;
    struct qn_buf badge;

    qn_report_audit_card(report, &card);
    qn_buf_init(&rows, SIZE_MAX / 2);
    qn_buf_init(&badge, SIZE_MAX / 2);
    for (size_t i = 0; i < card.count; i++) {
        const struct qn_audit *row = &card.rows[i];
        bool is_misfit = row->result == QN_AUDIT_MISFIT;
        qn_page_badge(&badge, classes_of[row->result],
                      is_misfit ? "does not fit" : qn_report_audit_name(row->result));
        qn_fill_begin(&fill, "card-row");
        qn_fill_markup(&fill, "badge", qn_buf_str(&badge));
        qn_fill_format(&fill, "name", "%s", row->name);
        qn_fill_text(&fill, "seen", qn_str_from_cstr(row->seen));
        qn_fill_format(&fill, "text", "%s", row->text);
        qn_fill_end(&fill, &rows);
        qn_buf_clear(&badge);
    }
    if (card.count == 0) {
        qn_buf_append_literal(&rows,
                              "<tr><td colspan=\"4\">It never asked for a message.</td></tr>\n");
    }
    qn_fill_begin(&fill, "card");
    qn_fill_markup(&fill, "rows", qn_buf_str(&rows));
    qn_fill_end(&fill, buf);
    qn_buf_done(&badge);
    qn_buf_done(&rows);
}

static struct qn_str style_sheet(void)
{
    struct qn_str style = QN_STR_NONE;

    for (size_t i = 0; i < qn_embedded_page_count; i++) {
        if (strcmp(qn_embedded_pages[i].name, "report-style") == 0) {
            style = qn_str(qn_embedded_pages[i].data, qn_embedded_pages[i].size);
        }
    }
    return style;
}

static void fill_piece(struct qn_fill *fill, const char *name, const char *piece)
{
    struct qn_fill inner;
    struct qn_buf markup;

    qn_buf_init(&markup, SIZE_MAX / 2);
    qn_fill_begin(&inner, piece);
    qn_fill_end(&inner, &markup);
    qn_fill_markup(fill, name, qn_buf_str(&markup));
    qn_buf_done(&markup);
}

void qn_report_html(const struct qn_report *report, struct qn_buf *buf)
{
    struct qn_fill fill;
    struct qn_buf part;

    qn_fill_begin(&fill, "page");
    fill_tally(report, &fill);
    fill_facts(report, &fill);
    fill_effects(report, &fill);
    qn_fill_format(&fill, "title", "quern check: %s", qn_report_semantics(report));
    qn_fill_markup(&fill, "style", style_sheet());
    fill_piece(&fill, "symbols", "symbols");
    fill_piece(&fill, "legend", "legend");
    qn_buf_init(&part, SIZE_MAX / 2);
    for (size_t i = 0; i < report->count; i++) {
        append_matrix_row(report, i + 1, &part);
    }
    qn_fill_markup(&fill, "rows", qn_buf_str(&part));
    qn_buf_clear(&part);
    append_card(report, &part);
    qn_fill_markup(&fill, "card", qn_buf_str(&part));
    qn_buf_clear(&part);
    for (size_t i = 0; i < report->count; i++) {
        if (has_page(&report->entries[i])) {
            qn_page_scenario(report, i + 1, &part);
        }
    }
    qn_fill_markup(&fill, "scenarios", qn_buf_str(&part));
    qn_buf_clear(&part);
    qn_page_checklists(report, &part);
    qn_fill_markup(&fill, "checklists", qn_buf_str(&part));
    qn_buf_done(&part);
    qn_fill_end(&fill, buf);
}
