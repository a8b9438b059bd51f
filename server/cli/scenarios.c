/* `quern scenarios`: which there are, and what stands in one of them. */
#include <stdio.h>

#include "chaos/check/catalogue.h"
#include "server/cli/remote.h"

static const struct qn_option table[] = {
    {"tier", "N", NULL, NULL, "only those of this tier: 1, or 2 for the rarer ones", 0},
    {"profile", "NAME", NULL, NULL, "only those of it: standard, fifo or lambda", 0},
    {"scenario", "FILE", NULL, NULL, "a scenario of yours beside them", QN_OPTION_REPEATS},
    {"json", NULL, NULL, NULL, "print JSON", 0},
};
enum { TIER, PROFILE, SCENARIO, JSON, OPTION_COUNT };

static const char usage[] = "usage: quern scenarios [OPTIONS]\n"
                            "       quern scenarios show ID\n";

/* "sink,cmd", or "-" when there is nothing. */
static struct qn_str needs_of(const struct qn_scenario *scenario, struct qn_buf *buf)
{
    size_t i;
    const json_t *need;

    buf->len = 0;
    json_array_foreach(json_object_get(scenario->json, "needs"), i, need)
    {
        if (strcmp(json_string_value(need), "none") != 0) {
            qn_buf_append_str(buf, qn_str_from_cstr(buf->len > 0 ? "," : ""));
            qn_buf_append_str(buf, qn_str_from_cstr(json_string_value(need)));
        }
    }
    qn_buf_append_str(buf, qn_str_from_cstr(buf->len > 0 ? "" : "-"));
    return qn_buf_str(buf);
}

static void print_table(const struct qn_catalogue *catalogue,
                        const struct qn_catalogue_filter *filter)
{
    static const char *const heads[] = {"ID", "TIER", "SEVERITY", "PROFILES", "NEEDS", "TITLE"};
    struct qn_columns columns;
    struct qn_buf needs;

    qn_columns_begin(&columns, heads, sizeof(heads) / sizeof(heads[0]));
    qn_buf_init(&needs, SIZE_MAX / 2);
    for (size_t i = 0; i < catalogue->count; i++) {
        const struct qn_scenario *scenario = catalogue->scenarios[i];
        if (!qn_catalogue_passes(filter, scenario)) {
            continue;
        }
        qn_columns_add(&columns, scenario->id.ptr); /* texts of an arena end in NUL */
        qn_columns_add_integer(&columns, qn_catalogue_tier(scenario));
        qn_columns_add(&columns, scenario->severity.ptr);
        qn_columns_add(&columns, qn_catalogue_profiles(scenario));
        (void)needs_of(scenario, &needs);
        qn_buf_append_char(&needs, '\0');
        qn_columns_add(&columns, needs.ptr);
        qn_columns_add(&columns, scenario->title.ptr);
    }
    qn_columns_print(&columns);
    qn_columns_done(&columns);
    qn_buf_done(&needs);
}

static void print_json(const struct qn_catalogue *catalogue,
                       const struct qn_catalogue_filter *filter)
{
    json_t *list = json_array();

    for (size_t i = 0; i < catalogue->count; i++) {
        const struct qn_scenario *scenario = catalogue->scenarios[i];
        const json_t *needs = json_object_get(scenario->json, "needs");
        if (!qn_catalogue_passes(filter, scenario)) {
            continue;
        }
        json_array_append_new(
            list,
            json_pack("{s:s, s:I, s:s, s:O, s:o, s:s, s:s, s:s}", "id", scenario->id.ptr, "tier",
                      (json_int_t)qn_catalogue_tier(scenario), "severity", scenario->severity.ptr,
                      "profiles", json_object_get(scenario->json, "profiles"), "needs",
                      needs != NULL ? json_deep_copy(needs) : json_array(), "title",
                      scenario->title.ptr, "why", scenario->why.ptr, "fix", scenario->fix.ptr));
    }
    qn_remote_print_json(json_pack("{s:o}", "scenarios", list));
}

