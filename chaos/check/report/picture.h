/* The picture of one scenario: time from left to right, lanes from top to bottom. */
#ifndef QN_CHECK_PICTURE_H
#define QN_CHECK_PICTURE_H

#include "chaos/check/report/report.h"

enum {
    QN_PICTURE_WIDTH = 1000,
    QN_PICTURE_LEFT = 150, /* of the time axis; lane names stand before it */
    QN_PICTURE_RIGHT = 972,
    QN_PICTURE_JUMPS_MAX = 64,
    QN_PICTURE_ROWS_MAX = 60,
    QN_PICTURE_ROWS_OF_PASS = 24, /* of a scenario in which nothing was found */
    QN_PICTURE_MARKS_MAX = 2500,  /* of all lanes together */
    QN_PICTURE_ROW_MARKS_MAX = 150
};

/* A message as it is drawn. */
struct qn_picture_row {
    struct qn_str k;
    struct qn_str grp;
    size_t order; /* of arrival */
    bool is_witness;
    bool is_done; /* for the strips: no longer in the queue */
    bool is_held;
    int64_t sent_ms;
};

struct qn_picture {
    const struct qn_history *history;
    const struct qn_judgement *judgement;
    struct qn_report_queues queues;
    size_t end; /* events up to the mark of the end */
    int64_t from_ms, to_ms;
    int64_t wall_from_ms;
    struct {
        int64_t from_ms, to_ms;
    } jumps[QN_PICTURE_JUMPS_MAX]; /* of the clock: drawn narrow */
    size_t jump_count;
    int64_t gap_ms;       /* what a jump is drawn as */
    struct qn_table rows; /* struct qn_picture_row, by key */
    int y;                /* of the next lane */
    size_t marks;
    size_t marks_left_out;
    struct qn_buf body;
};

/* Appends the picture, and below it what was left out of it. Nothing when there are no events. */
void qn_picture_append(const struct qn_report_entry *entry, struct qn_buf *buf);

/* For the lanes. */
/* Of a message in another queue than the source: what the consumer publishes, or puts aside. */
bool qn_picture_is_elsewhere(const struct qn_picture *picture, const struct qn_check_event *event);
double qn_picture_x(const struct qn_picture *picture, int64_t virtual_ms);
/* False once there are too many. */
bool qn_picture_has_room(struct qn_picture *picture);
void qn_picture_mark(struct qn_picture *picture, struct qn_buf *buf, const char *shape,
                     const struct qn_check_event *event, int y);
/* Gives the marks to a lane of this height at the next place. */
void qn_picture_lane(struct qn_picture *picture, const char *kind, struct qn_str name, int height,
                     struct qn_buf *marks);
/* Seconds since the beginning, as the ruler has them. */
double qn_picture_seconds(const struct qn_picture *picture, int64_t virtual_ms);
/* "1" of QUERN0001; 0: none of ours. */
int64_t qn_picture_instance(struct qn_str name);

/* strips.c, rows.c */
void qn_picture_append_strips(struct qn_picture *picture);
void qn_picture_append_rows(struct qn_picture *picture, size_t most, size_t *ret_drawn);

#endif
