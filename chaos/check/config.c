/* quern.json: what is said of a consumer once, beside its code. All that is wrong in it is told at
 * once, each mistake with its line. */
#include <jansson.h>
#include <stdio.h>

#include "chaos/check/catalogue.h"
#include "chaos/check/options_rows.h"
#include "chaos/check/placeholders.h"
#include "chaos/lex.h"
#include "server/base/json.h"

enum { MEMBERS_MAX = 64, COMMAND_MAX = 255, MEMBER_ROOM = 48 };

/* A file while it is read. */
struct config {
    struct qn_json json;
    struct qn_arena *arena;
    struct qn_check_options *options;
    struct qn_buf mistakes; /* a line each */
    size_t mistake_count;
    struct qn_str seen[MEMBERS_MAX]; /* members so far */
    size_t seen_count;
    /* Known scenarios are looked up at the end, when all files of them are known. */
    struct waiver {
        struct qn_str pattern;
        int64_t line;
    } waivers[QN_OPTIONS_LIST_MAX];
    size_t waiver_count;
};

static int64_t line_of(const struct config *config)
{
    int64_t line = 1;

    for (const char *at = config->json.start; at < config->json.at; at++) {
        line += *at == '\n';
    }
    return line;
}

static void complain_at(struct config *config, int64_t line, const char *message)
{
    config->mistake_count++;
    qn_buf_append_format(&config->mistakes, "\n  line %lld: %s", (long long)line, message);
}

static void complain(struct config *config, const char *format, ...) QN_PRINTF(2, 3);

