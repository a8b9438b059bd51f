/* What the recording names, and what stands for it here: queue URLs, receipt handles, tokens, ARNs.
 */
#include "server/cli/replay/replay.h"
#include "server/model/queue_url.h"

static struct qn_str text_of(const json_t *text)
{
    return qn_str_from_cstr(json_string_value(text));
}

/* ---- queues ---- */

static const struct qn_replay_queue *find_queue(const struct qn_replay *replay,
                                                struct qn_str account, struct qn_str name)
{
    for (size_t i = replay->queue_count; i-- > 0;) {
        const struct qn_replay_queue *queue = &replay->queues[i];
        if (qn_str_equal(name, qn_str_from_cstr(queue->name)) &&
            (qn_str_is_none(account) || qn_str_equal(account, qn_str_from_cstr(queue->account)))) {
            return queue;
        }
    }
    return NULL;
}

void qn_replay_note_queue(struct qn_replay *replay, struct qn_str recorded_url,
                          struct qn_str replayed_url)
{
    struct qn_str account;
    struct qn_str name;
    struct qn_str replayed_account;
    struct qn_str replayed_name;
    struct qn_replay_queue *queue;

    if (!qn_queue_url_split(recorded_url, false, &account, &name) ||
        !qn_queue_url_split(replayed_url, false, &replayed_account, &replayed_name) ||
        find_queue(replay, account, name) != NULL) {
        return;
    }
    replay->queues =
        qn_memory_resize(replay->queues, replay->queue_count + 1, sizeof(*replay->queues));
    queue = &replay->queues[replay->queue_count++];
    queue->account = qn_memory_copy_text(account.ptr, account.len);
    queue->name = qn_memory_copy_text(name.ptr, name.len);
    queue->replayed_account = qn_memory_copy_text(replayed_account.ptr, replayed_account.len);
}

/* Nobody was given its URL: it was there before the recording. */
static json_t *look_up(struct qn_replay *replay, struct qn_str recorded)
{
    struct qn_str account;
    struct qn_str name;
    struct quern_error err;
    char *url = NULL;
    json_t *found = NULL;

    if (!qn_queue_url_split(recorded, false, &account, &name)) {
        return json_stringn(recorded.ptr, recorded.len); /* was refused, and will be */
    }
    char *name_text = qn_memory_copy_text(name.ptr, name.len);
    /* A call more would be seen in the trace of a Quern, and one's own URL will do there. */
    if (replay->target.is_quern ||
        !quern_get_queue_url(replay->remote->client, name_text, NULL, &url, &err)) {
        found = json_sprintf("%s/%.*s/%s", quern_client_endpoint(replay->remote->client),
                             QN_STR_ARG(account), name_text);
    } else {
        found = json_string(url);
    }
    qn_memory_free(name_text);
    quern_text_free(url);
    return found;
}

static bool rewrite_url(struct qn_replay *replay, json_t *input)
{
    struct qn_str recorded = text_of(json_object_get(input, "QueueUrl"));
    struct qn_reference *reference;

    if (qn_str_is_none(recorded)) {
        return true;
    }
    reference = qn_session_reference(&replay->session, recorded);
    if (reference != NULL && reference->replayed == NULL &&
        replay->states[reference->giver] != QN_REPLAY_DONE) {
        return false;
    }
    json_t *url = reference != NULL && reference->replayed != NULL
                      ? json_string(reference->replayed)
                      : look_up(replay, recorded);
    if (json_is_string(url)) {
        qn_replay_note_queue(replay, recorded, text_of(url));
    }
    json_object_set_new(input, "QueueUrl", url);
    return true;
}

/* ---- handles and tokens ---- */

/* What was never given by an answer of the recording is sent as it is when it was refused then. */
static enum qn_replay_fitness rewrite_text(struct qn_replay *replay, json_t *object,
                                           const char *member, bool was_refused)
{
    const json_t *recorded = json_object_get(object, member);
    struct qn_reference *reference;

    if (!json_is_string(recorded)) {
        return QN_REPLAY_FITS;
    }
    reference = qn_session_reference(
        &replay->session, qn_str(json_string_value(recorded), json_string_length(recorded)));
    if (reference != NULL && replay->states[reference->giver] != QN_REPLAY_DONE) {
        return QN_REPLAY_TOO_EARLY;
    }
    if (reference != NULL && reference->replayed != NULL) {
        json_object_set_new(object, member, json_string(reference->replayed));
        return QN_REPLAY_FITS;
    }
    return reference == NULL && was_refused ? QN_REPLAY_FITS : QN_REPLAY_HOMELESS;
}

