/* What leaves the engine beside the answers: journal rows and events. */
#include "server/engine/state.h"

enum { BACKGROUND_ENTRY_MAX = 1024 * 1024 };

bool qn_entry_is_full(const struct qn_tx *tx)
{
    return tx->entry != NULL && tx->entry->len > BACKGROUND_ENTRY_MAX;
}

static void fill_row(const struct qn_engine *engine, const struct message *message,
                     struct qn_message_row *row)
{
    *row = (struct qn_message_row){
        .key = message_key(message),
        .content_id = message->content_id,
        .generation = message->generation,
        .state = (uint8_t)(message->state | ((message->flags & MESSAGE_STORED_FLAGS) << 4)),
        .enqueued_at_ms = message->enqueued_at_ms,
        .hidden_until_ms = message->hidden_until_ms,
        .first_received_at_ms = message->first_received_at_ms,
        .received_at_ms = message->received_at_ms,
        .arrived_at_ms = message->arrived_at_ms,
        .receive_count = message->receive_count,
        .total_count = message->total_count,
        .receive_number = message->receive_number,
        .content_size = message->content_size,
        .source_arn = message->source == 0 ? QN_STR_NONE : engine->arns[message->source],
    };
    memcpy(row->id, message->id, sizeof(row->id));
}

void qn_emit_message(struct qn_tx *tx, enum qn_row_kind kind, const struct message *message,
                     int64_t old_key, struct qn_str content)
{
    struct qn_row row = {.kind = kind, .key = old_key, .content = content};
    const struct qn_queue *queue;

    if (tx->entry == NULL) {
        return;
    }
    fill_row(tx->engine, message, &row.message);
    queue = qn_queue_by_number(tx->engine, message->queue_number);
    if (queue != NULL && message->group != NULL) {
        if (queue->is_fifo) {
            row.message.group_id = message->group->name;
            row.message.service_stamp = message->group->stamp;
        } else {
            row.message.group_id = message->tenant->name;
        }
    }
    qn_entry_append(tx->entry, &row);
}

void qn_emit_delete(struct qn_tx *tx, const struct message *message)
{
    struct qn_row row = {.kind = QN_ROW_MESSAGE_DELETE,
                         .key = message_key(message),
                         .content_id = message->content_id};

    if (tx->entry != NULL) {
        qn_entry_append(tx->entry, &row);
    }
}

void qn_event_of(struct qn_tx *tx, struct qn_event *event, enum qn_event_kind kind,
                 const struct qn_queue *queue, const struct message *message, char id_text[37],
                 char sequence_text[21])
{
    qn_event_init(event, kind);
    event->virtual_ms = tx->now_ms;
    event->account = queue->account;
    event->queue = queue->name;
    event->queue_region = queue->region;
    event->request = tx->request_id;
    if (tx->caller != NULL) {
        event->instance = tx->caller->access_key_id;
        if (qn_str_is_none(event->instance) && tx->connection > 0) {
            event->connection = tx->connection;
        }
        if (!qn_str_equal(tx->caller->region, queue->region)) {
            event->region = queue->region;
        }
    }
    if (message == NULL) {
        return;
    }
    qn_random_format_uuid(message->id, id_text);
    event->message_id = qn_str(id_text, 36);
    event->receive_count = message->total_count;
    if (message->group != NULL) {
        event->group = queue->is_fifo ? message->group->name : message->tenant->name;
    }
    if (queue->is_fifo) {
        qn_engine_format_sequence(message->sequence, sequence_text);
        event->sequence_number = qn_str(sequence_text, 20);
    }
}

void qn_emit_event(struct qn_tx *tx, const struct qn_event *event)
{
    qn_event_list_add(tx->events, event);
}
