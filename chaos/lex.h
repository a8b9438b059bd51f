/* Words of a rule, one at a time, and errors that say where and what would have been right. */
#ifndef QN_CHAOS_LEX_H
#define QN_CHAOS_LEX_H

#include "chaos/mistake.h"
#include "server/base/arena.h"

enum qn_lex_kind {
    QN_LEX_END,
    QN_LEX_WORD, /* all but blanks and the signs below */
    QN_LEX_TEXT, /* "quoted", with \", \\ and \n */
    QN_LEX_SIGN  /* = != < <= > >= ~ ( ) , */
};

struct qn_lex {
    struct qn_str whole;
    struct qn_arena *arena; /* for quoted texts */
    struct qn_mistakes *mistakes;
    int64_t first_line; /* the number of the first line of `whole` */
    bool failed;        /* there is a mistake; what follows reads as the end */
    bool is_broken;     /* not even words can be read from here on */
    /* The current token. */
    enum qn_lex_kind kind;
    struct qn_str text; /* of a quoted one without the quotes */
    size_t from;        /* its first byte in `whole` */
    size_t to;          /* the byte behind it */
    size_t last_to;     /* the byte behind the token before it */
};

/* Reads the first token. The text must stay where it is. */
void qn_lex_init(struct qn_lex *lex, struct qn_str whole, int64_t first_line,
                 struct qn_arena *arena, struct qn_mistakes *mistakes);
void qn_lex_next(struct qn_lex *lex);
/* After a failure: goes on with the token at which it failed. False when that cannot be. */
QN_MUST_CHECK bool qn_lex_resume(struct qn_lex *lex);

/* Whether the current token is this bare word or sign. */
bool qn_lex_is(const struct qn_lex *lex, const char *text);
/* The same, and goes on to the next token. */
bool qn_lex_take(struct qn_lex *lex, const char *text);
/* Takes this word or sign, or fails. */
QN_MUST_CHECK bool qn_lex_expect(struct qn_lex *lex, const char *text);

/* All return false. Behind a failure nothing more is noted. `expected` completes "expected ...". */
bool qn_lex_fail_expected(struct qn_lex *lex, const char *expected);
/* Adds the legal word that is nearest to the current one, or all of them when they are few and none
 * is near. */
bool qn_lex_fail_words(struct qn_lex *lex, const char *expected, const char *const *words,
                       size_t count);
/* Any sentence, about the byte at `at`. */
bool qn_lex_fail_at(struct qn_lex *lex, size_t at, const char *format, ...) QN_PRINTF(3, 4);

/* The word with the fewest slips between, or NULL when none is near. Case counts as no slip. */
const char *qn_nearest_word(struct qn_str word, const char *const *words, size_t count);
/* How many slips lie between two words; SIZE_MAX for very long ones. */
size_t qn_word_slips(struct qn_str a, struct qn_str b);

#endif
