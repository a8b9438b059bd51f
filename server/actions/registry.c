/* The table of actions as data, made from actions.def. */
#include "server/actions/actions.h"

#define QN_ACTION(symbol, wire_name, input, output, flags)                                         \
    __attribute__((weak)) void qn_##symbol##_look(struct qn_tx *tx, const void *in,                \
                                                  struct qn_facts *ret_facts);
#include "server/actions/actions.def"
#undef QN_ACTION

/* Only actions that touch messages have a look function: for the others the weak name is NULL. */
static const struct qn_action actions[] = {
#define QN_ACTION(symbol, wire_name, input, output, flags)                                         \
    {QN_ACTION_##symbol,                                                                           \
     wire_name,                                                                                    \
     sizeof(wire_name) - 1,                                                                        \
     &input,                                                                                       \
     &output,                                                                                      \
     flags,                                                                                        \
     qn_##symbol##_check,                                                                          \
     qn_##symbol##_execute,                                                                        \
     qn_##symbol##_look},
#include "server/actions/actions.def"
#undef QN_ACTION
};

const struct qn_action *qn_action_find(struct qn_str name)
{
    for (size_t i = 0; i < QN_ACTION_COUNT; i++) {
        if (qn_str_equal(name, qn_action_name(&actions[i]))) {
            return &actions[i];
        }
    }
    return NULL;
}

const struct qn_action *qn_action_at(size_t i)
{
    return &actions[i];
}
