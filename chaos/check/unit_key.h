/* Which message a unit of work at the effect sink is about. */
#ifndef QN_CHECK_UNIT_KEY_H
#define QN_CHECK_UNIT_KEY_H

#include <jansson.h>

#include "chaos/check/routes.h"

/* The text of this member; none without one. */
struct qn_str qn_unit_member(const json_t *object, const char *name);
/* The business key of the message with this id, or the id itself. */
struct qn_str qn_unit_key_of_id(const struct qn_routes_options *o, struct qn_str id);
/* The business key of the message with this body, readable or not; none: there is none, or several.
 */
struct qn_str qn_unit_key_of_body(const struct qn_routes_options *o, struct qn_str body);
/* The business key of a unit, which may be no JSON (NULL); QN_CHECK_NO_KEY: nobody knows. */
struct qn_str qn_unit_key(const struct qn_routes_options *o,
                          const struct qn_routes_request *request, const json_t *unit);
struct qn_effect_item qn_unit_item(const struct qn_routes_options *o,
                                   const struct qn_routes_request *request, const json_t *unit);

/* What a handler makes of the body of one message, before it works. */
enum qn_unit_kind {
    QN_UNIT_WORK,
    QN_UNIT_NEWER,      /* of a version that this build does not know, and a later one may */
    QN_UNIT_UNREADABLE, /* it can never be carried out */
    QN_UNIT_UNKNOWN     /* no message of this run */
};

/* The item and its idempotency key are those of QN_UNIT_WORK, else untouched or void. */
enum qn_unit_kind qn_unit_read(const struct qn_routes_options *o,
                               const struct qn_routes_request *request, const json_t *body,
                               struct qn_effect_item *ret_item, struct qn_str *ret_ik);

#endif
