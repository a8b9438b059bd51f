/* What came out: as a table for people, as JSON, as the block of a Markdown file. */
#ifndef QN_BENCH_REPORT_H
#define QN_BENCH_REPORT_H

#include "client/bench/rows.h"

void qn_bench_print(const struct qn_bench *bench, FILE *file);
/* A new reference. */
json_t *qn_bench_json(const struct qn_bench *bench);
/* Replaces what stands between the lines with "begin bench" and "end bench". False with a reason in
 * ret_error: the file cannot be read or written, or has no such lines. */
QN_MUST_CHECK bool qn_bench_write_markdown(const struct qn_bench *bench, const char *path,
                                           char ret_error[256]);
/* All of a file, or false. */
QN_MUST_CHECK bool qn_bench_write_file(const char *path, struct qn_str text);

#endif
