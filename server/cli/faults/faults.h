/* What the words of `quern chaos` share. */
#ifndef QN_CLI_FAULTS_H
#define QN_CLI_FAULTS_H

#include "server/cli/remote.h"

int qn_chaos_add_main(int argc, char **argv);
int qn_chaos_list_main(int argc, char **argv);
int qn_chaos_remove_main(int argc, char **argv);
int qn_chaos_clear_main(int argc, char **argv);
int qn_chaos_enable_main(int argc, char **argv);
int qn_chaos_disable_main(int argc, char **argv);
int qn_chaos_release_main(int argc, char **argv);
int qn_chaos_log_main(int argc, char **argv);
int qn_chaos_profiles_main(int argc, char **argv);
int qn_chaos_show_main(int argc, char **argv);

/* False when the server has no fault rules at all. */
QN_MUST_CHECK bool qn_chaos_check_quern(struct qn_remote *remote, struct quern_error *err);
/* The rules of the server, as GET rules gives them. The caller owns them. */
QN_MUST_CHECK bool qn_chaos_get_rules(struct qn_remote *remote, json_t **ret_rules,
                                      struct quern_error *err);
/* A table of those whose names are in the list, or of all (NULL), and what is to be known of single
 * ones below it. */
void qn_chaos_print_rules(const json_t *rules, const json_t *names);
/* The text of an object's member, "" when there is none. */
const char *qn_chaos_text(const json_t *object, const char *name);

#endif
