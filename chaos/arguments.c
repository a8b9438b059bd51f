/* The arguments of actions. One function per form; actions.def says which action has which. */
#include "chaos/parse.h"
#include "server/model/limits.h"
#include "server/model/queue_settings.h"

enum { FAILPOINT_DELAY_MAX_MS = 600000, SLOW_CLOSE_MS = 1000 };

#define COUNT_MAX (INT64_C(1) << 50)

static bool parse_nothing(struct qn_parse *parse, struct qn_rule_action *action)
{
    (void)action;
    return !parse->lex.failed;
}

/* Legal words beside the names of errors.def: what other parts of AWS call the same. */
static const struct {
    const char *name;
    enum qn_error_code code;
} more_codes[] = {{"InternalError", QN_ERR_INTERNAL},
                  {"Throttling", QN_ERR_THROTTLING},
                  {"ServiceUnavailableException", QN_ERR_SERVICE_UNAVAILABLE},
                  {"AccessDeniedException", QN_ERR_ACCESS_DENIED}};

enum { MORE_CODES = sizeof(more_codes) / sizeof(more_codes[0]) };

static enum qn_error_code code_by_name(struct qn_str name)
{
    for (size_t i = 0; i < MORE_CODES; i++) {
        if (qn_str_equal_nocase(name, qn_str_from_cstr(more_codes[i].name))) {
            return more_codes[i].code;
        }
    }
    return qn_error_code_by_name(name);
}

static bool parse_code(struct qn_parse *parse, struct qn_rule_action *action)
{
    const char *names[2 * QN_ERR_COUNT + MORE_CODES];
    size_t count = 0;

    if (parse->lex.kind == QN_LEX_WORD) {
        action->error = code_by_name(parse->lex.text);
    }
    if (action->error == QN_ERR_NONE) {
        for (int code = QN_ERR_NONE + 1; code < QN_ERR_COUNT; code++) {
            const struct qn_error_info *info = qn_error_info((enum qn_error_code)code);
            const char *shape = strchr(info->json_type, '#');
            names[count++] = shape != NULL ? shape + 1 : info->json_type;
            names[count++] = info->query_code;
        }
        for (size_t i = 0; i < MORE_CODES; i++) {
            names[count++] = more_codes[i].name;
        }
        return qn_lex_fail_words(&parse->lex, "an error code of SQS", names, count);
    }
    qn_lex_next(&parse->lex);
    return !parse->lex.failed;
}

static bool parse_status(struct qn_parse *parse, struct qn_rule_action *action)
{
    return qn_parse_integer(parse, "an HTTP status from 200 to 599", 200, 599, &action->count);
}

static bool parse_error(struct qn_parse *parse, struct qn_rule_action *action)
{
    if (!parse_code(parse, action)) {
        return false;
    }
    return !qn_lex_take(&parse->lex, "http") ||
           qn_parse_integer(parse, "an HTTP status from 400 to 599", 400, 599,
                            &action->http_status);
}

static bool shorthand(struct qn_parse *parse, struct qn_rule_action *action,
                      enum qn_error_code code)
{
    action->verb = QN_DO_ERROR;
    action->error = code;
    return !parse->lex.failed;
}

static bool parse_throttle(struct qn_parse *parse, struct qn_rule_action *action)
{
    return shorthand(parse, action, QN_ERR_THROTTLING);
}

static bool parse_overlimit(struct qn_parse *parse, struct qn_rule_action *action)
{
    return shorthand(parse, action, QN_ERR_OVER_LIMIT);
}

static bool parse_forbidden(struct qn_parse *parse, struct qn_rule_action *action)
{
    return shorthand(parse, action, QN_ERR_ACCESS_DENIED);
}

static bool parse_server_error(struct qn_parse *parse, struct qn_rule_action *action)
{
    if (!qn_parse_integer(parse, "an HTTP status from 500 to 599", 500, 599,
                          &action->http_status)) {
        return false;
    }
    return shorthand(parse, action,
                     action->http_status == 503 ? QN_ERR_SERVICE_UNAVAILABLE : QN_ERR_INTERNAL);
}

static bool parse_fail_entries(struct qn_parse *parse, struct qn_rule_action *action)
{
    int64_t count;

    if (parse->lex.kind == QN_LEX_WORD && qn_str_to_int64(parse->lex.text, 1, 64, &count)) {
        action->count = count;
        qn_lex_next(&parse->lex);
    } else if (!qn_parse_predicate(parse, &action->entries)) {
        return false;
    }
    if (!parse_code(parse, action)) {
        return false;
    }
    action->sender = qn_lex_take(&parse->lex, "sender");
    return !parse->lex.failed;
}

