/* `quern bench`: how fast the server is, beside a bare libmicrohttpd that answers the same bytes.
 */
#ifndef QN_BENCH_BENCH_H
#define QN_BENCH_BENCH_H

/* argv[0] is the word "bench". Returns the exit code: 0, 2 for wrong usage, 4 when something could
 * not be measured. */
int qn_bench_main(int argc, char **argv);

#endif
