/* `quern move`: messages from queue to queue, by receiving, sending and deleting them, so at any
 * SQS endpoint. Nothing is lost whatever fails; what may be there twice is named. */
#include "server/cli/move.h"

#include <stdio.h>

#include "server/cli/received.h"

enum { WAIT_S = 1, EMPTY_ONES = 2, STAYED_MAX = 100, VISIBILITY_MAX_S = 43200 };

static const struct qn_option move_options[] = {
    QN_REMOTE_OPTIONS,
    {"max", "N", "0", NULL, "messages to move; 0: all", 0},
    {"group", "ID", NULL, NULL, "MessageGroupId of messages that have none", 0},
    {"visibility", "N", "300", "s", "how long messages are hidden while they are moved, at most",
     0},
};
enum { MOVE_MAX = QN_REMOTE_COUNT, MOVE_GROUP, MOVE_VISIBILITY, MOVE_COUNT };

static int64_t count_in(const struct quern_pairs *attributes, const char *name)
{
    const char *text = quern_pairs_get(attributes, name);
    int64_t count;

    return text != NULL && qn_str_to_int64(qn_str_from_cstr(text), 0, INT64_MAX, &count) ? count
                                                                                         : 0;
}

/* What is in the queue in all. -1: not told. */
static int64_t count_messages(const struct qn_move *move)
{
    struct quern_pairs *attributes = NULL;
    struct quern_error ignored;
    int64_t count;

    if (!quern_get_queue_attributes(move->remote->client, move->from, NULL, 0, &attributes,
                                    &ignored)) {
        return -1;
    }
    count = count_in(attributes, "ApproximateNumberOfMessages") +
            count_in(attributes, "ApproximateNumberOfMessagesDelayed") +
            count_in(attributes, "ApproximateNumberOfMessagesNotVisible");
    quern_answer_free(attributes);
    return count;
}

/* ---- the run ---- */

static bool is_over(struct qn_move *move)
{
    return move->is_given_up || json_array_size(move->stayed) >= STAYED_MAX ||
           (move->max > 0 && move->moved >= move->max) ||
           qn_progress_is_interrupted(&move->progress);
}

static bool receive_some(struct qn_move *move, struct quern_messages **ret_messages,
                         struct quern_error *err)
{
    int64_t wanted = QUERN_BATCH_MAX;

    if (move->max > 0 && move->max - move->moved < wanted) {
        wanted = move->max - move->moved;
    }
    const struct quern_receive_options how = {
        .max_messages = wanted, .wait_s = WAIT_S, .visibility_s = move->visibility_s};
    return qn_received_get(move->remote->client, "move", move->from, &how, ret_messages, err);
}

static void move_some(struct qn_move *move, const struct quern_messages *messages)
{
    struct qn_move_item items[QUERN_BATCH_MAX];

    for (size_t i = 0; i < messages->count; i++) {
        items[i] = (struct qn_move_item){.message = &messages->items[i]};
    }
    qn_move_batch(move, items, messages->count);
}

static bool move_all(struct qn_move *move, struct quern_error *err)
{
    int64_t total = count_messages(move);
    bool ok = true;

    if (move->max > 0 && (total < 0 || total > move->max)) {
        total = move->max;
    }
    for (int empty_ones = 0; ok && empty_ones < EMPTY_ONES && !is_over(move);) {
        struct quern_messages *messages = NULL;
        ok = receive_some(move, &messages, err);
        if (ok) {
            empty_ones = messages->count > 0 ? 0 : empty_ones + 1;
            move_some(move, messages);
            qn_progress_show(&move->progress, move->moved, total);
            quern_answer_free(messages);
        }
    }
    return ok;
}

static void give_back(struct qn_move *move)
{
    size_t hidden = 0;

    for (size_t i = 0; i < move->return_count; i++) {
        struct quern_error ignored;
        hidden += !quern_change_visibility(move->remote->client, move->from, move->returns[i], 0,
                                           &ignored);
        qn_memory_free(move->returns[i]);
    }
    qn_memory_free(move->returns);
    if (hidden > 0) {
        (void)fprintf(stderr, "%zu message%s could not be given back: hidden for up to %lld s\n",
                      hidden, hidden == 1 ? "" : "s", (long long)move->visibility_s);
    }
}

/* ---- the command ---- */

static const char *text_in(const json_t *line, const char *name)
{
    return json_string_value(json_object_get(line, name));
}

static const json_t *line_of(const json_t *list, const char *message_id)
{
    size_t i;
    const json_t *line;

    json_array_foreach(list, i, line)
    {
        if (strcmp(text_in(line, "message_id"), message_id) == 0) {
            return line;
        }
    }
    return NULL;
}

/* A line for each message, also for one that stayed and may be there all the same. */
static void tell_messages(const struct qn_move *move)
{
    char *const *words = move->remote->options.words;
    size_t i;
    const json_t *line;

    json_array_foreach(move->stayed, i, line)
    {
        if (line_of(move->twice, text_in(line, "message_id")) == NULL) {
            (void)fprintf(stderr, "%s stays in %s: %s: %s\n", text_in(line, "message_id"), words[0],
                          text_in(line, "code"), text_in(line, "message"));
        }
    }
    json_array_foreach(move->twice, i, line)
    {
        const char *id = text_in(line, "message_id");
        int64_t copies = json_integer_value(json_object_get(line, "copies"));
        bool stays = line_of(move->stayed, id) != NULL;
        (void)fprintf(stderr, "%s %s%s%smay be in %s", id, stays ? "stays in " : "",
                      stays ? words[0] : "", stays ? " and " : "", words[1]);
        if (copies > 1) {
            (void)fprintf(stderr, " %lld times", (long long)copies);
        }
        (void)fprintf(stderr, ": %s: %s\n", text_in(line, "code"), text_in(line, "message"));
    }
}

