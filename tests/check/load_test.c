/* Messages made from the load of a scenario. */
#include <criterion/criterion.h>

#include "chaos/check/body.h"
#include "chaos/check/load.h"

static struct qn_scenario *scenario;
static struct qn_terms terms;
static struct qn_load load;

/* lines: JSON texts with commas between them. */
static void make(const char *lines, bool is_fifo)
{
    const struct qn_check_options check = {
        .tempo = "fast", .grace_ms = 10000, .work_max_ms = 5000, .soak_ms = 3000};
    const struct qn_profile nobody = {0};
    struct qn_error err;
    struct qn_buf text;

    qn_buf_init(&text, 65536);
    qn_buf_append_format(&text, "{\"id\":\"t\",\"load\":[%s]%s}", lines,
                         strstr(lines, "back=") != NULL ? ",\"queue\":{\"away_for\":\"8s\"}" : "");
    cr_assert(qn_scenario_read(qn_buf_str(&text), "t", &scenario, &err), "%s", err.message);
    qn_buf_done(&text);
    qn_terms_init(&terms, scenario, &check, &nobody);
    const struct qn_load_options options = {
        .is_fifo = is_fifo, .seed = 7, .run_id = "run-7", .now_ms = 0, .terms = &terms};
    qn_load_init(&load, scenario, &options);
}

static void close_load(void)
{
    qn_load_done(&load);
    qn_scenario_free(scenario);
}

TestSuite(load, .fini = close_load);

static json_t *body_of(size_t i)
{
    return json_loadb(load.messages[i].body.ptr, load.messages[i].body.len, 0, NULL);
}

static const char *payload_text(const json_t *body, const char *name)
{
    return json_string_value(json_object_get(json_object_get(body, "payload"), name));
}

Test(load, rate_may_last_for_a_time)
{
    make("\"ok count=2\", \"ok rate=2 for=M versions=2\", \"ok key=last\"", false);
    cr_assert_eq(load.count, 2 + 12 + 1);
    cr_expect_eq(load.messages[0].at_ms, -1);
    cr_expect_eq(load.messages[load.count - 1].at_ms, 5500);
    cr_expect_str_eq(qn_load_find(&load, QN_STR("last"))->k.ptr, "k-014");
    const struct qn_load_message *second = qn_load_find(&load, QN_STR("k-008"));
    cr_expect_eq(second->version, 2);
    cr_expect(qn_str_equal(second->entity, qn_load_find(&load, QN_STR("k-002"))->entity));
}

Test(load, work_is_no_longer_than_the_consumer_may_take)
{
    make("\"ok work=4s\", \"ok work=6s\"", false);
    cr_expect_eq(load.messages[0].script.work_ms, 4000);
    cr_expect_eq(load.messages[1].script.work_ms, 5000);
}

Test(load, messages_are_named_in_send_order_and_alike_for_one_seed)
{
    const struct qn_load_options options = {
        .is_fifo = true, .seed = 7, .run_id = "run-7", .now_ms = 0, .terms = &terms};
    struct qn_load again;

    make("\"ok count=40 work=20ms groups=4\"", true);
    qn_load_init(&again, scenario, &options);
    cr_assert_eq(load.count, 40);
    cr_expect(qn_str_equal(load.messages[3].id, QN_STR("m-003")));
    cr_expect(qn_str_equal(load.messages[3].k, QN_STR("k-003")));
    cr_expect(qn_str_equal(load.messages[0].group, load.messages[4].group));
    cr_expect_not(qn_str_equal(load.messages[0].group, load.messages[1].group));
    for (size_t i = 0; i < load.count; i++) {
        cr_expect(qn_str_equal(load.messages[i].body, again.messages[i].body));
    }
    cr_expect_eq(qn_load_find(&load, QN_STR("m-003")), &load.messages[3]);
    cr_expect_eq(qn_load_find(&load, QN_STR("k-003")), &load.messages[3]);
    cr_expect_null(qn_load_find(&load, QN_STR("m-999")));
    qn_load_done(&again);
}

Test(load, body_is_the_envelope)
{
    make("\"ok count=6 work=20ms\"", false);
    json_t *body = body_of(5);
    cr_assert_not_null(body);
    cr_expect_str_eq(json_string_value(json_object_get(body, "idempotencyKey")), "k-005");
    cr_expect_str_eq(json_string_value(json_object_get(body, "messageType")), "quern.work");
    cr_expect_str_eq(json_string_value(json_object_get(body, "correlationId")), "run-7/m-005");
    cr_expect_str_eq(json_string_value(json_object_get(body, "occurredAt")),
                     "1970-01-01T00:00:00.000Z");
    cr_expect_eq(json_integer_value(json_object_get(json_object_get(body, "instr"), "work_ms")),
                 20);
    json_decref(body);
}

