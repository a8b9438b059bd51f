/* The files of the AWS tools: sections, keys and values, with one level of nesting. */
#include "client/ini.h"

#include <ctype.h>

#include "client/internal.h"

enum { INI_MAX_BYTES = 4 * 1024 * 1024, FIRST_ROOM = 32 };

void quern_ini_init(struct quern_ini *ini)
{
    *ini = (struct quern_ini){.entries = NULL};
    qn_arena_init(&ini->arena, INI_MAX_BYTES);
}

void quern_ini_done(struct quern_ini *ini)
{
    qn_arena_done(&ini->arena);
    qn_memory_free(ini->entries);
}

static void add(struct quern_ini *ini, struct qn_str section, struct qn_str key,
                struct qn_str value)
{
    if (ini->count == ini->room) {
        ini->room = ini->room > 0 ? 2 * ini->room : FIRST_ROOM;
        ini->entries = qn_memory_resize(ini->entries, ini->room, sizeof(*ini->entries));
    }
    ini->entries[ini->count++] = (struct quern_ini_entry){section, key, value};
}

/* "x  # why" is x: a comment in a line needs a blank before it. */
static struct qn_str without_comment(struct qn_str text)
{
    for (size_t i = 0; i + 1 < text.len; i++) {
        bool is_blank = text.ptr[i] == ' ' || text.ptr[i] == '\t';
        if (is_blank && (text.ptr[i + 1] == '#' || text.ptr[i + 1] == ';')) {
            return qn_str_trim(qn_str_first(text, i));
        }
    }
    return qn_str_trim(text);
}

static struct qn_str in_small_letters(struct quern_ini *ini, struct qn_str text)
{
    struct qn_str copy = qn_arena_copy(&ini->arena, text);

    for (size_t i = 0; i < copy.len; i++) {
        ((char *)(uintptr_t)copy.ptr)[i] = (char)tolower((unsigned char)copy.ptr[i]);
    }
    return copy;
}

/* What is between the brackets: blanks within it count as one, quotes are left out. */
static struct qn_str section_name(struct quern_ini *ini, struct qn_str line)
{
    size_t end = qn_str_find_char(line, ']');
    struct qn_str name = qn_arena_copy(&ini->arena, qn_str_trim(qn_str(line.ptr + 1, end - 1)));
    char *to = (char *)(uintptr_t)name.ptr;
    size_t len = 0;

    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i] == '\t' ? ' ' : name.ptr[i];
        bool is_again = c == ' ' && len > 0 && to[len - 1] == ' ';
        if (c != '"' && c != '\'' && !is_again) {
            to[len++] = c;
        }
    }
    return qn_str(name.ptr, len);
}

struct state {
    struct quern_ini *ini;
    struct qn_str section;
    struct qn_str parent; /* the key that lines set in belong to; none: there is no such key */
};

/* False: the line is none of the format. */
static bool read_line(struct state *state, struct qn_str line)
{
    struct quern_ini *ini = state->ini;
    bool is_nested = line.len > 0 && (line.ptr[0] == ' ' || line.ptr[0] == '\t');
    struct qn_str text = qn_str_trim(line);
    struct qn_str value;

    if (text.len == 0 || text.ptr[0] == '#' || text.ptr[0] == ';') {
        return true;
    }
    if (text.ptr[0] == '[' && !is_nested) {
        if (qn_str_find_char(text, ']') == text.len) {
            return false;
        }
        state->section = section_name(ini, text);
        state->parent = QN_STR_NONE;
        add(ini, state->section, QN_STR(""), QN_STR(""));
        return true;
    }
    struct qn_str key = qn_str_trim(qn_str_cut(text, '=', &value));
    if (is_nested && (qn_str_is_none(value) || qn_str_is_none(state->parent))) {
        return !qn_str_is_none(state->parent); /* the value before goes on: nothing of ours does */
    }
    if (key.len == 0 || qn_str_is_none(value) || qn_str_is_none(state->section)) {
        return false;
    }
    key = in_small_letters(ini, key);
    if (is_nested) {
        key = qn_arena_format(&ini->arena, "%.*s.%.*s", QN_STR_ARG(state->parent), QN_STR_ARG(key));
    } else {
        state->parent = key;
    }
    add(ini, state->section, key, qn_arena_copy(&ini->arena, without_comment(value)));
    return true;
}

bool quern_ini_read(struct quern_ini *ini, const char *file, struct qn_str text,
                    struct quern_error *err)
{
    struct state state = {.ini = ini, .section = QN_STR_NONE, .parent = QN_STR_NONE};
    int number = 0;

    while (!qn_str_is_none(text) && text.len > 0) {
        struct qn_str line = qn_str_cut(text, '\n', &text);
        number++;
        if (line.len > 0 && line.ptr[line.len - 1] == '\r') {
            line.len--;
        }
        if (!read_line(&state, line)) {
            return quern_fail(err, "InvalidConfiguration", 0,
                              "%s, line %d: write [section] or key = value", file, number);
        }
    }
    return true;
}

bool quern_ini_has_section(const struct quern_ini *ini, struct qn_str section)
{
    for (size_t i = 0; i < ini->count; i++) {
        if (qn_str_equal(ini->entries[i].section, section)) {
            return true;
        }
    }
    return false;
}

const char *quern_ini_get(const struct quern_ini *ini, struct qn_str section, const char *key)
{
    for (size_t i = ini->count; i > 0; i--) {
        const struct quern_ini_entry *entry = &ini->entries[i - 1];
        if (qn_str_equal(entry->section, section) &&
            qn_str_equal(entry->key, qn_str_from_cstr(key)) && entry->value.len > 0) {
            return entry->value.ptr; /* texts of an arena end in NUL */
        }
    }
    return NULL;
}
