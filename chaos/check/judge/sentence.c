/* Sentences: a function by its row of words, a sum of one function over several messages, and the
 * time between two events. Anything else stands as it was written. */
#include "chaos/check/judge/sentence.h"

#include "chaos/check/judge/sentence_words.h"

enum { ARGUMENTS_MAX = 3, LISTED_MAX = 3, TERMS_MAX = 64 };

/* What is sent under these outcomes are several messages; any other word is the name of one. */
static const char *const outcomes[] = {"ok",      "flaky",    "perm", "hang",
                                       "badjson", "schema99", "bomb", "odd"};

/* NAME(ARGUMENT, ...) */
struct call {
    struct qn_str name;
    struct qn_str arguments[ARGUMENTS_MAX];
    size_t count;
    const struct qn_function_words *words;
};

/* ---- which messages ---- */

static bool is_plural(struct qn_str which)
{
    for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
        if (qn_str_equal(which, qn_str_from_cstr(outcomes[i]))) {
            return true;
        }
    }
    return qn_str_equal(which, QN_STR("all")) || qn_str_starts_with(which, QN_STR("group=")) ||
           qn_str_find_char(which, '*') < which.len || qn_str_find_char(which, ',') < which.len;
}

/* "k-004,k-005": a list that a sum was made of. */
static void append_list(struct qn_str list, struct qn_buf *buf)
{
    size_t count = 0;
    size_t all = 1;

    for (size_t i = 0; i < list.len; i++) {
        all += list.ptr[i] == ',';
    }
    qn_buf_append_literal(buf, "the messages ");
    for (; list.len > 0 && count < LISTED_MAX; count++) {
        struct qn_str key = qn_str_cut(list, ',', &list);
        bool is_last = list.len == 0;
        qn_buf_append_format(buf, "%s%.*s",
                             count == 0 ? ""
                             : is_last  ? " and "
                                        : ", ",
                             QN_STR_ARG(key));
    }
    if (list.len > 0) {
        qn_buf_append_format(buf, " and %zu more", all - count);
    }
    qn_buf_append_literal(buf, " together");
}

static void append_which(struct qn_str which, struct qn_buf *buf)
{
    struct qn_str group = QN_STR("group=");

    if (qn_str_find_char(which, ',') < which.len) {
        append_list(which, buf);
    } else if (qn_str_equal(which, QN_STR("all"))) {
        qn_buf_append_literal(buf, "all messages together");
    } else if (qn_str_starts_with(which, group)) {
        qn_buf_append_format(buf, "the messages of group %.*s together",
                             QN_STR_ARG(qn_str_from(which, group.len)));
    } else if (qn_str_find_char(which, '*') < which.len) {
        qn_buf_append_format(buf, "the messages %.*s together", QN_STR_ARG(which));
    } else if (is_plural(which)) {
        qn_buf_append_format(buf, "the messages of kind %.*s together", QN_STR_ARG(which));
    } else {
        qn_buf_append_format(buf, "message %.*s", QN_STR_ARG(which));
    }
}

/* ---- how much ---- */

static void append_value(enum qn_quantity quantity, double value, struct qn_buf *buf)
{
    bool is_below_a_second = value < 1000 && value > -1000;

    if (quantity == QN_TIMES && value == 1) {
        qn_buf_append_literal(buf, "once");
    } else if (quantity == QN_TIMES) {
        qn_buf_append_format(buf, "%.10g times", value);
    } else if (quantity == QN_RATE) {
        qn_buf_append_format(buf, "%.3g times a second", value);
    } else if (quantity == QN_MS && is_below_a_second) {
        qn_buf_append_format(buf, "%.10g ms", value);
    } else if (quantity == QN_MS) {
        qn_buf_append_format(buf, "%.10g s", value / 1000);
    } else {
        qn_buf_append_format(buf, "%.10g", value);
    }
}

static void append_limit(enum qn_quantity quantity, const char *comparator, double value,
                         struct qn_buf *buf)
{
    static const struct {
        const char *comparator, *words;
    } limits[] = {
        {"==", "exactly"},  {"!=", "other than"}, {"<=", "at most"},
        {">=", "at least"}, {"<", "less than"},   {">", "more than"},
    };
    bool is_upper = strcmp(comparator, "==") == 0 || strcmp(comparator, "<=") == 0;

    if (quantity == QN_TIMES && value == 0 && is_upper) {
        qn_buf_append_literal(buf, "; it should never happen");
        return;
    }
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (strcmp(comparator, limits[i].comparator) == 0) {
            qn_buf_append_format(buf, "; it should be %s ", limits[i].words);
        }
    }
    append_value(quantity, value, buf);
}

