/* `quern queues`: all of them with their numbers, once. */
#include <stdio.h>

#include "server/cli/figures.h"

static const struct qn_option queues_options[] = {QN_REMOTE_OPTIONS};

static void add_text(struct qn_columns *table, const json_t *queue, const char *name)
{
    qn_columns_add(table, json_string_value(json_object_get(queue, name)));
}

static void add_number(struct qn_columns *table, const json_t *queue, const char *name)
{
    const json_t *number = json_object_get(queue, name);

    if (json_is_integer(number)) {
        qn_columns_add_integer(table, json_integer_value(number));
    } else {
        qn_columns_add(table, "-"); /* SQS does not tell */
    }
}

static void print_queues(const json_t *queues)
{
    static const char *const head[] = {"NAME",      "ACCOUNT", "REGION",   "VISIBLE",
                                       "IN FLIGHT", "DELAYED", "OLDEST s", "DEAD LETTERS TO"};
    struct qn_columns table;
    size_t i;
    const json_t *queue;

    qn_columns_begin(&table, head, sizeof(head) / sizeof(head[0]));
    json_array_foreach(queues, i, queue)
    {
        const char *arn = json_string_value(json_object_get(queue, "dead_letter_arn"));
        add_text(&table, queue, "name");
        add_text(&table, queue, "account");
        add_text(&table, queue, "region");
        add_number(&table, queue, "visible");
        add_number(&table, queue, "in_flight");
        add_number(&table, queue, "delayed");
        add_number(&table, queue, "oldest_age_s");
        qn_columns_add(&table, arn != NULL ? qn_figures_arn_name(arn) : "-");
    }
    qn_columns_print(&table);
    qn_columns_done(&table);
}

int qn_queues_main(int argc, char **argv)
{
    struct qn_progress progress;
    struct qn_remote remote;
    struct quern_error err;
    json_t *queues = NULL;
    int code = QN_EXIT_OK;

    if (!qn_remote_open(&remote, "queues", queues_options, QN_REMOTE_COUNT, 0, 0, argc, argv,
                        &code)) {
        return code;
    }
    qn_progress_init(&progress, "asked");
    bool ok = qn_figures_ask(&remote, &progress, &queues, &err);
    qn_progress_end(&progress);
    if (!ok) {
        code = qn_remote_fail(&remote, &err);
    } else if (qn_remote_wants_json(&remote)) {
        qn_remote_print_json(json_pack("{s:O}", "queues", queues));
    } else {
        print_queues(queues);
    }
    json_decref(queues);
    qn_remote_close(&remote);
    return code;
}
