/* A reader of XML that builds nothing, and jansson. */
#include "tests/support/well_formed.h"

#include <jansson.h>

enum { DEPTH_MAX = 64 };

struct reader {
    struct qn_str text;
    size_t at;
    const char *problem;
    struct qn_str open[DEPTH_MAX];
    size_t depth;
};

static bool fail(struct reader *reader, const char *problem)
{
    reader->problem = problem;
    return false;
}

static bool is_at(const struct reader *reader, const char *what)
{
    return qn_str_starts_with(qn_str_from(reader->text, reader->at), qn_str_from_cstr(what));
}

static bool take(struct reader *reader, const char *what)
{
    if (!is_at(reader, what)) {
        return false;
    }
    reader->at += strlen(what);
    return true;
}

static bool is_name_byte(char byte, bool is_first)
{
    bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';

    return letter || (!is_first && ((byte >= '0' && byte <= '9') || byte == '-' || byte == '.'));
}

static struct qn_str take_name(struct reader *reader)
{
    size_t from = reader->at;

    while (reader->at < reader->text.len &&
           is_name_byte(reader->text.ptr[reader->at], reader->at == from)) {
        reader->at++;
    }
    return qn_str_first(qn_str_from(reader->text, from), reader->at - from);
}

/* Source: XML 1.0, production 2. */
static bool is_char(uint32_t code)
{
    return code == 0x9 || code == 0xA || code == 0xD || (code >= 0x20 && code <= 0xD7FF) ||
           (code >= 0xE000 && code <= 0xFFFD) || (code >= 0x10000 && code <= 0x10FFFF);
}

static int digit_of(char byte, uint32_t base)
{
    int value = byte >= '0' && byte <= '9'   ? byte - '0'
                : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                             : 16;
    return (uint32_t)value < base ? value : -1;
}

/* Behind "&#". */
static bool take_char_reference(struct reader *reader)
{
    uint32_t base = take(reader, "x") ? 16 : 10;
    uint32_t code = 0;
    size_t from = reader->at;
    int digit;

    while (reader->at < reader->text.len &&
           (digit = digit_of(reader->text.ptr[reader->at], base)) >= 0) {
        code = code * base + (uint32_t)digit;
        if (code > 0x10FFFF) {
            return fail(reader, "a reference beyond Unicode");
        }
        reader->at++;
    }
    return (reader->at > from && take(reader, ";") && is_char(code)) ||
           fail(reader, "a reference to no character");
}

static bool take_reference(struct reader *reader)
{
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};

    if (take(reader, "&#")) {
        return take_char_reference(reader);
    }
    for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
        if (take(reader, entities[i])) {
            return true;
        }
    }
    return fail(reader, "an ampersand that begins no entity");
}

/* Text up to a byte that ends it. */
static bool take_text(struct reader *reader, char end)
{
    while (reader->at < reader->text.len && reader->text.ptr[reader->at] != end) {
        if (is_at(reader, "&")) {
            if (!take_reference(reader)) {
                return false;
            }
        } else if (is_at(reader, "<") || is_at(reader, "]]>")) {
            return fail(reader, "markup in a text");
        } else if (!is_char(qn_str_next_code_point(reader->text, &reader->at))) {
            return fail(reader, "a character that XML does not have");
        }
    }
    return true;
}

static bool take_attributes(struct reader *reader)
{
    while (take(reader, " ")) {
        if (take_name(reader).len == 0 || !take(reader, "=\"")) {
            return fail(reader, "a broken attribute");
        }
        if (!take_text(reader, '"')) {
            return false;
        }
        if (!take(reader, "\"")) {
            return fail(reader, "an attribute without an end");
        }
    }
    return true;
}

static bool take_end_tag(struct reader *reader)
{
    struct qn_str name = take_name(reader);

    if (reader->depth == 0 || !qn_str_equal(name, reader->open[reader->depth - 1])) {
        return fail(reader, "an end tag that ends nothing");
    }
    reader->depth--;
    return take(reader, ">") || fail(reader, "a broken end tag");
}

static bool take_start_tag(struct reader *reader)
{
    struct qn_str name = take_name(reader);

    if (name.len == 0) {
        return fail(reader, "an element without a name");
    }
    if (!take_attributes(reader)) {
        return false;
    }
    if (take(reader, "/>")) {
        return true;
    }
    if (!take(reader, ">")) {
        return fail(reader, "a broken start tag");
    }
    if (reader->depth == DEPTH_MAX) {
        return fail(reader, "too deep");
    }
    reader->open[reader->depth++] = name;
    return true;
}

static bool take_tag(struct reader *reader)
{
    if (take(reader, "</")) {
        return take_end_tag(reader);
    }
    return take(reader, "<") ? take_start_tag(reader) : fail(reader, "text outside an element");
}

const char *well_formed_xml(struct qn_str text)
{
    struct reader reader = {.text = text};

    if (!qn_str_is_utf8(text)) {
        return "not UTF-8";
    }
    if (!take(&reader, "<?xml version=\"1.0\"?>")) {
        return "no declaration";
    }
    do {
        if (!take_tag(&reader) || (reader.depth > 0 && !take_text(&reader, '<'))) {
            return reader.problem;
        }
    } while (reader.depth > 0 && reader.at < text.len);
    return reader.depth > 0        ? "an element without an end"
           : reader.at != text.len ? "something behind the end"
                                   : NULL;
}

const char *well_formed_json(struct qn_str text)
{
    json_error_t problem;
    json_t *document = json_loadb(text.ptr, text.len, JSON_ALLOW_NUL, &problem);
    bool is_object = json_is_object(document);

    if (document == NULL) {
        return "not JSON";
    }
    json_decref(document);
    return is_object ? NULL : "no object";
}
