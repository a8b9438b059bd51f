/* The messages of each FIFO group in their order, and which of them are finished. */
#ifndef QN_CHECK_JUDGE_GROUPS_H
#define QN_CHECK_JUDGE_GROUPS_H

#include "chaos/check/judge/judge.h"

struct qn_group;

struct qn_group_message {
    struct qn_str k;
    struct qn_str sn;
    struct qn_group *group;
    struct qn_group_message *next; /* later in the group */
    bool is_begun;
    bool is_finished;
    bool has_failed; /* an attempt */
};

struct qn_group {
    struct qn_str name;
    struct qn_group_message *first; /* by sequence number, of those that are not finished */
    struct qn_group_message *last;
};

struct qn_groups {
    const struct qn_judge_input *in;
    struct qn_table by_name; /* struct qn_group_message *, by message id and by business key */
    struct qn_table groups;  /* struct qn_group */
    struct qn_arena arena;
};

/* False, and the finding says why: who goes on behind a failure shows his order at the sink alone.
 */
bool qn_groups_are_seen(const struct qn_judge_input *in, struct qn_finding *finding);
/* All that was sent to the source queue with a group; nothing is begun or finished so far. */
void qn_groups_init(struct qn_groups *groups, const struct qn_judge_input *in);
void qn_groups_done(struct qn_groups *groups);
/* The message that an event is about, or NULL. */
struct qn_group_message *qn_groups_find(const struct qn_groups *groups,
                                        const struct qn_check_event *event);
/* Without the sink, a message is finished when its delete is asked for: whether that succeeds is
 * another matter, and all of one request are finished at once. False: it is no such request, or
 * there is a sink. */
bool qn_groups_note_request(const struct qn_groups *groups, const struct qn_check_event *call);
/* The nth of those that a request deletes, or NULL. */
struct qn_group_message *qn_groups_of_request(const struct qn_groups *groups,
                                              const struct qn_check_event *call, size_t nth);
/* Notes what the event says of its message, apart from deletes. */
void qn_groups_note(const struct qn_groups *groups, const struct qn_check_event *event);
/* The first unfinished message before this one, or NULL. Those that the invariant excepts, or that
 * may be skipped, do not count. */
const struct qn_group_message *qn_groups_open_before(const struct qn_groups *groups,
                                                     const struct qn_group_message *message);

#endif