static bool parse_count(struct qn_parse *parse, struct qn_rule_action *action)
{
    return qn_parse_integer(parse, "a number from 0 on", 0, COUNT_MAX, &action->count);
}

static bool parse_duration(struct qn_parse *parse, struct qn_rule_action *action)
{
    return qn_parse_duration(parse, &action->duration_ms);
}

static bool parse_maybe_duration(struct qn_parse *parse, struct qn_rule_action *action)
{
    struct qn_lex *lex = &parse->lex;

    action->duration_ms = SLOW_CLOSE_MS;
    if (lex->kind == QN_LEX_WORD && lex->text.len > 0 && lex->text.ptr[0] >= '0' &&
        lex->text.ptr[0] <= '9') {
        return qn_parse_duration(parse, &action->duration_ms);
    }
    return !lex->failed; /* whatever it is, it is for the caller */
}

static bool parse_delay(struct qn_parse *parse, struct qn_rule_action *action)
{
    if (!qn_parse_duration(parse, &action->duration_ms)) {
        return false;
    }
    return !qn_lex_take(&parse->lex, "jitter") || qn_parse_duration(parse, &action->jitter_ms);
}

/* 0.5 and 50% are parts of the answer, so are 0 and 1; 100 and 1B are bytes. May be left out. */
static bool parse_part(struct qn_parse *parse, struct qn_rule_action *action)
{
    struct qn_lex *lex = &parse->lex;
    struct qn_str text = lex->text;
    double number;

    if (lex->kind != QN_LEX_WORD ||
        (text.ptr[0] != '.' && !(text.ptr[0] >= '0' && text.ptr[0] <= '9'))) {
        return !lex->failed; /* whatever it is, it is for the caller */
    }
    if (qn_str_ends_with(text, QN_STR("B")) &&
        qn_str_to_int64(qn_str_first(text, text.len - 1), 0, COUNT_MAX, &action->bytes)) {
        qn_lex_next(lex);
        return !lex->failed;
    }
    if (qn_str_ends_with(text, QN_STR("%")) &&
        qn_value_number(qn_str_first(text, text.len - 1), &number) && number <= 100) {
        action->fraction = number / 100;
    } else if (qn_value_number(text, &number) && number <= 1) {
        action->fraction = number;
    } else if (!qn_str_to_int64(text, 2, COUNT_MAX, &action->bytes)) {
        return qn_lex_fail_expected(lex, "a part of the answer such as 0.5, 50% or 100B");
    }
    qn_lex_next(lex);
    return !lex->failed;
}

static bool parse_bandwidth(struct qn_parse *parse, struct qn_rule_action *action)
{
    static const struct {
        const char *unit;
        int64_t bytes;
    } units[] = {{"MB/s", 1000000}, {"KB/s", 1000}, {"B/s", 1}, {"/s", 1}};
    struct qn_lex *lex = &parse->lex;

    for (size_t i = 0; lex->kind == QN_LEX_WORD && i < sizeof(units) / sizeof(units[0]); i++) {
        struct qn_str unit = qn_str_from_cstr(units[i].unit);
        int64_t number;
        if (qn_str_ends_with(lex->text, unit) &&
            qn_str_to_int64(qn_str_first(lex->text, lex->text.len - unit.len), 1, 1000000000,
                            &number)) {
            action->count = number * units[i].bytes;
            qn_lex_next(lex);
            return !lex->failed;
        }
    }
    return qn_lex_fail_expected(lex, "bytes per second such as 1000B/s or 64KB/s");
}

/* instance [= I]: which one; none for the one of the event. */
static bool parse_instance(struct qn_parse *parse, struct qn_rule_action *action)
{
    if (!qn_lex_expect(&parse->lex, "instance")) {
        return false;
    }
    return !qn_lex_take(&parse->lex, "=") ||
           qn_parse_value(parse, "an instance such as 2", &action->instance);
}

static bool parse_signal(struct qn_parse *parse, struct qn_rule_action *action)
{
    static const char *const signals[] = {"TERM", "KILL", "INT",  "HUP",  "QUIT", "STOP",
                                          "CONT", "USR1", "USR2", "ABRT", "SEGV", "PIPE"};
    struct qn_lex *lex = &parse->lex;

    if (qn_lex_is(lex, "instance") && !parse_instance(parse, action)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        if (qn_lex_take(lex, signals[i])) {
            action->text = qn_str_from_cstr(signals[i]);
            return !lex->failed;
        }
    }
    return qn_lex_fail_words(lex, "a signal", signals, sizeof(signals) / sizeof(signals[0]));
}

static bool parse_stop(struct qn_parse *parse, struct qn_rule_action *action)
{
    if (qn_lex_is(&parse->lex, "instance") && !parse_instance(parse, action)) {
        return false;
    }
    return qn_parse_duration(parse, &action->duration_ms);
}

