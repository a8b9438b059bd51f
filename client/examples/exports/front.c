/* POST /exports        202 with the id and where to ask; with an Idempotency-Key, and always the
 *                      same answer for the same key
 * GET  /exports/ID     what became of it
 * GET  /dashboard      backlog, age of the oldest, dead letters
 * POST /replay?max=N   up to 10 dead letters back to the queue */
#include <microhttpd.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exports/exports.h"

enum { BODY_MAX = 65536, REPLAY_MAX = QUERN_BATCH_MAX, REPLAY_LEASE_S = 30 };

struct upload {
    size_t len;
    bool is_too_long;
    char bytes[BODY_MAX];
};

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status, json_t *body)
{
    char *text = json_dumps(body, JSON_COMPACT);
    struct MHD_Response *response = MHD_create_response_from_buffer(text != NULL ? strlen(text) : 0,
                                                                    text, MHD_RESPMEM_MUST_FREE);

    json_decref(body);
    (void)MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned int status,
                              const char *why)
{
    return answer(connection, status, json_pack("{s:s}", "error", why));
}

static enum MHD_Result tell_request(struct MHD_Connection *connection, unsigned int status,
                                    const struct export_request *request)
{
    return answer(connection, status,
                  json_pack("{s:s, s:s, s:s+, s:s, s:s}", "requestId", request->id, "state",
                            request->state, "statusUrl", "/exports/", request->id, "file",
                            request->file, "reason", request->reason));
}

static enum MHD_Result accept_export(const struct exports *exports,
                                     struct MHD_Connection *connection, const struct upload *upload)
{
    const char *key = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Idempotency-Key");
    json_t *parameters = json_loadb(upload->bytes, upload->len, 0, NULL);
    struct export_request request;

    if (key == NULL || *key == '\0' || !json_is_object(parameters)) {
        json_decref(parameters);
        return refuse(connection, MHD_HTTP_BAD_REQUEST,
                      "an Idempotency-Key and a JSON object are needed");
    }
    enum export_accepted accepted = quern_exports_accept(exports, key, parameters, &request);
    json_decref(parameters);
    switch (accepted) {
    case EXPORT_ACCEPTED: /* no more than that: nothing is made yet */
        return tell_request(connection, MHD_HTTP_ACCEPTED, &request);
    case EXPORT_OTHER_PARAMETERS:
        return refuse(connection, MHD_HTTP_UNPROCESSABLE_CONTENT,
                      "this Idempotency-Key was used with other parameters");
    default:
        return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "try again with the same key");
    }
}

static void add_depth(const struct exports *exports, const char *queue_url, const char *name,
                      json_t *page)
{
    const char *const names[] = {"ApproximateNumberOfMessages",
                                 "ApproximateNumberOfMessagesNotVisible",
                                 "ApproximateNumberOfMessagesDelayed"};
    struct quern_pairs *depth;
    struct quern_error err;

    if (!quern_get_queue_attributes(exports->client, queue_url, names, 3, &depth, &err)) {
        (void)json_object_set_new(page, name, json_string(err.code));
        return;
    }
    (void)json_object_set_new(
        page, name,
        json_pack("{s:s*, s:s*, s:s*}", "visible", quern_pairs_get(depth, names[0]), "inFlight",
                  quern_pairs_get(depth, names[1]), "delayed", quern_pairs_get(depth, names[2])));
    quern_answer_free(depth);
}

static enum MHD_Result show_dashboard(const struct exports *exports,
                                      struct MHD_Connection *connection)
{
    json_t *page = json_pack("{s:o}", "requests", quern_exports_summary(exports));

    add_depth(exports, exports->queue_url, "queue", page);
    if (exports->dlq_url != NULL) {
        add_depth(exports, exports->dlq_url, "deadLetters", page);
    }
    return answer(connection, MHD_HTTP_OK, page);
}

