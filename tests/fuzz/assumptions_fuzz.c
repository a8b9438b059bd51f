/* Whatever a file says that claims to be a trace: it is refused or read, and reported on. */
#include "chaos/assumptions/assumptions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct qn_assumptions *pass = qn_assumptions_new();
    struct qn_error err;

    if (!qn_assumptions_read(pass, qn_str((const char *)data, size), &err)) {
        qn_assumptions_gap(pass, 1);
    }
    json_t *report = qn_assumptions_report(pass);
    size_t found = json_array_size(json_object_get(report, "assumptions"));
    if (found > QN_ASSUMPTION_COUNT || found != qn_assumptions_count(pass)) {
        __builtin_trap();
    }
    json_decref(report);
    qn_assumptions_free(pass);
    return 0;
}
