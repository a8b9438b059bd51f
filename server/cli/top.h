/* `quern top`: queues as rows, and how they are printed. */
#ifndef QN_CLI_TOP_H
#define QN_CLI_TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QN_TOP_UNKNOWN = -1 };
enum qn_top_sort { QN_TOP_BY_NAME, QN_TOP_BY_VISIBLE, QN_TOP_BY_OLDEST, QN_TOP_BY_DEAD };

struct qn_top_row {
    const char *name;
    int64_t visible;
    int64_t in_flight;
    int64_t delayed;
    int64_t oldest_s; /* QN_TOP_UNKNOWN: SQS does not tell, or nothing is there */
    double sent;      /* messages a second; QN_TOP_UNKNOWN: not counted */
    double received;
    double deleted;
    int64_t dead; /* messages in its dead-letter queue; QN_TOP_UNKNOWN: it has none */
    bool is_dead_letter_queue;
};

struct qn_top_rows {
    struct qn_top_row *items;
    size_t count;
};

/* `before`: the same list `elapsed_ms` earlier, or NULL. The rows point into `queues`. */
void qn_top_rows_init(struct qn_top_rows *rows, const json_t *queues, const json_t *before,
                      int64_t elapsed_ms, enum qn_top_sort sort);
void qn_top_rows_done(struct qn_top_rows *rows);

/* The page that they are printed on. */
struct qn_top_page {
    size_t columns; /* 0: as many as are needed */
    size_t lines;   /* for the rows and their head; 0: likewise */
    bool has_colours;
    const char *end_of_line;
};
void qn_top_rows_print(const struct qn_top_rows *rows, const struct qn_top_page *page);
/* [{"name", "visible", ..., "sent_per_second", ...}], with null for what is unknown. */
json_t *qn_top_rows_json(const struct qn_top_rows *rows);

#endif