static void complain(struct config *config, const char *format, ...)
{
    char message[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    complain_at(config, line_of(config), message);
}

/* "--work-max" is work_max in the file. */
static void name_member(const struct qn_option_row *row, char room[MEMBER_ROOM])
{
    bool is_plural = strcmp(row->name, "--body") == 0; /* an object of several */

    (void)snprintf(room, MEMBER_ROOM, "%s", is_plural ? "bodies" : row->name + 2);
    for (char *at = room; *at != '\0'; at++) {
        *at = *at == '-' ? '_' : *at;
    }
}

static bool is_in_file(const struct qn_option_row *row)
{
    return (row->uses & QN_OPTION_FILE) != 0;
}

static const struct qn_option_row *find_row(struct qn_str member)
{
    char room[MEMBER_ROOM];

    for (size_t i = 0; i < qn_option_row_count; i++) {
        if (is_in_file(&qn_option_rows[i])) {
            name_member(&qn_option_rows[i], room);
            if (qn_str_equal(member, qn_str_from_cstr(room))) {
                return &qn_option_rows[i];
            }
        }
    }
    return NULL;
}

static void refuse_member(struct config *config, struct qn_str member)
{
    char rooms[MEMBERS_MAX][MEMBER_ROOM];
    const char *words[MEMBERS_MAX + 1] = {"command"};
    size_t count = 1;

    for (size_t i = 0; i < qn_option_row_count && count < MEMBERS_MAX; i++) {
        if (is_in_file(&qn_option_rows[i])) {
            name_member(&qn_option_rows[i], rooms[count]);
            words[count] = rooms[count];
            count++;
        }
    }
    const char *nearest = qn_nearest_word(member, words, count);
    if (nearest != NULL) {
        complain(config, "there is no member \"%.*s\": did you mean \"%s\"?",
                 (int)qn_str_first(member, 80).len, member.ptr, nearest);
    } else {
        complain(config,
                 "there is no member \"%.*s\" (quern check --help lists the options: "
                 "--work-max is work_max here; explanations are members called \"//\")",
                 (int)qn_str_first(member, 80).len, member.ptr);
    }
}

static bool is_new(struct config *config, struct qn_str member)
{
    for (size_t i = 0; i < config->seen_count; i++) {
        if (qn_str_equal(config->seen[i], member)) {
            complain(config, "\"%.*s\" is there twice", QN_STR_ARG(member));
            return false;
        }
    }
    if (config->seen_count < MEMBERS_MAX) {
        config->seen[config->seen_count++] = member;
    }
    return true;
}

/* A string or a whole number as the text that the command line would have. */
static bool take_scalar(struct config *config, const char **ret_text)
{
    struct qn_str text;
    int64_t number;

    if (qn_json_peek(&config->json) == QN_JSON_STRING) {
        if (!qn_json_string(&config->json, &text) || memchr(text.ptr, '\0', text.len) != NULL) {
            return false;
        }
        *ret_text = qn_arena_copy(config->arena, text).ptr;
        return true;
    }
    struct qn_json before = config->json;
    if (qn_json_peek(&config->json) == QN_JSON_NUMBER && qn_json_int64(&config->json, &number)) {
        *ret_text = qn_arena_format(config->arena, "%lld", (long long)number).ptr;
        return true;
    }
    config->json = before;
    (void)qn_json_skip(&config->json);
    return false;
}

static void keep(struct config *config, const struct qn_option_row *row, const char *member,
                 const char *text)
{
    struct qn_error err;

    if (!qn_options_set(row, member, text, config->options, &err) ||
        !qn_options_check_text(row, member, text, &err)) {
        complain(config, "%s", err.message);
    }
}

static void read_flag(struct config *config, const struct qn_option_row *row, const char *member)
{
    bool value;

    if (qn_json_peek(&config->json) != QN_JSON_BOOLEAN) {
        complain(config, "%s is true or false", member);
        (void)qn_json_skip(&config->json);
    } else if (qn_json_boolean(&config->json, &value)) {
        *(bool *)((char *)config->options + row->offset) = value;
    }
}

static void note_waiver(struct config *config, const struct qn_option_row *row,
                        struct qn_str pattern)
{
    if (strcmp(row->name, "--waive") == 0 && config->waiver_count < QN_OPTIONS_LIST_MAX) {
        config->waivers[config->waiver_count++] =
            (struct waiver){qn_arena_copy(config->arena, pattern), line_of(config)};
    }
}

/* A name that fits nothing is a slip of the pen. Scenario files that cannot be read are told later,
 * by themselves. */
static void check_waivers(struct config *config, const struct qn_text_list *scenario_files)
{
    const struct qn_text_list *files =
        scenario_files->count > 0 ? scenario_files : &config->options->scenario_files;
    struct qn_catalogue catalogue = {0};
    struct qn_buf ignored;
    char message[256];

    qn_buf_init(&ignored, SIZE_MAX / 2);
    bool is_known = config->waiver_count > 0 &&
                    qn_catalogue_open(&catalogue, files->items, files->count, &ignored);
    for (size_t i = 0; i < config->waiver_count && is_known; i++) {
        bool any = false;
        for (size_t j = 0; j < catalogue.count && !any; j++) {
            any = qn_rule_glob(config->waivers[i].pattern, catalogue.scenarios[j]->id);
        }
        if (!any) {
            (void)snprintf(message, sizeof(message),
                           "waive: no scenario is called %.*s (--list shows them)",
                           (int)qn_str_first(config->waivers[i].pattern, 80).len,
                           config->waivers[i].pattern.ptr);
            complain_at(config, config->waivers[i].line, message);
        }
    }
    qn_catalogue_close(&catalogue);
    qn_buf_done(&ignored);
}

/* {"NAME": "TEXT"} */
static void read_pairs(struct config *config, const struct qn_option_row *row, const char *member)
{
    struct qn_str name;
    struct qn_str text;

    if (qn_json_peek(&config->json) != QN_JSON_OBJECT) {
        complain(config, "%s is an object of texts: {\"name\": \"text\"}", member);
        (void)qn_json_skip(&config->json);
        return;
    }
    (void)qn_json_open_object(&config->json);
    while (qn_json_next_member(&config->json, &name)) {
        if (qn_str_starts_with(name, QN_STR("//"))) {
            (void)qn_json_skip(&config->json);
        } else if (qn_json_peek(&config->json) != QN_JSON_STRING) {
            complain(config, "%s: \"%.*s\" is a text", member, QN_STR_ARG(name));
            (void)qn_json_skip(&config->json);
        } else if (name.len == 0 || qn_str_find_char(name, '=') < name.len) {
            complain(config, "%s: \"%.*s\" is no name", member, QN_STR_ARG(name));
            (void)qn_json_skip(&config->json);
        } else if (qn_json_string(&config->json, &text)) {
            note_waiver(config, row, name);
            keep(config, row, member,
                 qn_arena_format(config->arena, "%.*s=%.*s", QN_STR_ARG(name), QN_STR_ARG(text))
                     .ptr);
        }
    }
}

static void read_list(struct config *config, const struct qn_option_row *row, const char *member)
{
    const char *text;

    if (qn_json_peek(&config->json) != QN_JSON_ARRAY) {
        complain(config, "%s is a list in [ ]", member);
        (void)qn_json_skip(&config->json);
        return;
    }
    (void)qn_json_open_array(&config->json);
    while (qn_json_next_element(&config->json)) {
        if (take_scalar(config, &text)) {
            keep(config, row, member, text);
        } else {
            complain(config, "%s is a list of texts or numbers", member);
        }
    }
}

static void read_value(struct config *config, const struct qn_option_row *row, const char *member)
{
    const char *text;
    bool is_number = qn_json_peek(&config->json) == QN_JSON_NUMBER;

    if (!take_scalar(config, &text)) {
        complain(config, "%s is %s", member,
                 row->kind == QN_OPTION_NUMBER     ? "a whole number"
                 : row->kind == QN_OPTION_DURATION ? "a time such as \"10s\""
                 : row->kind == QN_OPTION_MINUTES  ? "a number of minutes; \"0.5\" in quotes"
                                                   : "a text");
    } else if (is_number && (row->kind == QN_OPTION_TEXT || row->kind == QN_OPTION_CHOICE)) {
        complain(config, "%s is a text, in quotes", member);
    } else {
        keep(config, row, member, text);
    }
}

static void read_command(struct config *config)
{
    char **words = qn_arena_alloc(config->arena, (COMMAND_MAX + 1) * sizeof(*words));
    struct qn_error err;
    size_t count = 0;
    const char *text;

    if (qn_json_peek(&config->json) != QN_JSON_ARRAY) {
        complain(config, "command is a list of words: [\"python\", \"worker.py\"]");
        (void)qn_json_skip(&config->json);
        return;
    }
    (void)qn_json_open_array(&config->json);
    while (qn_json_next_element(&config->json)) {
        if (!take_scalar(config, &text)) {
            complain(config, "command is a list of texts");
        } else if (!qn_placeholders_check("command", text, &err)) {
            complain(config, "%s", err.message);
        } else if (count < COMMAND_MAX) {
            words[count++] = (char *)(uintptr_t)text;
        }
    }
    words[count] = NULL;
    config->options->command = words;
}

static void read_member(struct config *config, struct qn_str member)
{
    char room[MEMBER_ROOM];
    const struct qn_option_row *row = find_row(member);
    bool is_command = qn_str_equal(member, QN_STR("command"));

    if (qn_str_starts_with(member, QN_STR("//"))) {
        (void)qn_json_skip(&config->json);
        return;
    }
    if (row == NULL && !is_command) {
        refuse_member(config, member);
        (void)qn_json_skip(&config->json);
        return;
    }
    if (!is_new(config, member) || qn_json_peek(&config->json) == QN_JSON_NULL) {
        (void)qn_json_skip(&config->json); /* null: as if it were not there */
        return;
    }
    if (is_command) {
        read_command(config);
        return;
    }
    name_member(row, room);
    switch (row->kind) {
    case QN_OPTION_FLAG:
        read_flag(config, row, room);
        break;
    case QN_OPTION_PAIRS:
        read_pairs(config, row, room);
        break;
    case QN_OPTION_LIST:
    case QN_OPTION_CODES:
        read_list(config, row, room);
        break;
    default:
        read_value(config, row, room);
    }
}

static bool is_json(struct config *config, struct qn_str text)
{
    json_error_t where;
    json_t *whole = json_loadb(text.ptr, text.len, JSON_DECODE_ANY, &where);
    bool ok = json_is_object(whole);

    if (whole == NULL) {
        char message[256];
        (void)snprintf(message, sizeof(message),
                       "%s (JSON has no comments: explanations are "
                       "members called \"//\")",
                       where.text);
        complain_at(config, where.line, message);
    } else if (!ok) {
        complain_at(config, 1, "the file is an object in { }");
    }
    json_decref(whole);
    return ok;
}

static bool conclude(const struct config *config, const char *name, struct qn_error *err)
{
    struct qn_str mistakes = qn_buf_str(&config->mistakes);

    if (config->mistake_count == 0) {
        return true;
    }
    if (config->mistake_count == 1) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s, %.*s", name,
                       QN_STR_ARG(qn_str_from(mistakes, strlen("\n  "))));
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s has %zu mistakes:%.*s", name,
                   config->mistake_count, QN_STR_ARG(mistakes));
}

bool qn_config_read(struct qn_str text, const char *name, const struct qn_text_list *scenario_files,
                    struct qn_check_options *options, struct qn_arena *arena, struct qn_error *err)
{
    struct config config = {.arena = arena, .options = options};
    struct qn_str member;

    qn_buf_init(&config.mistakes, SIZE_MAX / 2);
    qn_json_init(&config.json, text, arena);
    if (is_json(&config, text)) {
        (void)qn_json_open_object(&config.json);
        while (qn_json_next_member(&config.json, &member)) {
            read_member(&config, member);
        }
        if (!qn_json_finish(&config.json) && config.mistake_count == 0) {
            complain_at(&config, 1, "the file nests too deeply");
        }
        check_waivers(&config, scenario_files);
    }
    bool ok = conclude(&config, name, err);
    qn_buf_done(&config.mistakes);
    return ok;
}
