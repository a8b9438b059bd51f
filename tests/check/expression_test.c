/* Expressions over a history. */
#include <criterion/criterion.h>

#include "chaos/check/judge/judge.h"

static const char trace[] =
    "{\"seq\":1,\"kind\":\"msg.send\",\"queue\":\"q\",\"mid\":\"a\",\"k\":\"k-001\"}\n"
    "{\"seq\":2,\"kind\":\"msg.send\",\"queue\":\"q\",\"mid\":\"b\",\"k\":\"k-002\"}\n"
    "{\"seq\":3,\"kind\":\"api.in\",\"action\":\"DeleteMessage\",\"instance\":\"QUERN0001\"}\n"
    "{\"seq\":4,\"kind\":\"api.in\",\"action\":\"DeleteMessageBatch\",\"instance\":\"QUERN0001\"}\n"
    "{\"seq\":5,\"kind\":\"api.in\",\"action\":\"DeleteMessage\",\"instance\":\"QUERNCHECK\"}\n"
    "{\"seq\":6,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"a\"}\n"
    "{\"seq\":7,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"a\"}\n"
    "{\"seq\":8,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"b\"}\n"
    "{\"seq\":9,\"kind\":\"lease.grant\",\"queue\":\"other\",\"mid\":\"b\"}\n"
    "{\"seq\":10,\"kind\":\"work.begin\",\"k\":\"k-001\"}\n"
    "{\"seq\":11,\"kind\":\"work.commit\",\"k\":\"k-001\"}\n"
    "{\"seq\":12,\"kind\":\"work.commit\",\"k\":\"k-001\",\"replayed\":true}\n"
    "{\"seq\":13,\"kind\":\"msg.dlq\",\"queue\":\"q\",\"mid\":\"b\"}\n";

static struct qn_history history;
static struct qn_judge_input in;

static void open_history(void)
{
    struct qn_error err;

    qn_history_init(&history);
    cr_assert(qn_history_read(&history, qn_str_from_cstr(trace), &err));
    qn_history_settle(&history);
    in = (struct qn_judge_input){.history = &history,
                                 .level = QN_LEVEL_SINK,
                                 .queue = QN_STR("q"),
                                 .dlq = QN_STR("q-dlq"),
                                 .self = QN_STR("QUERNCHECK"),
                                 .visibility_ms = 4000,
                                 .grace_ms = 10000,
                                 .concurrency = 2,
                                 .max_receive = 5};
}

static void close_history(void)
{
    qn_history_done(&history);
}

TestSuite(expression, .init = open_history, .fini = close_history);

static void expect(const char *text, enum qn_result result)
{
    struct qn_finding finding = {0};
    struct qn_error err;

    cr_assert(qn_judge_expression(&in, qn_str_from_cstr(text), &finding, &err), "%s: %s", text,
              err.message);
    cr_expect_eq(finding.result, result, "%s: %s", text, finding.text);
}

Test(expression, counts_per_key)
{
    expect("leases(k-001) == 2", QN_RESULT_PASS);
    expect("leases(k-001) == 1", QN_RESULT_FAIL);
    expect("leases(k-002) == 1", QN_RESULT_PASS);
    expect("leases(k-003) == 0", QN_RESULT_PASS);
    expect("effects(k-001) == 1 and attempts(k-001) == 1", QN_RESULT_PASS);
    expect("deletes(k-001) == 0", QN_RESULT_PASS);
    expect("dead(k-002) == 1", QN_RESULT_PASS);
}

Test(expression, counts_over_all)
{
    expect("max(leases) == 2", QN_RESULT_PASS);
    expect("min(leases) == 1", QN_RESULT_PASS);
    expect("calls(DeleteMessage) == 1", QN_RESULT_PASS);
    expect("calls(Delete*) == 2", QN_RESULT_PASS);
    expect("count(lease.grant) == 4", QN_RESULT_PASS);
    expect("count(lease.*) == 4", QN_RESULT_PASS);
    expect("dlq() == 1 and dlq_left() == 1", QN_RESULT_PASS);
}

