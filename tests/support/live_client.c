#include "tests/support/live_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(struct live_client *live, bool ok, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "%s: %s: %s\n", what, live->err.code, live->err.message);
        abort();
    }
}

void live_client_start(struct live_client *live, const char *program)
{
    *live = (struct live_client){.queue_url = NULL};
    live_server_start(&live->server, program);
    live->client = live->server.client;
    expect(live, quern_create_queue(live->client, "q", NULL, NULL, &live->queue_url, &live->err),
           "CreateQueue");
}

void live_client_stop(struct live_client *live)
{
    quern_text_free(live->queue_url);
    live_server_stop(&live->server);
}

void live_client_send(struct live_client *live, const char *text)
{
    const struct quern_message message = {
        .body = text, .body_len = strlen(text), .delay_s = QUERN_NOT_GIVEN};

    expect(live, quern_send_message(live->client, live->queue_url, &message, NULL, &live->err),
           "SendMessage");
}

struct quern_messages *live_client_receive(struct live_client *live)
{
    const struct quern_receive_options options = {.wait_s = 0, .visibility_s = 30};
    struct quern_messages *messages = NULL;

    expect(live,
           quern_receive_message(live->client, live->queue_url, &options, &messages, &live->err),
           "ReceiveMessage");
    return messages;
}

void live_client_add_rule(struct live_client *live, const char *rule)
{
    json_t *body = json_pack("{s:s}", "rule", rule);

    expect(live, quern_http_post(live->client, "/_quern/rules", body, NULL, &live->err), rule);
    json_decref(body);
}

int live_client_count(struct live_client *live)
{
    static const char *const names[] = {"ApproximateNumberOfMessages"};
    struct quern_pairs *attributes = NULL;

    expect(live,
           quern_get_queue_attributes(live->client, live->queue_url, names, 1, &attributes,
                                      &live->err),
           "GetQueueAttributes");
    int count = (int)strtol(quern_pairs_get(attributes, names[0]), NULL, 10);
    quern_answer_free(attributes);
    return count;
}
