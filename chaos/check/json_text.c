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
