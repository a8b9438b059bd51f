/* What the batch actions share. */
#include "server/actions/batch.h"

static const struct qn_field failure_fields[] = {
    {"Id", NULL, QN_STRING, 0, offsetof(struct qn_batch_failure, id), NULL, NULL, NULL},
    {"SenderFault", NULL, QN_BOOLEAN, 0, offsetof(struct qn_batch_failure, sender_fault), NULL,
     NULL, NULL},
    {"Code", NULL, QN_STRING, 0, offsetof(struct qn_batch_failure, code), NULL, NULL, NULL},
    {"Message", NULL, QN_STRING, 0, offsetof(struct qn_batch_failure, message), NULL, NULL, NULL},
};
const struct qn_shape qn_batch_failure_shape = QN_SHAPE(struct qn_batch_failure, failure_fields);

static const struct qn_field success_fields[] = {
    {"Id", NULL, QN_STRING, 0, offsetof(struct qn_batch_success, id), NULL, NULL, NULL},
};
const struct qn_shape qn_batch_success_shape = QN_SHAPE(struct qn_batch_success, success_fields);

static struct qn_str id_at(struct qn_list entries, size_t entry_size, size_t i)
{
    struct qn_str id;

    memcpy(&id, (const char *)entries.items + i * entry_size, sizeof(id));
    return id;
}

bool qn_batch_check(const struct qn_tx *tx, struct qn_list entries, size_t entry_size,
                    const char *entry_name, struct qn_error *err)
{
    int64_t max = qn_engine_options_of(tx->engine)->limits.batch_entries;

    if (entries.count == 0) {
        return qn_fail(err, QN_ERR_EMPTY_BATCH_REQUEST,
                       "There should be at least one %s in the request.", entry_name);
    }
    if (entries.count > (size_t)max) {
        return qn_fail(err, QN_ERR_TOO_MANY_ENTRIES_IN_BATCH_REQUEST,
                       "Maximum number of entries per request are %lld. You have sent %zu.",
                       (long long)max, entries.count);
    }
    for (size_t i = 0; i < entries.count; i++) {
        if (!qn_is_plain_name(id_at(entries, entry_size, i), QN_BATCH_ID_MAX)) {
            return qn_fail(err, QN_ERR_INVALID_BATCH_ENTRY_ID,
                           "A batch entry id can only contain alphanumeric characters, hyphens and "
                           "underscores. It can be at most 80 letters long.");
        }
    }
    for (size_t i = 0; i < entries.count; i++) {
        struct qn_str id = id_at(entries, entry_size, i);
        for (size_t j = 0; j < i; j++) {
            if (qn_str_equal(id, id_at(entries, entry_size, j))) {
                return qn_fail(err, QN_ERR_BATCH_ENTRY_IDS_NOT_DISTINCT, "Id %.*s repeated.",
                               QN_STR_ARG(id));
            }
        }
    }
    return true;
}

void qn_batch_fail(struct qn_tx *tx, struct qn_list *failed, struct qn_str id,
                   const struct qn_error *err)
{
    struct qn_batch_failure *failure = (struct qn_batch_failure *)failed->items + failed->count++;
    const struct qn_error_info *info = qn_error_info(err->code);

    *failure = (struct qn_batch_failure){
        .id = id,
        .sender_fault = {.value = info->sender, .present = true},
        .code = qn_str_from_cstr(info->query_code),
        .message = qn_arena_copy(tx->arena, qn_str_from_cstr(err->message)),
    };
}

bool qn_batch_lists(struct qn_tx *tx, size_t count, size_t success_size,
                    struct qn_list *ret_successful, struct qn_list *ret_failed,
                    struct qn_error *err)
{
    return qn_list_new(tx, count, success_size, ret_successful, err) &&
           qn_list_new(tx, count, sizeof(struct qn_batch_failure), ret_failed, err);
}

static bool is_named(const struct qn_tx *tx, size_t index)
{
    return tx->verdict != NULL && index < 64 &&
           (tx->verdict->entry_mask & (UINT64_C(1) << index)) != 0;
}

bool qn_is_faked(const struct qn_tx *tx, size_t index)
{
    return is_named(tx, index) && tx->verdict->kind == QN_VERDICT_FAKE_SUCCESS;
}

bool qn_check_verdict(const struct qn_tx *tx, size_t index, struct qn_error *err)
{
    if (!is_named(tx, index) || tx->verdict->kind != QN_VERDICT_FAIL_ENTRIES) {
        return true;
    }
    return qn_fail(err, tx->verdict->error, "A fault rule (%.*s) fails this entry.",
                   QN_STR_ARG(tx->verdict->rule));
}

bool qn_facts_room(struct qn_tx *tx, struct qn_facts *facts, size_t count)
{
    facts->messages = qn_arena_alloc(tx->arena, count * sizeof(*facts->messages));
    facts->message_count = 0;
    return facts->messages != NULL;
}

static bool ensure_room(struct qn_tx *tx, struct qn_facts *facts)
{
    return facts->messages != NULL || qn_facts_room(tx, facts, 1);
}

/* In the form in which they are stored; none when there are none. */
static struct qn_str encode_attributes(struct qn_tx *tx, struct qn_list attributes)
{
    struct qn_str encoded = QN_STR_NONE;
    struct qn_buf buf;

    if (attributes.count == 0) {
        return encoded;
    }
    qn_buf_init(&buf, SIZE_MAX);
    qn_content_encode_attributes(&buf, attributes.items, attributes.count);
    encoded = qn_arena_copy(tx->arena, qn_buf_str(&buf));
    qn_buf_done(&buf);
    return encoded;
}

void qn_look_send(struct qn_tx *tx, const struct qn_message_input *message, struct qn_str entry_id,
                  struct qn_facts *facts)
{
    if (ensure_room(tx, facts)) {
        size_t i = facts->message_count++;
        facts->messages[i] = (struct qn_fact_message){
            .entry_id = entry_id,
            .entry_index = (int64_t)i,
            .group = message->group_id,
            .body = message->body,
            .attributes = encode_attributes(tx, message->attributes),
        };
    }
}

void qn_look_handle(struct qn_tx *tx, struct qn_str receipt_handle, struct qn_str entry_id,
                    struct qn_facts *facts)
{
    struct qn_lease lease;
    enum qn_handle_state state = qn_engine_find_lease(tx, tx->queue, receipt_handle, &lease);

    if (!ensure_room(tx, facts)) {
        return;
    }
    size_t i = facts->message_count++;
    struct qn_fact_message *fact = &facts->messages[i];
    *fact = (struct qn_fact_message){0};
    if (state == QN_HANDLE_LATEST || state == QN_HANDLE_OLDER) {
        qn_engine_look_lease(tx, tx->queue, lease.slot, fact);
    }
    fact->entry_id = entry_id;
    fact->entry_index = (int64_t)i;
    fact->handle = receipt_handle;
}
