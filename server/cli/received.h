/* Messages that were received, as JSON for programs. */
#ifndef QN_CLI_RECEIVED_H
#define QN_CLI_RECEIVED_H

#include "client/quern.h"

/* As the API model has a message, with the members that it was received with. */
json_t *qn_received_json(const struct quern_received *message);

#endif