/* ---- the left side ---- */

static bool read_call(struct qn_str text, struct call *ret_call)
{
    struct qn_str rest;
    struct call call = {.name = qn_str_trim(qn_str_cut(qn_str_trim(text), '(', &rest))};

    if (qn_str_is_none(rest) || rest.len == 0 || rest.ptr[rest.len - 1] != ')') {
        return false;
    }
    rest.len--;
    if (qn_str_find_char(rest, '(') < rest.len || qn_str_find_char(rest, ')') < rest.len) {
        return false;
    }
    while (rest.len > 0) {
        if (call.count == ARGUMENTS_MAX) {
            return false;
        }
        call.arguments[call.count++] = qn_str_trim(qn_str_cut(rest, ',', &rest));
    }
    call.words = qn_function_words_find(call.name);
    *ret_call = call;
    return true;
}

/* max(leases, ok) is said of the one message that has the most. */
static bool take_extreme(struct call *call, struct qn_str extreme)
{
    if ((!qn_str_equal(call->name, QN_STR("max")) && !qn_str_equal(call->name, QN_STR("min"))) ||
        call->count == 0) {
        return false;
    }
    call->words = qn_function_words_find(call->arguments[0]);
    call->arguments[0] = !qn_str_is_none(extreme) ? extreme
                         : call->count > 1        ? call->arguments[1]
                                                  : QN_STR("all");
    call->count = 1;
    return call->words != NULL;
}

/* Cuts at the first operator that stands in no brackets: names have a '-' too. */
static struct qn_str cut_term(struct qn_str text, char wanted, struct qn_str *ret_rest)
{
    int depth = 0;

    for (size_t i = 0; i < text.len; i++) {
        depth += (text.ptr[i] == '(') - (text.ptr[i] == ')');
        if (depth == 0 && text.ptr[i] == wanted) {
            *ret_rest = qn_str_from(text, i + 1);
            return qn_str_first(text, i);
        }
    }
    *ret_rest = QN_STR_NONE;
    return text;
}

/* dead(k-004) + dead(k-005): one function, and all of its messages in the list. */
static bool read_sum(struct qn_str text, struct qn_buf *list, struct call *ret_call)
{
    struct call sum = {.count = 0};

    for (size_t i = 0; !qn_str_is_none(text); i++) {
        struct call call;
        if (i == TERMS_MAX || !read_call(cut_term(text, '+', &text), &call) || call.count != 1 ||
            call.words == NULL || (i > 0 && call.words != sum.words)) {
            return false;
        }
        qn_buf_append_format(list, "%s%.*s", i > 0 ? "," : "", QN_STR_ARG(call.arguments[0]));
        sum = call;
    }
    sum.arguments[0] = qn_buf_str(list);
    *ret_call = sum;
    return true;
}

enum form { NOUN, SENTENCE };

/* An event of which there are no words goes by its kind. */
static void append_event(struct qn_str kind, enum form form, struct qn_buf *buf)
{
    const struct qn_event_words *event = qn_event_words_find(kind);

    if (event != NULL) {
        qn_buf_append_str(buf, qn_str_from_cstr(form == NOUN ? event->noun : event->sentence));
    } else {
        qn_buf_append_format(buf, form == NOUN ? "event %.*s" : "the event %.*s happened",
                             QN_STR_ARG(kind));
    }
}

static void append_phase(const struct call *call, size_t argument, struct qn_buf *buf)
{
    if (call->count > argument) {
        qn_buf_append_format(buf, " in the phase \"%.*s\"", QN_STR_ARG(call->arguments[argument]));
    }
}

static void append_part(const struct call *call, struct qn_str part, double value,
                        struct qn_buf *buf)
{
    struct qn_str one = call->count > 0 ? call->arguments[0] : QN_STR("all");
    struct qn_str two = call->count > 1 ? call->arguments[1] : QN_STR("all");

