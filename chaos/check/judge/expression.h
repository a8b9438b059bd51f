/* What the two halves of reading an expression share: the grammar, and what its functions say. */
#ifndef QN_CHECK_JUDGE_EXPRESSION_H
#define QN_CHECK_JUDGE_EXPRESSION_H

#include "chaos/check/judge/book.h"

enum { QN_EXPRESSION_ARGUMENTS_MAX = 3, QN_EXPRESSION_PER_KEY_MAX = 16 };

struct qn_expression {
    const struct qn_judge_input *in; /* with tally and book */
    struct qn_str text;
    size_t at;
    int depth;
    bool failed;
    enum qn_level needs; /* the level at which all that it asked for can be seen */
    struct qn_error *err;
    /* Of the comparison at hand. */
    bool is_absent;         /* something that it asked for never happened */
    struct qn_str absent;   /* the event or mark that is not there */
    struct qn_str pattern;  /* events that it was about, for witnesses; none: of no kind */
    struct qn_str selector; /* and their messages; none: all */
};

/* A value; err says at which column it went wrong and what was expected there. */
double qn_expression_fail(struct qn_expression *x, size_t at, const char *format, ...)
    QN_PRINTF(3, 4);
/* Calls a function by name; from is its column. */
double qn_expression_call(struct qn_expression *x, size_t from, struct qn_str name,
                          const struct qn_str *arguments, size_t count);
/* Whether it is a function that counts per message, as max() and min() take it. */
bool qn_expression_is_per_key(struct qn_str name);
/* Their names, at most QN_EXPRESSION_PER_KEY_MAX. */
size_t qn_expression_per_key_names(const char **ret_names);
/* What it counts, over all messages that are meant. */
double qn_expression_sum(struct qn_expression *x, struct qn_str name, struct qn_str selector);
/* What is asked for can only be seen at this level. */
void qn_expression_need(struct qn_expression *x, enum qn_level level);
/* The largest or smallest of what a function counts, over the selected messages that were sent. */
double qn_expression_extreme(struct qn_expression *x, struct qn_str name, struct qn_str selector,
                             bool is_max);
/* Whether the event is about one of the messages that are meant. */
bool qn_expression_is_about(const struct qn_judge_input *in, const struct qn_check_event *event,
                            struct qn_str selector);
/* Lines of its log that have a canary in them, and those that name one of these messages. */
double qn_expression_canaries(struct qn_expression *x);
double qn_expression_printed(struct qn_expression *x, struct qn_str selector);
/* Messages in the dead-letter queue at the end. */
double qn_expression_dlq_left(const struct qn_expression *x);
/* Receives that were answered at once with nothing, of those that came between two events. */
double qn_expression_short_polls(struct qn_expression *x, uint64_t from_seq, uint64_t to_seq);
/* Adds the events that the comparison was about. */
void qn_expression_witness(const struct qn_expression *x, struct qn_finding *finding);

#endif
