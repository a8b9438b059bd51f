/* Medians, bars, and whether they are met. */
#include "client/bench/report.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "client/bench/curves.h"

/* Three significant digits, none of them lost on a large number: "0.53", "15.2", "98304". */
static void write_number(char out[32], double value)
{
    int digits = value >= 100 || value == 0 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 3;

    (void)snprintf(out, 32, "%.*f", digits, value);
}

static void write_value(char out[48], double value, const char *unit)
{
    char number[32];

    write_number(number, value);
    (void)snprintf(out, 48, "%s%s%s", number, unit[0] != '\0' && unit[0] != 'x' ? " " : "", unit);
}

static void write_bar(char out[64], const struct qn_bench_figure_row *row)
{
    char bar[48];

    out[0] = '\0';
    if (row->kind != QN_BENCH_REPORT) {
        write_value(bar, row->bar, row->unit);
        (void)snprintf(out, 64, "%s %s", row->kind == QN_BENCH_AT_MOST ? "<=" : ">=", bar);
    }
}

static void write_aim(char out[48], const struct qn_bench_figure_row *row)
{
    out[0] = '\0';
    if (row->aim > 0) {
        write_value(out, row->aim, row->unit);
    }
}

static const char *verdict(const struct qn_bench_figure_row *row, double value)
{
    if (row->kind == QN_BENCH_REPORT) {
        return "";
    }
    return qn_bench_is_met(row, value) ? "met" : "MISSED";
}

static void print_row(const struct qn_bench *bench, size_t r, FILE *file)
{
    (void)fprintf(file, "\n%s: %s\n", qn_bench_rows[r].name, qn_bench_rows[r].what);
    if (bench->reasons[r][0] != '\0') {
        (void)fprintf(file, "  not measured: %s\n", bench->reasons[r]);
    }
    for (size_t f = 0; f < QN_BENCH_FIGURES; f++) {
        const struct qn_bench_figure_row *row = &qn_bench_figures[f];
        char value[48];
        char bar[64];
        char aim[48];
        double median;
        if (row->row != r || !qn_bench_median(bench, (enum qn_bench_figure)f, &median)) {
            continue;
        }
        write_value(value, median, row->unit);
        write_bar(bar, row);
        write_aim(aim, row);
        (void)fprintf(file, "  %-60s %12s  %-12s %-7s %s\n", row->what, value, bar, aim,
                      verdict(row, median));
    }
}

void qn_bench_print(const struct qn_bench *bench, FILE *file)
{
    (void)fprintf(file, "%lld rounds of %.1f s, medians%s%s; value, bar, aim\n",
                  (long long)bench->options->rounds, bench->options->seconds,
                  bench->options->host != NULL ? "; measured at an endpoint" : "",
                  bench->options->is_quick ? "; QUICK: the figures mean nothing" : "");
    for (size_t r = 0; r < qn_bench_row_count; r++) {
        if (bench->is_wanted[r]) {
            print_row(bench, r, file);
        }
    }
    if (bench->curves != NULL) {
        qn_bench_curves_print(bench->curves, file);
    }
}

/* ---- JSON ---- */

static json_t *figure_json(const struct qn_bench *bench, enum qn_bench_figure figure)
{
    const struct qn_bench_figure_row *row = &qn_bench_figures[figure];
    const struct qn_bench_notes *notes = &bench->notes[figure];
    json_t *rounds = json_array();
    double value;

    if (!qn_bench_median(bench, figure, &value)) {
        json_decref(rounds);
        return NULL;
    }
    for (size_t i = 0; i < notes->count; i++) {
        json_array_append_new(rounds, json_real(notes->values[i]));
    }
    json_t *object = json_pack("{s:s, s:s, s:s, s:f, s:o}", "name", row->name, "what", row->what,
                               "unit", row->unit, "value", value, "rounds", rounds);
    if (row->kind != QN_BENCH_REPORT) {
        json_object_set_new(object, row->kind == QN_BENCH_AT_MOST ? "at_most" : "at_least",
                            json_real(row->bar));
        json_object_set_new(object, "met", json_boolean(qn_bench_is_met(row, value)));
    }
    if (row->aim > 0) {
        json_object_set_new(object, "aim", json_real(row->aim));
    }
    return object;
}

static json_t *row_json(const struct qn_bench *bench, size_t r)
{
    json_t *figures = json_array();

    for (size_t f = 0; f < QN_BENCH_FIGURES; f++) {
        json_t *object =
            qn_bench_figures[f].row == r ? figure_json(bench, (enum qn_bench_figure)f) : NULL;
        if (object != NULL) {
            json_array_append_new(figures, object);
        }
    }
    json_t *row = json_pack("{s:s, s:s, s:o}", "name", qn_bench_rows[r].name, "what",
                            qn_bench_rows[r].what, "figures", figures);
    if (bench->reasons[r][0] != '\0') {
        json_object_set_new(row, "not_measured", json_string(bench->reasons[r]));
    }
    return row;
}

