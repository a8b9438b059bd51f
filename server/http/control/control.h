/* What the pages of the control API share. */
#ifndef QN_HTTP_CONTROL_H
#define QN_HTTP_CONTROL_H

#include "server/http/internal.h"

/* A request for a page: the rest of the path behind the route, without its slash. */
typedef void qn_control_page(struct qn_call *call, struct qn_str rest);

/* Answers with the document, which is given away. */
void qn_control_answer(struct qn_call *call, int status, json_t *document_take);
/* The same with status 200, when what was changed and kept is as firm as --sync promises. */
void qn_control_answer_change(struct qn_call *call, json_t *document_take);
/* {"error": "..."}; always with a status of 4xx. */
void qn_control_fail(struct qn_call *call, int status, const char *format, ...) QN_PRINTF(3, 4);
/* A parameter of the query string, decoded; false when it is not there. */
bool qn_control_parameter(struct qn_call *call, const char *name, struct qn_str *ret_value);
/* The same as an integer of at least 0; `otherwise` when it is not there. False: answered. */
QN_MUST_CHECK bool qn_control_integer(struct qn_call *call, const char *name, int64_t otherwise,
                                      int64_t max, int64_t *ret_value);
/* The body as a JSON object with no other members than these (a list that ends with NULL), {} when
 * it is empty; NULL: answered. The caller owns the reference. */
json_t *qn_control_body(struct qn_call *call, const char *const *members);
bool qn_control_is_list_of_texts(const json_t *value);
json_t *qn_control_text(struct qn_str text);
json_t *qn_control_instant(int64_t ms);

/* GET health, GET info, POST mark */
qn_control_page qn_control_health, qn_control_info, qn_control_mark;
/* GET queues, GET queues/NAME/messages, POST reset */
qn_control_page qn_control_queues, qn_control_queue, qn_control_reset;
/* GET clock, POST clock */
qn_control_page qn_control_clock, qn_control_move_clock;
/* GET, POST, DELETE rules, POST rules/NAME/enable, disable and release */
qn_control_page qn_control_rules, qn_control_add_rules, qn_control_remove_rules,
    qn_control_change_rule;
/* POST act */
qn_control_page qn_control_act;
/* GET, POST, DELETE failpoints */
qn_control_page qn_control_failpoints, qn_control_arm_failpoints, qn_control_disarm_failpoints;
/* GET trace */
qn_control_page qn_control_trace;
/* GET assumptions */
qn_control_page qn_control_assumptions;
/* LocalStack's pages. */
qn_control_page qn_control_localstack_health, qn_control_localstack_messages;

/* The queue by name, with the parameters account and region where several have it. NULL: answered.
 */
struct qn_queue *qn_control_find_queue(struct qn_call *call, struct qn_str name);

#endif
