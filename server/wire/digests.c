/* The digests in an answer that is written already: made wrong, or taken out. The output that the
 * answer was made of says which there are, and in which order; so that a body that holds the like
 * is left alone. */
#include <stdio.h>

#include "server/actions/actions.h"
#include "server/wire/codec.h"

enum { BEFORE_MAX = 80 };

/* An answer under way: what stands before `at` is done. */
struct editor {
    const struct qn_request *request;
    const struct qn_digest_fault *fault;
    struct qn_buf *answer;
    size_t at;
};

static bool is_digest(const struct qn_field *field)
{
    return field->type == QN_STRING && strncmp(field->name, "MD5Of", 5) == 0;
}

/* In texts neither a bare quote nor a < can stand: what looks like the member is it. */
static bool find(struct editor *editor, const char *text)
{
    size_t len = strlen(text);
    const char *found =
        memmem(editor->answer->ptr + editor->at, editor->answer->len - editor->at, text, len);

    if (found == NULL) {
        return false;
    }
    editor->at = (size_t)(found - editor->answer->ptr);
    return true;
}

/* Each digit becomes another one. */
static void make_wrong(char *digits, size_t count, uint64_t draw)
{
    static const char hex[] = "0123456789abcdef";

    for (size_t i = 0; i < count; i++) {
        uint64_t digit = (uint64_t)(digits[i] <= '9' ? digits[i] - '0' : digits[i] - 'a' + 10);
        uint64_t by = 1 + (draw >> 4 * (i % 16) & 15U) % 15;
        digits[i] = hex[(digit + by) % 16];
    }
}

/* Where a member of the answer begins and ends, and its value. */
struct place {
    size_t from;
    size_t value_at;
    size_t to;
};

static bool find_member(struct editor *editor, const struct qn_field *field, size_t value_len,
                        struct place *ret_place)
{
    bool is_xml = editor->request->protocol == QN_PROTOCOL_QUERY;
    const char *name = is_xml ? qn_wire_query_name(field) : field->name;
    char before[BEFORE_MAX];

    if (is_xml) {
        (void)snprintf(before, sizeof(before), "<%s>", name);
    } else {
        (void)snprintf(before, sizeof(before), "\"%s\":\"", name);
    }
    if (!find(editor, before)) {
        return false;
    }
    ret_place->from = editor->at;
    ret_place->value_at = editor->at + strlen(before);
    ret_place->to = ret_place->value_at + value_len + (is_xml ? strlen(before) + 1 : 1);
    return true;
}

/* In JSON with one of the commas beside it. */
static void take_out(struct editor *editor, struct place place)
{
    struct qn_buf *answer = editor->answer;
    bool is_json = editor->request->protocol != QN_PROTOCOL_QUERY;

    if (is_json && place.to < answer->len && answer->ptr[place.to] == ',') {
        place.to++;
    } else if (is_json && answer->ptr[place.from - 1] == ',') {
        place.from--;
    }
    memmove(answer->ptr + place.from, answer->ptr + place.to, answer->len - place.to);
    answer->len -= place.to - place.from;
    editor->at = place.from;
}

static size_t edit_digests(struct editor *editor, const struct qn_shape *shape, const char *value,
                           bool is_hit)
{
    struct place place;
    size_t count = 0;

    for (size_t i = 0; i < shape->field_count; i++) {
        const struct qn_field *field = &shape->fields[i];
        const struct qn_str *text = (const void *)(value + field->offset);
        if (!is_digest(field) || qn_str_is_none(*text) ||
            !find_member(editor, field, text->len, &place)) {
            continue;
        }
        editor->at = place.to;
        if (is_hit && editor->fault->takes_out) {
            take_out(editor, place);
        } else if (is_hit) {
            make_wrong(editor->answer->ptr + place.value_at, text->len, editor->fault->draw);
        }
        count += is_hit;
    }
    return count;
}

static struct qn_str id_of(const struct qn_shape *shape, const char *value)
{
    for (size_t i = 0; i < shape->field_count; i++) {
        if (shape->fields[i].type == QN_STRING && strcmp(shape->fields[i].name, "Id") == 0) {
            return *(const struct qn_str *)(const void *)(value + shape->fields[i].offset);
        }
    }
    return QN_STR_NONE;
}

size_t qn_wire_spoil_digests(const struct qn_request *request, const struct qn_digest_fault *fault,
                             struct qn_buf *answer)
{
    const struct qn_shape *output = request->action->output;
    const char *value = request->output;
    struct editor editor = {.request = request, .fault = fault, .answer = answer};
    size_t count =
        edit_digests(&editor, output, value, fault->is_hit(fault->state, 0, QN_STR_NONE));

    for (size_t i = 0; i < output->field_count; i++) {
        const struct qn_field *field = &output->fields[i];
        const struct qn_list *list = (const void *)(value + field->offset);
        const char *item = field->type == QN_STRUCT_LIST ? list->items : NULL;
        for (size_t j = 0; item != NULL && j < list->count; j++, item += field->element->size) {
            bool is_hit = fault->is_hit(fault->state, j, id_of(field->element, item));
            count += edit_digests(&editor, field->element, item, is_hit);
        }
    }
    return count;
}
