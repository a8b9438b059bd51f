/* A client with a queue on a real server process. */
#ifndef TESTS_LIVE_CLIENT_H
#define TESTS_LIVE_CLIENT_H

#include "tests/support/live_server.h"

struct live_client {
    struct live_server server;
    struct quern_client *client; /* of the server's options */
    struct quern_error err;      /* of the last call that failed */
    char *queue_url;             /* of the queue "q" */
};

/* All of these end the test when a call fails. */
void live_client_start(struct live_client *live, const char *program);
void live_client_stop(struct live_client *live);
void live_client_send(struct live_client *live, const char *text);
/* Up to 10, at once, hidden for 30 s; for quern_answer_free. */
struct quern_messages *live_client_receive(struct live_client *live);
/* A rule of the server's faults. */
void live_client_add_rule(struct live_client *live, const char *rule);
/* How many messages are visible. */
int live_client_count(struct live_client *live);

#endif
