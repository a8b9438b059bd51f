/* Commands that take a word first: `quern WORD`, `quern chaos WORD`. */
#ifndef QN_CLI_WORDS_H
#define QN_CLI_WORDS_H

#include <stddef.h>

struct qn_word {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is all words up to its own: "send", "chaos add" */
    const char *help;
};

/* Runs the word in argv[1]; asked for help lists them all. `above` is what stands before the word:
 * "quern", "quern chaos". Returns the exit code. */
int qn_words_run(const char *above, const struct qn_word *words, size_t count, int argc,
                 char **argv);

#endif
