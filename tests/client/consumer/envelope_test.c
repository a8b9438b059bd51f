/* What is an envelope of ours, and what is said of one that is not. */
#include "client/quern_envelope.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct quern_envelope_kind kinds[] = {{"order.placed", 1, 2}, {"order.paid", 3, 3}};
static char reason[QUERN_REASON_MAX];
static struct quern_envelope envelope;

static bool reads(const char *body)
{
    return quern_envelope_read(body, strlen(body), kinds, 2, &envelope, reason);
}

static void close_envelope(void)
{
    quern_envelope_done(&envelope);
}

TestSuite(consumer_envelope, .fini = close_envelope);

#define REST "\"idempotencyKey\":\"k\",\"payload\":{\"secret\":7}}"

Test(consumer_envelope, all_members_are_read)
{
    cr_assert(reads("{\"messageType\":\"order.placed\",\"schemaVersion\":2,\"messageId\":\"m\","
                    "\"occurredAt\":\"2026-01-01T00:00:00Z\",\"correlationId\":\"c\","
                    "\"causationId\":\"b\",\"tenantId\":\"t\"," REST),
              "%s", reason);
    cr_expect_str_eq(envelope.message_type, "order.placed");
    cr_expect_eq(envelope.schema_version, 2);
    cr_expect_str_eq(envelope.message_id, "m");
    cr_expect_str_eq(envelope.occurred_at, "2026-01-01T00:00:00Z");
    cr_expect_str_eq(envelope.correlation_id, "c");
    cr_expect_str_eq(envelope.causation_id, "b");
    cr_expect_str_eq(envelope.tenant_id, "t");
    cr_expect_str_eq(envelope.idempotency_key, "k");
    cr_expect_eq(json_integer_value(json_object_get(envelope.payload, "secret")), 7);
}

Test(consumer_envelope, members_that_may_be_missing_are_none)
{
    cr_assert(reads("{\"messageType\":\"order.paid\",\"schemaVersion\":3,\"tenantId\":null,"
                    "\"new\":1," REST));
    cr_expect_null(envelope.tenant_id);
    cr_expect_null(envelope.correlation_id);
}

static void expect_refused(const char *body, const char *why)
{
    cr_expect_not(reads(body), "%s", body);
    cr_expect_str_eq(reason, why);
}

Test(consumer_envelope, a_body_nested_too_deeply_is_not_called_no_json)
{
    char body[6001] = "";

    memset(body, '[', 3000);
    memset(body + 3000, ']', 3000);
    expect_refused(body, "the body is nested deeper than 2048 levels");
}

Test(consumer_envelope, what_is_missing_or_wrong_is_named)
{
    expect_refused("", "the body is no JSON object");
    expect_refused("[1]", "the body is no JSON object");
    expect_refused("{\"a\":1,\"a\":2}", "a name is there twice");
    expect_refused("{\"messageType\":\"order.paid\"," REST, "schemaVersion is missing");
    expect_refused("{\"messageType\":\"order.paid\",\"schemaVersion\":\"3\"," REST,
                   "schemaVersion is no whole number");
    expect_refused("{\"schemaVersion\":3," REST, "messageType is missing");
    expect_refused("{\"messageType\":\"order.paid\",\"schemaVersion\":3,\"payload\":1}",
                   "idempotencyKey is missing");
    expect_refused("{\"messageType\":\"order.paid\",\"schemaVersion\":3,\"payload\":1,"
                   "\"idempotencyKey\":\"\"}",
                   "idempotencyKey is no text");
    expect_refused("{\"messageType\":\"order.paid\",\"schemaVersion\":3,"
                   "\"idempotencyKey\":\"k\"}",
                   "payload is missing");
    expect_refused("{\"messageType\":\"order.paid\",\"schemaVersion\":3,\"tenantId\":5," REST,
                   "tenantId is no text");
}

Test(consumer_envelope, a_payload_is_json_when_the_grammar_says_so)
{
    static const char *const payloads[] = {"12345678901234567890", "1e400", "\"\\u0000\"",
                                           "\"\\ud800\"", "{\"\\u0000\":1}"};
    char body[300];

    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
        (void)snprintf(body, sizeof(body),
                       "{\"messageType\":\"order.paid\",\"schemaVersion\":3,"
                       "\"idempotencyKey\":\"k\",\"payload\":%s}",
                       payloads[i]);
        cr_expect(reads(body), "%s: %s", payloads[i], reason);
        cr_expect_eq(envelope.schema_version, 3);
        quern_envelope_done(&envelope);
    }
    expect_refused("{\"messageType\":\"order.paid\",\"schemaVersion\":30000000000000000000," REST,
                   "schemaVersion is no whole number");
}

Test(consumer_envelope, versions_are_taken_from_the_oldest_to_the_newest)
{
    expect_refused("{\"messageType\":\"order.placed\",\"schemaVersion\":0," REST,
                   "version 0 of order.placed is not known");
    cr_expect(reads("{\"messageType\":\"order.placed\",\"schemaVersion\":1," REST));
    quern_envelope_done(&envelope);
    expect_refused("{\"messageType\":\"order.placed\",\"schemaVersion\":3," REST,
                   "version 3 of order.placed is not known");
    expect_refused("{\"messageType\":\"order.lost\",\"schemaVersion\":1," REST,
                   "the type order.lost is not known");
}

Test(consumer_envelope, reason_shows_nothing_of_the_payload)
{
    cr_expect_not(reads("{\"messageType\":\"x\",\"schemaVersion\":3," REST));
    cr_expect_null(strstr(reason, "secret"));
}
