/* The subcommands. Each gets argv from its own word on and returns the exit code. */
#ifndef QN_CLI_CLI_H
#define QN_CLI_CLI_H

/* Exit codes: 0 all well, 1 the server refused or did not answer, 2 a mistake in the command. */
enum { QN_EXIT_OK = 0, QN_EXIT_FAILED = 1, QN_EXIT_USAGE = 2 };

int qn_serve_main(int argc, char **argv);
/* 2 also when rules are wrong, or there is none of a name. */
int qn_chaos_main(int argc, char **argv);
/* 4 when something could not be measured. */
int qn_bench_main(int argc, char **argv);
/* 1 when something was found, 4 when the server could not be asked. */
int qn_assumptions_main(int argc, char **argv);
int qn_scenarios_main(int argc, char **argv);
int qn_explain_main(int argc, char **argv);
int qn_queues_main(int argc, char **argv);
int qn_top_main(int argc, char **argv);
int qn_attributes_main(int argc, char **argv);
int qn_send_main(int argc, char **argv);
int qn_receive_main(int argc, char **argv);
int qn_delete_main(int argc, char **argv);
/* 2 also when the options do not fit the queue or CMD cannot be started; 1 also when it is gone
 * later. */
int qn_consume_main(int argc, char **argv);
int qn_peek_main(int argc, char **argv);
int qn_tail_main(int argc, char **argv);
int qn_purge_main(int argc, char **argv);
int qn_redrive_main(int argc, char **argv);
/* 1 also when a message stayed behind or may be there twice. */
int qn_move_main(int argc, char **argv);
/* 1 also when not all messages could be read, or given back. */
int qn_export_main(int argc, char **argv);
/* 1 also when some messages were not taken, were repetitions or a signal came; 2 also when lines
 * are wrong, and nothing was sent. */
int qn_import_main(int argc, char **argv);
/* 1 also when something came out otherwise than recorded. */
int qn_replay_main(int argc, char **argv);
/* 1 also when --audit has something to say; 2 also when the mapping does not fit the queue. */
int qn_lambda_main(int argc, char **argv);
int qn_health_main(int argc, char **argv);
int qn_version_main(int argc, char **argv);

#endif
