/* `quern check` and `quern judge`. */
#ifndef QN_CHECK_CHECK_H
#define QN_CHECK_CHECK_H

/* Exit codes. */
enum {
    QN_CHECK_WELL = 0,
    QN_CHECK_FAILED = 1, /* a FAIL; a WARN with --strict, a SKIP with --no-skip */
    QN_CHECK_USAGE = 2,
    QN_CHECK_INCONCLUSIVE = 3,
    QN_CHECK_BROKEN = 4 /* the harness or the server failed by itself */
};

/* Puts a consumer through the scenarios. argv[0] is the word "check". */
int qn_check_main(int argc, char **argv);
/* Writes quern.json and an adapter into the working directory. argv[0] is the word "init". */
int qn_check_init_main(int argc, char **argv);
/* Judges a stored trace anew. argv[0] is the word "judge". */
int qn_judge_main(int argc, char **argv);

#endif
