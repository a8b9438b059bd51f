/* Bounds that grow with the tempo and with the consumer. */
#include "chaos/check/terms.h"

#include <stdio.h>

enum { BATCH_UNKNOWN = 10, PREFETCH_UNKNOWN = 10, FAST, NORMAL, REAL };
enum { SLOW_MS = 1000, SOAK_MESSAGES_MAX = 100000, SLACK_TIMES = 10, SLACK_MOST_MS = 5000 };

static int tempo_of(const struct qn_check_options *options)
{
    return strcmp(options->tempo, "fast") == 0     ? FAST
           : strcmp(options->tempo, "normal") == 0 ? NORMAL
                                                   : REAL;
}

/* Whether the name stands in the expression as a word. */
static bool mentions(struct qn_str text, char name)
{
    for (size_t i = 0; i < text.len; i++) {
        bool begins = i == 0 || !qn_char_is_alphanumeric(text.ptr[i - 1]);
        if (begins && text.ptr[i] == name) {
            return true;
        }
    }
    return false;
}

/* A consumer that is sized for its own lease must not be pushed out of it by our work times:
 * without a heartbeat it gets room for a whole batch, one and a half times over. Work that is
 * measured by the lease itself is what its scenario is about, and does not count. */
static int64_t fair_ms(const struct qn_terms *terms, const struct qn_scenario *scenario,
                       const struct qn_profile *learned)
{
    int64_t batch = learned->is_known ? learned->batch : BATCH_UNKNOWN;
    int64_t concurrency = terms->in.concurrency > 0 ? terms->in.concurrency : 1;
    int64_t count = 0;
    int64_t total_ms = 0;
    int64_t longest_ms = 0;

    for (size_t i = 0; i < scenario->load_count; i++) {
        const struct qn_scenario_load *load = &scenario->loads[i];
        int64_t line_count = qn_terms_load_count(terms, load);
        count += line_count;
        if (!mentions(load->work, 'V')) {
            int64_t work_ms = qn_terms_work_ms(terms, load);
            total_ms += line_count * work_ms;
            longest_ms = work_ms > longest_ms ? work_ms : longest_ms;
        }
    }
    batch = batch < count ? batch : count;
    return count == 0 || total_ms == 0
               ? 0
               : batch * (total_ms / count) * 3 / (2 * concurrency) + longest_ms + 1000;
}

/* What the consumer needs for a message by itself, half as much again: a process that is started
 * for each call takes seconds, and its lease is its own affair as long as it asks for none of its
 * own. */
static int64_t own_ms(const struct qn_profile *learned)
{
    return learned->is_known && learned->handling_p99_ms > SLOW_MS
               ? learned->handling_p99_ms * 3 / 2 + 1000
               : 0;
}

/* The source queue is q unless it is named, and the other one has a word more. */
static void name_dlq(struct qn_terms *terms, const struct qn_check_options *options)
{
    struct qn_str name = qn_str_from_cstr(options->queue_name != NULL ? options->queue_name : "q");

    if (qn_str_ends_with(name, QN_STR(".fifo"))) {
        name.len -= strlen(".fifo");
    }
    (void)snprintf(terms->dlq, sizeof(terms->dlq), "%.*s-dlq%s", QN_STR_ARG(name),
                   options->is_fifo ? ".fifo" : "");
}

