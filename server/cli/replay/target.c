/* Whom the requests go to: a Quern, whose clock may be moved along with the recording's and which
 * says what it is waiting for; Amazon; or something else that speaks SQS. */
#include "server/cli/replay/replay.h"

static int64_t integer(const json_t *object, const char *member)
{
    return json_integer_value(json_object_get(object, member));
}

static const char *text_in(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));

    return text != NULL ? text : "";
}

/* ---- queues that the recording found ---- */

static bool is_there(struct qn_replay *replay, struct quern_client *client, const json_t *queue,
                     struct quern_error *err)
{
    const char *name = text_in(queue, "name");
    bool found;

    if (!replay->target.is_quern) {
        char *url = NULL;
        found = quern_get_queue_url(client, name, NULL, &url, err);
        quern_text_free(url);
    } else {
        json_t *path = json_sprintf(
            "/_quern/queues/%s?account=%s&region=%s", name, text_in(queue, "account"),
            replay->options.region != NULL ? replay->options.region : text_in(queue, "region"));
        found = quern_http_get(client, json_string_value(path), NULL, err);
        json_decref(path);
    }
    return found;
}

static void note_made(struct qn_replay *replay, const char *name)
{
    qn_buf_append_format(&replay->queues_made, "%s%s", replay->queues_made.len > 0 ? ", " : "",
                         name);
}

static bool make(struct qn_replay *replay, struct quern_client *client, const json_t *queue,
                 struct quern_error *err)
{
    json_t *input = json_pack("{s:s}", "QueueName", text_in(queue, "name"));
    json_t *attributes = json_deep_copy(json_object_get(queue, "attributes"));
    json_t *tags = json_object_get(queue, "tags");
    bool ok;

    json_object_set_new(input, "Attributes", attributes);
    if (json_object_size(tags) > 0) {
        json_object_set(input, "tags", tags);
    }
    (void)qn_replay_rewrite(replay, input, NULL, replay->options.region);
    ok = quern_client_call(client, "CreateQueue", input, NULL, err);
    json_decref(input);
    if (ok) {
        note_made(replay, text_in(queue, "name"));
    }
    return ok;
}

/* What URLs of the queue look like. */
static void note(struct qn_replay *replay, struct quern_client *client, const json_t *queue)
{
    json_t *recorded =
        json_sprintf("http://recorded/%s/%s", text_in(queue, "account"), text_in(queue, "name"));
    json_t *replayed = json_sprintf("%s/%s/%s", quern_client_endpoint(client),
                                    text_in(queue, "account"), text_in(queue, "name"));
    char *url = NULL;
    struct quern_error ignored;

    if (!replay->target.is_quern &&
        quern_get_queue_url(client, text_in(queue, "name"), NULL, &url, &ignored)) {
        json_string_set(replayed, url);
    }
    qn_replay_note_queue(replay, qn_str_from_cstr(json_string_value(recorded)),
                         qn_str_from_cstr(json_string_value(replayed)));
    quern_text_free(url);
    json_decref(recorded);
    json_decref(replayed);
}

/* A client in the queue's account; on Amazon it can only be our own. */
static bool open_client(struct qn_replay *replay, const json_t *queue,
                        struct quern_client **ret_client, struct quern_error *err)
{
    struct quern_options options = {
        .endpoint = quern_client_endpoint(replay->remote->client),
        .region =
            replay->options.region != NULL ? replay->options.region : text_in(queue, "region"),
    };

    if (!replay->target.is_amazon) {
        options.access_key =
            replay->options.account != NULL ? replay->options.account : text_in(queue, "account");
        options.secret_key = "replay";
        options.session_token = "";
    }
    return quern_client_new(&options, ret_client, err);
}

static bool provide(struct qn_replay *replay, const json_t *queue, struct quern_error *err)
{
    struct quern_client *client = NULL;
    bool ok;

    if (!open_client(replay, queue, &client, err)) {
        return false;
    }
    ok = is_there(replay, client, queue, err) ||
         (err->http_status != 0 && make(replay, client, queue, err));
    if (ok) {
        note(replay, client, queue);
    }
    quern_client_free(client);
    return ok;
}

/* A dead-letter queue has to be there before what names it: those that fail are tried once more
 * when others have been made. */
