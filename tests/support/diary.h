/* A consumer of a real server, and what its callbacks told. */
#ifndef TESTS_DIARY_H
#define TESTS_DIARY_H

#include <jansson.h>
#include <pthread.h>

#include "client/quern_consumer.h"
#include "tests/support/live_server.h"

enum { DIARY_MAX = 64, DIARY_LIMIT_S = 30 };

struct diary {
    struct live_server server;
    char *queue_url; /* that of the options */
    struct quern_consumer_options options;
    struct quern_consumer *consumer;
    pthread_t thread;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    char bodies[DIARY_MAX][16]; /* in the order of the handler's calls */
    int handled;
    int applied; /* with an inbox */
    int finished;
    int quarantined;
    int ready;
    char reason[QUERN_REASON_MAX]; /* of the last quarantine */
    char states[64];
    char log[16384];
    bool is_open; /* what a handler waits for */
};

/* A server, a queue "q", and options without a handler whose callbacks write the diary. Asserts. */
void diary_open(struct diary *diary, const char *program);
void diary_close(struct diary *diary);
/* Another queue, for the options. */
void diary_make_queue(struct diary *diary, const char *name, json_t *attributes_take);
void diary_send(struct diary *diary, const char *text, const char *group);
/* A consumer with the options, in a thread of its own. */
void diary_start(struct diary *diary);
void diary_stop(struct diary *diary);
/* Stops and frees it. */
void diary_finish(struct diary *diary);

/* For handlers: a call of one. */
void diary_note_call(struct diary *diary, const char *body);
void diary_note(struct diary *diary, int *count);
void diary_wait_until_open(struct diary *diary);
void diary_let_go(struct diary *diary);

void diary_wait_for(struct diary *diary, const int *count, int value);
struct quern_counters diary_count(struct diary *diary);
void diary_expect_left(struct diary *diary, const char *attribute, const char *value);
void diary_expect_empty(struct diary *diary);

#endif