static bool parse_spawn(struct qn_parse *parse, struct qn_rule_action *action)
{
    return qn_parse_integer(parse, "how many instances (1 to 100)", 1, 100, &action->count);
}

static bool parse_maybe_after(struct qn_parse *parse, struct qn_rule_action *action)
{
    return !qn_lex_take(&parse->lex, "after") || qn_parse_duration(parse, &action->duration_ms);
}

/* Behind the failpoint: what happens there, if not kill. */
static bool parse_crash_mode(struct qn_parse *parse, struct qn_rule_action *action)
{
    int64_t delay_ms;

    action->value = QN_STR("kill");
    if (qn_lex_take(&parse->lex, "abort")) {
        action->value = QN_STR("abort");
    } else if (qn_lex_take(&parse->lex, "error")) {
        action->value = QN_STR("error");
    } else if (qn_lex_take(&parse->lex, "delay")) {
        if (!qn_parse_duration(parse, &delay_ms)) {
            return false;
        }
        if (delay_ms > FAILPOINT_DELAY_MAX_MS) {
            return qn_lex_fail_at(&parse->lex, parse->lex.last_to,
                                  "a failpoint delays by 10 minutes at most");
        }
        action->value = qn_arena_format(&parse->rule->arena, "delay %lld", (long long)delay_ms);
    } else {
        (void)qn_lex_take(&parse->lex, "kill");
    }
    return !parse->lex.failed;
}

static bool parse_crash(struct qn_parse *parse, struct qn_rule_action *action)
{
    if (!qn_lex_expect(&parse->lex, "server")) {
        return false;
    }
    return !qn_lex_take(&parse->lex, "at") ||
           (qn_parse_value(parse, "the name of a failpoint", &action->text) &&
            parse_crash_mode(parse, action));
}

static bool parse_restart(struct qn_parse *parse, struct qn_rule_action *action)
{
    return qn_lex_expect(&parse->lex, "server") && parse_maybe_after(parse, action);
}

static bool parse_freeze(struct qn_parse *parse, struct qn_rule_action *action)
{
    return qn_lex_expect(&parse->lex, "server") && qn_parse_duration(parse, &action->duration_ms);
}

static bool parse_jump(struct qn_parse *parse, struct qn_rule_action *action)
{
    if (!qn_parse_duration(parse, &action->duration_ms)) {
        return false;
    }
    action->force = qn_lex_take(&parse->lex, "force");
    return !parse->lex.failed;
}

static bool parse_word(struct qn_parse *parse, struct qn_rule_action *action)
{
    return qn_parse_value(parse, "a name", &action->text);
}

static bool parse_queue(struct qn_parse *parse, struct qn_rule_action *action)
{
    struct qn_str name = parse->lex.text;
    size_t at = parse->lex.from;

    if (!qn_parse_value(parse, "the name of a queue", &name)) {
        return false;
    }
    struct qn_str stem =
        qn_str_ends_with(name, QN_STR(".fifo")) ? qn_str_first(name, name.len - 5) : name;
    bool ok = stem.len > 0 && name.len <= QN_QUEUE_NAME_MAX;
    for (size_t i = 0; i < stem.len && ok; i++) {
        ok = qn_char_is_alphanumeric(stem.ptr[i]) || stem.ptr[i] == '-' || stem.ptr[i] == '_';
    }
    action->queue = name;
    return ok ||
           qn_lex_fail_at(&parse->lex, at,
                          "a queue's name has 1 to %d letters, digits, - and _, and that of a "
                          "FIFO queue .fifo behind",
                          QN_QUEUE_NAME_MAX);
}

static bool parse_of_queue(struct qn_parse *parse, struct qn_rule_action *action)
{
    return !qn_lex_take(&parse->lex, "of") || parse_queue(parse, action);
}

static bool parse_maybe_queue(struct qn_parse *parse, struct qn_rule_action *action)
{
    const struct qn_lex *lex = &parse->lex;
    bool is_over = lex->kind == QN_LEX_END || qn_lex_is(lex, "then") || qn_lex_is(lex, "as") ||
                   qn_lex_is(lex, "unsound");

    return is_over || parse_queue(parse, action);
}

static bool parse_group(struct qn_parse *parse, struct qn_rule_action *action)
{
    size_t at;

    if (!qn_lex_take(&parse->lex, "group")) {
        return !parse->lex.failed;
    }
    at = parse->lex.from;
    if (!qn_parse_value(parse, "a message group", &action->value)) {
        return false;
    }
    bool ok = action->value.len > 0 && action->value.len <= QN_FIFO_ID_MAX;
    for (size_t i = 0; i < action->value.len && ok; i++) {
        ok = action->value.ptr[i] > ' ' && action->value.ptr[i] <= '~';
    }
    return ok ||
           qn_lex_fail_at(&parse->lex, at, "a message group has 1 to %d letters, digits and signs",
                          QN_FIFO_ID_MAX);
}

