/* Addresses to listen on, and what happens when they are taken. */
#include "server/http/listen.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

static struct qn_listeners listeners;
static struct qn_error err;

static void end(void)
{
    qn_listeners_close(&listeners);
}
TestSuite(listen, .fini = end);

static bool add(const char *where)
{
    return qn_listeners_add(&listeners, qn_str_from_cstr(where), 0, &err);
}

Test(listen, port_0_takes_a_free_one)
{
    cr_assert(add("127.0.0.1"));
    cr_assert(add("127.0.0.1:0"));
    cr_assert(add("localhost:0"));
    cr_expect_eq(listeners.count, 3);
    cr_expect_gt(listeners.items[0].port, 0);
    cr_expect_neq(listeners.items[0].port, listeners.items[1].port);
    cr_expect_eq(strncmp(listeners.items[0].address, "127.0.0.1:", 10), 0);
}

Test(listen, address_of_ipv6_stands_in_brackets_when_a_port_follows)
{
    if (!qn_listeners_add(&listeners, QN_STR("::1"), 0, &err)) {
        cr_skip_test("no IPv6 here");
    }
    cr_assert(add("[::1]"));
    cr_assert(add("[::1]:0"));
    cr_expect_eq(strncmp(listeners.items[2].address, "[::1]:", 6), 0);
}

Test(listen, loopback_has_one_port_for_both_kinds)
{
    cr_assert(qn_listeners_add_loopback(&listeners, 0, &err));
    for (size_t i = 1; i < listeners.count; i++) {
        cr_expect_eq(listeners.items[i].port, listeners.items[0].port);
    }
}

Test(listen, taken_port_is_named)
{
    struct qn_listeners second = {0};

    cr_assert(add("127.0.0.1:0"));
    cr_expect_not(qn_listeners_add(&second, QN_STR("127.0.0.1"), listeners.items[0].port, &err));
    cr_expect_not_null(strstr(err.message, listeners.items[0].address));
    cr_expect_not_null(strstr(err.message, "the port is in use"));
    cr_expect_eq(second.count, 0);
}

Test(listen, what_is_no_address_is_refused)
{
    static const char *const bad[] = {"",          "nowhere",      "127.0.0.1:", "127.0.0.1:x",
                                      "[::1",      "[::1]0",       "[::1]:-1",   "127.0.0.1:65536",
                                      "300.1.1.1", "1.2.3.4:5:6:7"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_not(add(bad[i]), "%s", bad[i]);
    }
    cr_expect_eq(listeners.count, 0);
}

Test(listen, there_is_an_end_to_them)
{
    for (size_t i = 0; i < QN_LISTENERS_MAX; i++) {
        cr_assert(add("127.0.0.1:0"));
    }
    cr_expect_not(add("127.0.0.1:0"));
}

/* Whether somebody answers there. */
static bool answers(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool does = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;

    close(fd);
    return does;
}

Test(listen, a_reserve_keeps_the_port_and_does_not_listen)
{
    struct qn_listeners reserve = {.is_reserve = true};

    cr_assert(qn_listeners_add(&reserve, QN_STR("127.0.0.1"), 0, &err));
    int port = reserve.items[0].port;
    for (int life = 0; life < 3; life++) {
        cr_expect_not(answers(port));
        cr_assert(qn_listeners_take(&listeners, &reserve, &err), "%s", err.message);
        cr_expect_eq(listeners.items[0].port, port);
        cr_expect(answers(port));
        qn_listeners_close(&listeners);
        listeners.count = 0;
    }
    qn_listeners_close(&reserve);
}