Test(expression, operators_bind_as_written)
{
    expect("1 == 2 or 3 == 3 and 4 == 4", QN_RESULT_PASS);
    expect("(1 == 2 or 3 == 3) and 4 == 5", QN_RESULT_FAIL);
    expect("not 1 == 2", QN_RESULT_PASS);
    expect("not not 1 == 2", QN_RESULT_FAIL);
    expect("1 < 2 and 2 <= 2 and 3 > 2 and 3 >= 3 and 1 != 2", QN_RESULT_PASS);
}

Test(expression, times_are_milliseconds)
{
    int64_t value = 0;
    struct qn_error err;

    expect("3*V+10s == 22000", QN_RESULT_PASS);
    expect("2min == 120s and 5ms == 5 and G == 10s and C == 2 and MRC == 5", QN_RESULT_PASS);
    cr_assert(qn_judge_number(&in, QN_STR("3*V+10s"), &value, &err));
    cr_expect_eq(value, 22000);
}

Test(expression, effects_need_the_sink)
{
    in.level = QN_LEVEL_PROTOCOL;
    expect("effects(k-001) == 1", QN_RESULT_NOT_OBSERVABLE);
    expect("leases(k-001) == 2", QN_RESULT_PASS);
}

Test(expression, mistakes_are_told_with_their_column)
{
    static const char *const wrong[] = {
        "",
        "leases(k-001",
        "leases(k-001) =",
        "wishes(k-001) == 1",
        "max(wishes) == 1",
        "1 == 2 or",
        "1 == 99999999999s",
        "3x == 1",
        "leses(k-001) == 1",
        "leases() == 1",
        "leases(k-001, k-002) == 1",
        "gap(k-001, first) > 1",
        "time() > 1",
        "left(over) == 0",
        "1 == 1 )",
        "X == 1",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct qn_finding finding = {0};
        struct qn_error err = {0};
        cr_expect_not(qn_judge_expression(&in, qn_str_from_cstr(wrong[i]), &finding, &err), "%s",
                      wrong[i]);
        cr_expect_not_null(strstr(err.message, "column"), "%s", err.message);
    }
}

