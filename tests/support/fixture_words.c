/* Words for what tests of the engine do all the time. */
#include "tests/support/fixture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *fixture_format(struct fixture *f, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0) {
        abort();
    }
    struct qn_str kept = qn_arena_copy(&f->arena, qn_str(text, (size_t)len));
    free(text);
    return kept.ptr;
}

/* ---- answers ---- */

static const json_t *find(const struct fixture *f, const char *path)
{
    const json_t *at = f->answer;

    while (at != NULL && *path != '\0') {
        char name[300];
        size_t len = strcspn(path, ".");
        (void)snprintf(name, sizeof(name), "%.*s", (int)len, path);
        at = json_is_array(at) ? json_array_get(at, (size_t)strtoul(name, NULL, 10))
                               : json_object_get(at, name);
        path += len;
        path += *path == '.' ? 1 : 0;
    }
    return at;
}

const char *fixture_get(struct fixture *f, const char *path)
{
    const json_t *found = find(f, path);

    if (json_is_string(found)) {
        return fixture_format(f, "%.*s", (int)json_string_length(found), json_string_value(found));
    }
    if (json_is_integer(found)) {
        return fixture_format(f, "%lld", (long long)json_integer_value(found));
    }
    return json_is_boolean(found) ? (json_is_true(found) ? "true" : "false") : NULL;
}

int64_t fixture_get_integer(struct fixture *f, const char *path)
{
    const char *text = fixture_get(f, path);

    return text == NULL ? -1 : strtoll(text, NULL, 10);
}

size_t fixture_count(struct fixture *f, const char *path)
{
    const json_t *found = find(f, path);

    return json_is_array(found) ? json_array_size(found) : json_object_size(found);
}

/* ---- queues ---- */

static bool is_fifo(const char *queue)
{
    return qn_str_ends_with(qn_str_from_cstr(queue), QN_STR(".fifo"));
}

void fixture_create(struct fixture *f, const char *queue, const char *attributes)
{
    fixture_must(f, "CreateQueue", "'QueueName':'%s','Attributes':{%s%s%s}", queue,
                 is_fifo(queue) ? "'FifoQueue':'true'" : "",
                 is_fifo(queue) && attributes[0] != '\0' ? "," : "", attributes);
}

void fixture_set(struct fixture *f, const char *queue, const char *attributes)
{
    fixture_must(f, "SetQueueAttributes", "'QueueUrl':'%s','Attributes':{%s}", queue, attributes);
}

const char *fixture_attribute(struct fixture *f, const char *queue, const char *name)
{
    fixture_must(f, "GetQueueAttributes", "'QueueUrl':'%s','AttributeNames':['%s']", queue, name);
    return fixture_get(f, fixture_format(f, "Attributes.%s", name));
}

const char *fixture_arn(struct fixture *f, const char *queue)
{
    return fixture_format(f, "arn:aws:sqs:us-east-1:000000000000:%s", queue);
}

void fixture_redrive(struct fixture *f, const char *source, const char *target,
                     int max_receive_count)
{
    fixture_must(f, "SetQueueAttributes",
                 "'QueueUrl':'%s','Attributes':{'RedrivePolicy':'{\\'deadLetterTargetArn\\':\\'%s"
                 "\\',\\'maxReceiveCount\\':%d}'}",
                 source, fixture_arn(f, target), max_receive_count);
}

const char *fixture_counts(struct fixture *f, const char *queue)
{
    fixture_must(f, "GetQueueAttributes", "'QueueUrl':'%s','AttributeNames':['All']", queue);
    return fixture_format(f, "%s %s %s", fixture_get(f, "Attributes.ApproximateNumberOfMessages"),
                          fixture_get(f, "Attributes.ApproximateNumberOfMessagesNotVisible"),
                          fixture_get(f, "Attributes.ApproximateNumberOfMessagesDelayed"));
}

struct qn_queue *fixture_queue(struct fixture *f, const char *name)
{
    return qn_engine_find_queue(f->engine, f->caller.account, f->caller.region,
                                qn_str_from_cstr(name));
}

/* ---- messages ---- */

const char *fixture_send_with(struct fixture *f, const char *queue, const char *body,
                              const char *members)
{
    fixture_must(f, "SendMessage", "'QueueUrl':'%s','MessageBody':'%s'%s%s", queue, body,
                 members[0] != '\0' ? "," : "", members);
    return fixture_get(f, "MessageId");
}