static bool entry_failed(const json_t *answer, const json_t *entry)
{
    const char *id = json_string_value(json_object_get(entry, "Id"));
    const json_t *failed = json_object_get(json_object_get(answer, "output"), "Failed");

    for (size_t i = 0; id != NULL && i < json_array_size(failed); i++) {
        const char *other = json_string_value(json_object_get(json_array_get(failed, i), "Id"));
        if (other != NULL && strcmp(id, other) == 0) {
            return true;
        }
    }
    return false;
}

static enum qn_replay_fitness rewrite_entries(struct qn_replay *replay, json_t *input,
                                              const json_t *answer, bool was_refused)
{
    json_t *entries = json_object_get(input, "Entries");
    size_t count = json_array_size(entries);
    json_t *kept = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *entry = json_array_get(entries, i);
        enum qn_replay_fitness fitness = rewrite_text(replay, entry, "ReceiptHandle",
                                                      was_refused || entry_failed(answer, entry));
        if (fitness == QN_REPLAY_TOO_EARLY) {
            json_decref(kept);
            return fitness;
        }
        if (fitness == QN_REPLAY_FITS) {
            json_array_append(kept, entry);
        }
    }
    size_t left = json_array_size(kept);
    if (count > 0 && left > 0) {
        replay->entries_left_out += (int64_t)(count - left);
        json_object_set(input, "Entries", kept);
    }
    json_decref(kept);
    return count > 0 && left == 0 ? QN_REPLAY_HOMELESS : QN_REPLAY_FITS;
}

/* ---- ARNs ---- */

/* "arn:aws:sqs:REGION:ACCOUNT:NAME" of a queue that is known here. */
static void append_arn(const struct qn_replay *replay, struct qn_str arn, const char *region,
                       struct qn_buf *buf)
{
    struct qn_str rest = qn_str_from(arn, strlen("arn:aws:sqs:"));
    struct qn_str recorded_region = qn_str_cut(rest, ':', &rest);
    struct qn_str account = qn_str_cut(rest, ':', &rest);
    const struct qn_replay_queue *queue = find_queue(replay, account, rest);

    if (queue == NULL) {
        qn_buf_append_str(buf, arn);
        return;
    }
    qn_buf_append_literal(buf, "arn:aws:sqs:");
    qn_buf_append_str(buf, region != NULL ? qn_str_from_cstr(region) : recorded_region);
    qn_buf_append_char(buf, ':');
    qn_buf_append_str(buf, qn_str_from_cstr(queue->replayed_account));
    qn_buf_append_char(buf, ':');
    qn_buf_append_str(buf, rest);
}

static bool may_stand_in_arn(char c)
{
    return qn_char_is_alphanumeric(c) || c == ':' || c == '-' || c == '_' || c == '.';
}

static json_t *with_arns(const struct qn_replay *replay, struct qn_str text, const char *region)
{
    struct qn_str start = QN_STR("arn:aws:sqs:");
    struct qn_buf buf;
    json_t *value;

    qn_buf_init(&buf, SIZE_MAX / 2);
    for (;;) {
        size_t at = qn_str_find(text, start);
        size_t len = 0;
        qn_buf_append_str(&buf, qn_str_first(text, at));
        if (at == text.len) {
            break;
        }
        text = qn_str_from(text, at);
        while (len < text.len && may_stand_in_arn(text.ptr[len])) {
            len++;
        }
        append_arn(replay, qn_str_first(text, len), region, &buf);
        text = qn_str_from(text, len);
    }
    value = json_stringn(buf.ptr != NULL ? buf.ptr : "", buf.len);
    qn_buf_done(&buf);
    return value;
}

static void rewrite_arns(const struct qn_replay *replay, json_t *object, const char *region)
{
    const char *member;
    json_t *value;

    json_object_foreach(object, member, value)
    {
        if (json_is_string(value) && strstr(json_string_value(value), "arn:aws:sqs:") != NULL) {
            json_t *text = with_arns(replay, text_of(value), region);
            (void)json_string_set(value, json_string_value(text));
            json_decref(text);
        }
    }
}

