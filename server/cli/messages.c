/* `quern send`, `quern receive`, `quern purge`: ordinary SQS calls by hand. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "server/base/arena.h"
#include "server/base/digest.h"
#include "server/cli/output.h"
#include "server/cli/received.h"
#include "server/cli/remote.h"

enum { BODY_MAX = 16 * 1024 * 1024 };

/* ---- send ---- */

static const struct qn_option send_options[] = {
    QN_REMOTE_OPTIONS,
    {"group", "ID", NULL, NULL, "MessageGroupId", 0},
    {"deduplication", "ID", NULL, NULL, "MessageDeduplicationId", 0},
    {"delay", "N", "-1", NULL, "DelaySeconds; -1: the queue's", 0},
    {"attribute", "NAME[:TYPE]=VALUE", NULL, NULL,
     "a message attribute of type String (default), Number or Binary; a\nBinary value is base64",
     QN_OPTION_REPEATS},
};
enum { SEND_GROUP = QN_REMOTE_COUNT, SEND_DEDUPLICATION, SEND_DELAY, SEND_ATTRIBUTE, SEND_COUNT };

static bool is_binary(struct qn_str type)
{
    return qn_str_equal(type, QN_STR("Binary")) || qn_str_starts_with(type, QN_STR("Binary."));
}

/* "NAME:TYPE=VALUE"; its texts are in the arena. */
static bool read_attribute(struct qn_arena *arena, const char *text, struct quern_attribute *ret,
                           struct qn_error *err)
{
    struct qn_str value;
    struct qn_str type;
    struct qn_str name = qn_str_cut(qn_str_from_cstr(text), '=', &value);
    struct qn_str bytes;

    name = qn_str_cut(name, ':', &type);
    type = qn_str_is_none(type) ? QN_STR("String") : type;
    if (name.len == 0 || qn_str_is_none(value)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--attribute takes NAME=VALUE or NAME:TYPE=VALUE, not %s", text);
    }
    *ret = (struct quern_attribute){.name = qn_arena_copy(arena, name).ptr,
                                    .data_type = qn_arena_copy(arena, type).ptr};
    if (!is_binary(type)) {
        ret->text = value.ptr; /* the end of an argument */
        return true;
    }
    if (!qn_digest_decode_base64(arena, value, &bytes)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "the value of --attribute %s is not base64", ret->name);
    }
    ret->bytes = bytes.ptr;
    ret->byte_count = bytes.len;
    return true;
}

static bool read_attributes(const struct qn_options *options, struct qn_arena *arena,
                            struct quern_message *message, struct qn_error *err)
{
    const struct qn_given *given = &options->given[SEND_ATTRIBUTE];
    struct quern_attribute *attributes =
        qn_arena_alloc(arena, (given->count + 1) * sizeof(*attributes));

    for (size_t i = 0; i < given->count; i++) {
        if (!read_attribute(arena, given->texts[i], &attributes[i], err)) {
            return false;
        }
    }
    message->attributes = attributes;
    message->attribute_count = given->count;
    return true;
}

static bool read_stdin(struct qn_buf *body, struct qn_error *err)
{
    char block[16 * 1024];
    ssize_t got;

    while ((got = read(STDIN_FILENO, block, sizeof(block))) > 0) {
        qn_buf_append(body, block, (size_t)got);
    }
    if (got < 0 || body->overflow) {
        return qn_fail(err, QN_ERR_INTERNAL, "cannot read the body from stdin: %s",
                       got < 0 ? strerror(errno) : "it is too large");
    }
    return true;
}

/* The second word, or stdin. */
static bool read_body(const struct qn_remote *remote, struct qn_buf *body, struct qn_error *err)
{
    const struct qn_options *options = &remote->options;

    if (options->word_count == 2 && strcmp(options->words[1], "-") != 0) {
        qn_buf_append_str(body, qn_str_from_cstr(options->words[1]));
        return true;
    }
    return read_stdin(body, err) &&
           (qn_str_is_utf8(qn_buf_str(body)) ||
            qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "the body from stdin is not UTF-8"));
}

static int send_message(struct qn_remote *remote, const struct quern_message *message)
{
    struct quern_error err;
    char *url = NULL;
    struct quern_sent *sent;
    int code = QN_EXIT_OK;

    if (!qn_remote_find_url(remote, remote->options.words[0], &url, &err) ||
        !quern_send_message(remote->client, url, message, &sent, &err)) {
        code = qn_remote_fail(remote, &err);
    } else {
        if (qn_remote_wants_json(remote)) {
            qn_remote_print_json(json_pack("{s:s}", "MessageId", sent->message_id));
        } else {
            (void)puts(sent->message_id);
        }
        quern_answer_free(sent);
    }
    quern_text_free(url);
    return code;
}