/* Two phases with polls, two instances, a redelivery and a fault. */
static const char long_trace[] =
    "{\"seq\":1,\"vt\":1000,\"wt\":1000,\"kind\":\"load\",\"mid\":\"a\",\"k\":\"k-000\",\"what\":"
    "\"ok\","
    "\"target\":\"slow\"}\n"
    "{\"seq\":2,\"vt\":1000,\"wt\":1000,\"kind\":\"load\",\"mid\":\"b\",\"k\":\"k-001\",\"what\":"
    "\"perm\","
    "\"grp\":\"B\"}\n"
    "{\"seq\":3,\"vt\":1000,\"wt\":1000,\"kind\":\"msg.send\",\"queue\":\"q\",\"mid\":\"a\"}\n"
    "{\"seq\":4,\"vt\":1000,\"wt\":1000,\"kind\":\"msg.send\",\"queue\":\"q\",\"mid\":\"b\"}\n"
    "{\"seq\":5,\"vt\":2000,\"wt\":2000,\"kind\":\"proc\",\"what\":\"spawn\",\"instance\":"
    "\"QUERN0001\",\"pid\":1}\n"
    "{\"seq\":6,\"vt\":2000,\"wt\":2000,\"kind\":\"proc\",\"what\":\"spawn\",\"instance\":"
    "\"QUERN0002\",\"pid\":2}\n"
    "{\"seq\":7,\"vt\":3000,\"wt\":3000,\"kind\":\"proc\",\"what\":\"ready\",\"instance\":"
    "\"QUERN0001\",\"pid\":1}\n"
    "{\"seq\":8,\"vt\":3100,\"wt\":3100,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"a\","
    "\"h\":"
    "\"h1\",\"n\":1,\"deadline\":7100,\"instance\":\"QUERN0001\"}\n"
    "{\"seq\":9,\"vt\":3100,\"wt\":3100,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"b\","
    "\"h\":"
    "\"h2\",\"n\":1,\"deadline\":7100,\"instance\":\"QUERN0001\"}\n"
    "{\"seq\":10,\"vt\":3200,\"wt\":3200,\"kind\":\"work.begin\",\"k\":\"k-000\",\"run\":1,"
    "\"instance\":"
    "\"QUERN0001\"}\n"
    "{\"seq\":11,\"vt\":4000,\"wt\":4000,\"kind\":\"mark\",\"reason\":\"outage\"}\n"
    "{\"seq\":12,\"vt\":4500,\"wt\":4500,\"kind\":\"api.in\",\"action\":\"ReceiveMessage\","
    "\"instance\":\"QUERN0002\"}\n"
    "{\"seq\":13,\"vt\":5000,\"wt\":5000,\"kind\":\"api.in\",\"action\":\"ReceiveMessage\","
    "\"instance\":\"QUERN0002\"}\n"
    "{\"seq\":14,\"vt\":6000,\"wt\":6000,\"kind\":\"mark\",\"reason\":\"calm\"}\n"
    "{\"seq\":15,\"vt\":6100,\"wt\":6100,\"kind\":\"fault\",\"rule\":\"crash\",\"k\":\"k-000\","
    "\"reason\":"
    "\"kill instance\"}\n"
    "{\"seq\":16,\"vt\":6200,\"wt\":6200,\"kind\":\"proc\",\"what\":\"exit\",\"instance\":"
    "\"QUERN0001\",\"pid\":1,\"exit\":1}\n"
    "{\"seq\":17,\"vt\":9000,\"wt\":7000,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"a\","
    "\"h\":"
    "\"h3\",\"n\":2,\"deadline\":13000,\"instance\":\"QUERN0002\"}\n"
    "{\"seq\":18,\"vt\":9200,\"wt\":7200,\"kind\":\"work.begin\",\"k\":\"k-000\",\"run\":2,"
    "\"instance\":"
    "\"QUERN0002\"}\n"
    "{\"seq\":19,\"vt\":9300,\"wt\":7300,\"kind\":\"work.commit\",\"k\":\"k-000\",\"run\":2,"
    "\"instance\":"
    "\"QUERN0002\"}\n"
    "{\"seq\":20,\"vt\":9400,\"wt\":7400,\"kind\":\"api.in\",\"action\":\"DeleteMessage\","
    "\"instance\":"
    "\"QUERN0002\",\"params\":{\"ReceiptHandle\":\"h3\"}}\n"
    "{\"seq\":21,\"vt\":9500,\"wt\":7500,\"kind\":\"reject\",\"k\":\"k-001\"}\n"
    "{\"seq\":22,\"vt\":9600,\"wt\":7600,\"kind\":\"msg.dlq\",\"queue\":\"q\",\"mid\":\"b\"}\n"
    "{\"seq\":23,\"vt\":10000,\"wt\":8000,\"kind\":\"mark\",\"reason\":\"end\"}\n";

static void open_long_history(void)
{
    struct qn_error err;

    close_history();
    qn_history_init(&history);
    cr_assert(qn_history_read(&history, qn_str_from_cstr(long_trace), &err), "%s", err.message);
    qn_history_settle(&history);
}

Test(expression, times_count_from_readiness)
{
    open_long_history();
    expect("first(work.begin) == 200 and last(work.begin) == 6200", QN_RESULT_PASS);
    expect("first(Delete*, k-000) == 6400 and first(fault.crash) == 3100", QN_RESULT_PASS);
    expect("first(Delete*, k-001) > 0", QN_RESULT_FAIL);
    expect("time(outage) == 1s and time(end) == 7s and time(ready) == 0", QN_RESULT_PASS);
    expect("gap(k-000, 1) == 6000", QN_RESULT_PASS);
    expect("last(work.commit) - first(fault.crash) <= V + 200ms", QN_RESULT_PASS);
    expect("last(work.commit) - first(fault.crash) < 3200ms", QN_RESULT_FAIL);
}

