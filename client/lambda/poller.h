/* What the pollers of one mapping share. */
#ifndef QN_LAMBDA_POLLER_H
#define QN_LAMBDA_POLLER_H

#include <pthread.h>

#include "client/lambda/lambda.h"
#include "client/quern.h"
#include "server/base/random.h"

struct qn_lambda {
    const struct qn_lambda_options *options;
    struct qn_lambda_queue queue;
    char *queue_url;
    struct qn_lambda_function function;
    char function_arn[400];
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    bool is_stopping;
    bool is_queue_lost; /* and that was the end: there will be no empty queue to wait for */
    size_t poller_count;
    size_t allowed;               /* how many may poll: fewer after function errors */
    size_t busy;                  /* pollers that invoke now */
    char trouble[QUERN_CODE_MAX]; /* why receives fail, as it was told; "": they do not */
};

struct qn_lambda_poller {
    struct qn_lambda *lambda;
    size_t index;
    pthread_t thread;
    struct quern_client *receiver; /* cancelled when all is to stop */
    struct quern_client *client;   /* for all else */
    struct quern_client *reporter; /* to the report URL, or NULL */
    struct qn_random random;
    struct qn_lambda_environment environment;
    int failed_starts;        /* of provisioned ones, since one was there */
    int failed_receives;      /* in a row */
    json_t *waiting;          /* records that did not fit into the last event; of one receive */
    int64_t waiting_until_ms; /* when their lease is over */
    struct qn_buf event;
};

/* The thread of a poller ends when the mapping is stopping. */
QN_MUST_CHECK bool qn_lambda_poller_start(struct qn_lambda_poller *poller, struct qn_lambda *lambda,
                                          size_t index, struct qn_error *err);
/* Ends its long poll. From any thread. */
void qn_lambda_poller_interrupt(struct qn_lambda_poller *poller);
/* Waits for its thread. */
void qn_lambda_poller_join(struct qn_lambda_poller *poller);

bool qn_lambda_is_stopping(struct qn_lambda *lambda);
/* Until the pause is over or all is to stop. */
void qn_lambda_pause(struct qn_lambda *lambda, int64_t pause_ms);
void qn_lambda_stop(struct qn_lambda *lambda);
/* The same because the queue is gone. */
void qn_lambda_lose_queue(struct qn_lambda *lambda);

/* ---- batches ---- */

/* The next batch: an array of records, which is the caller's and may be empty, and its event. What
 * the filters do not let pass is deleted. */
json_t *qn_lambda_gather(struct qn_lambda_poller *poller);
/* Deletes the messages of these records; those that cannot be deleted come again. */
void qn_lambda_delete(struct qn_lambda_poller *poller, const json_t *records);
/* Makes them visible at once. */
void qn_lambda_release(struct qn_lambda_poller *poller, const json_t *records);
/* Of a FIFO queue: gives back what was received with the records that are left, did not fit into
 * their event, and comes behind one of them in its group. */
void qn_lambda_release_behind(struct qn_lambda_poller *poller, const json_t *left);

/* ---- what is told, on stderr ---- */

/* fields: an object, which is taken; text: the same for people. */
void qn_lambda_tell_take(const struct qn_lambda *lambda, const char *event, json_t *fields,
                         const char *format, ...) QN_PRINTF(4, 5);

/* ---- what is reported ---- */

/* A client for the report URL; stays NULL without one. */
QN_MUST_CHECK bool qn_lambda_reporter_new(const struct qn_lambda_options *options,
                                          struct quern_client **ret_reporter, struct qn_error *err);
/* what: init, started, not_started, invoke, return, wrong, wrong_id, error, timeout, throttled,
 * filtered, audit; fields: an object, which is taken. Does nothing without a reporter. Returns 0,
 * or the status by which the listener says that Lambda answered with it and did not do this. */
int qn_lambda_report_take(struct quern_client *reporter, const char *what, json_t *fields);
/* An array of their message ids, which is the caller's. */
json_t *qn_lambda_ids_of(const json_t *records);

#endif
