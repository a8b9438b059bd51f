/* Readiness as a consumer tells it. */
#include <criterion/criterion.h>

#include "chaos/check/ready.h"

static struct qn_error err;

Test(ready, a_line_fits_a_pattern_anywhere)
{
    cr_assert(qn_ready_check_pattern("(worker|consumer) [0-9]+ ready", &err));
    cr_expect(qn_ready_line_fits("worker [0-9]+ ready", QN_STR("12:00 worker 17 ready.")));
    cr_expect_not(qn_ready_line_fits("^worker", QN_STR("12:00 worker 17 ready.")));
    cr_expect_not(qn_ready_check_pattern("(worker", &err));
    cr_expect(qn_str_starts_with(
        qn_str_from_cstr(err.message),
        QN_STR("--ready-log takes an extended regular expression: \"(worker\"")));
}

Test(ready, a_url_has_its_parts)
{
    struct qn_ready_url url;

    cr_assert(qn_ready_read_url("http://127.0.0.1:8080/health?full=1", &url, &err));
    cr_expect_str_eq(url.host, "127.0.0.1");
    cr_expect_str_eq(url.port, "8080");
    cr_expect_str_eq(url.path, "/health?full=1");
    cr_assert(qn_ready_read_url("http://worker", &url, &err));
    cr_expect_str_eq(url.port, "80");
    cr_expect_str_eq(url.path, "/");
    static const char *const wrong[] = {"",
                                        "worker:80",
                                        "https://worker/",
                                        "http:///x",
                                        "http://a:0/",
                                        "http://a:x/",
                                        "http://a/b c"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_not(qn_ready_read_url(wrong[i], &url, &err), "%s", wrong[i]);
    }
    cr_expect_str_eq(err.message,
                     "--ready-url takes a URL such as http://127.0.0.1:8080/health, not "
                     "\"http://a/b c\"");
}
