/* What base promises to any thread: the time of a virtual clock, log lines, failpoints. Run under
 * TSan. */
#include <pthread.h>
#include <stdlib.h>

#include "server/base/clock.h"
#include "server/base/failpoint.h"
#include "server/base/log.h"

enum { READERS = 3, ROUNDS = 20000 };

static void *watch(void *state)
{
    const struct qn_clock *clock = state;
    int64_t last = 0;

    for (int i = 0; i < ROUNDS; i++) {
        int64_t now = clock->now_ms(clock->state);
        if (now < last) {
            abort(); /* the clock went back */
        }
        last = now;
        if (qn_failpoint("writer.commit") && i == 0) {
            qn_log(QN_LOG_DEBUG, "test", "a passage was stopped");
        }
    }
    return NULL;
}

int main(void)
{
    struct qn_clock clock = qn_clock_virtual_new(1000);
    pthread_t readers[READERS];
    struct qn_error err;

    for (int i = 0; i < READERS; i++) {
        if (pthread_create(&readers[i], NULL, watch, &clock) != 0) {
            abort();
        }
    }
    for (int i = 0; i < ROUNDS; i++) {
        qn_clock_advance(&clock, i % 3);
        qn_clock_set_rate(&clock, i % 5);
        qn_log_set_level(i % 2 == 0 ? QN_LOG_WARN : QN_LOG_INFO);
        if (i % 1000 == 0 && !qn_failpoint_arm(QN_STR("writer.commit=error:500"), &err)) {
            abort();
        }
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i], NULL);
    }
    qn_failpoint_clear();
    qn_clock_virtual_free(&clock);
    return 0;
}
