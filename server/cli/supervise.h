/* `quern serve --supervise`: a process that starts the server as its child, and again when it was
 * killed. */
#ifndef QN_CLI_SUPERVISE_H
#define QN_CLI_SUPERVISE_H

#include "server/cli/service.h"

/* Returns twice. True: this is a server, to be opened and run; what happens to it is the other
 * process's concern. False: this is the supervisor, which has seen the last server end, and
 * *ret_code is the status to end with. SIGTERM and SIGINT must be blocked. */
bool qn_supervise(struct qn_service *service, int *ret_code);

#endif