int qn_send_main(int argc, char **argv)
{
    struct quern_message message = {.body = NULL};
    struct qn_remote remote;
    struct qn_arena arena;
    struct qn_error err;
    struct qn_buf body;
    int code;

    if (!qn_remote_open(&remote, "send QUEUE [BODY | -] [OPTIONS]", send_options, SEND_COUNT, 1, 2,
                        argc, argv, &code)) {
        return code;
    }
    message.group_id = qn_options_text(&remote.options, SEND_GROUP);
    message.deduplication_id = qn_options_text(&remote.options, SEND_DEDUPLICATION);
    qn_buf_init(&body, BODY_MAX);
    qn_arena_init(&arena, SIZE_MAX / 2);
    if (qn_options_integer(&remote.options, SEND_DELAY, -1, 900, &message.delay_s, &err) &&
        read_attributes(&remote.options, &arena, &message, &err) &&
        read_body(&remote, &body, &err)) {
        message.body = qn_buf_str(&body).ptr;
        message.body_len = body.len;
        code = send_message(&remote, &message);
    } else {
        code = qn_remote_misuse(&remote, &err);
    }
    qn_arena_done(&arena);
    qn_buf_done(&body);
    qn_remote_close(&remote);
    return code;
}

/* ---- receive ---- */

static const struct qn_option receive_options[] = {
    QN_REMOTE_OPTIONS,
    {"max", "N", "1", NULL, "messages to receive, up to 10", 0},
    {"wait", "N", "0", "s", "wait so long for the first one, up to 20", 0},
    {"visibility", "N", "-1", NULL, "VisibilityTimeout; -1: the queue's", 0},
    {"delete", NULL, NULL, NULL, "delete what was received", 0},
};
enum {
    RECEIVE_MAX = QN_REMOTE_COUNT,
    RECEIVE_WAIT,
    RECEIVE_VISIBILITY,
    RECEIVE_DELETE,
    RECEIVE_COUNT
};

static void print_received(const struct quern_messages *messages)
{
    static const char *const head[] = {"MESSAGE ID", "RECEIVES", "BODY"};
    struct qn_columns table;

    qn_columns_begin(&table, head, sizeof(head) / sizeof(head[0]));
    for (size_t i = 0; i < messages->count; i++) {
        const struct quern_received *message = &messages->items[i];
        qn_columns_add(&table, message->message_id);
        qn_columns_add(&table, quern_received_system(message, "ApproximateReceiveCount"));
        qn_columns_add(&table, message->body);
    }
    qn_columns_print(&table);
    qn_columns_done(&table);
}

static void print_received_json(const struct quern_messages *messages)
{
    json_t *list = json_array();

    for (size_t i = 0; i < messages->count; i++) {
        json_array_append_new(list, qn_received_json(&messages->items[i]));
    }
    qn_remote_print_json(list);
}

static bool delete_all(struct qn_remote *remote, const char *url,
                       const struct quern_messages *messages, struct quern_error *err)
{
    for (size_t i = 0; i < messages->count; i++) {
        if (!quern_delete_message(remote->client, url, messages->items[i].receipt_handle, err)) {
            return false;
        }
    }
    return true;
}

static int receive(struct qn_remote *remote, const struct quern_receive_options *how)
{
    struct quern_error err;
    struct quern_messages *messages = NULL;
    char *url = NULL;
    int code = QN_EXIT_OK;

    if (!qn_remote_find_url(remote, remote->options.words[0], &url, &err) ||
        !qn_received_get(remote->client, "receive", url, how, &messages, &err)) {
        code = qn_remote_fail(remote, &err);
        goto out;
    }
    if (qn_remote_wants_json(remote)) {
        print_received_json(messages);
    } else if (messages->count > 0) {
        print_received(messages);
    }
    /* Only what has been shown is deleted. */
    if (qn_output_is_written() && qn_options_is_on(&remote->options, RECEIVE_DELETE) &&
        !delete_all(remote, url, messages, &err)) {
        code = qn_remote_fail(remote, &err);
    }

out:
    quern_answer_free(messages);
    quern_text_free(url);
    return code;
}

int qn_receive_main(int argc, char **argv)
{
    struct quern_receive_options how = {0};
    struct qn_remote remote;
    struct qn_error err;
    int code;

    if (!qn_remote_open(&remote, "receive QUEUE [OPTIONS]", receive_options, RECEIVE_COUNT, 1, 1,
                        argc, argv, &code)) {
        return code;
    }
    if (qn_options_integer(&remote.options, RECEIVE_MAX, 1, 10, &how.max_messages, &err) &&
        qn_options_integer(&remote.options, RECEIVE_WAIT, 0, 20, &how.wait_s, &err) &&
        qn_options_integer(&remote.options, RECEIVE_VISIBILITY, -1, 43200, &how.visibility_s,
                           &err)) {
        code = receive(&remote, &how);
    } else {
        code = qn_remote_misuse(&remote, &err);
    }
    qn_remote_close(&remote);
    return code;
}

/* ---- purge ---- */

static const struct qn_option purge_options[] = {QN_REMOTE_OPTIONS};

int qn_purge_main(int argc, char **argv)
{
    struct qn_remote remote;
    struct quern_error err;
    char *url = NULL;
    int code = QN_EXIT_OK;

    if (!qn_remote_open(&remote, "purge QUEUE", purge_options, QN_REMOTE_COUNT, 1, 1, argc, argv,
                        &code)) {
        return code;
    }
    if (!qn_remote_find_url(&remote, remote.options.words[0], &url, &err) ||
        !quern_purge_queue(remote.client, url, &err)) {
        code = qn_remote_fail(&remote, &err);
    } else if (qn_remote_wants_json(&remote)) {
        qn_remote_print_json(json_pack("{s:s}", "purged", url));
    } else {
        (void)printf("purged %s\n", url);
    }
    quern_text_free(url);
    qn_remote_close(&remote);
    return code;
}
