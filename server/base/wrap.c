/* Lines that fit the terminal. */
#include "server/base/wrap.h"

#include <stdlib.h>

enum { COLUMNS = 80, COLUMNS_LEAST = 60 };

/* As wide as COLUMNS says, when it does. */
static size_t columns(void)
{
    int64_t given;

    return qn_str_to_int64(qn_str_from_cstr(getenv("COLUMNS")), COLUMNS_LEAST, INT32_MAX, &given)
               ? (size_t)given
               : COLUMNS;
}

void qn_wrap_print(struct qn_str text, size_t column, FILE *out)
{
    size_t room = columns() - column;

    while (text.len > room) {
        size_t end = room;
        while (end > 0 && text.ptr[end] != ' ') {
            end--;
        }
        end = end > 0 ? end : room;
        (void)fprintf(out, "%.*s\n%*s", (int)end, text.ptr, (int)column, "");
        text = qn_str_trim(qn_str_from(text, end));
    }
    (void)fprintf(out, "%.*s\n", QN_STR_ARG(text));
}
