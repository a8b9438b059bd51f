/* jansson's writer into our buffers. */
#include "chaos/check/json_text.h"

static int append_piece(const char *bytes, size_t len, void *state)
{
    qn_buf_append(state, bytes, len);
    return 0;
}

void qn_json_text_append(struct qn_buf *buf, const json_t *value, size_t flags)
{
    (void)json_dump_callback(value, append_piece, buf, flags | JSON_ENCODE_ANY);
}

bool qn_json_text_is_in(const json_t *array, const char *text)
{
    size_t i;
    const json_t *item;

    json_array_foreach(array, i, item)
    {
        if (json_is_string(item) && strcmp(json_string_value(item), text) == 0) {
            return true;
        }
    }
    return false;
}
