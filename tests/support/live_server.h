/* A real server process for tests of the client, and a client of it. */
#ifndef TESTS_LIVE_SERVER_H
#define TESTS_LIVE_SERVER_H

#include "client/bench/child.h"
#include "client/quern.h"

struct live_server {
    struct qn_bench_child child;
    char endpoint[64]; /* with a slash at its end */
    struct quern_options options;
    struct quern_client *client;
};

/* Starts the program of QUERN_PROGRAM, or this one when it is not set. Asserts. */
void live_server_start(struct live_server *server, const char *program);
void live_server_stop(struct live_server *server);

#endif
