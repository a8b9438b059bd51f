/* The execution of a call that passed its checks: what comes of it stands in the call and in
 * journal and trace, and nothing is answered yet. */
#include "server/http/execute.h"

/* Encoded before the engine is called again: the output has views into its memory. */
static void take_output(struct qn_call *call)
{
    call->status = 200;
    call->code = QN_ERR_NONE;
    call->content_type = qn_wire_content_type(&call->request);
    call->header_count = 0;
    qn_buf_clear(&call->answer);
    qn_wire_encode_output(&call->request, &call->answer);
    if (call->is_recorded) {
        qn_record_take_output(call);
    }
}

bool qn_execute(struct qn_call *call, struct qn_tx *tx, const struct qn_verdict *verdict,
                struct qn_error *err)
{
    struct qn_request *request = &call->request;
    bool ok;

    request->output = qn_arena_alloc(&request->arena, request->action->output->size);
    if (request->output == NULL) {
        return qn_fail(err, QN_ERR_INTERNAL, "The request needs too much memory.");
    }
    tx->verdict = verdict->kind != QN_VERDICT_PASS ? verdict : call->verdict;
    tx->facts = call->facts;
    ok = request->action->execute(tx, request->input, request->output, err);
    if (ok && tx->park.queue == NULL) {
        qn_facts_learn(call, tx);
        take_output(call);
    }
    qn_loop_keep(call->loop);
    return ok;
}
