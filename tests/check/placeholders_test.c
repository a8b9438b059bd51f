/* What stands in braces in the consumer's command. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "chaos/check/placeholders.h"

static struct qn_error err;

static void expect_meant(const char *text, const char *meant)
{
    char question[80];

    cr_assert_not(qn_placeholders_check("x", text, &err), "%s passed", text);
    (void)snprintf(question, sizeof(question), "did you mean {%s}?", meant);
    cr_expect(strstr(err.message, question) != NULL, "%s: %s", text, err.message);
}

Test(placeholders, a_name_with_a_slip_is_no_placeholder)
{
    expect_meant("worker --queue={queue_ur}", "queue_url");
    expect_meant("{qeueu_url}", "queue_url");
    expect_meant("{QUEUE_URL}", "queue_url");
    expect_meant("{queue-url}", "queue_url");
    expect_meant("{endpont}", "endpoint");
    expect_meant("{ports}", "port");
    expect_meant("{run}/{scnario}", "scenario");
    expect_meant("{\"a\":\"{env-file}\"}", "env_file");
}

Test(placeholders, the_beginning_of_a_name_is_none)
{
    expect_meant("{queue}", "queue_url");
    expect_meant("{dlq}", "dlq_url");
    expect_meant("{output_queue}", "output_queue_url");
    expect_meant("{env}", "env_file");
}

Test(placeholders, the_others_are_listed)
{
    cr_assert_not(qn_placeholders_check("--start-cmd", "{insance}", &err));
    cr_expect_str_eq(err.message,
                     "--start-cmd: there is no {insance}; did you mean {instance}? The others are "
                     "{queue_url} {queue_name} {dlq_url} {output_queue_url} {retry_queue_url} "
                     "{endpoint} {host} {port} {sink} {scenario} {run} {env_file} (if it is meant "
                     "as it stands, write { insance })");
}

Test(placeholders, braces_have_other_uses)
{
    static const char *const texts[] = {
        "",
        "{",
        "}",
        "{}",
        "{queue_url",
        "{queue_url} {queue_name} {dlq_url} {output_queue_url} {retry_queue_url} {endpoint} {host}",
        "{port} {sink} {instance} {scenario} {run} {env_file}",
        "{\"a\":1}",
        "{\"port\": {\"host\": 1}}",
        "echo ${QUEUE_URL} ${PORTS:-1} ${env}",
        "awk '{print}' | awk '{ sum += $1 } END {print sum}' | awk '{next}'",
        "docker inspect --format '{{.State}} {{ports}}'",
        "a{1,3} {x} {id} {key} {value} {name} {url} {message} {body} {self} {sum} {a,b}",
        "{ ports } { queue_ur }",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cr_expect(qn_placeholders_check("x", texts[i], &err), "%s: %s", texts[i], err.message);
    }
}

static void expect_next(const char *text, enum qn_placeholder wanted, size_t from, size_t len)
{
    size_t found_from;
    size_t found_len;

    cr_expect_eq(qn_placeholder_next(qn_str_from_cstr(text), &found_from, &found_len), wanted, "%s",
                 text);
    cr_expect_eq(found_from, from, "%s", text);
    cr_expect_eq(found_len, len, "%s", text);
}

Test(placeholders, names_are_found_and_those_of_the_shell_are_not)
{
    expect_next("a {run} {port}", QN_PLACEHOLDER_RUN, 2, 5);
    expect_next("{{port}}", QN_PLACEHOLDER_PORT, 1, 6);
    expect_next("{\"a\":\"{env_file}\"}", QN_PLACEHOLDER_ENV_FILE, 6, 10);
    expect_next("${port} {host}", QN_PLACEHOLDER_HOST, 8, 6);
    expect_next("${port}", QN_PLACEHOLDER_COUNT, 7, 0);
    expect_next("{ports} {", QN_PLACEHOLDER_COUNT, 9, 0);
    expect_next("", QN_PLACEHOLDER_COUNT, 0, 0);
}
