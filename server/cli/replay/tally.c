/* Whether what came back is what the recording says, and the table that tells. */
#include <stdio.h>

#include "server/cli/replay/replay.h"

static char *copy(const char *text)
{
    return qn_memory_copy_text(text, strlen(text));
}

static struct qn_replay_tally *tally_of(struct qn_replay *replay, const json_t *request)
{
    const char *action = json_string_value(json_object_get(request, "action"));
    struct qn_replay_tally *tally;

    action = action != NULL ? action : "(unknown)";
    for (size_t i = 0; i < replay->tally_count; i++) {
        if (strcmp(replay->tallies[i].action, action) == 0) {
            return &replay->tallies[i];
        }
    }
    replay->tallies =
        qn_memory_resize(replay->tallies, replay->tally_count + 1, sizeof(*replay->tallies));
    tally = &replay->tallies[replay->tally_count++];
    *tally = (struct qn_replay_tally){.action = copy(action)};
    return tally;
}

void qn_replay_count_left_out(struct qn_replay *replay, const json_t *request)
{
    struct qn_replay_tally *tally = tally_of(replay, request);

    tally->requests++;
    tally->left_out++;
}

/* ---- comparing ---- */

static const char *text_in(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));

    return text != NULL ? text : "";
}

/* The code of the entry's failure; "" when it did not fail. */
static const char *failure_of(const json_t *output, const char *id)
{
    const json_t *failed = json_object_get(output, "Failed");

    for (size_t i = 0; i < json_array_size(failed); i++) {
        const json_t *entry = json_array_get(failed, i);
        if (strcmp(text_in(entry, "Id"), id) == 0) {
            return text_in(entry, "Code");
        }
    }
    return "";
}

/* The first entry that was sent and came out otherwise, or NULL. */
static const json_t *odd_entry(const json_t *input, const json_t *recorded, const json_t *output)
{
    const json_t *entries = json_object_get(input, "Entries");

    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        const char *id = text_in(entry, "Id");
        if (strcmp(failure_of(recorded, id), failure_of(output, id)) != 0) {
            return entry;
        }
    }
    return NULL;
}

static char *describe_entry(const json_t *output, const char *id)
{
    struct qn_buf buf;
    const char *code = failure_of(output, id);
    char *text;

    qn_buf_init(&buf, 4096);
    qn_buf_append_format(&buf, "entry %s %s", id, code[0] != '\0' ? code : "OK");
    text = qn_buf_take(&buf, NULL);
    qn_buf_done(&buf);
    return text;
}

static void add_difference(struct qn_replay *replay, const json_t *request, const json_t *answer,
                           const struct qn_replay_job *job, char *recorded_take,
                           char *replayed_take)
{
    const struct qn_session_request *at = &replay->session.requests[job->request];
    const char *rule = json_string_value(json_object_get(answer, "rule"));

    tally_of(replay, request)->other++;
    if (replay->difference_count == QN_REPLAY_DIFFERENCES) {
        qn_memory_free(recorded_take);
        qn_memory_free(replayed_take);
        return;
    }
    replay->differences[replay->difference_count++] = (struct qn_replay_difference){
        .n = at->n,
        .line = replay->session.items[at->item].line,
        .action = copy(job->action),
        .recorded = recorded_take,
        .replayed = replayed_take,
        .rule = rule == NULL ? NULL : copy(rule),
    };
}

static char *describe_answer(const struct qn_replay_job *job)
{
    struct qn_buf buf;
    char *text;

    if (job->is_answered) {
        return copy("OK");
    }
    qn_buf_init(&buf, SIZE_MAX / 2);
    qn_buf_append_format(&buf, "%s: %s", job->err.code, job->err.message);
    text = qn_buf_take(&buf, NULL);
    qn_buf_done(&buf);
    return text;
}

void qn_replay_compare(struct qn_replay *replay, const json_t *request, const json_t *answer,
                       const struct qn_replay_job *job)
{
    const char *recorded = text_in(answer, "code");
    const char *code = job->is_answered ? "OK" : job->err.code;
    const json_t *output = json_object_get(answer, "output");
    struct qn_replay_tally *tally = tally_of(replay, request);
    const json_t *entry;

    tally->requests++;
    if (answer == NULL || json_is_true(json_object_get(answer, "lost")) ||
        json_is_true(json_object_get(answer, "cut"))) {
        tally->not_compared++;
        return;
    }
    if (strcmp(recorded, code) != 0) {
        add_difference(replay, request, answer, job, copy(recorded), describe_answer(job));
        return;
    }
    entry = odd_entry(job->input, output, job->output);
    if (entry != NULL) {
        const char *id = text_in(entry, "Id");
        add_difference(replay, request, answer, job, describe_entry(output, id),
                       describe_entry(job->output, id));
        return;
    }
    tally->same++;
}

/* ---- telling ---- */

static int by_action(const void *a, const void *b)
{
    return strcmp(((const struct qn_replay_tally *)a)->action,
                  ((const struct qn_replay_tally *)b)->action);
}

static struct qn_replay_tally sum_of(const struct qn_replay *replay)
{
    struct qn_replay_tally sum = {.action = NULL};

    for (size_t i = 0; i < replay->tally_count; i++) {
        const struct qn_replay_tally *tally = &replay->tallies[i];
        sum.requests += tally->requests;
        sum.same += tally->same;
        sum.other += tally->other;
        sum.left_out += tally->left_out;
        sum.not_compared += tally->not_compared;
    }
    return sum;
}

static void add_row(struct qn_columns *table, const char *name, const struct qn_replay_tally *tally)
{
    qn_columns_add(table, name);
    qn_columns_add_integer(table, tally->requests);
    qn_columns_add_integer(table, tally->same);
    qn_columns_add_integer(table, tally->other);
    qn_columns_add_integer(table, tally->left_out);
    qn_columns_add_integer(table, tally->not_compared);
}

