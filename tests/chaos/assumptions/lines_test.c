/* Traces as text: what is passed over, what is refused. */
#include <criterion/criterion.h>

#include "chaos/assumptions/assumptions.h"

static struct qn_assumptions *self;
static struct qn_error err;

static void start(void)
{
    self = qn_assumptions_new();
}

static void stop(void)
{
    qn_assumptions_free(self);
}

TestSuite(assumption_lines, .init = start, .fini = stop);

static bool read_text(const char *text)
{
    return qn_assumptions_read(self, qn_str_from_cstr(text), &err);
}

static json_int_t figure(const char *name)
{
    json_t *report = qn_assumptions_report(self);
    json_int_t value = json_integer_value(json_object_get(report, name));
    json_decref(report);
    return value;
}

Test(assumption_lines, blank_lines_and_foreign_kinds_are_passed_over)
{
    cr_expect(read_text("\n{\"kind\":\"proc\",\"what\":\"spawn\"}\r\n  \n"
                        "{\"seq\":1,\"kind\":\"mark\",\"reason\":\"x\"}"));
    cr_expect_eq(figure("events"), 1);
}

Test(assumption_lines, a_gap_says_what_is_missing)
{
    cr_expect(read_text("{\"kind\":\"gap\",\"count\":12}\n{\"kind\":\"gap\",\"count\":-3}\n"
                        "{\"kind\":\"missed\",\"count\":1}\n"));
    cr_expect_eq(figure("missed"), 13);
}

Test(assumption_lines, the_first_line_that_is_no_event_is_named)
{
    static const char *const bad[] = {"x", "{", "[]", "7", "\"kind\"", "{\"kind\":7}", "{}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[100];
        (void)snprintf(text, sizeof(text), "{\"kind\":\"mark\"}\n%s\n", bad[i]);
        cr_expect_not(read_text(text), "%s", bad[i]);
        cr_expect_not_null(strstr(err.message, "line 2"), "%s", err.message);
    }
}

Test(assumption_lines, members_of_other_types_count_as_absent)
{
    cr_expect(read_text(
        "{\"kind\":\"api.in\",\"seq\":\"1\",\"req\":7,\"action\":[],\"conn\":\"x\","
        "\"params\":3,\"vt\":{}}\n"
        "{\"kind\":\"api.in\",\"req\":\"r\",\"params\":{\"Entries\":{},\"Attributes\":"
        "[1],\"AttributeNames\":7,\"WaitTimeSeconds\":\"x\",\"QueueUrl\":null}}\n"
        "{\"kind\":\"api.out\",\"req\":\"r\",\"code\":\"OK\",\"params\":{\"Messages\":[]}}\n"
        "{\"kind\":\"lease.grant\",\"mid\":\"m\"}\n{\"kind\":\"msg.delete\"}\n"));
    cr_expect_eq(figure("events"), 5);
}

Test(assumption_lines, a_header_names_the_harness)
{
    cr_expect(read_text("{\"kind\":\"header\",\"run\":{\"self\":\"OURS\"}}\n"
                        "{\"kind\":\"api.in\",\"req\":\"r\",\"action\":\"SendMessage\",\"queue\":"
                        "\"q\",\"instance\":"
                        "\"OURS\",\"params\":{\"QueueUrl\":\"q\"}}\n"
                        "{\"kind\":\"api.out\",\"req\":\"r\",\"code\":\"OK\"}\n"));
    cr_expect_eq(qn_assumptions_count(self), 0);
}
