/* What the files that read scenarios share. */
#ifndef QN_CHECK_SCENARIO_READER_H
#define QN_CHECK_SCENARIO_READER_H

#include "chaos/check/scenario.h"

/* Of one scenario or variant while it is read. */
struct qn_scenario_reader {
    struct qn_scenario *scenario;
    struct qn_str text; /* the file */
    const char *name;
    struct qn_buf *mistakes; /* a line each */
    size_t mistake_count;
    bool is_variant; /* its places are not those of the file */
};

/* Notes that what stands at a place such as "load[2]" is wrong; NULL: no place of its own. value is
 * the text there, by which its line is found; or none. Returns false. */
bool qn_scenario_mistake(struct qn_scenario_reader *reader, const char *place, struct qn_str value,
                         const char *format, ...) QN_PRINTF(4, 5);
/* Whether text can be read as an expression; a mistake if not. */
bool qn_scenario_check_expression(struct qn_scenario_reader *reader, const char *place,
                                  struct qn_str text);

/* scenario_load.c, scenario_fault.c: the lists `load` and `faults`. */
void qn_scenario_read_loads(struct qn_scenario_reader *reader);
void qn_scenario_read_faults(struct qn_scenario_reader *reader);

#endif
