/* Payloads by reference. */
#include "chaos/check/object.h"

#include "chaos/check/body.h"
#include "server/base/digest.h"

enum { SIZE_BYTES = 4096 };

/* Lines of text, so that whoever keeps it by mistake in a log can be found. */
void qn_object_make(struct qn_load_message *message, const struct qn_load_options *options,
                    int64_t size_bytes, struct qn_arena *arena)
{
    size_t size = size_bytes > 0 ? (size_t)size_bytes : SIZE_BYTES;
    uint8_t digest[32];
    char hex[65];
    struct qn_buf text;

    if (message->object == QN_OBJECT_NONE) {
        return;
    }
    qn_buf_init(&text, SIZE_MAX / 2);
    for (int line = 1; text.len < size; line++) {
        qn_buf_append_format(&text, "%.*s line %d CANARY-%04x\n", QN_STR_ARG(message->k), line,
                             qn_body_canary(message, options));
    }
    message->content = qn_arena_copy(arena, qn_str_first(qn_buf_str(&text), size));
    qn_buf_done(&text);
    qn_digest_sha256(message->content, digest);
    qn_digest_hex(digest, sizeof(digest), hex);
    message->object_name = qn_arena_copy(arena, qn_str_from_cstr(hex));
}

void qn_object_append_reference(struct qn_buf *body, const struct qn_load_message *message,
                                const struct qn_load_options *options)
{
    if (message->object != QN_OBJECT_NONE) {
        qn_buf_append_format(body,
                             ",\"url\":\"%.*s/v1/blobs/%.*s\",\"sha256\":\"%.*s\",\"bytes\":%zu",
                             QN_STR_ARG(options->sink_url), QN_STR_ARG(message->object_name),
                             QN_STR_ARG(message->object_name), message->content.len);
    }
}

/* As if another upload had taken its place: the size tells nothing. */
static struct qn_str changed(struct qn_str content, struct qn_arena *arena)
{
    char *bytes = qn_arena_alloc(arena, content.len);

    for (size_t i = 0; i < content.len; i++) {
        char c = content.ptr[i];
        bytes[i] = c >= '0' && c <= '8' ? (char)(c + 1) : c;
    }
    return qn_str(bytes, content.len);
}

int qn_object_get(const struct qn_load_message *message, struct qn_arena *arena,
                  struct qn_str *ret_content)
{
    if (message->object == QN_OBJECT_MISSING) {
        return 404;
    }
    *ret_content =
        message->object == QN_OBJECT_CHANGED ? changed(message->content, arena) : message->content;
    return 200;
}