Test(expression, what_never_happened_makes_no_comparison_true)
{
    open_long_history();
    expect("first(lease.extend) < 1min", QN_RESULT_FAIL);
    expect("first(lease.extend) >= 0", QN_RESULT_FAIL);
    expect("time(never) <= 1", QN_RESULT_FAIL);
    expect("gap(k-000, 2) >= 0", QN_RESULT_FAIL);
    expect("calls(ReceiveMessage, never) == 0", QN_RESULT_FAIL);
    expect("not first(lease.extend) < 1min", QN_RESULT_PASS);
}

Test(expression, phases_are_between_marks)
{
    open_long_history();
    expect("calls(ReceiveMessage) == 2 and calls(ReceiveMessage, outage) == 2", QN_RESULT_PASS);
    expect("calls(Receive*, calm) == 0 and count(work.begin, calm) == 1", QN_RESULT_PASS);
    expect("rate(ReceiveMessage, outage) == 1 and rate(ReceiveMessage) == 2/5", QN_RESULT_PASS);
}

/* Who polls may be at work before the harness has seen that it is ready. */
Test(expression, readiness_does_not_end_a_phase)
{
    static const char early[] =
        "{\"seq\":1,\"vt\":900,\"wt\":900,\"kind\":\"mark\",\"reason\":\"slow\"}\n"
        "{\"seq\":2,\"vt\":1000,\"wt\":1000,\"kind\":\"mark\",\"reason\":\"ready\"}\n"
        "{\"seq\":3,\"vt\":1100,\"wt\":1100,\"kind\":\"work.commit\",\"k\":\"k-001\"}\n"
        "{\"seq\":4,\"vt\":1200,\"wt\":1200,\"kind\":\"mark\",\"reason\":\"quick\"}\n"
        "{\"seq\":5,\"vt\":1300,\"wt\":1300,\"kind\":\"work.commit\",\"k\":\"k-002\"}\n"
        "{\"seq\":6,\"vt\":1400,\"wt\":1400,\"kind\":\"mark\",\"reason\":\"end\"}\n";
    struct qn_error err;

    close_history();
    qn_history_init(&history);
    cr_assert(qn_history_read(&history, qn_str_from_cstr(early), &err), "%s", err.message);
    qn_history_settle(&history);
    expect("count(work.commit, slow) == 1 and count(work.commit, quick) == 1", QN_RESULT_PASS);
    expect("count(work.commit) == 2 and count(work.commit, ready) == 1", QN_RESULT_PASS);
}

Test(expression, instances_hold_and_end)
{
    open_long_history();
    expect("held(1) == 2 and held(QUERN0002) == 1 and held() == 2", QN_RESULT_PASS);
    expect("exits() == 1 and count(proc.exit) == 1", QN_RESULT_PASS);
    expect("dlq() == 1 and dlq(k-000) == 0 and dlq(perm) == 1 and rejects(k-001) == 1",
           QN_RESULT_PASS);
}

Test(expression, declarations_are_known_by_their_names_in_quern_json)
{
    json_t *declared =
        json_pack("{s:i, s:s, s:b}", "work_max_ms", 60000, "heartbeat", "yes", "at_most_once", 1);
    in.declared = declared;
    expect("declared(work_max) == 60s and declared(at_most_once) == 1", QN_RESULT_PASS);
    expect("declared(heartbeat, yes) and not declared(heartbeat, no)", QN_RESULT_PASS);
    expect("declared(prefetch) == 0 and declared(poison, dlq) == 0", QN_RESULT_PASS);
    expect("declared(heartbeat, no)", QN_RESULT_FAIL);
    json_decref(declared);
}

