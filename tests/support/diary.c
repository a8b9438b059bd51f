/* Tests of the whole runtime have this in common. */
#include "tests/support/diary.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client/internal.h"

void diary_make_queue(struct diary *d, const char *name, json_t *attributes_take)
{
    struct quern_error err;

    quern_text_free(d->queue_url);
    d->queue_url = NULL;
    struct quern_pairs *attributes = quern_json_pairs(attributes_take);
    bool ok = quern_create_queue(d->server.client, name, attributes, NULL, &d->queue_url, &err);
    assert(ok);
    quern_answer_free(attributes);
    json_decref(attributes_take);
    d->options.queue_url = d->queue_url;
}

/* ---- callbacks ---- */

void diary_note(struct diary *d, int *count)
{
    (void)pthread_mutex_lock(&d->lock);
    (*count)++;
    (void)pthread_cond_broadcast(&d->changed);
    (void)pthread_mutex_unlock(&d->lock);
}

static void on_finished(void *state, const struct quern_delivery *delivery)
{
    (void)delivery;
    diary_note(state, &((struct diary *)state)->finished);
}

static bool quarantine(void *state, const struct quern_delivery *delivery, const char *reason)
{
    struct diary *d = state;

    (void)delivery;
    (void)pthread_mutex_lock(&d->lock);
    (void)snprintf(d->reason, sizeof(d->reason), "%s", reason);
    (void)pthread_mutex_unlock(&d->lock);
    diary_note(d, &d->quarantined);
    return true;
}

static void on_state(void *state, enum quern_state from, enum quern_state to)
{
    struct diary *d = state;
    size_t len = strlen(d->states);

    (void)from;
    (void)snprintf(d->states + len, sizeof(d->states) - len, "%s ", quern_state_name(to));
}

static void on_log(void *state, const char *line)
{
    struct diary *d = state;
    size_t len = strlen(d->log);

    (void)snprintf(d->log + len, sizeof(d->log) - len, "%s\n", line);
}

void diary_note_call(struct diary *d, const char *body)
{
    (void)pthread_mutex_lock(&d->lock);
    if (d->handled < DIARY_MAX) {
        (void)snprintf(d->bodies[d->handled], sizeof(d->bodies[0]), "%s", body);
    }
    (void)pthread_mutex_unlock(&d->lock);
    diary_note(d, &d->handled);
}

void diary_wait_until_open(struct diary *d)
{
    (void)pthread_mutex_lock(&d->lock);
    while (!d->is_open) {
        (void)pthread_cond_wait(&d->changed, &d->lock);
    }
    (void)pthread_mutex_unlock(&d->lock);
}

void diary_let_go(struct diary *d)
{
    (void)pthread_mutex_lock(&d->lock);
    d->is_open = true;
    (void)pthread_cond_broadcast(&d->changed);
    (void)pthread_mutex_unlock(&d->lock);
}

/* ---- from the beginning to the end ---- */

void diary_open(struct diary *d, const char *program)
{
    live_server_start(&d->server, program);
    (void)pthread_mutex_init(&d->lock, NULL);
    (void)pthread_cond_init(&d->changed, NULL);
    d->options = (struct quern_consumer_options){.client = d->server.options,
                                                 .state = d,
                                                 .on_finished = on_finished,
                                                 .on_state = on_state,
                                                 .on_log = on_log,
                                                 .quarantine = quarantine,
                                                 .seed = 1};
    diary_make_queue(d, "q", NULL);
}

void diary_close(struct diary *d)
{
    quern_text_free(d->queue_url);
    live_server_stop(&d->server);
}

void diary_send(struct diary *d, const char *text, const char *group)
{
    bool is_fifo = d->queue_url[strlen(d->queue_url) - 1] == 'o';
    const struct quern_message message = {.body = text,
                                          .body_len = strlen(text),
                                          .delay_s = QUERN_NOT_GIVEN,
                                          .group_id = group,
                                          .deduplication_id = is_fifo ? text : NULL};
    struct quern_error err;

    bool ok = quern_send_message(d->server.client, d->queue_url, &message, NULL, &err);
    assert(ok);
}

static void *run(void *consumer)
{
    struct quern_error said;

    bool ok = quern_consumer_run(consumer, &said);
    assert(ok);
    return NULL;
}

void diary_start(struct diary *d)
{
    struct quern_error err;

    bool ok = quern_consumer_new(&d->options, &d->consumer, &err) &&
              pthread_create(&d->thread, NULL, run, d->consumer) == 0;
    assert(ok);
}

void diary_stop(struct diary *d)
{
    quern_consumer_stop(d->consumer);
    (void)pthread_join(d->thread, NULL);
}

void diary_finish(struct diary *d)
{
    diary_stop(d);
    quern_consumer_free(d->consumer);
}

/* ---- what became of it ---- */

void diary_wait_for(struct diary *d, const int *count, int value)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += DIARY_LIMIT_S;
    (void)pthread_mutex_lock(&d->lock);
    while (*count < value && pthread_cond_timedwait(&d->changed, &d->lock, &until) == 0) {
    }
    assert(*count >= value);
    (void)pthread_mutex_unlock(&d->lock);
}

struct quern_counters diary_count(struct diary *d)
{
    struct quern_counters counters;

    quern_consumer_count(d->consumer, &counters);
    return counters;
}

void diary_expect_left(struct diary *d, const char *attribute, const char *value)
{
    struct quern_pairs *attributes = NULL;
    struct quern_error err;

    bool ok =
        quern_get_queue_attributes(d->server.client, d->queue_url, NULL, 0, &attributes, &err);
    assert(ok);
    assert(strcmp(quern_pairs_get(attributes, attribute), value) == 0);
    quern_answer_free(attributes);
}

void diary_expect_empty(struct diary *d)
{
    diary_expect_left(d, "ApproximateNumberOfMessages", "0");
    diary_expect_left(d, "ApproximateNumberOfMessagesNotVisible", "0");
}
