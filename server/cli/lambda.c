/* `quern lambda`: an event source mapping from the command line. */
#include "client/lambda/lambda.h"

#include <stdio.h>

#include "server/base/program.h"
#include "server/base/random.h"
#include "server/cli/remote.h"

enum {
    QUEUE = QN_REMOTE_COUNT,
    ESM,
    FUNCTION,
    HANDLER,
    TIMEOUT,
    BATCH_SIZE,
    WINDOW,
    REPORT,
    MAX_CONCURRENCY,
    RESERVED,
    FILTER,
    INVOKE_URL,
    INVOKE_WAIT,
    INVOKE_STDIN,
    PROVISIONED,
    UNTIL_EMPTY,
    AUDIT,
    REPORT_URL,
    OPTION_COUNT
};

static const char usage[] =
    "lambda --queue QUEUE [--esm FILE] -- CMD [WORD...]\n"
    "       quern lambda --queue QUEUE [--esm FILE] --invoke-url URL\n\n"
    "Polls the queue and invokes the function CMD with batches, as an event source\nmapping does.";

static const struct qn_option table[OPTION_COUNT] = {
    QN_REMOTE_OPTIONS,
    [QUEUE] = {"queue", "QUEUE", NULL, NULL, "name or URL of the queue", QN_OPTION_COMMON},
    [ESM] = {"esm", "FILE", NULL, NULL,
             "the mapping, as aws lambda get-event-source-mapping\nprints it; the options below "
             "win over it",
             QN_OPTION_COMMON},
    [FUNCTION] = {"function", "NAME", "function", NULL, "name of the function", 0},
    [HANDLER] = {"handler", "NAME", NULL, NULL, "_HANDLER for CMD (else its last word)", 0},
    [TIMEOUT] = {"timeout", "S", "3", NULL, "of the function: 1 to 900", QN_OPTION_COMMON},
    [BATCH_SIZE] = {"batch-size", "N", "10", NULL, "1 to 10000; FIFO: to 10", QN_OPTION_COMMON},
    [WINDOW] = {"window", "S", "0", NULL, "wait so long for a full batch: 0 to 300",
                QN_OPTION_COMMON},
    [REPORT] = {"report-batch-item-failures", NULL, NULL, NULL,
                "delete all but what the function lists", QN_OPTION_COMMON},
    [MAX_CONCURRENCY] = {"max-concurrency", "N", NULL, NULL,
                         "at a time: 2 to 1000; else 5, or 1 by --invoke-url", QN_OPTION_COMMON},
    [RESERVED] = {"reserved-concurrency", "N", NULL, NULL,
                  "of the function; beyond it invocations are throttled", 0},
    [FILTER] = {"filter", "PATTERN", NULL, NULL, "an event pattern; the rest is deleted",
                QN_OPTION_REPEATS | QN_OPTION_COMMON},
    [INVOKE_URL] =
        {"invoke-url", "URL", NULL, NULL,
         "the function is a container with the runtime interface\nemulator: one event at a "
         "time",
         QN_OPTION_COMMON},
    [INVOKE_WAIT] = {"invoke-wait", "S", "30", NULL,
                     "wait so long at the start for that URL to answer: 0 to 900", 0},
    [INVOKE_STDIN] = {"invoke-stdin", NULL, NULL, NULL,
                      "one CMD per event: event on stdin, answer on stdout", QN_OPTION_COMMON},
    [PROVISIONED] = {"provisioned", NULL, NULL, NULL,
                     "receive nothing before there is an environment for it", 0},
    [UNTIL_EMPTY] = {"until-empty", NULL, NULL, NULL,
                     "end when the queue is empty; status 1 if deleted", QN_OPTION_COMMON},
    [AUDIT] = {"audit", NULL, NULL, NULL,
               "say what AWS advises against, and end: status 1 if there is any", 0},
    [REPORT_URL] = {"report-url", "URL", NULL, NULL,
                    "post each invocation and its end to URL/v1/lambda, as quern check hears it",
                    0},
};

static bool read_file(struct qn_lambda_mapping *mapping, const char *path, struct qn_error *err)
{
    json_error_t mistake;
    json_t *document;
    struct qn_error inner;

    if (path == NULL) {
        return true;
    }
    document = json_load_file(path, JSON_REJECT_DUPLICATES, &mistake);
    if (document == NULL) {
        return mistake.line > 0
                   ? qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s:%d: %s", path, mistake.line,
                             mistake.text)
                   : qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "--esm: %s", mistake.text);
    }
    bool ok = qn_lambda_mapping_read(mapping, document, &inner) ||
              qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: %s", path, inner.message);
    json_decref(document);
    return ok;
}

static bool read_numbers(struct qn_lambda_mapping *mapping, const struct qn_options *given,
                         struct qn_error *err)
{
    static const struct {
        size_t row;
        const char *name;
    } numbers[] = {
        {TIMEOUT, "Timeout"},
        {BATCH_SIZE, "BatchSize"},
        {WINDOW, "MaximumBatchingWindowInSeconds"},
        {MAX_CONCURRENCY, "MaximumConcurrency"},
        {RESERVED, "ReservedConcurrentExecutions"},
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        int64_t value;
        if (given->given[numbers[i].row].count == 0) {
            continue;
        }
        if (!qn_options_integer(given, numbers[i].row, 0, 1000000, &value, err) ||
            !qn_lambda_mapping_set(mapping, numbers[i].name, value, err)) {
            return false;
        }
    }
    return true;
}

