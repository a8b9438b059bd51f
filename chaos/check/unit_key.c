/* Which message a unit of work at the effect sink is about. */
#include "chaos/check/unit_key.h"

#include "chaos/check/body.h"

/* Of the envelopes that this build knows. */
enum { SCHEMA_VERSION = 1 };

struct qn_str qn_unit_member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    return json_is_string(value) ? qn_str(json_string_value(value), json_string_length(value))
                                 : QN_STR_NONE;
}

struct qn_str qn_unit_key_of_id(const struct qn_routes_options *o, struct qn_str id)
{
    struct qn_str key = o->key_of_id != NULL ? o->key_of_id(o->effects.state, id) : QN_STR_NONE;

    return qn_str_is_none(key) ? id : key;
}

static struct qn_str find_body(const struct qn_routes_options *o, struct qn_str body,
                               bool *ret_is_readable)
{
    return o->key_of_body != NULL ? o->key_of_body(o->effects.state, body, ret_is_readable)
                                  : QN_STR_NONE;
}

struct qn_str qn_unit_key_of_body(const struct qn_routes_options *o, struct qn_str body)
{
    bool ignored;

    return find_body(o, body, &ignored);
}

/* Of a unit that names itself nowhere: the message whose body it is, as it came, or which the
 * headers name. */
static struct qn_str key_of_request(const struct qn_routes_options *o,
                                    const struct qn_routes_request *request)
{
    bool is_readable = true;
    struct qn_str key = find_body(o, request->body, &is_readable);

    if (!is_readable) { /* its effect is one that nobody asked for */
        key = QN_STR_NONE;
    }
    if (qn_str_is_none(key) && o->key_of_id != NULL && !qn_str_is_none(request->message_id)) {
        key = o->key_of_id(o->effects.state, request->message_id);
    }
    if (!qn_str_is_none(key)) {
        return key;
    }
    return qn_str_is_none(request->idempotency_key)
               ? QN_STR(QN_CHECK_NO_KEY)
               : qn_unit_key_of_id(o, request->idempotency_key);
}

/* By what the business knows this unit of work: its idempotencyKey, or the id in its payload. */
struct qn_str qn_unit_key(const struct qn_routes_options *o,
                          const struct qn_routes_request *request, const json_t *unit)
{
    struct qn_str key = qn_unit_member(unit, "idempotencyKey");

    if (!qn_str_is_none(key)) { /* a body of the user's may have its {{id}} there */
        return qn_unit_key_of_id(o, key);
    }
    struct qn_str id = qn_unit_member(json_object_get(unit, "payload"), "id");
    if (qn_str_is_none(id)) {
        id = qn_unit_member(unit, "id");
    }
    if (!qn_str_is_none(id)) {
        return qn_unit_key_of_id(o, id);
    }
    return key_of_request(o, request);
}

/* The envelope may differ between two sends of one message; the payload may not. */
static uint64_t payload_hash(const json_t *unit)
{
    const json_t *payload = json_object_get(unit, "payload");

    return qn_body_hash(payload != NULL ? payload : unit);
}

struct qn_effect_item qn_unit_item(const struct qn_routes_options *o,
                                   const struct qn_routes_request *request, const json_t *unit)
{
    return (struct qn_effect_item){qn_unit_key(o, request, unit), payload_hash(unit),
                                   qn_body_digest(unit)};
}

enum qn_unit_kind qn_unit_read(const struct qn_routes_options *o,
                               const struct qn_routes_request *request, const json_t *body,
                               struct qn_effect_item *ret_item, struct qn_str *ret_ik)
{
    bool is_envelope = qn_str_equal(qn_unit_member(body, "messageType"), QN_STR("quern.work"));
    struct qn_str ik = qn_unit_member(body, "idempotencyKey");
    bool is_readable = true;

    if (body == NULL) { /* a body of the user's may be no JSON, and one byte of the load is none */
        (void)find_body(o, request->body, &is_readable);
    }
    if (!is_readable) {
        return QN_UNIT_UNREADABLE;
    }
    if (is_envelope &&
        json_integer_value(json_object_get(body, "schemaVersion")) != SCHEMA_VERSION) {
        return QN_UNIT_NEWER;
    }
    *ret_item = qn_unit_item(o, request, body);
    if (qn_str_equal(ret_item->k, QN_STR(QN_CHECK_NO_KEY))) {
        return QN_UNIT_UNKNOWN;
    }
    *ret_ik = qn_str_is_none(ik) ? ret_item->k : ik;
    return QN_UNIT_WORK;
}
