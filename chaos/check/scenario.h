/* One scenario, read from its JSON file. */
#ifndef QN_CHECK_SCENARIO_H
#define QN_CHECK_SCENARIO_H

#include <jansson.h>

#include "chaos/embedded.h"
#include "chaos/rule.h"
#include "server/base/arena.h"
#include "server/base/buf.h"

struct qn_scenario_load {
    struct qn_str outcome; /* ok, flaky, permanent */
    int64_t count;
    int64_t work_ms;
    int64_t fails;  /* flaky: the first attempts that fail */
    int64_t groups; /* FIFO: over how many groups they go round; 0: one each */
};

struct qn_scenario_fault {
    struct qn_rule *rule;
    struct qn_str text; /* with a name in any case */
    struct qn_str name;
    int64_t planned; /* how often it must have fired */
};

struct qn_scenario {
    json_t *json; /* the whole file */
    struct qn_arena arena;
    struct qn_str id, title, severity, why, fix;
    bool for_standard;
    bool for_fifo;
    bool needs_sink;
    bool has_dlq;
    int64_t max_receive;
    struct qn_str visibility; /* an expression; V is the tempo's */
    int64_t instance_count;
    bool restarts;
    int64_t restart_delay_ms;
    struct qn_scenario_load *loads;
    size_t load_count;
    struct qn_scenario_fault *faults;
    size_t fault_count;
    struct qn_str drained_within; /* an expression */
    int64_t settle_ms;            /* how long it must stay drained */
};

/* text is the file, name is for error messages. All that is wrong with it, a line each, is appended
 * to mistakes. */
QN_MUST_CHECK bool qn_scenario_read_all(struct qn_str text, const char *name,
                                        struct qn_scenario **ret_scenario, struct qn_buf *mistakes);
/* The same with room for the first mistake only. */
QN_MUST_CHECK bool qn_scenario_read(struct qn_str text, const char *name,
                                    struct qn_scenario **ret_scenario, struct qn_error *err);
/* Accepts NULL. */
void qn_scenario_free(struct qn_scenario *scenario);
/* members.c: whether the file has the members that a scenario has, and each of the right kind;
 * whether its invariants and expressions can be read. */
QN_MUST_CHECK bool qn_scenario_check_members(const json_t *json, const char *name,
                                             struct qn_buf *mistakes);
/* All work of the load, and of its longest message. */
int64_t qn_scenario_total_work_ms(const struct qn_scenario *scenario);
int64_t qn_scenario_longest_work_ms(const struct qn_scenario *scenario);
int64_t qn_scenario_message_count(const struct qn_scenario *scenario);

#endif