    if (qn_str_equal(part, QN_STR("n"))) {
        append_value(call->words->quantity, value, buf);
    } else if (qn_str_equal(part, QN_STR("which"))) {
        append_which(one, buf);
    } else if (qn_str_equal(part, QN_STR("which2"))) {
        append_which(two, buf);
    } else if (qn_str_equal(part, QN_STR("be"))) {
        qn_buf_append_str(buf, is_plural(one) ? QN_STR("were") : QN_STR("was"));
    } else if (qn_str_equal(part, QN_STR("event"))) {
        append_event(one, SENTENCE, buf);
    } else if (qn_str_equal(part, QN_STR("noun"))) {
        append_event(one, NOUN, buf);
    } else if (qn_str_equal(part, QN_STR("of2")) && call->count > 1) {
        qn_buf_append_literal(buf, " of ");
        append_which(two, buf);
    } else if (qn_str_equal(part, QN_STR("in1"))) {
        append_phase(call, 0, buf);
    } else if (qn_str_equal(part, QN_STR("in2"))) {
        append_phase(call, 1, buf);
    } else if (qn_str_equal(part, QN_STR("1")) || qn_str_equal(part, QN_STR("2"))) {
        qn_buf_append_str(buf, part.ptr[0] == '1' ? one : two);
    }
}

static void append_call(const struct call *call, double value, struct qn_buf *buf)
{
    struct qn_str rest = qn_str_from_cstr(call->words->text);

    while (rest.len > 0) {
        struct qn_str part;
        qn_buf_append_str(buf, qn_str_cut(rest, '{', &part));
        append_part(call, qn_str_cut(part, '}', &rest), value, buf);
    }
}

/* first(EVENT, WHICH), last(...) or time(MARK), as a name for that moment. */
static bool append_moment(struct qn_str text, struct qn_buf *buf)
{
    struct call call;

    if (!read_call(text, &call) || call.words == NULL || call.words->quantity != QN_MS ||
        call.count == 0 || qn_str_equal(call.name, QN_STR("gap"))) {
        return false;
    }
    if (qn_str_equal(call.name, QN_STR("time"))) {
        qn_buf_append_format(buf, "the moment \"%.*s\"", QN_STR_ARG(call.arguments[0]));
        return true;
    }
    qn_buf_append_format(buf, "the %.*s ", QN_STR_ARG(call.name));
    append_event(call.arguments[0], NOUN, buf);
    append_part(&call, QN_STR("of2"), 0, buf);
    return true;
}

/* last(...) - first(...) */
static bool append_between(struct qn_str text, double value, struct qn_buf *buf)
{
    struct qn_str from;
    struct qn_str to = cut_term(text, '-', &from);
    size_t before = buf->len;

    qn_buf_append_literal(buf, "from ");
    bool ok = !qn_str_is_none(from) && append_moment(from, buf);
    qn_buf_append_literal(buf, " to ");
    if (!ok || !append_moment(to, buf)) {
        buf->len = before;
        return false;
    }
    qn_buf_append_literal(buf, " it was ");
    append_value(QN_MS, value, buf);
    return true;
}

/* False: it has no words of its own, and nothing is appended. */
static bool append_left(const struct qn_compared *compared, struct qn_buf *buf,
                        enum qn_quantity *ret_quantity)
{
    struct qn_buf list;
    struct call call;

    qn_buf_init(&list, SIZE_MAX / 2);
    bool is_one = read_call(compared->left, &call) &&
                  (call.words != NULL || take_extreme(&call, compared->extreme));
    bool ok = is_one || read_sum(compared->left, &list, &call);
    if (ok) {
        append_call(&call, compared->left_value, buf);
        *ret_quantity = call.words->quantity;
    } else if (append_between(compared->left, compared->left_value, buf)) {
        *ret_quantity = QN_MS;
        ok = true;
    }
    qn_buf_done(&list);
    return ok;
}

void qn_sentence_append(const struct qn_compared *compared, struct qn_buf *buf)
{
    enum qn_quantity quantity = QN_NUMBER;

    if (!append_left(compared, buf, &quantity)) {
        qn_buf_append_format(buf, "%.*s was %.10g", QN_STR_ARG(compared->left),
                             compared->left_value);
    }
    append_limit(quantity, compared->comparator, compared->right_value, buf);
}

bool qn_sentence_is_known(struct qn_str left)
{
    const struct qn_compared compared = {left, "==", 0, 0, QN_STR_NONE};
    enum qn_quantity ignored;
    struct qn_buf buf;

    qn_buf_init(&buf, SIZE_MAX / 2);
    bool is = append_left(&compared, &buf, &ignored) &&
              /* An event without words leaves its kind in the sentence. */
              memmem(buf.ptr, buf.len, "event ", strlen("event ")) == NULL;
    qn_buf_done(&buf);
    return is;
}

void qn_sentence_append_absent(struct qn_str absent, struct qn_buf *buf)
{
    const struct qn_event_words *event = qn_event_words_find(absent);

    if (event != NULL) {
        qn_buf_append_format(buf, "there was no %s", event->noun);
    } else {
        qn_buf_append_format(buf, "%.*s never happened", QN_STR_ARG(absent));
    }
}