Test(expression, messages_are_named_by_key_outcome_group_or_other_name)
{
    open_long_history();
    expect("leases(slow) == 2 and leases(ok) == 2 and leases(group=B) == 1", QN_RESULT_PASS);
    expect("leases(k-00*) == 3 and leases(all) == 3", QN_RESULT_PASS);
    expect("max(leases, perm) == 1 and max(leases) == 2 and min(effects, ok) == 1", QN_RESULT_PASS);
}

Test(expression, arithmetic_binds_as_in_school_and_has_fractions)
{
    expect("1 + 2 * 3 == 7 and 10 - 4 - 3 == 3 and 8 / 4 / 2 == 1", QN_RESULT_PASS);
    expect("2.5*V == 10s and 0.5s == 500 and max(2*V, 5s) == 8s and min(3, 1 + 1) == 2",
           QN_RESULT_PASS);
    expect("1 / 0 == 0", QN_RESULT_PASS);
}

static struct qn_finding finding_of(const char *text)
{
    struct qn_finding finding = {0};
    struct qn_error err;

    cr_assert(qn_judge_expression(&in, qn_str_from_cstr(text), &finding, &err), "%s", err.message);
    return finding;
}

Test(expression, break_says_what_was_compared_and_shows_it)
{
    open_long_history();
    struct qn_finding finding = finding_of("leases(k-000) == 1");
    cr_expect_str_eq(
        finding.text,
        "message k-000 was received 2 times; it should be exactly once (leases(k-000) == 1)");
    cr_assert_eq(finding.witness_count, 2);
    cr_expect_eq(finding.witness[0], 8);
    cr_expect_eq(finding.witness[1], 17);
    finding = finding_of("dlq() == 1 and last(work.commit) <= V");
    cr_expect_str_eq(finding.text, "the last effect was 6.3 s after the consumer was ready; it "
                                   "should be at most 4 s (last(work.commit) <= V)");
    finding = finding_of("first(lease.extend) < V");
    cr_expect_str_eq(finding.text, "there was no extension of a lease (first(lease.extend) < V)");
}

static const char sends[] =
    "{\"seq\":1,\"kind\":\"load\",\"queue\":\"q\",\"k\":\"k-000\",\"what\":\"ok\",\"digest\":7}\n"
    "{\"seq\":2,\"kind\":\"load\",\"queue\":\"q\",\"k\":\"k-001\",\"what\":\"ok\",\"digest\":8}\n"
    "{\"seq\":3,\"kind\":\"load\",\"queue\":\"q\",\"k\":\"k-002\",\"what\":\"ok\"}\n"
    "{\"seq\":4,\"kind\":\"work.begin\",\"k\":\"k-000\",\"digest\":7}\n"
    "{\"seq\":5,\"kind\":\"work.begin\",\"k\":\"k-001\",\"digest\":9}\n"
    "{\"seq\":6,\"kind\":\"work.begin\",\"k\":\"k-002\",\"digest\":9}\n"
    "{\"seq\":7,\"kind\":\"msg.send\",\"queue\":\"out\",\"k\":\"k-000\",\"instance\":\"QUERN0001\"}"
    "\n"
    "{\"seq\":8,\"kind\":\"msg.send\",\"queue\":\"out\",\"k\":\"k-001\",\"instance\":"
    "\"QUERNCHECK\"}\n"
    "{\"seq\":9,\"kind\":\"msg.send\",\"queue\":\"later\",\"k\":\"k-001\",\"instance\":"
    "\"QUERN0001\","
    "\"deadline\":5000}\n"
    "{\"seq\":10,\"kind\":\"msg.send\",\"queue\":\"later\",\"k\":\"k-002\",\"instance\":"
    "\"QUERN0001\"}\n"
    "{\"seq\":11,\"kind\":\"state\",\"target\":\"e-0\",\"n\":4}\n"
    "{\"seq\":12,\"kind\":\"state\",\"target\":\"e-0\",\"n\":2}\n"
    "{\"seq\":13,\"kind\":\"state\",\"target\":\"e-1\",\"n\":3}\n"
    "{\"seq\":14,\"kind\":\"log\",\"instance\":\"QUERN0001\",\"reason\":\"got CANARY-12ab\"}\n"
    "{\"seq\":15,\"kind\":\"log\",\"instance\":\"QUERN0001\",\"reason\":\"a YUNBTkFSWS14eQ== b\"}\n"
    "{\"seq\":16,\"kind\":\"log\",\"instance\":\"QUERN0001\",\"reason\":\"retry k-000\"}\n"
    "{\"seq\":17,\"kind\":\"lease.grant\",\"queue\":\"q\",\"mid\":\"a\",\"k\":\"k-000\",\"h\":"
    "\"h-1\",\"instance\":\"QUERN0001\",\"n\":1,\"deadline\":9000}\n"
    "{\"seq\":18,\"kind\":\"api.in\",\"action\":\"DeleteMessage\",\"queue\":\"q\",\"instance\":"
    "\"QUERN0001\","
    "\"params\":{\"ReceiptHandle\":\"h-1\"}}\n"
    "{\"seq\":19,\"kind\":\"api.in\",\"action\":\"DeleteMessage\",\"queue\":\"q\",\"instance\":"
    "\"QUERN0001\","
    "\"params\":{\"ReceiptHandle\":\"h-1\"}}\n"
    "{\"seq\":20,\"kind\":\"api.in\",\"action\":\"ChangeMessageVisibility\",\"queue\":\"q\","
    "\"instance\":"
    "\"QUERN0001\","
    "\"params\":{\"ReceiptHandle\":\"h-1\"}}\n";