static bool provide_all(struct qn_replay *replay, struct quern_error *err)
{
    const struct qn_session *session = &replay->session;
    size_t count = 0;
    size_t left;

    while (count < session->item_count && session->items[count].kind == QN_SESSION_QUEUE) {
        count++;
    }
    bool *is_done = qn_memory_new_array(count + 1, sizeof(*is_done));
    size_t left_before = count + 1;
    for (left = count; left > 0 && left < left_before;) {
        left_before = left;
        for (size_t i = 0; i < count; i++) {
            json_t *queue = is_done[i] ? NULL : qn_session_load(session, (uint32_t)i);
            if (queue != NULL && provide(replay, queue, err)) {
                is_done[i] = true;
                left--;
            }
            json_decref(queue);
        }
    }
    qn_memory_free(is_done);
    return left == 0;
}

/* ---- what a Quern says ---- */

bool qn_replay_meet(struct qn_replay *replay, struct quern_error *err)
{
    struct qn_replay_target *target = &replay->target;
    const json_t *clock;
    json_t *info;

    target->is_amazon = qn_remote_is_amazon(replay->remote);
    if (!qn_remote_ask_quern(replay->remote, &info, err)) {
        return false;
    }
    clock = json_object_get(info, "clock");
    target->is_quern = info != NULL;
    target->clock_moves = target->is_quern && strcmp(text_in(clock, "kind"), "virtual") == 0 &&
                          json_number_value(json_object_get(clock, "rate")) <= 0;
    target->clock_ms = integer(clock, "now_ms");
    json_decref(info);
    if (!provide_all(replay, err) ||
        (target->is_quern && !qn_remote_ask_quern(replay->remote, &info, err))) {
        return false;
    }
    if (target->is_quern) {
        target->requests_before = integer(info, "requests");
        json_decref(info);
    }
    target->clock_ahead_ms = target->clock_ms - replay->session.begin_vt_ms;
    return true;
}

static bool advance(struct qn_replay *replay, int64_t to_ms, bool keeps_polls,
                    struct quern_error *err)
{
    struct quern_client *client = replay->remote->client;
    struct qn_replay_target *target = &replay->target;
    json_t *clock = NULL;
    json_t *body;
    bool ok = true;

    if (to_ms <= target->clock_ms) {
        return true;
    }
    /* A rule may have moved it. */
    if (!quern_http_get(client, "/_quern/clock", &clock, err)) {
        return false;
    }
    int64_t now_ms = integer(clock, "now_ms");
    json_decref(clock);
    if (to_ms > now_ms) {
        body = json_pack("{s:I, s:b}", "advance_ms", (json_int_t)(to_ms - now_ms), "keep_polls",
                         keeps_polls);
        ok = quern_http_post(client, "/_quern/clock", body, NULL, err);
        json_decref(body);
    }
    target->clock_ms = to_ms;
    return ok;
}

bool qn_replay_follow_clock(struct qn_replay *replay, const struct qn_session_item *item,
                            struct quern_error *err)
{
    return !replay->target.clock_moves ||
           advance(replay, item->vt_ms + replay->target.clock_ahead_ms, false, err);
}

bool qn_replay_move_clock(struct qn_replay *replay, uint32_t item, struct quern_error *err)
{
    json_t *line;
    bool ok;

    if (!replay->target.clock_moves) {
        replay->clock_moves_left_out++;
        return true;
    }
    line = qn_session_load(&replay->session, item);
    ok = advance(replay, integer(line, "to") + replay->target.clock_ahead_ms,
                 json_is_true(json_object_get(line, "keep_polls")), err);
    json_decref(line);
    return ok;
}

/* False without an answer: a fault may have ended the server, and it may come back. */
static bool ask(struct qn_replay *replay, json_t **ret_info)
{
    struct quern_error ignored;

    return quern_http_get(replay->remote->client, "/_quern/info", ret_info, &ignored);
}

static bool have_arrived(const struct qn_replay *replay, const json_t *info)
{
    return integer(info, "requests") - replay->target.requests_before >= (int64_t)replay->sent;
}

bool qn_replay_is_taken_up(struct qn_replay *replay)
{
    json_t *info = NULL;
    bool all = ask(replay, &info) && have_arrived(replay, info);

    json_decref(info);
    return all;
}

bool qn_replay_is_parked(struct qn_replay *replay)
{
    json_t *info = NULL;
    bool all = false;

    if (ask(replay, &info) && have_arrived(replay, info)) {
        const json_t *waiting = json_object_get(info, "waiting");
        all = integer(waiting, "parked") + integer(waiting, "held") + integer(waiting, "hanging") >=
              (int64_t)replay->under_way;
    }
    json_decref(info);
    return all;
}