/* "body", @FILE, or @"FILE" with blanks or signs in its name. A bare word would be a file without
 * its @ as often as a body. */
static bool parse_send(struct qn_parse *parse, struct qn_rule_action *action)
{
    struct qn_lex *lex = &parse->lex;

    action->text = lex->text;
    action->is_file = lex->kind == QN_LEX_WORD && lex->text.ptr[0] == '@';
    if (action->is_file && lex->text.len == 1) {
        qn_lex_next(lex);
        if (!qn_parse_value(parse, "the name of a file", &action->text)) {
            return false;
        }
    } else if (action->is_file) {
        action->text = qn_str_from(lex->text, 1);
        qn_lex_next(lex);
    } else if (lex->kind == QN_LEX_TEXT && lex->text.len > 0) {
        qn_lex_next(lex);
    } else {
        return qn_lex_fail_expected(lex, "a \"quoted body\" or @FILE");
    }
    return (!qn_lex_take(lex, "to") || parse_queue(parse, action)) && parse_group(parse, action);
}

static bool parse_set_attr(struct qn_parse *parse, struct qn_rule_action *action)
{
    size_t at = parse->lex.from;
    enum qn_attribute_id id;

    if (!qn_parse_attribute(parse, action) || !parse_of_queue(parse, action)) {
        return false;
    }
    bool is_for_fifo = qn_attribute_find(action->text, &id) &&
                       (qn_attribute_info(id)->flags & QN_ATTRIBUTE_FIFO_ONLY) != 0;
    return !is_for_fifo || qn_str_is_none(action->queue) ||
           qn_str_ends_with(action->queue, QN_STR(".fifo")) ||
           qn_lex_fail_at(&parse->lex, at, "%.*s is an attribute of FIFO queues",
                          QN_STR_ARG(action->text));
}

/* One of these words, kept in text. */
static bool parse_choice(struct qn_parse *parse, struct qn_rule_action *action, const char *what,
                         const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (qn_lex_take(&parse->lex, words[i])) {
            action->text = qn_str_from_cstr(words[i]);
            return !parse->lex.failed;
        }
    }
    return qn_lex_fail_words(&parse->lex, what, words, count);
}

static bool parse_gate(struct qn_parse *parse, struct qn_rule_action *action)
{
    static const char *const words[] = {"open", "close"};
    return parse_choice(parse, action, "what the gate does", words, 2);
}

static bool parse_deliver_again(struct qn_parse *parse, struct qn_rule_action *action)
{
    static const char *const words[] = {"same", "other", "instance"};

    if (!qn_lex_take(&parse->lex, "to")) {
        return !parse->lex.failed;
    }
    if (!qn_lex_is(&parse->lex, "instance")) {
        return parse_choice(parse, action, "to whom", words, 3);
    }
    action->text = qn_str_from_cstr("instance");
    return parse_instance(parse, action);
}

static bool parse_reorder(struct qn_parse *parse, struct qn_rule_action *action)
{
    static const char *const words[] = {"reverse", "shuffle", "delay"};

    if (!parse_choice(parse, action, "an order", words, 3)) {
        return false;
    }
    if (qn_str_equal(action->text, QN_STR("delay"))) {
        return qn_parse_value(parse, "a key", &action->value) && qn_lex_expect(&parse->lex, "by") &&
               qn_parse_duration(parse, &action->duration_ms);
    }
    return !qn_lex_take(&parse->lex, "window") ||
           (qn_lex_expect(&parse->lex, "=") &&
            qn_parse_integer(parse, "how many messages (2 to 10000)", 2, 10000, &action->count));
}

static bool parse_outcome(struct qn_parse *parse, struct qn_rule_action *action)
{
    return qn_parse_list(parse, "an outcome such as ok or transient", &action->list,
                         &action->list_count) &&
           qn_lex_expect(&parse->lex, "for") && qn_parse_predicate(parse, &action->entries);
}

static bool (*const parsers[])(struct qn_parse *parse, struct qn_rule_action *action) = {
#define QN_RULE_ACTION(symbol, word, arguments, ...) [QN_DO_##symbol] = parse_##arguments,
#include "chaos/actions.def"
#undef QN_RULE_ACTION
};

bool qn_parse_arguments(struct qn_parse *parse, struct qn_rule_action *action)
{
    return parsers[action->verb](parse, action);
}