static void open_sends(void)
{
    struct qn_error err;

    qn_history_done(&history);
    qn_history_init(&history);
    cr_assert(qn_history_read(&history, qn_str_from_cstr(sends), &err));
    qn_history_settle(&history);
    in.output_queue = QN_STR("out");
    in.retry_queue = QN_STR("later");
}

Test(expression, what_the_consumer_sends_on_is_counted_by_key)
{
    open_sends();
    expect("outputs(k-000) == 1 and outputs(k-001) == 0", QN_RESULT_PASS);
    expect("resent(k-001) == 1 and resent_at_once(k-001) == 0", QN_RESULT_PASS);
    expect("resent(ok) == 2 and resent_at_once(ok) == 1", QN_RESULT_PASS);
    expect("unnamed() == 0", QN_RESULT_PASS);
    in.output_queue = QN_STR_NONE; /* nothing is declared */
    in.retry_queue = QN_STR_NONE;
    expect("outputs(all) == 0 and resent(all) == 0", QN_RESULT_PASS);
}

Test(expression, a_payload_is_changed_when_another_was_sent)
{
    open_sends();
    expect("changed(k-000) == 0", QN_RESULT_PASS);
    expect("changed(k-001) == 0", QN_RESULT_FAIL);
    expect("changed(k-002) == 0", QN_RESULT_PASS); /* nobody knows what was sent */
}

Test(expression, the_version_of_an_entity_is_what_was_stored_last)
{
    open_sends();
    expect("version(e-0) == 2 and version(e-1) == 3 and version(e-2) == 0", QN_RESULT_PASS);
}

Test(expression, a_canary_in_the_log_is_seen_in_base64_too)
{
    open_sends();
    expect("canaries() == 2", QN_RESULT_PASS);
}

Test(expression, the_log_names_a_message_by_any_of_its_ids)
{
    open_sends();
    expect("printed(k-000) == 1 and printed(k-001) == 0 and printed(ok) == 1", QN_RESULT_PASS);
}

Test(expression, calls_about_a_message_are_known_by_its_handles)
{
    open_sends();
    expect("tried(Delete*, k-000) == 2 and tried(Change*, k-000) == 1", QN_RESULT_PASS);
    expect("tried(Delete*, k-001) == 0", QN_RESULT_PASS);
}