static void send_one(struct fixture *f, const char *queue, const char *body)
{
    const char *members = "";

    if (is_fifo(queue)) {
        int letters = (int)strcspn(body, "0123456789");
        members = fixture_format(f, "'MessageGroupId':'%.*s','MessageDeduplicationId':'n%llu'",
                                 letters, body, (unsigned long long)++f->next_id);
    }
    (void)fixture_send_with(f, queue, body, members);
}

void fixture_send(struct fixture *f, const char *queue, const char *bodies)
{
    while (*bodies != '\0') {
        int len = (int)strcspn(bodies, " ");
        send_one(f, queue, fixture_format(f, "%.*s", len, bodies));
        bodies += len;
        bodies += *bodies == ' ' ? 1 : 0;
    }
}

static const char *text_of(struct fixture *f, const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);

    return fixture_format(f, "%.*s", (int)json_string_length(value), json_string_value(value));
}

const char *fixture_note_messages(struct fixture *f, const json_t *answer)
{
    struct qn_buf bodies;
    size_t i;
    json_t *message;

    qn_buf_init(&bodies, SIZE_MAX);
    json_array_foreach(json_object_get(answer, "Messages"), i, message)
    {
        struct fixture_seen *seen = qn_arena_alloc(&f->arena, sizeof(*seen));
        *seen = (struct fixture_seen){.older = f->seen,
                                      .body = text_of(f, message, "Body"),
                                      .id = text_of(f, message, "MessageId"),
                                      .handle = text_of(f, message, "ReceiptHandle"),
                                      .at_ms = f->now_ms};
        f->seen = seen;
        qn_buf_append_format(&bodies, "%s%s", i > 0 ? " " : "", seen->body);
    }
    const char *text = fixture_format(f, "%.*s", QN_STR_ARG(qn_buf_str(&bodies)));
    qn_buf_done(&bodies);
    return text;
}

const char *fixture_receive_with(struct fixture *f, const char *queue, int max, const char *members)
{
    if (!fixture_call(f, "ReceiveMessage", "'QueueUrl':'%s','MaxNumberOfMessages':%d%s%s", queue,
                      max, members[0] != '\0' ? "," : "", members)) {
        return NULL;
    }
    return fixture_note_messages(f, f->answer);
}

const char *fixture_receive(struct fixture *f, const char *queue, int max)
{
    return fixture_receive_with(f, queue, max, "");
}

static const struct fixture_seen *seen_of(const struct fixture *f, const char *body)
{
    for (const struct fixture_seen *seen = f->seen; seen != NULL; seen = seen->older) {
        if (strcmp(seen->body, body) == 0) {
            return seen;
        }
    }
    (void)fprintf(stderr, "fixture: %s was not received\n", body);
    abort();
}

const char *fixture_handle(struct fixture *f, const char *body)
{
    return seen_of(f, body)->handle;
}

const char *fixture_id(struct fixture *f, const char *body)
{
    return seen_of(f, body)->id;
}

enum qn_error_code fixture_delete(struct fixture *f, const char *queue, const char *handle)
{
    return fixture_code(f, "DeleteMessage", "'QueueUrl':'%s','ReceiptHandle':'%s'", queue, handle);
}

enum qn_error_code fixture_change(struct fixture *f, const char *queue, const char *handle,
                                  int visibility_s)
{
    return fixture_code(f, "ChangeMessageVisibility",
                        "'QueueUrl':'%s','ReceiptHandle':'%s','VisibilityTimeout':%d", queue,
                        handle, visibility_s);
}

void fixture_delete_all(struct fixture *f, const char *queue, const char *bodies)
{
    while (*bodies != '\0') {
        int len = (int)strcspn(bodies, " ");
        const char *handle = fixture_handle(f, fixture_format(f, "%.*s", len, bodies));
        fixture_must(f, "DeleteMessage", "'QueueUrl':'%s','ReceiptHandle':'%s'", queue, handle);
        bodies += len;
        bodies += *bodies == ' ' ? 1 : 0;
    }
}

/* ---- figures ---- */

uint64_t fixture_looked_at(const struct fixture *f)
{
    struct qn_engine_figures figures;

    qn_engine_total_figures(f->engine, &figures);
    return figures.looked_at;
}

size_t fixture_event_count(const struct fixture *f, enum qn_event_kind kind)
{
    struct qn_reader reader;
    size_t count = 0;

    qn_reader_init(&reader, qn_buf_str(&f->events.encoded));
    while (reader.at != reader.end && !reader.failed) {
        struct qn_str encoded = qn_reader_bytes(&reader);
        struct qn_reader one;
        struct qn_event event;
        qn_reader_init(&one, encoded);
        count += qn_event_decode(&one, &event) && event.kind == kind ? 1 : 0;
    }
    return count;
}
