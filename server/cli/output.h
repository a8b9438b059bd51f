/* What a command has printed, and whether it has got where it was to go. */
#ifndef QN_CLI_OUTPUT_H
#define QN_CLI_OUTPUT_H

#include <stdbool.h>

/* At the end of a command: what is still to be written, is. `word` is what was called, for the line
 * on stderr when it could not; the exit code, which then is not 0. */
int qn_output_end(const char *word, int code);
/* Whether all that was printed so far has been written. */
bool qn_output_is_written(void);
/* Whether nobody reads stdout any more, as behind `| head -1`. */
bool qn_output_is_unread(void);
/* What could not be written is given up: the command has told it itself. */
void qn_output_forget(void);
/* For a command that must not die when that happens, but tidy up first: now it may. Forgets what
 * could not be written, and returns only where SIGPIPE was ignored when the program was started. */
void qn_output_end_unread(void);

#endif