json_t *qn_bench_json(const struct qn_bench *bench)
{
    const struct qn_bench_options *options = bench->options;
    json_t *rows = json_array();

    for (size_t r = 0; r < qn_bench_row_count; r++) {
        if (bench->is_wanted[r]) {
            json_array_append_new(rows, row_json(bench, r));
        }
    }
    json_t *root = json_pack("{s:i, s:s, s:I, s:f, s:b, s:o}", "schema", 2, "tool", QN_VERSION,
                             "rounds", (json_int_t)options->rounds, "seconds", options->seconds,
                             "quick", (int)options->is_quick, "rows", rows);
    if (bench->curves != NULL) {
        json_object_set_new(root, "curves", qn_bench_curves_json(bench->curves));
    }
    return root;
}

/* ---- Markdown ---- */

static void write_table(const struct qn_bench *bench, struct qn_buf *out)
{
    qn_buf_append_literal(
        out, "| row | figure | measured | bar | aim |\n| --- | --- | --- | --- | --- |\n");
    for (size_t f = 0; f < QN_BENCH_FIGURES; f++) {
        const struct qn_bench_figure_row *row = &qn_bench_figures[f];
        bool is_first = f == 0 || qn_bench_figures[f - 1].row != row->row;
        char value[48];
        char bar[64];
        char aim[48];
        double median;
        if (row->kind == QN_BENCH_REPORT ||
            !qn_bench_median(bench, (enum qn_bench_figure)f, &median)) {
            continue;
        }
        write_value(value, median, row->unit);
        write_bar(bar, row);
        write_aim(aim, row);
        qn_buf_append_format(out, "| %s | %s | %s%s | %s | %s |\n",
                             is_first ? qn_bench_rows[row->row].name : "", row->what, value,
                             qn_bench_is_met(row, median) ? "" : " (missed)", bar, aim);
    }
}

static bool read_file(const char *path, struct qn_buf *ret_text)
{
    FILE *file = fopen(path, "re");
    char block[4096];
    size_t len;

    if (file == NULL) {
        return false;
    }
    while ((len = fread(block, 1, sizeof(block), file)) > 0) {
        qn_buf_append(ret_text, block, len);
    }
    bool ok = ferror(file) == 0;
    (void)fclose(file);
    return ok;
}

bool qn_bench_write_file(const char *path, struct qn_str text)
{
    FILE *file = fopen(path, "we");

    if (file == NULL) {
        return false;
    }
    bool ok = fwrite(text.ptr, 1, text.len, file) == text.len;
    return fclose(file) == 0 && ok;
}

/* Where the table goes: behind the line of its begin, up to that of its end. */
static bool find_place(const char *path, struct qn_buf *ret_text, size_t *ret_begin,
                       size_t *ret_end, char ret_error[256])
{
    if (!read_file(path, ret_text)) {
        (void)snprintf(ret_error, 256, "%.180s: %s", path, strerror(errno));
        return false;
    }
    struct qn_str text = qn_buf_str(ret_text);
    *ret_begin = qn_str_find(text, QN_STR("<!-- begin bench"));
    *ret_end = qn_str_find(text, QN_STR("<!-- end bench"));
    *ret_begin += qn_str_find_char(qn_str_from(text, *ret_begin), '\n') + 1;
    if (*ret_begin > *ret_end || *ret_end == text.len) {
        (void)snprintf(ret_error, 256,
                       "%.100s has no lines \"<!-- begin bench -->\" and \"<!-- end bench -->\"",
                       path);
        return false;
    }
    return true;
}

bool qn_bench_write_markdown(const struct qn_bench *bench, const char *path, char ret_error[256])
{
    struct qn_buf old;
    struct qn_buf out;
    size_t begin;
    size_t end;

    qn_buf_init(&old, SIZE_MAX / 2);
    qn_buf_init(&out, SIZE_MAX / 2);
    bool ok = find_place(path, &old, &begin, &end, ret_error);
    if (ok) {
        qn_buf_append_str(&out, qn_str_first(qn_buf_str(&old), begin));
        write_table(bench, &out);
        qn_buf_append_str(&out, qn_str_from(qn_buf_str(&old), end));
        ok = qn_bench_write_file(path, qn_buf_str(&out));
        (void)snprintf(ret_error, 256, "%.180s: %s", path, strerror(errno));
    }
    qn_buf_done(&old);
    qn_buf_done(&out);
    return ok;
}

/* A file that was not there is not there afterwards. */
static bool can_be_written(const char *path, char ret_error[256])
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd >= 0) {
        (void)unlink(path);
    } else if (errno == EEXIST) {
        fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    }
    if (fd < 0) {
        (void)snprintf(ret_error, 256, "%.180s cannot be written: %s", path, strerror(errno));
        return false;
    }
    (void)close(fd);
    return true;
}

bool qn_bench_check_files(const struct qn_bench_options *options, char ret_error[256])
{
    const char *const paths[] = {options->json_path, options->markdown_path, options->svg_path};
    struct qn_buf text;
    size_t begin;
    size_t end;
    bool ok = true;

    qn_buf_init(&text, SIZE_MAX / 2);
    if (options->markdown_path != NULL) {
        ok = find_place(options->markdown_path, &text, &begin, &end, ret_error);
    }
    qn_buf_done(&text);
    for (size_t i = 0; ok && i < sizeof(paths) / sizeof(paths[0]); i++) {
        ok = paths[i] == NULL || can_be_written(paths[i], ret_error);
    }
    return ok;
}
