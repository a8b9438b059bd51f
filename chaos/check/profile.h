/* What kind of consumer this is, learned from a history. */
#ifndef QN_CHECK_PROFILE_H
#define QN_CHECK_PROFILE_H

#include "chaos/check/judge/judge.h"

enum { QN_PROFILE_AGENT = 64, QN_PROFILE_MODE = 16, QN_PROFILE_ASKED = 240 };

struct qn_profile {
    bool is_known;
    enum qn_level level;
    int64_t visibility_ms;     /* granted */
    bool overrides_visibility; /* asks for its own on receive */
    int64_t wait_s;            /* of its polls; QN_EVENT_NO_INT: the queue's */
    int64_t batch;             /* most messages asked for in one call */
    bool deletes_single;
    bool deletes_batch;
    int64_t concurrency;     /* most runs open at once at the sink; 0: not seen */
    int64_t pollers;         /* most receives that one instance had open at once; 0: not seen */
    int64_t held;            /* most leases held at once */
    int64_t prefetch;        /* most messages that waited for a worker, when all workers have one;
                                needs the sink */
    bool has_sdk;            /* its calls carry the ids of an AWS SDK */
    int64_t sdk_attempts;    /* most attempts seen of one call */
    int64_t heartbeat_ms;    /* median gap of extensions; 0: none */
    int64_t startup_ms;      /* from spawn to the first receive */
    int64_t handling_p50_ms; /* from lease to delete */
    int64_t handling_p99_ms;
    char agent[QN_PROFILE_AGENT];     /* "Boto3/1.35.2"; empty: it did not say */
    char retry_mode[QN_PROFILE_MODE]; /* of the SDK: legacy, standard, adaptive; empty: not said */
    char asked[QN_PROFILE_ASKED];     /* attributes that its receives ask for, with commas; those of
                                         the sender's own begin with '*' */
};

/* The history is settled. */
void qn_profile_learn(struct qn_profile *profile, const struct qn_judge_input *in);

#endif
