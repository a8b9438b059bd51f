/* All scenarios in the order in which they are run, and the pages that explain them. */
#include "chaos/check/catalogue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "chaos/lex.h"

enum { FILE_MAX = 1024 * 1024 };

/* The first one teaches the harness what the others should know. */
static const char profiling_scenario[] = "base.drain-and-profile";
static const char *const families[] = {"base.",      "poll.",   "std.",          "batch.",
                                       "lease.",     "retry.",  "poison.",       "dlq.",
                                       "ambiguous.", "outbox.", "backpressure.", "error.",
                                       "server.",    "fifo.",   "scale.",        "shutdown."};

static size_t rank(const struct qn_scenario *scenario)
{
    const size_t count = sizeof(families) / sizeof(families[0]);

    if (qn_str_equal(scenario->id, qn_str_from_cstr(profiling_scenario))) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (qn_str_starts_with(scenario->id, qn_str_from_cstr(families[i]))) {
            return i + 1;
        }
    }
    return count + 1;
}

static int by_rank(const void *a, const void *b)
{
    const struct qn_scenario *x = *(struct qn_scenario *const *)a;
    const struct qn_scenario *y = *(struct qn_scenario *const *)b;
    size_t rank_x = rank(x);
    size_t rank_y = rank(y);

    return rank_x != rank_y ? (rank_x < rank_y ? -1 : 1) : qn_str_compare(x->id, y->id);
}

/* A file has one scenario and its variants. */
static bool add(struct qn_catalogue *catalogue, struct qn_str text, const char *name,
                struct qn_buf *mistakes)
{
    struct qn_scenarios found = {0};
    bool ok = qn_scenarios_read(&found, text, name, mistakes);

    for (size_t i = 0; i < found.count && ok; i++) {
        struct qn_str id = found.items[i]->id;
        ok = qn_catalogue_find(catalogue, id) == NULL;
        for (size_t j = 0; j < i; j++) {
            ok = ok && !qn_str_equal(found.items[j]->id, id);
        }
        if (!ok) {
            qn_buf_append_format(mistakes, "scenario %s: id: there is another scenario %.*s\n",
                                 name, QN_STR_ARG(id));
        }
    }
    if (!ok) {
        qn_scenarios_done(&found);
        return false;
    }
    catalogue->scenarios = qn_memory_resize(catalogue->scenarios, catalogue->count + found.count,
                                            sizeof(struct qn_scenario *));
    memcpy(&catalogue->scenarios[catalogue->count], found.items,
           found.count * sizeof(struct qn_scenario *));
    catalogue->count += found.count;
    qn_memory_free(found.items);
    return true;
}

static bool add_file(struct qn_catalogue *catalogue, const char *path, struct qn_buf *mistakes)
{
    struct qn_buf text;
    char block[16384];
    size_t len;
    bool ok = false;
    FILE *file = fopen(path, "re");

    qn_buf_init(&text, FILE_MAX);
    while (file != NULL && !text.overflow && (len = fread(block, 1, sizeof(block), file)) > 0) {
        qn_buf_append(&text, block, len);
    }
    if (file == NULL || ferror(file)) {
        qn_buf_append_format(mistakes, "scenario %s: %s\n", path, strerror(errno));
    } else if (text.overflow) {
        qn_buf_append_format(mistakes, "scenario %s: larger than 1 MiB\n", path);
    } else {
        ok = add(catalogue, qn_buf_str(&text), path, mistakes);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    qn_buf_done(&text);
    return ok;
}

bool qn_catalogue_open(struct qn_catalogue *catalogue, const char *const *files, size_t file_count,
                       struct qn_buf *mistakes)
{
    bool ok = true;

    for (size_t i = 0; i < qn_embedded_scenario_count; i++) {
        const struct qn_embedded *file = &qn_embedded_scenarios[i];
        ok = add(catalogue, qn_str(file->data, file->size), file->name, mistakes) && ok;
    }
    for (size_t i = 0; i < file_count; i++) {
        ok = add_file(catalogue, files[i], mistakes) && ok;
    }
    qsort(catalogue->scenarios, catalogue->count, sizeof(struct qn_scenario *), by_rank);
    return ok;
}

void qn_catalogue_close(struct qn_catalogue *catalogue)
{
    for (size_t i = 0; i < catalogue->count; i++) {
        qn_scenario_free(catalogue->scenarios[i]);
    }
    qn_memory_free(catalogue->scenarios);
    *catalogue = (struct qn_catalogue){0};
}

const struct qn_scenario *qn_catalogue_find(const struct qn_catalogue *catalogue, struct qn_str id)
{
    for (size_t i = 0; i < catalogue->count; i++) {
        if (qn_str_equal(catalogue->scenarios[i]->id, id)) {
            return catalogue->scenarios[i];
        }
    }
    return NULL;
}

int64_t qn_catalogue_tier(const struct qn_scenario *scenario)
{
    const json_t *tier = json_object_get(scenario->json, "tier");

    return json_is_integer(tier) ? json_integer_value(tier) : 1;
}

const char *qn_catalogue_profiles(const struct qn_scenario *scenario)
{
    if (scenario->for_standard) {
        return scenario->for_fifo ? "standard,fifo" : "standard";
    }
    return scenario->for_fifo ? "fifo" : "lambda";
}

bool qn_catalogue_passes(const struct qn_catalogue_filter *filter,
                         const struct qn_scenario *scenario)
{
    return (filter->tier == 0 || filter->tier == qn_catalogue_tier(scenario)) &&
           (filter->profile == NULL || qn_scenario_is_for(scenario, filter->profile));
}

const struct qn_embedded *qn_catalogue_page(struct qn_str name)
{
    struct qn_str variant;

    name = qn_str_cut(name, '+', &variant); /* on the page of its scenario */
    for (size_t i = 0; i < qn_embedded_explanation_count; i++) {
        if (qn_str_equal_nocase(name, qn_str_from_cstr(qn_embedded_explanations[i].name))) {
            return &qn_embedded_explanations[i];
        }
    }
    return NULL;
}

/* The word that somebody probably meant. Of a scenario most people remember the second half. */
static const char *nearest_of(struct qn_str name, const char *const *names, size_t count)
{
    const char *nearest = qn_nearest_word(name, names, count);

    for (size_t i = 0; nearest == NULL && name.len >= 3 && i < count; i++) {
        struct qn_str rest;
        (void)qn_str_cut(qn_str_from_cstr(names[i]), '.', &rest);
        nearest = qn_str_starts_with_nocase(rest, name) ? names[i] : NULL;
    }
    return nearest;
}

const char *qn_catalogue_nearest(const struct qn_catalogue *catalogue, struct qn_str id)
{
    const char **names = qn_memory_new_array(catalogue->count + 1, sizeof(*names));

    for (size_t i = 0; i < catalogue->count; i++) {
        names[i] = catalogue->scenarios[i]->id.ptr; /* texts of an arena end in NUL */
    }
    const char *nearest = nearest_of(id, names, catalogue->count);
    qn_memory_free(names);
    return nearest;
}

const char *qn_catalogue_nearest_page(struct qn_str name)
{
    const char **names = qn_memory_new_array(qn_embedded_explanation_count + 1, sizeof(*names));

    for (size_t i = 0; i < qn_embedded_explanation_count; i++) {
        names[i] = qn_embedded_explanations[i].name;
    }
    const char *nearest = nearest_of(name, names, qn_embedded_explanation_count);
    qn_memory_free(names);
    return nearest;
}
