/* Order relied on in a standard queue. While everything comes in order nothing can be seen: a
 * client that does not care looks the same. It shows when messages overtake each other (by fault
 * rules, or in fair queues), and those that did fail at first, those that did not never fail, and
 * the failed ones succeed once the message that they overtook is done. */
#include "chaos/assumptions/detect.h"

enum { ENOUGH = 3 };

struct tally {
    char queue[84];
    int64_t in_order; /* done at the first attempt, having overtaken none */
    int64_t overtook; /* failed at first, having overtaken one that is done now */
    bool is_refuted;
    struct qn_sight failed; /* the first attempt of the latest of them */
    struct qn_sight done;
};

static bool is_standard(const struct qn_seen_message *message)
{
    return message != NULL && message->queue != NULL && !message->queue->is_fifo;
}

static struct tally *tally_at(struct qn_view *view, const struct qn_seen_message *message)
{
    struct tally *tally = qn_memo_at(view->memo, qn_str_from_cstr(message->queue->name));

    memcpy(tally->queue, message->queue->name, sizeof(tally->queue));
    return tally;
}

static void count_done(struct qn_view *view, const struct qn_seen_message *message,
                       const struct qn_seen_call *call)
{
    bool passed = message->passed_id[0] != '\0';
    struct tally *tally = tally_at(view, message);

    if (message->lease_count == 1) {
        tally->in_order += !passed;
        tally->is_refuted = tally->is_refuted || passed; /* it does not mind */
    } else if (passed && message->lease_count <= QN_SEEN_LEASES_MAX &&
               qn_scene_message(view->scene, qn_str_from_cstr(message->passed_id)) == NULL) {
        tally->overtook++;
        tally->failed = message->leases[0].grant;
        tally->done = call->in;
    } else {
        tally->is_refuted = true; /* failed for some other reason */
    }
}

static void order_at_event(struct qn_view *view, const struct qn_event *event,
                           const struct qn_seen_call *call)
{
    const struct qn_seen_message *message = qn_scene_message(view->scene, event->message_id);

    if (!is_standard(message) || message->lease_count == 0) {
        return;
    }
    if (event->kind == QN_EVENT_MSG_DELETE && call != NULL) {
        count_done(view, message, call);
    } else if ((event->kind == QN_EVENT_LEASE_EXPIRE || event->kind == QN_EVENT_LEASE_RELEASE) &&
               message->passed_id[0] == '\0') {
        tally_at(view, message)->is_refuted = true;
    }
}

static void order_at_end(struct qn_view *view)
{
    for (struct qn_memo_item *item = view->memo->oldest; item != NULL; item = item->newer) {
        const struct tally *tally = item->value;
        bool is_ours = qn_str_equal(qn_str_from_cstr(tally->done.instance), view->scene->harness);
        if (!tally->is_refuted && !is_ours && tally->overtook >= ENOUGH &&
            tally->in_order >= ENOUGH) {
            qn_found(view, NULL, qn_str_from_cstr(tally->queue),
                     QN_SIGHTS(&tally->failed, &tally->done),
                     "%lld messages that overtook an older one failed until it was done; none of "
                     "%lld that came in order failed",
                     (long long)tally->overtook, (long long)tally->in_order);
        }
    }
}

const struct qn_detector qn_detect_standard_order = {
    .entry_size = sizeof(struct tally), .at_event = order_at_event, .at_end = order_at_end};
