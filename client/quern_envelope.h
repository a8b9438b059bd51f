/* A small versioned envelope around what a message says, and its parser: the first stage of a
 * consumer, before any side effect. A JSON object with these members; all are texts but
 * schemaVersion, a whole number, and payload, which may be anything:
 *
 *   messageType, schemaVersion, idempotencyKey, payload      must be there
 *   messageId, occurredAt, correlationId, causationId, tenantId   may be missing
 *
 * Other members are let pass: a sender may be newer than we are. What decides is the version.
 *
 * Whether the body is JSON is said by RFC 8259, but a name may not be there twice. In the payload a
 * whole number beyond 64 bits is a real one, one beyond those the greatest, and half a surrogate
 * pair U+FFFD, as is U+0000 in a name: nothing of that makes a message permanent. */
#ifndef QUERN_ENVELOPE_H
#define QUERN_ENVELOPE_H

#include "quern_consumer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Texts belong to the envelope; those that may be missing are NULL then. */
struct quern_envelope {
    const char *message_id;
    const char *message_type;
    int64_t schema_version;
    const char *occurred_at;
    const char *correlation_id;
    const char *causation_id;
    const char *tenant_id;
    const char *idempotency_key; /* the key of the inbox */
    const json_t *payload;
    json_t *document; /* what all of it lies in */
};

/* A kind of message that the consumer knows, in the versions from oldest to newest. */
struct quern_envelope_kind {
    const char *message_type;
    int64_t oldest;
    int64_t newest;
};

/* Reads an envelope of one of these kinds. False: reason says why this can never be worked on; it
 * names members and types, and never a value of the payload. */
bool quern_envelope_read(const char *body, size_t len, const struct quern_envelope_kind *kinds,
                         size_t kind_count, struct quern_envelope *ret_envelope,
                         char reason[QUERN_REASON_MAX]);
/* Accepts a zeroed one. */
void quern_envelope_done(struct quern_envelope *envelope);

#ifdef __cplusplus
}
#endif

#endif
