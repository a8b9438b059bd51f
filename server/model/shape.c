/* The shape that has no members. */
#include "server/model/shape.h"

const struct qn_shape qn_empty_shape = {1, NULL, 0};
