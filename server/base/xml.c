/* Text for XML and HTML: what has a meaning there is written otherwise. */
#include "server/base/xml.h"

/* U+FFFD, for what XML 1.0 has no way to write. */
static const char replacement[] = "\xEF\xBF\xBD";

/* What to write for the character at text[i], or NULL if it stands for itself; *ret_len is how many
 * bytes it takes. A carriage return must be a reference, else the reader turns it into a line feed
 * and the digest of a body no longer fits. */
static const char *spelling(struct qn_str text, size_t i, bool escape_quotes, bool is_utf8,
                            size_t *ret_len)
{
    unsigned char byte = (unsigned char)text.ptr[i];

    *ret_len = 1;
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return escape_quotes ? "&quot;" : NULL;
    case '\r':
        return "&#xD;";
    case '\t':
    case '\n':
        return NULL;
    default:
        break;
    }
    if (byte < 0x20 || (byte >= 0x80 && !is_utf8)) {
        return replacement;
    }
    /* U+FFFE and U+FFFF: the only ones above the controls that XML does not allow. */
    if (byte == 0xEF && text.ptr[i + 1] == '\xBF' && (unsigned char)text.ptr[i + 2] >= 0xBE) {
        *ret_len = 3;
        return replacement;
    }
    return NULL;
}

/* The bytes that may not stand for themselves, and the first byte of U+FFFE. */
static const bool special[256] = {
    true,         true,         true,         true,         true,
    true,         true,         true, /* 0x00 */
    true,         false,        false,        true,         true,
    true,         true,         true, /* 0x08: not tab and line feed */
    true,         true,         true,         true,         true,
    true,         true,         true, /* 0x10 */
    true,         true,         true,         true,         true,
    true,         true,         true, /* 0x18 */
    ['&'] = true, ['<'] = true, ['>'] = true, ['"'] = true, [0xEF] = true,
};

static size_t find_special(struct qn_str text, size_t i, bool is_utf8)
{
    for (; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (special[byte] || (byte >= 0x80 && !is_utf8)) {
            break;
        }
    }
    return i;
}

void qn_xml_append_text(struct qn_buf *buf, struct qn_str text, bool escape_quotes)
{
    bool is_utf8 = qn_str_is_utf8(text);
    size_t written = 0;
    size_t i = 0;

    while ((i = find_special(text, i, is_utf8)) < text.len) {
        size_t len;
        const char *instead = spelling(text, i, escape_quotes, is_utf8, &len);
        if (instead != NULL) {
            qn_buf_append(buf, text.ptr + written, i - written);
            qn_buf_append(buf, instead, strlen(instead));
            written = i + len;
        }
        i += len;
    }
    qn_buf_append(buf, text.ptr + written, i - written);
}