static void tell(const struct qn_move *move)
{
    char *const *words = move->remote->options.words;

    if (qn_remote_wants_json(move->remote)) {
        qn_remote_print_json(
            json_pack("{s:I, s:O, s:O, s:I, s:b, s:b}", "moved", (json_int_t)move->moved, "stayed",
                      move->stayed, "twice", move->twice, "left", (json_int_t)move->left,
                      "given_up", move->is_given_up, "interrupted", move->progress.is_interrupted));
        return;
    }
    tell_messages(move);
    (void)printf("moved %lld message%s from %s to %s\n", (long long)move->moved,
                 move->moved == 1 ? "" : "s", words[0], words[1]);
    if (move->is_given_up || move->progress.is_interrupted) {
        (void)fprintf(stderr, "ended early: about %lld stay in %s\n", (long long)move->left,
                      words[0]);
    } else if (move->left > 0 && move->max == 0) {
        (void)fprintf(stderr,
                      "about %lld more were not there to be received: in flight or delayed\n",
                      (long long)move->left);
    }
}

static int run_between(struct qn_move *move)
{
    struct quern_error failure;
    int64_t left;
    bool ok;

    qn_progress_begin(&move->progress, "moved");
    move->remote->queue = move->remote->options.words[0];
    ok = move_all(move, &failure);
    give_back(move);
    left = count_messages(move);
    move->left = left < 0 ? 0 : left;
    qn_progress_end(&move->progress);
    tell(move);
    if (!ok) {
        return qn_remote_fail(move->remote, &failure);
    }
    return move->is_given_up || move->progress.is_interrupted ||
                   json_array_size(move->stayed) > 0 || json_array_size(move->twice) > 0
               ? QN_EXIT_FAILED
               : QN_EXIT_OK;
}

static bool find_queue(const struct qn_move *move, const char *word, char **ret_url, char **ret_arn,
                       struct quern_error *err)
{
    return qn_remote_find_url(move->remote, word, ret_url, err) &&
           qn_remote_find_arn(move->remote, *ret_url, ret_arn, err);
}

static bool check(struct qn_move *move, const char *from_arn, const char *to_arn,
                  struct qn_error *err)
{
    const struct qn_options *options = &move->remote->options;

    move->is_from_fifo = qn_str_ends_with(qn_str_from_cstr(move->from), QN_STR(".fifo"));
    move->is_to_fifo = qn_str_ends_with(qn_str_from_cstr(move->to), QN_STR(".fifo"));
    move->group = qn_options_text(options, MOVE_GROUP);
    if (strcmp(from_arn, to_arn) == 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "both are the same queue: say another one to move to");
    }
    if (move->is_to_fifo && !move->is_from_fifo && move->group == NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "%s is a FIFO queue: say which group messages without one get, --group ID",
                       options->words[1]);
    }
    return true;
}

static bool make_sender(struct qn_move *move, struct quern_error *err)
{
    const struct quern_options options = {
        .endpoint = quern_client_endpoint(move->remote->client),
        .region = qn_options_text(&move->remote->options, QN_REMOTE_REGION),
        .max_attempts = 1,
    };

    return quern_client_new(&options, &move->sender, err);
}

static int run(struct qn_move *move)
{
    const struct qn_options *options = &move->remote->options;
    struct quern_error failure;
    struct qn_error err;
    char *from_arn = NULL;
    char *to_arn = NULL;
    int code;

    if (!qn_options_integer(options, MOVE_MAX, 0, INT64_MAX, &move->max, &err) ||
        !qn_options_integer(options, MOVE_VISIBILITY, 1, VISIBILITY_MAX_S, &move->visibility_s,
                            &err)) {
        return qn_remote_misuse(move->remote, &err);
    }
    if (!find_queue(move, options->words[0], &move->from, &from_arn, &failure) ||
        !find_queue(move, options->words[1], &move->to, &to_arn, &failure) ||
        !make_sender(move, &failure)) {
        code = qn_remote_fail(move->remote, &failure);
    } else if (!check(move, from_arn, to_arn, &err)) {
        code = qn_remote_misuse(move->remote, &err);
    } else {
        code = run_between(move);
    }
    qn_memory_free(from_arn);
    qn_memory_free(to_arn);
    return code;
}

int qn_move_main(int argc, char **argv)
{
    struct qn_remote remote;
    struct qn_move move = {.remote = &remote, .progress = {.signals = -1}};
    int code;

    if (!qn_remote_open(&remote, "move FROM TO [OPTIONS]", move_options, MOVE_COUNT, 2, 2, argc,
                        argv, &code)) {
        return code;
    }
    move.stayed = json_array();
    move.twice = json_array();
    code = run(&move);
    json_decref(move.stayed);
    json_decref(move.twice);
    quern_client_free(move.sender);
    quern_text_free(move.from);
    quern_text_free(move.to);
    qn_remote_close(&remote);
    return code;
}