static void print_table(const struct qn_replay *replay, const struct qn_replay_tally *sum)
{
    static const char *const head[] = {"ACTION",     "REQUESTS", "SAME CODE",
                                       "OTHER CODE", "LEFT OUT", "NOT COMPARED"};
    struct qn_columns table;

    qn_columns_begin(&table, head, sizeof(head) / sizeof(head[0]));
    for (size_t i = 0; i < replay->tally_count; i++) {
        add_row(&table, replay->tallies[i].action, &replay->tallies[i]);
    }
    add_row(&table, "all", sum);
    qn_columns_print(&table);
    qn_columns_done(&table);
}

/* Text from elsewhere: one line, and nothing that a terminal would obey. */
static void print_text(const char *text)
{
    for (; *text != '\0'; text++) {
        (void)putchar((unsigned char)*text < 0x20 || *text == 0x7F ? ' ' : *text);
    }
}

static void print_differences(const struct qn_replay *replay, int64_t count)
{
    for (size_t i = 0; i < replay->difference_count; i++) {
        const struct qn_replay_difference *difference = &replay->differences[i];
        (void)printf("%srequest %lld (line %lld) %s: recorded ", i == 0 ? "\n" : "",
                     (long long)difference->n, (long long)difference->line, difference->action);
        print_text(difference->recorded);
        if (difference->rule != NULL) {
            (void)fputs(" (by the rule ", stdout);
            print_text(difference->rule);
            (void)putchar(')');
        }
        (void)fputs(", replayed ", stdout);
        print_text(difference->replayed);
        (void)putchar('\n');
    }
    if (count > (int64_t)replay->difference_count) {
        (void)printf("and %lld more\n", (long long)(count - (int64_t)replay->difference_count));
    }
}

static void print_notes(const struct qn_replay *replay, const struct qn_replay_tally *sum)
{
    int64_t homeless = sum->left_out - replay->unsendable;

    if (homeless > 0 || replay->entries_left_out > 0) {
        (void)printf("\nleft out because what they name has no counterpart here: %lld requests, "
                     "%lld entries of others\n",
                     (long long)homeless, (long long)replay->entries_left_out);
    }
    if (replay->unsendable > 0) {
        (void)printf("\nleft out because they could not be read as SQS then: %lld requests\n",
                     (long long)replay->unsendable);
    }
    if (replay->clock_moves_left_out > 0) {
        (void)printf("\nthe clock here cannot be moved: %lld recorded moves were left out\n",
                     (long long)replay->clock_moves_left_out);
    }
}

static json_t *tally_document(const struct qn_replay_tally *tally)
{
    return json_pack("{s:s*, s:I, s:I, s:I, s:I, s:I}", "action", tally->action, "requests",
                     (json_int_t)tally->requests, "same", (json_int_t)tally->same, "other",
                     (json_int_t)tally->other, "left_out", (json_int_t)tally->left_out,
                     "not_compared", (json_int_t)tally->not_compared);
}

static json_t *document(const struct qn_replay *replay, const struct qn_replay_tally *sum,
                        int64_t took_ms)
{
    json_t *actions = json_array();
    json_t *differences = json_array();

    for (size_t i = 0; i < replay->tally_count; i++) {
        json_array_append_new(actions, tally_document(&replay->tallies[i]));
    }
    for (size_t i = 0; i < replay->difference_count; i++) {
        const struct qn_replay_difference *difference = &replay->differences[i];
        json_array_append_new(
            differences, json_pack("{s:I, s:I, s:s, s:s, s:s, s:s*}", "n",
                                   (json_int_t)difference->n, "line", (json_int_t)difference->line,
                                   "action", difference->action, "recorded", difference->recorded,
                                   "replayed", difference->replayed, "rule", difference->rule));
    }
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:b}", "actions", actions, "all",
                     tally_document(sum), "differences", differences, "entries_left_out",
                     (json_int_t)replay->entries_left_out, "unsendable",
                     (json_int_t)replay->unsendable, "clock_moves_left_out",
                     (json_int_t)replay->clock_moves_left_out, "took_ms", (json_int_t)took_ms,
                     "interrupted", replay->is_interrupted);
}

int qn_replay_report(struct qn_replay *replay, int64_t took_ms)
{
    struct qn_replay_tally sum;
    bool all_well;

    if (replay->tally_count > 0) { /* a recording may have no request at all */
        qsort(replay->tallies, replay->tally_count, sizeof(*replay->tallies), by_action);
    }
    sum = sum_of(replay);
    if (qn_remote_wants_json(replay->remote)) {
        qn_remote_print_json(document(replay, &sum, took_ms));
    } else {
        print_table(replay, &sum);
        print_differences(replay, sum.other);
        print_notes(replay, &sum);
    }
    all_well = sum.other == 0 && sum.left_out == replay->unsendable &&
               replay->entries_left_out == 0 && !replay->is_interrupted;
    return all_well ? QN_EXIT_OK : QN_EXIT_FAILED;
}

void qn_replay_forget_tally(struct qn_replay *replay)
{
    for (size_t i = 0; i < replay->tally_count; i++) {
        qn_memory_free(replay->tallies[i].action);
    }
    for (size_t i = 0; i < replay->difference_count; i++) {
        qn_memory_free(replay->differences[i].action);
        qn_memory_free(replay->differences[i].recorded);
        qn_memory_free(replay->differences[i].replayed);
        qn_memory_free(replay->differences[i].rule);
    }
    qn_memory_free(replay->tallies);
}
