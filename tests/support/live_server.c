#include "tests/support/live_server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

void live_server_start(struct live_server *server, const char *program)
{
    const char *named = getenv("QUERN_PROGRAM");
    int port = qn_bench_free_port();
    struct qn_bench_words words = {0};
    struct quern_error err;
    char number[16];

    (void)snprintf(number, sizeof(number), "%d", port);
    for (const char *const *word = (const char *const[]){named != NULL ? named : program, "serve",
                                                         "--port", number, "--log", "error", NULL};
         *word != NULL; word++) {
        qn_bench_words_add(&words, *word);
    }
    bool ok = qn_bench_start(&words, port, &server->child);
    assert(ok);
    (void)snprintf(server->endpoint, sizeof(server->endpoint), "http://127.0.0.1:%d/",
                   server->child.port);
    server->options = (struct quern_options){
        .endpoint = server->endpoint,
        .region = "us-east-1",
        .access_key = "test",
        .secret_key = "test",
        .retry_base_ms = 5,
        .seed = 1,
    };
    ok = quern_client_new(&server->options, &server->client, &err);
    assert(ok);
}

void live_server_stop(struct live_server *server)
{
    quern_client_free(server->client);
    qn_bench_stop(&server->child);
}
