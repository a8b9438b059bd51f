/* Consumer instances by access key, or by the number in the keys that the harness gives out. */
#include "server/model/instance.h"

static const char prefix[] = "QUERN";

bool qn_instance_is(struct qn_str said, struct qn_str access_key)
{
    struct qn_str start = qn_str_from_cstr(prefix);
    int64_t number;
    int64_t key_number;

    if (qn_str_equal(said, access_key)) {
        return true;
    }
    return qn_str_to_int64(said, 0, INT64_MAX, &number) && qn_str_starts_with(access_key, start) &&
           qn_str_to_int64(qn_str_from(access_key, start.len), 0, INT64_MAX, &key_number) &&
           number == key_number;
}