static bool read_filters(struct qn_lambda_mapping *mapping, const struct qn_given *given,
                         struct qn_error *err)
{
    json_t *list = json_array();

    for (size_t i = 0; i < given->count; i++) {
        (void)json_array_append_new(list, json_pack("{s: s}", "Pattern", given->texts[i]));
    }
    json_t *criteria = json_pack("{s: o}", "Filters", list);
    bool ok = true;
    if (given->count > 0) {
        qn_lambda_filters_done(&mapping->filters);
        ok = qn_lambda_filters_read(&mapping->filters, criteria, err);
    }
    json_decref(criteria);
    return ok;
}

static bool read_mapping(struct qn_lambda_mapping *mapping, const struct qn_options *given,
                         struct qn_error *err)
{
    const char *function = qn_options_text(given, FUNCTION);

    if (!read_file(mapping, qn_options_text(given, ESM), err) ||
        !read_numbers(mapping, given, err) || !read_filters(mapping, &given->given[FILTER], err)) {
        return false;
    }
    if (function != NULL && strlen(function) >= sizeof(mapping->function)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--function takes a name of at most 140 characters");
    }
    if (function != NULL) {
        (void)snprintf(mapping->function, sizeof(mapping->function), "%s", function);
    }
    mapping->reports = mapping->reports || qn_options_is_on(given, REPORT);
    return true;
}

static bool check_ways(const struct qn_options *given, struct qn_error *err)
{
    const char *url = qn_options_text(given, INVOKE_URL);

    if (qn_options_text(given, QUEUE) == NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "--queue QUEUE says what to poll");
    }
    if (qn_options_is_on(given, AUDIT)) {
        return true;
    }
    if (url != NULL && (given->word_count > 0 || qn_options_is_on(given, INVOKE_STDIN))) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--invoke-url needs no CMD and no --invoke-stdin");
    }
    if (url != NULL && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--invoke-url takes http://HOST:PORT, not %.200s", url);
    }
    if (url == NULL && given->word_count == 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "give the function's command behind --, or --invoke-url URL");
    }
    return url != NULL || qn_program_check(given->words[0], err);
}

static enum qn_lambda_way way_of(const struct qn_options *given)
{
    if (qn_options_text(given, INVOKE_URL) != NULL) {
        return QN_LAMBDA_BY_URL;
    }
    return qn_options_is_on(given, INVOKE_STDIN) ? QN_LAMBDA_BY_STDIN : QN_LAMBDA_BY_RUNTIME_API;
}

static int run(struct qn_remote *remote, const struct qn_lambda_mapping *mapping,
               const struct qn_lambda_mapping *of_file, int64_t url_wait_s)
{
    const struct qn_options *given = &remote->options;
    struct qn_error err;
    char **argv = qn_memory_new_array(given->word_count + 1, sizeof(*argv));

    for (size_t i = 0; i < given->word_count; i++) {
        argv[i] = given->words[i];
    }
    const struct qn_lambda_options options = {
        .endpoint = quern_client_endpoint(remote->client),
        .region = qn_options_text(given, QN_REMOTE_REGION),
        .queue = qn_options_text(given, QUEUE),
        .mapping = *mapping,
        .way = way_of(given),
        .argv = argv,
        .url = qn_options_text(given, INVOKE_URL),
        .url_wait_s = url_wait_s,
        .handler = qn_options_text(given, HANDLER),
        .only_audit = qn_options_is_on(given, AUDIT),
        .provisioned = qn_options_is_on(given, PROVISIONED),
        .until_empty = qn_options_is_on(given, UNTIL_EMPTY),
        .report_url = qn_options_text(given, REPORT_URL),
        .audited = qn_options_text(given, REPORT_URL) != NULL ? of_file : NULL,
        .json_lines = qn_remote_wants_json(remote),
        .seed = qn_random_fresh_seed(),
        .clock = qn_clock_system(),
    };
    enum qn_lambda_exit result = qn_lambda_run(&options, &err);
    qn_memory_free(argv);
    if (result == QN_LAMBDA_EXIT_REFUSED) {
        int misuse = qn_remote_misuse(remote, &err);
        return err.code == QN_ERR_INVALID_PARAMETER_VALUE ? misuse : QN_EXIT_FAILED;
    }
    return result == QN_LAMBDA_EXIT_DONE ? QN_EXIT_OK : QN_EXIT_FAILED;
}

int qn_lambda_main(int argc, char **argv)
{
    struct qn_remote remote;
    struct qn_lambda_mapping mapping;
    struct qn_lambda_mapping of_file;
    struct qn_error err;
    int64_t url_wait_s;
    int code;

    if (!qn_remote_open(&remote, usage, table, OPTION_COUNT, 0, SIZE_MAX, argc, argv, &code)) {
        return code;
    }
    qn_lambda_mapping_init(&mapping);
    qn_lambda_mapping_init(&of_file);
    if (read_file(&of_file, qn_options_text(&remote.options, ESM), &err) &&
        read_mapping(&mapping, &remote.options, &err) && check_ways(&remote.options, &err) &&
        qn_options_integer(&remote.options, INVOKE_WAIT, 0, 900, &url_wait_s, &err)) {
        code = run(&remote, &mapping, &of_file, url_wait_s);
    } else {
        code = qn_remote_misuse(&remote, &err);
    }
    qn_lambda_mapping_done(&mapping);
    qn_lambda_mapping_done(&of_file);
    qn_remote_close(&remote);
    return code;
}