Test(expression, levels_say_what_can_be_seen)
{
    in.level = QN_LEVEL_COMMAND;
    expect("effects(k-001) == 1", QN_RESULT_PASS);
    expect("attempts(k-001) == 1", QN_RESULT_NOT_OBSERVABLE);
    expect("first(work.begin) > 0", QN_RESULT_NOT_OBSERVABLE);
    expect("left(done) == 0", QN_RESULT_NOT_OBSERVABLE);
}

Test(expression, entry_is_an_invariant_or_an_expression_and_may_have_a_name)
{
    static const struct {
        const char *text;
        const char *name;
        bool is_checker;
        const char *arguments;
    } good[] = {
        {"ONCE", "ONCE", true, ""},
        {"LEASE-COVER(except k-001)", "LEASE-COVER", true, "except k-001"},
        {"DLQ-EXACT(k-000,k-001)", "DLQ-EXACT", true, "k-000,k-001"},
        {"PROGRESS(ok, 2*V)", "PROGRESS", true, "ok, 2*V"},
        {"SECOND-LEASE: leases(k-000) >= 2", "SECOND-LEASE", false, ""},
        {"one lease per ok: max(leases, ok) == 1", "one lease per ok", false, ""},
        {"OWN-NAME: PROGRESS(all, 3*V)", "OWN-NAME", true, "all, 3*V"},
        {"V + 1 < 5s", "V + 1 < 5s", false, ""},
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct qn_judge_rule rule;
        struct qn_error err;
        cr_assert(qn_judge_rule_read(qn_str_from_cstr(good[i].text), &rule, &err), "%s: %s",
                  good[i].text, err.message);
        cr_expect(qn_str_equal(rule.name, qn_str_from_cstr(good[i].name)), "%s", good[i].text);
        cr_expect_eq(rule.checker != NULL, good[i].is_checker, "%s", good[i].text);
        cr_expect(qn_str_equal(rule.arguments, qn_str_from_cstr(good[i].arguments)), "%s",
                  good[i].text);
    }
}

Test(expression, entry_with_a_slip_is_told_what_would_be_right)
{
    static const struct {
        const char *text;
        const char *hint;
    } wrong[] = {
        {"LEASE-COVR", "perhaps LEASE-COVER"},
        {"ONCE(k-001)", "(except KEY, KEY)"},
        {"DRAINED(k-001)", "nothing in brackets"},
        {"PROGRESS", "PROGRESS(ok, 2*V)"},
        {"PROGRESS(ok)", "PROGRESS(ok, 2*V)"},
        {"PROGRESS(ok, 2*Q)", "\"Q\" is no constant"},
        {"ONCE(except k-001", "'('"},
        {"NAME:", "expected the name"},
        {"leses(k-001) == 1", "perhaps leases"},
        {"time() == 1", "expected time(MARK)"},
        {"leases(k-001) == ", "found the end"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct qn_judge_rule rule;
        struct qn_error err = {0};
        cr_expect_not(qn_judge_rule_read(qn_str_from_cstr(wrong[i].text), &rule, &err), "%s",
                      wrong[i].text);
        cr_expect_not_null(strstr(err.message, wrong[i].hint), "%s: %s", wrong[i].text,
                           err.message);
    }
}

Test(expression, depth_of_brackets_is_limited)
{
    char text[400] = "";
    struct qn_finding finding = {0};
    struct qn_error err;

    memset(text, '(', 300);
    cr_expect_not(qn_judge_expression(&in, qn_str_from_cstr(text), &finding, &err));
}

Test(expression, constants_are_of_the_run)
{
    in.heartbeat_visibility_ms = 10000;
    in.wait_ms = 20000;
    in.restart_ms = 200;
    in.soak_ms = 60000;
    in.prefetch = 10;
    expect("VH == 10s and W == 20s and R == 200ms and P == 10 and M == 1min", QN_RESULT_PASS);
    expect("V == 4s and G == 10s and C == 2 and MRC == 5", QN_RESULT_PASS);
}
