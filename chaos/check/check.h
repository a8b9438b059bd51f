/* `quern check` and `quern judge`. */
#ifndef QN_CHECK_CHECK_H
#define QN_CHECK_CHECK_H

/* Puts a consumer through the scenarios. argv[0] is the word "check". Returns the exit code: 0 all
 * well, 1 a verdict of FAIL (or WARN with --strict, SKIP with --no-skip), 2 usage, 3 inconclusive,
 * 4 the harness or the server failed by itself. */
int qn_check_main(int argc, char **argv);
/* Judges a stored trace anew. argv[0] is the word "judge". The same exit codes. */
int qn_judge_main(int argc, char **argv);

#endif
