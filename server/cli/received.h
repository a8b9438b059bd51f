/* Receiving for a command, and what was received as JSON for programs. */
#ifndef QN_CLI_RECEIVED_H
#define QN_CLI_RECEIVED_H

#include "client/quern.h"
#include "server/base/error.h"

/* quern_receive_message, and a line on stderr for each message that arrived damaged: it is in none
 * of what the command does, so nothing else would name it. Also when the call fails for that. */
QN_MUST_CHECK bool qn_received_get(struct quern_client *client, const char *command,
                                   const char *queue_url, const struct quern_receive_options *how,
                                   struct quern_messages **ret_messages, struct quern_error *err);

/* As the API model has a message, with the members that it was received with. */
json_t *qn_received_json(const struct quern_received *message);

#endif