void qn_terms_init(struct qn_terms *terms, const struct qn_scenario *scenario,
                   const struct qn_check_options *options, const struct qn_profile *learned)
{
    static const int64_t visibility_ms[] = {[FAST] = 4000, [NORMAL] = 10000, [REAL] = 30000};
    static const int64_t heartbeat_ms[] = {[FAST] = 10000, [NORMAL] = 10000, [REAL] = 30000};
    int tempo = tempo_of(options);
    int64_t held = learned->is_known ? learned->held - learned->concurrency : 0;
    int64_t asked_ms = options->visibility_s * 1000;

    *terms = (struct qn_terms){
        .in =
            {
                .visibility_ms = asked_ms > 0 ? asked_ms : visibility_ms[tempo],
                .heartbeat_visibility_ms = asked_ms > 0 ? asked_ms : heartbeat_ms[tempo],
                .grace_ms = options->grace_ms,
                .wait_ms = learned->is_known && learned->wait_s > 0 ? learned->wait_s * 1000 : 0,
                .concurrency =
                    options->concurrency > 0 ? options->concurrency : learned->concurrency,
                .prefetch = held > PREFETCH_UNKNOWN ? held : PREFETCH_UNKNOWN,
                .max_receive = scenario->max_receive,
                .soak_ms = options->soak_ms,
            },
        .work_max_ms = options->work_max_ms};
    name_dlq(terms, options);
    terms->in.history = &terms->nothing;
    if (!options->is_grace_said && !qn_str_is_none(scenario->grace)) {
        terms->in.grace_ms = qn_terms_ms(terms, scenario->grace);
    }
    terms->in.restart_ms = qn_terms_ms(terms, scenario->restart_delay);
    int64_t fair = fair_ms(terms, scenario, learned);
    fair = fair > own_ms(learned) ? fair : own_ms(learned);
    if (asked_ms == 0 && learned->heartbeat_ms == 0 && fair > terms->in.visibility_ms) {
        terms->in.visibility_ms = (fair + 999) / 1000 * 1000;
    }
    terms->in.work_max_ms = options->work_max_ms > 0 ? options->work_max_ms
                                                     : QN_WORK_MAX_LEASES * terms->in.visibility_ms;
}

void qn_terms_set_slack(struct qn_terms *terms, int64_t start_ms)
{
    int64_t slack_ms = start_ms * SLACK_TIMES;

    terms->in.slack_ms = slack_ms < SLACK_MOST_MS ? slack_ms : SLACK_MOST_MS;
}

int64_t qn_terms_ms(const struct qn_terms *terms, struct qn_str text)
{
    struct qn_error ignored;
    int64_t value = 0;

    if (qn_str_is_none(text) || !qn_judge_number(&terms->in, text, &value, &ignored)) {
        return 0;
    }
    return value;
}

int64_t qn_terms_work_ms(const struct qn_terms *terms, const struct qn_scenario_load *load)
{
    int64_t work_ms = qn_terms_ms(terms, load->work);

    return terms->work_max_ms > 0 && work_ms > terms->work_max_ms ? terms->work_max_ms : work_ms;
}

int64_t qn_terms_load_count(const struct qn_terms *terms, const struct qn_scenario_load *load)
{
    int64_t lasts_ms = qn_terms_ms(terms, load->lasts);
    int64_t count = load->count;

    if (!qn_str_is_none(load->lasts)) {
        count = lasts_ms * load->rate / 1000;
        count = count < 1 ? 1 : count < SOAK_MESSAGES_MAX ? count : SOAK_MESSAGES_MAX;
    }
    return count * load->versions * load->chunks;
}

struct qn_str qn_terms_fill(const struct qn_terms *terms, struct qn_str text, const char *unit,
                            struct qn_arena *arena, bool *ret_any)
{
    struct qn_buf filled;
    bool any = false;

    qn_buf_init(&filled, SIZE_MAX / 2);
    while (text.len > 0) {
        size_t open = qn_str_find_char(text, '{');
        struct qn_str rest = qn_str_from(text, open + 1);
        size_t close = qn_str_find_char(rest, '}');
        struct qn_error ignored;
        int64_t ms;
        qn_buf_append_str(&filled, qn_str_first(text, open));
        if (close < rest.len && qn_str_equal(qn_str_first(rest, close), QN_STR("dlq"))) {
            any = true;
            qn_buf_append_str(&filled, qn_str_from_cstr(terms->dlq));
            text = qn_str_from(rest, close + 1);
        } else if (open < text.len && close < rest.len &&
                   qn_judge_number(&terms->in, qn_str_first(rest, close), &ms, &ignored)) {
            any = true;
            qn_buf_append_format(&filled, "%lld%s",
                                 (long long)(unit[0] != '\0' ? ms : (ms + 999) / 1000), unit);
            text = qn_str_from(rest, close + 1);
        } else if (open < text.len) {
            qn_buf_append_char(&filled, '{');
            text = rest;
        } else {
            text = QN_STR("");
        }
    }
    struct qn_str copy = qn_arena_copy(arena, qn_buf_str(&filled));
    qn_buf_done(&filled);
    if (ret_any != NULL) {
        *ret_any = any;
    }
    return copy;
}
