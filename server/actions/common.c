/* What several actions share. */
#include "server/actions/common.h"

#include <inttypes.h>

#include "server/base/digest.h"
#include "server/model/queue_url.h"

static bool auto_create(struct qn_tx *tx, struct qn_str account, struct qn_str name)
{
    const struct qn_engine_options *options = qn_engine_options_of(tx->engine);
    bool is_fifo = qn_str_ends_with(name, QN_STR(".fifo"));
    struct qn_queue_settings settings;

    if (!options->auto_create || !qn_is_queue_name(name, is_fifo)) {
        return false;
    }
    qn_queue_settings_init(&settings, is_fifo, &options->limits);
    tx->queue = qn_engine_create_queue(tx, account, tx->caller->region, name, &settings);
    return true;
}

static bool split(const struct qn_tx *tx, struct qn_str queue_url, struct qn_str *ret_account,
                  struct qn_str *ret_name)
{
    const struct qn_queue_address *known = tx->address;

    if (known == NULL || known->url.ptr != queue_url.ptr || known->url.len != queue_url.len) {
        return qn_queue_url_split(queue_url, true, ret_account, ret_name);
    }
    *ret_account = known->account;
    *ret_name = known->name;
    return true;
}

bool qn_resolve_queue(struct qn_tx *tx, struct qn_str queue_url, struct qn_error *err)
{
    struct qn_str account;
    struct qn_str name;

    if (!split(tx, queue_url, &account, &name)) {
        return qn_fail(err, QN_ERR_INVALID_ADDRESS,
                       "The address %.*s is not valid for this endpoint.",
                       QN_STR_ARG(qn_str_first(queue_url, 1024)));
    }
    tx->queue = NULL;
    if (!qn_str_is_none(account)) {
        tx->queue = qn_engine_find_queue(tx->engine, account, tx->caller->region, name);
    }
    if (tx->queue == NULL) {
        tx->queue = qn_engine_find_queue(tx->engine, tx->caller->account, tx->caller->region, name);
    }
    if (tx->queue == NULL &&
        !auto_create(tx, qn_str_is_none(account) ? tx->caller->account : account, name)) {
        return qn_fail(err, QN_ERR_QUEUE_DOES_NOT_EXIST, "The specified queue does not exist.");
    }
    return true;
}

struct qn_str qn_queue_url_of(struct qn_tx *tx, const struct qn_queue *queue)
{
    return qn_arena_format(tx->arena, "%.*s%.*s/%.*s/%.*s", QN_STR_ARG(tx->caller->url_scheme),
                           QN_STR_ARG(tx->caller->url_base), QN_STR_ARG(qn_queue_account(queue)),
                           QN_STR_ARG(qn_queue_name(queue)));
}

bool qn_fail_value(struct qn_error *err, struct qn_str value, const char *parameter,
                   const char *reason)
{
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "Value %.*s for parameter %s is invalid. Reason: %s",
                   QN_STR_ARG(qn_str_first(value, 1024)), parameter, reason);
}

bool qn_is_plain_name(struct qn_str text, size_t max)
{
    if (text.len < 1 || text.len > max) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (!qn_char_is_alphanumeric(text.ptr[i]) && text.ptr[i] != '-' && text.ptr[i] != '_') {
            return false;
        }
    }
    return true;
}

bool qn_is_fifo_id(struct qn_str text)
{
    if (text.len < 1 || text.len > QN_FIFO_ID_MAX) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '!' || text.ptr[i] > '~') {
            return false;
        }
    }
    return true;
}

size_t qn_count_characters(struct qn_str text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++) {
        count += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
    }
    return count;
}

bool qn_is_queue_name(struct qn_str name, bool is_fifo)
{
    struct qn_str stem = name;

    if (is_fifo) {
        if (!qn_str_ends_with(name, QN_STR(".fifo"))) {
            return false;
        }
        stem = qn_str_first(name, name.len - 5);
    }
    return name.len <= QN_QUEUE_NAME_MAX && qn_is_plain_name(stem, QN_QUEUE_NAME_MAX);
}

struct qn_str qn_md5_hex(struct qn_tx *tx, const uint8_t digest[16])
{
    char *text = qn_arena_alloc_raw(tx->arena, 33);

    if (text == NULL) {
        return QN_STR_NONE;
    }
    qn_digest_hex(digest, 16, text);
    return qn_str(text, 32);
}

struct qn_str qn_uuid_text(struct qn_tx *tx, const uint8_t uuid[16])
{
    char *text = qn_arena_alloc_raw(tx->arena, 37);

    if (text == NULL) {
        return QN_STR_NONE;
    }
    qn_random_format_uuid(uuid, text);
    return qn_str(text, 36);
}

bool qn_list_new(struct qn_tx *tx, size_t count, size_t element_size, struct qn_list *ret_list,
                 struct qn_error *err)
{
    void *items = qn_arena_alloc(tx->arena, count * element_size);

    if (items == NULL) {
        return qn_fail(err, QN_ERR_INTERNAL, "The answer is too large.");
    }
    *ret_list = (struct qn_list){.items = items, .count = 0, .present = true};
    return true;
}

bool qn_check_range(struct qn_integer value, int64_t min, int64_t max, const char *parameter,
                    const char *reason, struct qn_error *err)
{
    if (!value.present || (value.value >= min && value.value <= max)) {
        return true;
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "Value %" PRId64 " for parameter %s is invalid. Reason: %s", value.value,
                   parameter, reason);
}
