/* What one life of a server leaves to the next. */
#include "server/http/legacy.h"

#include <errno.h>
#include <sys/mman.h>

bool qn_legacy_new(struct qn_legacy **ret_legacy, struct qn_error *err)
{
    struct qn_legacy *legacy = mmap(NULL, sizeof(*legacy), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (legacy == MAP_FAILED) {
        return qn_fail(err, QN_ERR_INTERNAL, "no memory for a supervisor: %s", strerror(errno));
    }
    *ret_legacy = legacy;
    return true;
}

void qn_legacy_free(struct qn_legacy *legacy)
{
    if (legacy != NULL) {
        (void)munmap(legacy, sizeof(*legacy));
    }
}

void qn_legacy_begin_life(struct qn_legacy *legacy)
{
    legacy->life++;
    legacy->is_up = false;
    legacy->is_planned = false;
    legacy->restart_ms = -1;
    legacy->reason[0] = '\0';
    legacy->failpoints.fatal = 0;
}

void qn_legacy_announce(struct qn_legacy *legacy, struct qn_str rule, int64_t restart_ms)
{
    size_t len = rule.len < QN_LEGACY_REASON_MAX ? rule.len : QN_LEGACY_REASON_MAX - 1;

    if (legacy == NULL) {
        return;
    }
    memcpy(legacy->reason, rule.ptr, len);
    legacy->reason[len] = '\0';
    legacy->restart_ms = restart_ms;
    __atomic_store_n(&legacy->is_planned, true, __ATOMIC_SEQ_CST);
}

bool qn_legacy_save_rules(struct qn_legacy *legacy, const struct qn_plan *plan, int64_t now_ms)
{
    int place = legacy->saved_rules == 1 ? 1 : 0;
    struct qn_buf saved;

    qn_buf_init(&saved, QN_LEGACY_RULES_MAX);
    qn_plan_save(plan, now_ms, &saved);
    bool fits = !saved.overflow;
    if (fits) {
        memcpy(legacy->rules[place], saved.ptr, saved.len);
        legacy->rules_len[place] = saved.len;
        __atomic_store_n(&legacy->saved_rules, place + 1, __ATOMIC_SEQ_CST);
    }
    qn_buf_done(&saved);
    return fits;
}

struct qn_str qn_legacy_rules(const struct qn_legacy *legacy)
{
    int place = legacy->saved_rules - 1;

    return place < 0 ? QN_STR_NONE : qn_str(legacy->rules[place], legacy->rules_len[place]);
}
