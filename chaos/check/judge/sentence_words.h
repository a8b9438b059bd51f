/* The words of sentences, by function and by kind of event: the tables that sentence.c reads. */
#ifndef QN_CHECK_JUDGE_SENTENCE_WORDS_H
#define QN_CHECK_JUDGE_SENTENCE_WORDS_H

#include "server/base/str.h"

/* What a function counts in. */
enum qn_quantity { QN_TIMES, QN_NUMBER, QN_RATE, QN_MS };

/* {which}: the messages that its first argument means, {which2} its second; {be}: was or were, as
 * they are one or more; {event}: a sentence about the event of its first argument, {noun} a name
 * for it; {of2} and {in1}, {in2}: of these messages, in this phase, when there is such an argument;
 * {1}: the argument as it stands; {n}: how much it was. */
struct qn_function_words {
    const char *name;
    enum qn_quantity quantity;
    const char *text;
};

struct qn_event_words {
    const char *kind;
    const char *noun;
    const char *sentence;
};

/* NULL: there are none. */
const struct qn_function_words *qn_function_words_find(struct qn_str name);
const struct qn_event_words *qn_event_words_find(struct qn_str kind);

#endif