static void expect_script(size_t i, const char *outcomes)
{
    const struct qn_effect_script *script = &load.messages[i].script;
    char text[128] = "";
    size_t len = 0;

    for (size_t j = 0; j < script->outcome_count; j++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s", j > 0 ? "," : "",
                                QN_STR_ARG(script->outcomes[j]));
    }
    cr_expect_str_eq(text, outcomes, "message %zu: %s", i, text);
}

Test(load, outcomes_are_what_the_sink_does_at_each_attempt)
{
    make("\"ok\",\"flaky fails=2\",\"flaky fails=always\",\"perm\",\"hang\",\"hang fails=1\","
         "\"bomb\"",
         false);
    expect_script(0, "ok");
    expect_script(1, "transient,transient,ok");
    expect_script(2, "transient");
    expect_script(3, "permanent");
    expect_script(4, "hang");
    expect_script(5, "hang,ok");
    expect_script(6, "hang"); /* whoever touches it is killed */
}

Test(load, what_cannot_succeed_belongs_into_the_dead_letter_queue)
{
    static const bool dead[] = {false, false, true, true, true, true, true, true, false};

    make("\"ok\",\"flaky fails=4\",\"flaky fails=5\",\"flaky fails=always\",\"perm\",\"badjson\","
         "\"schema99\",\"bomb\",\"odd\"",
         false);
    for (size_t i = 0; i < load.count; i++) {
        cr_expect_eq(qn_load_is_dead(&load.messages[i], 5), dead[i], "%zu", i);
    }
}

Test(load, bad_json_is_none_and_schema_99_is_an_envelope)
{
    make("\"badjson\",\"schema99\"", false);
    cr_expect_null(body_of(0));
    cr_expect_gt(load.messages[0].body.len, 20);
    json_t *body = body_of(1);
    cr_expect_eq(json_integer_value(json_object_get(body, "schemaVersion")), 99);
    json_decref(body);
}

Test(load, copies_have_the_key_and_the_payload_but_no_id_of_the_envelope)
{
    make("\"ok count=2 copies=2\",\"ok\"", false);
    cr_assert_eq(load.count, 5);
    json_t *first = body_of(0);
    json_t *copy = body_of(2);
    cr_expect(qn_str_equal(load.messages[2].k, QN_STR("k-000")));
    cr_expect(qn_str_equal(load.messages[4].k, QN_STR("k-002")));
    cr_expect(json_equal(json_object_get(first, "payload"), json_object_get(copy, "payload")));
    cr_expect_not(
        json_equal(json_object_get(first, "messageId"), json_object_get(copy, "messageId")));
    cr_expect_not(
        json_equal(json_object_get(first, "occurredAt"), json_object_get(copy, "occurredAt")));
    json_decref(first);
    json_decref(copy);
}

Test(load, versions_of_each_entity_come_in_order)
{
    static const char *const entities[] = {"e-0", "e-1", "e-0", "e-1", "e-0", "e-1"};

    make("\"ok count=2 versions=3\"", false);
    cr_assert_eq(load.count, 6);
    for (size_t i = 0; i < 6; i++) {
        json_t *body = body_of(i);
        cr_expect_str_eq(payload_text(body, "entity"), entities[i]);
        cr_expect_eq(
            json_integer_value(json_object_get(json_object_get(body, "payload"), "version")),
            (json_int_t)i / 2 + 1);
        json_decref(body);
    }
}

Test(load, chunks_of_a_job_have_keys_of_their_own_and_are_all_of_its_rows)
{
    make("\"ok\", \"ok count=2 chunks=3\"", false);
    cr_assert_eq(load.count, 7);
    for (size_t i = 0; i < 6; i++) {
        json_t *body = body_of(i + 1);
        json_t *payload = json_object_get(body, "payload");
        json_int_t chunk = (json_int_t)i % 3 + 1;
        cr_expect_str_eq(payload_text(body, "job"), i < 3 ? "e-1" : "e-4");
        cr_expect_eq(json_integer_value(json_object_get(payload, "chunk")), chunk);
        cr_expect_eq(json_integer_value(json_object_get(payload, "chunks")), 3);
        cr_expect_eq(json_integer_value(json_object_get(payload, "from")), 100 * chunk - 99);
        cr_expect_eq(json_integer_value(json_object_get(payload, "to")), 100 * chunk);
        json_decref(body);
    }
    cr_expect(qn_str_equal(load.messages[6].k, QN_STR("k-006")));
    json_t *single = body_of(0);
    cr_expect_null(payload_text(single, "job"));
    json_decref(single);
}

