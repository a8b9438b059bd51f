/* Text for people, broken into lines that fit their terminal. */
#ifndef QN_BASE_WRAP_H
#define QN_BASE_WRAP_H

#include <stdio.h>

#include "server/base/str.h"

/* Prints the text from the column on at which the line is, and a newline. It is broken at blanks
 * where the line would be longer than $COLUMNS says (80 unless it says 60 or more); the lines that
 * follow begin at that column too. A word that is longer than a line is cut. */
void qn_wrap_print(struct qn_str text, size_t column, FILE *out);

#endif