enum qn_replay_fitness qn_replay_rewrite(struct qn_replay *replay, json_t *input,
                                         const json_t *answer, const char *region)
{
    const char *code = json_string_value(json_object_get(answer, "code"));
    bool was_refused = code != NULL && strcmp(code, "OK") != 0;
    enum qn_replay_fitness fitness;

    if (!rewrite_url(replay, input)) {
        return QN_REPLAY_TOO_EARLY;
    }
    fitness = rewrite_text(replay, input, "ReceiptHandle", was_refused);
    if (fitness == QN_REPLAY_FITS) {
        fitness = rewrite_text(replay, input, "NextToken", was_refused);
    }
    if (fitness == QN_REPLAY_FITS) {
        fitness = rewrite_text(replay, input, "TaskHandle", was_refused);
    }
    if (fitness == QN_REPLAY_FITS) {
        fitness = rewrite_entries(replay, input, answer, was_refused);
    }
    if (fitness == QN_REPLAY_FITS) {
        rewrite_arns(replay, json_object_get(input, "Attributes"), region);
        if (json_object_get(input, "SourceArn") != NULL) {
            rewrite_arns(replay, input, region);
        }
    }
    return fitness;
}

/* ---- what answers gave ---- */

static void note(struct qn_replay *replay, const json_t *recorded, const json_t *given,
                 const char *member)
{
    const json_t *old = json_object_get(recorded, member);
    const char *new = json_string_value(json_object_get(given, member));
    struct qn_reference *reference;

    if (!json_is_string(old) || new == NULL) {
        return;
    }
    reference = qn_session_reference(&replay->session,
                                     qn_str(json_string_value(old), json_string_length(old)));
    if (reference != NULL) {
        qn_memory_free(reference->replayed);
        reference->replayed = qn_memory_copy_text(new, strlen(new));
    }
}

/* Notes which replayed message is which: the one that was sent by the counterpart of its send. */
static bool is_counterpart(const struct qn_replay *replay, const json_t *recorded,
                           const json_t *given)
{
    const char *old = json_string_value(json_object_get(recorded, "MessageId"));
    const char *new = json_string_value(json_object_get(given, "MessageId"));
    const struct qn_reference *reference;

    if (old == NULL || new == NULL) {
        return false;
    }
    reference = qn_session_reference(&replay->session, qn_str_from_cstr(old));
    return reference != NULL && reference->replayed != NULL &&
           strcmp(reference->replayed, new) == 0;
}

static void note_messages(struct qn_replay *replay, const json_t *recorded, const json_t *given)
{
    size_t count = json_array_size(recorded);
    size_t given_count = json_array_size(given);
    bool *is_taken = qn_memory_new_array(given_count + 1, sizeof(*is_taken));
    bool *is_noted = qn_memory_new_array(count + 1, sizeof(*is_noted));
    size_t next = 0;

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < given_count && !is_noted[i]; j++) {
            if (!is_taken[j] &&
                is_counterpart(replay, json_array_get(recorded, i), json_array_get(given, j))) {
                note(replay, json_array_get(recorded, i), json_array_get(given, j),
                     "ReceiptHandle");
                is_taken[j] = is_noted[i] = true;
            }
        }
    }
    /* The others in their order. */
    for (size_t i = 0; i < count; i++) {
        while (next < given_count && is_taken[next]) {
            next++;
        }
        if (!is_noted[i] && next < given_count) {
            note(replay, json_array_get(recorded, i), json_array_get(given, next), "ReceiptHandle");
            note(replay, json_array_get(recorded, i), json_array_get(given, next++), "MessageId");
        }
    }
    qn_memory_free(is_taken);
    qn_memory_free(is_noted);
}

/* Entries of a batch by their ids. */
static void note_entries(struct qn_replay *replay, const json_t *recorded, const json_t *given)
{
    for (size_t i = 0; i < json_array_size(recorded); i++) {
        const json_t *entry = json_array_get(recorded, i);
        const json_t *id = json_object_get(entry, "Id");
        for (size_t j = 0; id != NULL && j < json_array_size(given); j++) {
            const json_t *other = json_array_get(given, j);
            if (json_equal(id, json_object_get(other, "Id"))) {
                note(replay, entry, other, "MessageId");
                break;
            }
        }
    }
}

void qn_replay_note_output(struct qn_replay *replay, const json_t *recorded, const json_t *output)
{
    static const char *const members[] = {"QueueUrl", "TaskHandle", "NextToken", "MessageId"};

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        note(replay, recorded, output, members[i]);
    }
    if (json_object_get(recorded, "QueueUrl") != NULL &&
        json_object_get(output, "QueueUrl") != NULL) {
        qn_replay_note_queue(replay, text_of(json_object_get(recorded, "QueueUrl")),
                             text_of(json_object_get(output, "QueueUrl")));
    }
    note_entries(replay, json_object_get(recorded, "Successful"),
                 json_object_get(output, "Successful"));
    note_messages(replay, json_object_get(recorded, "Messages"),
                  json_object_get(output, "Messages"));
}