/* The file as it is inside the program. */
static int show(const struct qn_catalogue *catalogue, const char *id)
{
    const struct qn_scenario *scenario = qn_catalogue_find(catalogue, qn_str_from_cstr(id));

    for (size_t i = 0; i < qn_embedded_scenario_count; i++) {
        if (strcmp(qn_embedded_scenarios[i].name, id) == 0) {
            (void)fwrite(qn_embedded_scenarios[i].data, 1, qn_embedded_scenarios[i].size, stdout);
            return QN_EXIT_OK;
        }
    }
    if (scenario != NULL) {
        (void)json_dumpf(scenario->json, stdout, JSON_INDENT(2));
        (void)putchar('\n');
        return QN_EXIT_OK;
    }
    const char *nearest = qn_catalogue_nearest(catalogue, qn_str_from_cstr(id));
    (void)fprintf(stderr, "quern scenarios: there is no scenario %s%s%s%s\n", id,
                  nearest != NULL ? "; did you mean " : " (quern scenarios lists them)",
                  nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
    return QN_EXIT_USAGE;
}

static bool read_filter(const struct qn_options *options, struct qn_catalogue_filter *filter,
                        struct qn_error *err)
{
    if (qn_options_text(options, TIER) != NULL &&
        !qn_options_integer(options, TIER, 1, 9, &filter->tier, err)) {
        return false;
    }
    filter->profile = qn_options_text(options, PROFILE);
    return filter->profile == NULL || strcmp(filter->profile, "standard") == 0 ||
           strcmp(filter->profile, "fifo") == 0 || strcmp(filter->profile, "lambda") == 0 ||
           qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "--profile is standard, fifo or lambda, not \"%s\"", filter->profile);
}

static int list_or_show(const struct qn_options *options)
{
    const struct qn_given *files = &options->given[SCENARIO];
    struct qn_catalogue catalogue = {0};
    struct qn_catalogue_filter filter = {0};
    struct qn_buf mistakes;
    struct qn_error err;
    int code = QN_EXIT_OK;

    qn_buf_init(&mistakes, SIZE_MAX / 2);
    if (!read_filter(options, &filter, &err)) {
        (void)fprintf(stderr, "quern scenarios: %s\n", err.message);
        code = QN_EXIT_USAGE;
    } else if (!qn_catalogue_open(&catalogue, (const char *const *)files->texts, files->count,
                                  &mistakes)) {
        (void)fwrite(mistakes.ptr, 1, mistakes.len, stderr);
        code = QN_EXIT_USAGE;
    } else if (options->word_count == 2) {
        code = show(&catalogue, options->words[1]);
    } else if (qn_options_is_on(options, JSON)) {
        print_json(&catalogue, &filter);
    } else {
        print_table(&catalogue, &filter);
    }
    qn_catalogue_close(&catalogue);
    qn_buf_done(&mistakes);
    return code;
}

int qn_scenarios_main(int argc, char **argv)
{
    struct qn_options options;
    struct qn_error err;
    int code;

    if (!qn_options_parse(&options, table, OPTION_COUNT, argc, argv, NULL, &err)) {
        (void)fprintf(stderr, "quern scenarios: %s\n", err.message);
        return QN_EXIT_USAGE;
    }
    if (options.wants_help) {
        (void)printf("%s\n", usage);
        qn_options_print(table, OPTION_COUNT, options.wants_markdown, NULL, stdout);
        code = QN_EXIT_OK;
    } else if (options.word_count > 0 &&
               (options.word_count != 2 || strcmp(options.words[0], "show") != 0)) {
        (void)fprintf(stderr, "quern scenarios: %s", usage);
        code = QN_EXIT_USAGE;
    } else {
        code = list_or_show(&options);
    }
    qn_options_done(&options);
    return code;
}
