/* `--failpoint`: a name that no place in the server has would never be met. */

#include "chaos/lex.h"
#include "server/base/failpoint.h"
#include "server/cli/settings.h"

static const char *const names[] = {
    "boot.before_recovery",
    "boot.mid_recovery",
    "dedup.after_insert",
    "lease_timer.after_commit",
    "lease_timer.before_commit",
    "movetask.after_chunk",
    "purge.mid",
    "redrive.after_commit",
    "redrive.before_commit",
    "retention.after_chunk",
    "ring.before_sync",
    "ring.mid_append",
    "wal.checkpoint",
    "writer.after_commit",
    "writer.before_commit",
};

enum { NAME_COUNT = sizeof(names) / sizeof(names[0]), BATCH_MAX = 10 };

static const char entry_of_batch[] = "send_batch.entry:";

static bool is_known(struct qn_str name)
{
    const struct qn_str entry = qn_str_from_cstr(entry_of_batch);
    int64_t number;

    for (size_t i = 0; i < NAME_COUNT; i++) {
        if (qn_str_equal(name, qn_str_from_cstr(names[i]))) {
            return true;
        }
    }
    return qn_str_starts_with(name, entry) &&
           qn_str_to_int64(qn_str_from(name, entry.len), 1, BATCH_MAX, &number) &&
           name.ptr[entry.len] != '0';
}

static bool fail_unknown(struct qn_str name, struct qn_error *err)
{
    const char *nearest = qn_nearest_word(name, names, NAME_COUNT);
    struct qn_buf list;

    if (nearest != NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "no such failpoint: %.*s; did you mean %s?", QN_STR_ARG(name), nearest);
    }
    qn_buf_init(&list, QN_ERROR_MESSAGE_MAX);
    for (size_t i = 0; i < NAME_COUNT; i++) {
        qn_buf_append_format(&list, "%s, ", names[i]);
    }
    (void)qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                  "no such failpoint: %.*s; there are %.*s%s1 to %s%d",
                  QN_STR_ARG(qn_str_first(name, 100)), QN_STR_ARG(qn_buf_str(&list)),
                  entry_of_batch, entry_of_batch, BATCH_MAX);
    qn_buf_done(&list);
    return false;
}

bool qn_failpoints_arm(const struct qn_given *given, struct qn_error *err)
{
    for (size_t i = 0; i < given->count; i++) {
        struct qn_str spec = qn_str_from_cstr(given->texts[i]);
        struct qn_str mode;
        struct qn_str name = qn_str_cut(spec, '=', &mode);
        if (!qn_failpoint_arm(spec, err)) {
            return false;
        }
        if (!is_known(name)) {
            return fail_unknown(name, err);
        }
    }
    return true;
}
