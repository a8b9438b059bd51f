/* The middle one of a list of durations. */
#include <stdlib.h>
#include <string.h>

#include "chaos/check/judge/judge.h"

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

int64_t qn_judge_median(const int64_t *values, size_t count)
{
    int64_t *sorted = qn_memory_new_array(count, sizeof(int64_t));

    memcpy(sorted, values, count * sizeof(int64_t));
    qsort(sorted, count, sizeof(int64_t), ascending);
    int64_t value = sorted[count / 2];
    qn_memory_free(sorted);
    return value;
}
