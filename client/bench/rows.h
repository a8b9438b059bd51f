/* The rows of the table, and what the measurements of a run share. */
#ifndef QN_BENCH_ROWS_H
#define QN_BENCH_ROWS_H

#include "client/bench/bench.h"
#include "client/bench/server.h"

enum qn_bench_bar { QN_BENCH_REPORT, QN_BENCH_AT_MOST, QN_BENCH_AT_LEAST };

enum qn_bench_figure {
#define QN_BENCH_ROW(symbol, name, is_plain, what)
#define QN_BENCH_FIGURE(symbol, name, what, unit, kind, bar, aim) QN_BENCH_##symbol,
#include "client/bench/rows.def"
#undef QN_BENCH_ROW
#undef QN_BENCH_FIGURE
    QN_BENCH_FIGURES
};

struct qn_bench;

struct qn_bench_row {
    const char *name;
    const char *what;
    bool is_plain;
    bool (*measure)(struct qn_bench *bench);
};

struct qn_bench_figure_row {
    size_t row;
    const char *name;
    const char *what;
    const char *unit;
    enum qn_bench_bar kind;
    double bar;
    double aim; /* 0: none */
};

extern const struct qn_bench_row qn_bench_rows[];
extern const size_t qn_bench_row_count;
extern const struct qn_bench_figure_row qn_bench_figures[QN_BENCH_FIGURES];

/* One value for each round. */
struct qn_bench_notes {
    double values[QN_BENCH_ROUNDS_MAX];
    size_t count;
};

enum { QN_BENCH_ROWS_MAX = 32 };

struct qn_bench {
    const struct qn_bench_options *options;
    char directory[256]; /* of this run */
    struct qn_bench_server echo;
    struct qn_bench_notes notes[QN_BENCH_FIGURES];
    bool is_wanted[QN_BENCH_ROWS_MAX];
    char reasons[QN_BENCH_ROWS_MAX][256]; /* why a row was not measured, or "" */
    int64_t serial;                       /* of names */
    char error[256];
    struct qn_bench_curves *curves; /* NULL: not wanted */
};

/* Sets the reason and returns false. */
bool qn_bench_fail(struct qn_bench *bench, const char *format, ...) QN_PRINTF(2, 3);
/* Where the run is, on a terminal. */
void qn_bench_progress(const struct qn_bench *bench, const char *what, int64_t round);
/* full, or its tiny size with --quick. */
int64_t qn_bench_size(const struct qn_bench *bench, int64_t full, int64_t quick);

/* The value of one round; what could not be seen (below 0) is left out. */
void qn_bench_note(struct qn_bench *bench, enum qn_bench_figure figure, double value);
/* a over b; left out when one of them could not be seen. */
void qn_bench_note_ratio(struct qn_bench *bench, enum qn_bench_figure figure, double a, double b);
/* Of the rounds; false without any. */
bool qn_bench_median(const struct qn_bench *bench, enum qn_bench_figure figure, double *ret_value);
bool qn_bench_is_met(const struct qn_bench_figure_row *row, double value);

#define QN_BENCH_ROW(symbol, name, is_plain, what)                                                 \
    bool qn_bench_measure_##symbol(struct qn_bench *bench);
#define QN_BENCH_FIGURE(symbol, name, what, unit, kind, bar, aim)
#include "client/bench/rows.def"
#undef QN_BENCH_ROW
#undef QN_BENCH_FIGURE

#endif
