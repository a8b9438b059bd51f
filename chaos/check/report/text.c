/* Texts that others wrote, made fit to be shown: in a terminal, in XML and in HTML. */
#include "chaos/check/report/report.h"

#include "server/base/xml.h"

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */
static const char canary[] = "CANARY-";
static const char escape_byte = 0x1B;

/* Length of a terminal's control sequence (ESC [ parameters letter) at the front; 0 when there is
 * none. A log in colour would be unreadable with them. */
static size_t sequence_length(struct qn_str s)
{
    size_t at = 2;

    if (s.len < 3 || s.ptr[0] != escape_byte || s.ptr[1] != '[') {
        return 0;
    }
    while (at < s.len && s.ptr[at] >= 0x20 && s.ptr[at] <= 0x3F) {
        at++;
    }
    return at < s.len && s.ptr[at] >= 0x40 && s.ptr[at] <= 0x7E ? at + 1 : 0;
}

/* Length of the well-formed character at the front; 0 when there is none. */
static size_t character_length(struct qn_str s)
{
    for (size_t len = 1; len <= 4 && len <= s.len; len++) {
        if (qn_str_is_utf8(qn_str_first(s, len))) {
            return len;
        }
    }
    return 0;
}

/* The mark that every message of the harness carries is no business of a report's reader. */
static size_t canary_length(struct qn_str s)
{
    size_t len = sizeof(canary) - 1;

    if (!qn_str_starts_with(s, qn_str_from_cstr(canary))) {
        return 0;
    }
    while (len < s.len &&
           ((s.ptr[len] >= '0' && s.ptr[len] <= '9') || (s.ptr[len] >= 'a' && s.ptr[len] <= 'f'))) {
        len++;
    }
    return len;
}

void qn_report_clean(struct qn_buf *buf, struct qn_str s)
{
    while (s.len > 0) {
        size_t skipped = sequence_length(s);
        size_t masked = canary_length(s);
        size_t len = character_length(s);
        if (skipped > 0) {
            s = qn_str_from(s, skipped);
        } else if (masked > 0) {
            qn_buf_append_str(buf, qn_str_from_cstr(canary));
            qn_buf_append_literal(buf, "****");
            s = qn_str_from(s, masked);
        } else {
            bool is_shown = len > 0 && qn_str_is_xml_text(qn_str_first(s, len));
            if (!is_shown) {
                qn_buf_append_literal(buf, REPLACEMENT);
            } else if (s.ptr[0] != '\r') {
                qn_buf_append(buf, s.ptr, len);
            }
            s = qn_str_from(s, len > 0 ? len : 1);
        }
    }
}

void qn_report_escape(struct qn_buf *buf, struct qn_str s)
{
    struct qn_buf clean;

    qn_buf_init(&clean, SIZE_MAX / 2);
    qn_report_clean(&clean, s);
    qn_xml_append_text(buf, qn_buf_str(&clean), true);
    qn_buf_done(&clean);
}

json_t *qn_report_json_text(struct qn_str s)
{
    struct qn_buf clean;

    qn_buf_init(&clean, SIZE_MAX / 2);
    qn_report_clean(&clean, s);
    struct qn_str text = qn_buf_str(&clean);
    json_t *value = json_stringn(text.ptr, text.len);
    qn_buf_done(&clean);
    return value;
}