/* Sent before it is deleted: what dies in between is there twice, and the inbox makes it one. */
static int64_t replay(const struct exports *exports, int64_t most, struct quern_error *err)
{
    const struct quern_receive_options options = {.max_messages = most,
                                                  .visibility_s = REPLAY_LEASE_S};
    struct quern_messages *letters;
    int64_t replayed = 0;

    if (!quern_receive_message(exports->client, exports->dlq_url, &options, &letters, err)) {
        return -1;
    }
    for (size_t i = 0; i < letters->count; i++) {
        const struct quern_received *letter = &letters->items[i];
        const struct quern_message message = {
            .body = letter->body, .body_len = letter->body_len, .delay_s = QUERN_NOT_GIVEN};
        replayed +=
            quern_send_message(exports->client, exports->queue_url, &message, NULL, err) &&
            quern_delete_message(exports->client, exports->dlq_url, letter->receipt_handle, err);
    }
    quern_answer_free(letters);
    return replayed;
}

static enum MHD_Result replay_some(const struct exports *exports, struct MHD_Connection *connection)
{
    const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "max");
    long most = text != NULL ? strtol(text, NULL, 10) : 1;
    struct quern_error err;

    if (exports->dlq_url == NULL || most < 1 || most > REPLAY_MAX) {
        return refuse(connection, MHD_HTTP_BAD_REQUEST, "max=1 to max=10, and a DLQ_URL");
    }
    int64_t replayed = replay(exports, most, &err);
    return replayed < 0 ? refuse(connection, MHD_HTTP_BAD_GATEWAY, err.code)
                        : answer(connection, MHD_HTTP_OK,
                                 json_pack("{s:I}", "replayed", (json_int_t)replayed));
}

static enum MHD_Result route(const struct exports *exports, struct MHD_Connection *connection,
                             const char *method, const char *path, const struct upload *upload)
{
    static const char one[] = "/exports/";
    struct export_request request;

    if (upload->is_too_long) {
        return refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE, "too long");
    }
    if (strcmp(method, "POST") == 0 && strcmp(path, "/exports") == 0) {
        return accept_export(exports, connection, upload);
    }
    if (strcmp(method, "POST") == 0 && strcmp(path, "/replay") == 0) {
        return replay_some(exports, connection);
    }
    if (strcmp(method, "GET") == 0 && strcmp(path, "/dashboard") == 0) {
        return show_dashboard(exports, connection);
    }
    if (strcmp(method, "GET") == 0 && strncmp(path, one, sizeof(one) - 1) == 0 &&
        quern_exports_find(exports, path + sizeof(one) - 1, &request)) {
        return tell_request(connection, MHD_HTTP_OK, &request);
    }
    return refuse(connection, MHD_HTTP_NOT_FOUND, "nothing here");
}

static enum MHD_Result handle(void *state, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *bytes,
                              size_t *len, void **ret_upload)
{
    struct upload *upload = *ret_upload;

    (void)version;
    if (upload == NULL) {
        *ret_upload = calloc(1, sizeof(*upload));
        return *ret_upload != NULL ? MHD_YES : MHD_NO;
    }
    if (*len == 0) {
        return route(state, connection, method, path, upload);
    }
    upload->is_too_long = upload->is_too_long || *len > sizeof(upload->bytes) - upload->len;
    if (!upload->is_too_long) {
        memcpy(upload->bytes + upload->len, bytes, *len);
        upload->len += *len;
    }
    *len = 0;
    return MHD_YES;
}

static void forget(void *state, struct MHD_Connection *connection, void **upload,
                   enum MHD_RequestTerminationCode why)
{
    (void)state;
    (void)connection;
    (void)why;
    free(*upload);
}

struct MHD_Daemon *quern_exports_serve(struct exports *exports, uint16_t port)
{
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_port = htons(port),
                               .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};

    return MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, port, NULL, NULL,
                            handle, exports, MHD_OPTION_SOCK_ADDR, &here,
                            MHD_OPTION_NOTIFY_COMPLETED, forget, NULL, MHD_OPTION_END);
}
