/* Events as JSON lines: what the harness and its users read. */
#include <criterion/criterion.h>
#include <jansson.h>

#include "server/model/event.h"
#include "server/trace/trace.h"

static char line[8192];

static const char *render(const struct qn_event *event)
{
    struct qn_buf buf;
    qn_buf_init(&buf, sizeof(line) - 1);
    qn_trace_render_event(event, 3, 20, &buf);
    memcpy(line, buf.ptr, buf.len);
    line[buf.len] = '\0';
    qn_buf_done(&buf);
    return line;
}

static struct qn_event full_event(void)
{
    struct qn_event event;
    qn_event_init(&event, QN_EVENT_API_OUT);
    event.virtual_ms = 10;
    event.lsn = 5;
    event.request = QN_STR("r");
    event.action = QN_STR("ReceiveMessage");
    event.account = QN_STR("000000000000");
    event.queue = QN_STR("q");
    event.instance = QN_STR("QUERN0001");
    event.listener = 9324;
    event.connection = 4;
    event.invocation_id = QN_STR("inv");
    event.sdk_attempt = 2;
    event.parameters = QN_STR("{\"MaxNumberOfMessages\":10}");
    event.code = QN_STR("OK");
    event.http_status = 200;
    event.bytes = 512;
    event.message_id = QN_STR("m");
    event.key = QN_STR("k-001");
    event.payload_id = QN_STR("m-001");
    event.handle = QN_STR("h");
    event.receive_count = 1;
    event.deadline_ms = 4000;
    event.group = QN_STR("A");
    event.sequence_number = QN_STR("18");
    event.reason = QN_STR("timeout");
    event.rule = QN_STR("lost");
    event.match = 6;
    event.target = QN_STR("instance=QUERN0001");
    event.from_ms = 1;
    event.to_ms = 2;
    event.count = 7;
    event.region = QN_STR("eu-west-1");
    return event;
}

Test(render, every_field_has_its_short_name_and_its_place)
{
    struct qn_event event = full_event();
    cr_expect_str_eq(
        render(&event),
        "{\"seq\":3,\"vt\":10,\"wt\":20,\"kind\":\"api.out\",\"lsn\":5,\"req\":\"r\","
        "\"action\":\"ReceiveMessage\",\"account\":\"000000000000\",\"queue\":\"q\","
        "\"instance\":\"QUERN0001\",\"port\":9324,\"conn\":4,\"invocation\":\"inv\","
        "\"attempt\":2,\"params\":{\"MaxNumberOfMessages\":10},\"code\":\"OK\",\"status\":200,"
        "\"bytes\":512,\"mid\":\"m\",\"k\":\"k-001\",\"h\":\"h\",\"n\":1,\"deadline\":4000,"
        "\"grp\":\"A\",\"sn\":\"18\",\"reason\":\"timeout\",\"rule\":\"lost\",\"match\":6,"
        "\"target\":\"instance=QUERN0001\",\"from\":1,\"to\":2,\"count\":7,"
        "\"region\":\"eu-west-1\"}\n");
}

Test(render, absent_fields_are_left_out)
{
    struct qn_event event;
    qn_event_init(&event, QN_EVENT_CLOCK);
    cr_expect_str_eq(render(&event), "{\"seq\":3,\"vt\":0,\"wt\":20,\"kind\":\"clock\"}\n");
}

Test(render, an_empty_text_is_not_an_absent_one)
{
    struct qn_event event;
    qn_event_init(&event, QN_EVENT_MARK);
    event.reason = QN_STR("");
    cr_expect_not_null(strstr(render(&event), "\"reason\":\"\""));
}

Test(render, boot_always_says_the_lsn_that_the_store_came_back_to)
{
    struct qn_event event;
    qn_event_init(&event, QN_EVENT_BOOT);
    cr_expect_not_null(strstr(render(&event), "\"kind\":\"boot\",\"lsn\":0"));
    event.lsn = 41;
    cr_expect_not_null(strstr(render(&event), "\"kind\":\"boot\",\"lsn\":41"));
}

Test(render, whatever_clients_sent_gives_one_line_of_valid_json)
{
    static const struct qn_str nasty[] = {
        {"\"\\\b\f\n\r\t", 7}, {"\x01\x1f\x7f", 3}, {"\0a\0", 3},
        {"\xff\xfe", 2},       {"a\xc3", 2},        {"\xed\xa0\x80", 3},
        {"\xf0\x9f", 2},       {"</script>", 9},    {"\xe2\x80\xa8", 3},
    };
    for (size_t i = 0; i < sizeof(nasty) / sizeof(nasty[0]); i++) {
        struct qn_event event = full_event();
        event.action = nasty[i];
        event.instance = nasty[i];
        event.reason = nasty[i];
        event.parameters = nasty[i];
        render(&event);
        cr_expect_eq(strchr(line, '\n'), line + strlen(line) - 1, "%zu", i);
        json_t *json = json_loads(line, JSON_ALLOW_NUL, NULL);
        cr_expect_not_null(json, "%zu: %s", i, line);
        json_decref(json);
    }
}

Test(render, bad_bytes_become_replacement_characters_and_good_ones_stay)
{
    struct qn_event event;
    qn_event_init(&event, QN_EVENT_MARK);
    event.reason = QN_STR("a\xff"
                          "b\xc3\xa9\xed\xa0\x80");
    cr_expect_not_null(strstr(render(&event), "\"reason\":\"a\xEF\xBF\xBD"
                                              "b\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""));
}

Test(render, parameters_that_would_break_the_line_are_shown_as_text)
{
    struct qn_event event;
    qn_event_init(&event, QN_EVENT_API_IN);
    event.parameters = QN_STR("{\"a\":\n1}");
    cr_expect_not_null(strstr(render(&event), "\"params\":\"{\\\"a\\\":\\n1}\""));
    event.parameters = QN_STR("{\"a\":");
    cr_expect_not_null(strstr(render(&event), "\"params\":\"{\\\"a\\\":\""));
}

Test(render, each_kind_has_a_name_of_its_own)
{
    for (int a = 0; a < QN_EVENT_KIND_COUNT; a++) {
        cr_assert_not_null(qn_event_kind_name((enum qn_event_kind)a));
        for (int b = 0; b < a; b++) {
            cr_expect_str_neq(qn_event_kind_name((enum qn_event_kind)a),
                              qn_event_kind_name((enum qn_event_kind)b));
        }
    }
}
