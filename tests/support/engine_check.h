/* Looks into the engine and holds its structures against one another. */
#ifndef QN_TESTS_ENGINE_CHECK_H
#define QN_TESTS_ENGINE_CHECK_H

#include "server/engine/engine.h"

/* NULL when all is as it should be, else what is not. */
const char *engine_check(const struct qn_engine *engine);

#endif
