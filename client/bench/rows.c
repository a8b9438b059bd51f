/* The tables that rows.def describes, and the notes that a run takes for them. */
#include "client/bench/rows.h"

#include <stdarg.h>
#include <stdlib.h>

enum row_number {
#define QN_BENCH_ROW(symbol, name, is_plain, what) ROW_##symbol,
#define QN_BENCH_FIGURE(symbol, name, what, unit, kind, bar, aim)
#include "client/bench/rows.def"
#undef QN_BENCH_ROW
#undef QN_BENCH_FIGURE
    ROW_COUNT
};
_Static_assert((int)ROW_COUNT <= (int)QN_BENCH_ROWS_MAX, "room for the rows");

const struct qn_bench_row qn_bench_rows[] = {
#define QN_BENCH_ROW(symbol, name, is_plain, what)                                                 \
    {name, what, is_plain, qn_bench_measure_##symbol},
#define QN_BENCH_FIGURE(symbol, name, what, unit, kind, bar, aim)
#include "client/bench/rows.def"
#undef QN_BENCH_ROW
#undef QN_BENCH_FIGURE
};
const size_t qn_bench_row_count = ROW_COUNT;

/* Which row a figure belongs to: the number of rows that begin before it. */
enum place {
#define QN_BENCH_ROW(symbol, name, is_plain, what) BEFORE_##symbol,
#define QN_BENCH_FIGURE(symbol, name, what, unit, kind, bar, aim) PLACE_##symbol,
#include "client/bench/rows.def"
#undef QN_BENCH_ROW
#undef QN_BENCH_FIGURE
};

const struct qn_bench_figure_row qn_bench_figures[QN_BENCH_FIGURES] = {
#define QN_BENCH_ROW(symbol, name, is_plain, what)
#define QN_BENCH_FIGURE(symbol, name, what, unit, kind, bar, aim)                                  \
    {(size_t)PLACE_##symbol - QN_BENCH_##symbol - 1, name, what, unit, QN_BENCH_##kind, bar, aim},
#include "client/bench/rows.def"
#undef QN_BENCH_ROW
#undef QN_BENCH_FIGURE
};

const char *const *qn_bench_row_names(size_t *ret_count)
{
    static const char *const names[] = {
#define QN_BENCH_ROW(symbol, name, is_plain, what) name,
#define QN_BENCH_FIGURE(symbol, name, what, unit, kind, bar, aim)
#include "client/bench/rows.def"
#undef QN_BENCH_ROW
#undef QN_BENCH_FIGURE
        NULL};

    *ret_count = ROW_COUNT;
    return names;
}

bool qn_bench_row_is_plain(const char *name)
{
    for (size_t i = 0; i < qn_bench_row_count; i++) {
        if (strcmp(qn_bench_rows[i].name, name) == 0) {
            return qn_bench_rows[i].is_plain;
        }
    }
    return false;
}

void qn_bench_list(FILE *file)
{
    for (size_t i = 0; i < qn_bench_row_count; i++) {
        (void)fprintf(file, "%-13s %s\n", qn_bench_rows[i].name, qn_bench_rows[i].what);
    }
}

bool qn_bench_fail(struct qn_bench *bench, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(bench->error, sizeof(bench->error), format, list);
    va_end(list);
    return false;
}

void qn_bench_progress(const struct qn_bench *bench, const char *what, int64_t round)
{
    if (bench->options->shows_progress) {
        (void)fprintf(stderr, "\r%-40.40s round %lld of %lld ", what, (long long)round + 1,
                      (long long)bench->options->rounds);
        (void)fflush(stderr);
    }
}

int64_t qn_bench_size(const struct qn_bench *bench, int64_t full, int64_t quick)
{
    return bench->options->is_quick ? quick : full;
}

void qn_bench_note(struct qn_bench *bench, enum qn_bench_figure figure, double value)
{
    struct qn_bench_notes *notes = &bench->notes[figure];

    if (value >= 0 && notes->count < QN_BENCH_ROUNDS_MAX) {
        notes->values[notes->count++] = value;
    }
}

void qn_bench_note_ratio(struct qn_bench *bench, enum qn_bench_figure figure, double a, double b)
{
    qn_bench_note(bench, figure, a >= 0 && b > 0 ? a / b : -1);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

bool qn_bench_median(const struct qn_bench *bench, enum qn_bench_figure figure, double *ret_value)
{
    struct qn_bench_notes notes = bench->notes[figure];
    size_t middle = notes.count / 2;

    if (notes.count == 0) {
        return false;
    }
    qsort(notes.values, notes.count, sizeof(double), ascending);
    *ret_value = notes.count % 2 == 1 ? notes.values[middle]
                                      : (notes.values[middle - 1] + notes.values[middle]) / 2;
    return true;
}

bool qn_bench_is_met(const struct qn_bench_figure_row *row, double value)
{
    return row->kind == QN_BENCH_REPORT ||
           (row->kind == QN_BENCH_AT_MOST ? value <= row->bar : value >= row->bar);
}
