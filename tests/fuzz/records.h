/* Inputs that are records divided by lines that hold only "~". */
#ifndef QN_TESTS_FUZZ_RECORDS_H
#define QN_TESTS_FUZZ_RECORDS_H

#include "server/base/str.h"

/* Takes the first record off the front. */
struct qn_str records_cut(struct qn_str *rest);
/* For LLVMFuzzerCustomMutator: now and then a record is put in from the templates, doubled, or
 * taken out; else libFuzzer's own mutation. */
size_t records_mutate(uint8_t *data, size_t size, size_t max_size, unsigned seed,
                      const char *const *templates, size_t template_count);

#endif
