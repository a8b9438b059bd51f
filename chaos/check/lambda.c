/* A function is no consumer: `quern lambda` polls for it. */
#include "chaos/check/running.h"

/* The function may take this part of a lease at most: a batch that is killed for its time comes
 * again soon. */
enum { TIMEOUT_DIVISOR = 2 };

static const char *number(struct qn_running *run, int64_t value)
{
    return qn_arena_format(&run->arena, "%lld", (long long)value).ptr;
}

size_t qn_lambda_arguments(struct qn_running *run, const struct qn_instance *instance,
                           const char **arguments)
{
    const struct qn_scenario *scenario = run->scenario;
    int64_t timeout_s = run->terms.in.visibility_ms / 1000 / TIMEOUT_DIVISOR;
    const struct {
        const char *option, *value; /* NULL: the option alone; "": not given */
    } options[] = {
        {"--endpoint", qn_instance_fill_in(run, instance, "{endpoint}")},
        {"--queue", qn_instance_fill_in(run, instance, "{queue_url}")},
        {"--esm", run->options->esm != NULL ? run->options->esm : ""},
        /* What no mapping says is as it should be. */
        {"--report-batch-item-failures", run->options->esm != NULL ? "" : NULL},
        {"--timeout", number(run, timeout_s > 0 ? timeout_s : 1)},
        {"--batch-size",
         scenario->lambda_batch_size > 0 ? number(run, scenario->lambda_batch_size) : ""},
        {"--window", scenario->lambda_window_s > 0 ? number(run, scenario->lambda_window_s) : ""},
        {"--max-concurrency",
         scenario->lambda_concurrency > 0 ? number(run, scenario->lambda_concurrency) : ""},
        {"--reserved-concurrency",
         scenario->lambda_reserved > 0 ? number(run, scenario->lambda_reserved) : ""},
        {"--filter", scenario->lambda_filter.ptr},
        /* How long it takes to start is no fault of its code. */
        {"--provisioned", NULL},
        {"--report-url", qn_instance_fill_in(run, instance, "{sink}")},
    };
    size_t count = 0;

    arguments[count++] = run->options->server_program;
    arguments[count++] = "lambda";
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (options[i].value != NULL && options[i].value[0] == '\0') {
            continue;
        }
        arguments[count++] = options[i].option;
        if (options[i].value != NULL) {
            arguments[count++] = options[i].value;
        }
    }
    arguments[count++] = "--";
    return count;
}
