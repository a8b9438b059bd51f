/* Completion of commands and options in a shell. */
#ifndef QN_CLI_COMPLETION_H
#define QN_CLI_COMPLETION_H

#include "server/cli/words.h"

/* `quern completion bash|zsh`: prints the script. What the commands take is read from their own
 * help, which is printed from their tables of options. */
int qn_completion_main(const struct qn_word *commands, size_t count, int argc, char **argv);

#endif