Test(load, time_rate_size_group_and_key_are_the_messages_own)
{
    make("\"ok count=3 rate=10 at=V\",\"ok work=50ms size=5000 group=B key=slow\"", true);
    cr_assert_eq(load.count, 4);
    cr_expect_eq(load.messages[0].at_ms, -1);
    cr_expect(qn_str_equal(load.messages[0].k, QN_STR("k-003")), "what comes before is sent first");
    cr_expect_eq(load.messages[0].body.len, 5000);
    cr_expect(qn_str_equal(load.messages[0].group, QN_STR("B")));
    cr_expect_eq(qn_load_find(&load, QN_STR("slow")), &load.messages[0]);
    cr_expect_eq(load.messages[1].at_ms, 4000);
    cr_expect_eq(load.messages[2].at_ms, 4100);
    cr_expect_eq(load.messages[3].at_ms, 4200);
    cr_expect_eq(qn_load_next_ms(&load), -1);
}

Test(load, messages_for_a_queue_that_comes_back_are_due_once_its_return_is_known)
{
    make("\"ok back=0s\",\"ok count=3 rate=10 back=V\",\"ok at=9s\",\"ok\"", false);
    cr_assert_eq(load.count, 6);
    cr_expect_eq(qn_load_last_ms(&load), 9000);
    cr_expect(qn_str_equal(load.messages[0].k, QN_STR("k-005")));
    cr_expect(qn_str_equal(load.messages[1].k, QN_STR("k-004")), "before all that wait");
    load.sent_count = 2;
    cr_expect_eq(qn_load_next_ms(&load), INT64_MAX);
    json_t *body = body_of(5);
    cr_expect_str_eq(json_string_value(json_object_get(body, "occurredAt")),
                     "1970-01-01T00:00:04.200Z");
    json_decref(body);

    qn_load_plan(&load, QN_LOAD_WAITS_FOR_RETURN, 20000);
    cr_expect_eq(qn_load_next_ms(&load), 20000);
    cr_expect_eq(load.messages[3].at_ms, 24000);
    cr_expect_eq(qn_load_last_ms(&load), 24200);
}

Test(load, messages_for_the_last_window_may_come_before_later_ones)
{
    make("\"ok at=25s\",\"ok window=200ms\",\"ok\"", false);
    load.sent_count = 1;
    cr_expect_eq(qn_load_last_ms(&load), 25000);
    qn_load_plan(&load, QN_LOAD_WAITS_FOR_WINDOW, 3000);
    cr_expect_eq(qn_load_next_ms(&load), 3200);
    cr_expect_eq(qn_load_last_ms(&load), 25000);
    cr_expect_eq(qn_load_find(&load, QN_STR("k-001")), &load.messages[1]);
    cr_expect_eq(qn_load_find(&load, QN_STR("m-000")), &load.messages[2]);
}

Test(load, messages_for_the_last_window_are_due_once_it_has_begun)
{
    make("\"ok count=2 window=1s\",\"ok at=9s\"", false);
    load.sent_count = 1;
    cr_expect_eq(qn_load_next_ms(&load), INT64_MAX);
    cr_expect_eq(qn_load_last_ms(&load), 9000);
    qn_load_plan(&load, QN_LOAD_WAITS_FOR_RETURN, 100); /* of something else */
    cr_expect_eq(qn_load_next_ms(&load), INT64_MAX);
    qn_load_plan(&load, QN_LOAD_WAITS_FOR_WINDOW, 30000);
    cr_expect_eq(qn_load_next_ms(&load), 31000);
    cr_expect_eq(qn_load_last_ms(&load), 31000);
}

Test(load, odd_bodies_are_legal_and_rare)
{
    make("\"odd count=8\"", false);
    cr_expect_eq(load.messages[0].body.len, 1);
    cr_expect_eq(load.messages[1].body.len, 1048576);
    for (size_t i = 1; i < 8; i++) {
        json_t *body = body_of(i);
        cr_expect_not_null(body, "%zu", i);
        json_decref(body);
    }
    cr_expect_not_null(load.messages[4].attributes);
    cr_expect_not_null(load.messages[5].system_attributes);
    cr_expect_null(load.messages[7].attributes);
}

static int64_t digest_of(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    int64_t digest = qn_body_digest(json);

    json_decref(json);
    return digest;
}

Test(load, the_digest_of_a_body_is_that_of_its_payload_however_it_is_laid_out)
{
    int64_t digest = digest_of("{\"payload\":{\"id\":\"m-000\",\"n\":1}}");

    make("\"ok\"", false); /* for the end of the test */
    cr_expect_eq(digest_of("{ \"a\": 2, \"payload\": { \"n\": 1, \"id\": \"m-000\" } }"), digest);
    cr_expect_neq(digest_of("{\"payload\":{\"id\":\"m-000\",\"n\":2}}"), digest);
    cr_expect_geq(digest, 0);
    cr_expect_eq(digest_of("{\"id\":\"m-000\"}"), QN_EVENT_NO_INT);
    cr_expect_eq(digest_of("[1]"), QN_EVENT_NO_INT);
}
