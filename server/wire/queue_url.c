/* What the path of a request and a QueueUrl name. */
#include "server/model/queue_url.h"
#include "server/wire/codec.h"

enum qn_path_kind qn_wire_path_kind(struct qn_str path)
{
    struct qn_str first = QN_STR_NONE;
    size_t count = 0;

    while (path.len > 0) {
        struct qn_str segment = qn_str_cut(path, '/', &path);
        if (segment.len > 0) {
            first = count == 0 ? segment : first;
            count++;
        }
    }
    if (count == 0) {
        return QN_PATH_ROOT;
    }
    if (count == 2 || (count == 4 && qn_str_equal(first, QN_STR("queue")))) {
        return QN_PATH_QUEUE;
    }
    return QN_PATH_OTHER;
}

bool qn_wire_split_queue_url(struct qn_str url, bool bare_names, struct qn_str *ret_account,
                             struct qn_str *ret_name)
{
    return qn_queue_url_split(url, bare_names, ret_account, ret_name);
}
