/* Tests of restarts run twice: on rows kept in memory, and on a real database with its ring. */
#ifndef QN_TESTS_RESTART_H
#define QN_TESTS_RESTART_H

#include <criterion/criterion.h>

#include "tests/support/fixture.h"

static struct fixture f;

static void start(void)
{
    fixture_open(&f);
    fixture_create(&f, "q", "");
    fixture_create(&f, "q.fifo", "");
}

static void start_on_file(void)
{
    fixture_open(&f);
    fixture_use_file(&f);
    fixture_create(&f, "q", "");
    fixture_create(&f, "q.fifo", "");
}

static void stop(void)
{
    fixture_close(&f);
}

TestSuite(restart, .init = start, .fini = stop);
TestSuite(restart_on_file, .init = start_on_file, .fini = stop);

#define RESTART_TEST(name)                                                                         \
    static void name(void);                                                                        \
    Test(restart, name)                                                                            \
    {                                                                                              \
        name();                                                                                    \
    }                                                                                              \
    Test(restart_on_file, name)                                                                    \
    {                                                                                              \
        name();                                                                                    \
    }                                                                                              \
    static void name(void)

static inline const char *attribute_of_first(const char *name)
{
    return fixture_get(&f, fixture_format(&f, "Messages.0.Attributes.%s", name));
}

#endif
