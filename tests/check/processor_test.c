/* Who waits for a processor, and how long. */
#include <criterion/criterion.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/check/processor.h"
#include "server/base/clock.h"

enum { LIMIT_MS = 60000 };

static pid_t start(const char *command)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)setpgid(0, 0);
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    (void)setpgid(pid, pid);
    return pid;
}

/* This process, and what it starts. */
static void keep_to_one_processor(void)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
}

static void end(pid_t pid)
{
    (void)kill(-pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* Looks until it waited so long, or the time is over; how long that was. */
static int64_t wait_for(struct qn_processor_waits *waits, pid_t pid, int64_t least_ms)
{
    int64_t end_ms = qn_clock_monotonic_ms() + LIMIT_MS;
    int64_t waited_ms = qn_processor_waited_ms(waits, &pid, 1);

    while (waited_ms < least_ms && qn_clock_monotonic_ms() < end_ms) {
        (void)poll(NULL, 0, 20);
        waited_ms += qn_processor_waited_ms(waits, &pid, 1);
    }
    return waited_ms;
}

Test(processor, two_that_share_one_wait_for_each_other)
{
    struct qn_processor_waits waits = {0};

    keep_to_one_processor();
    pid_t a = start("while :; do :; done");
    pid_t b = start("while :; do :; done");
    cr_expect_geq(wait_for(&waits, a, 100), 100);
    end(a);
    end(b);
}

Test(processor, what_a_process_started_is_looked_at_too)
{
    struct qn_processor_waits waits = {0};

    keep_to_one_processor();
    pid_t parent = start("(while :; do :; done) & (while :; do :; done) & sleep 1000");
    cr_expect_geq(wait_for(&waits, parent, 100), 100);
    end(parent);
}

Test(processor, who_sleeps_waits_for_none)
{
    struct qn_processor_waits waits = {0};
    pid_t pid = start("exec sleep 1000");

    (void)poll(NULL, 0, 100);
    (void)qn_processor_waited_ms(&waits, &pid, 1);
    (void)poll(NULL, 0, 100);
    cr_expect_eq(qn_processor_waited_ms(&waits, &pid, 1), 0);
    end(pid);
}

Test(processor, who_is_gone_or_was_never_there_waits_for_none)
{
    struct qn_processor_waits waits = {0};
    const pid_t pids[] = {0, start("exit 0")};

    (void)waitpid(pids[1], NULL, 0);
    cr_expect_eq(qn_processor_waited_ms(&waits, pids, 2), 0);
    cr_expect_eq(qn_processor_waited_ms(&waits, pids, 2), 0);
}
