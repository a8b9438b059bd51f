/* The smallest use of libquern: sends a message to a queue, receives what is there, deletes it.
 *
 *     cc send_and_receive.c $(pkg-config --cflags --libs quern) -o send_and_receive
 *     ./send_and_receive https://sqs.eu-west-1.amazonaws.com/123456789012/orders
 *
 * Against a Quern server: AWS_ENDPOINT_URL=http://127.0.0.1:9324, and any keys. */
#include <quern.h>

#include <stdio.h>
#include <string.h>

static int fail(const struct quern_error *err)
{
    (void)fprintf(stderr, "%s: %s%s\n", err->code, err->message,
                  err->is_unknown ? " (it may have been done all the same)" : "");
    return 1;
}

static int exchange(struct quern_client *client, const char *queue_url)
{
    const char *text = "{\"hello\": \"world\"}";
    const struct quern_message message = {
        .body = text, .body_len = strlen(text), .delay_s = QUERN_NOT_GIVEN};
    const struct quern_receive_options options = {.wait_s = 5, .visibility_s = QUERN_NOT_GIVEN};
    struct quern_messages *messages;
    struct quern_sent *sent;
    struct quern_error err;
    int status = 0;

    if (!quern_send_message(client, queue_url, &message, &sent, &err)) {
        return fail(&err);
    }
    (void)printf("sent %s\n", sent->message_id);
    quern_answer_free(sent);
    if (!quern_receive_message(client, queue_url, &options, &messages, &err)) {
        return fail(&err);
    }
    for (size_t i = 0; i < messages->count; i++) {
        const struct quern_received *one = &messages->items[i];
        (void)printf("received %s, time %lld: %s\n", one->message_id,
                     (long long)quern_received_number(one, "ApproximateReceiveCount"), one->body);
        if (!quern_delete_message(client, queue_url, one->receipt_handle, &err)) {
            status = fail(&err);
        }
    }
    quern_answer_free(messages);
    return status;
}

int main(int argc, char **argv)
{
    struct quern_client *client;
    struct quern_error err;

    if (argc != 2) {
        (void)fprintf(stderr, "usage: send_and_receive QUEUE-URL\n");
        return 2;
    }
    if (!quern_client_new(NULL, &client, &err)) {
        return fail(&err);
    }
    int status = exchange(client, argv[1]);
    quern_client_free(client);
    return status;
}
