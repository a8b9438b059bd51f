/* `quern explain`: a page about a scenario or an invariant. */
#include <stdio.h>

#include "chaos/check/catalogue.h"
#include "server/cli/remote.h"

static const char usage[] = "usage: quern explain [NAME]\n\n"
                            "A page about a scenario or an invariant: what happened to others, "
                            "what breaks,\nwhat right code looks like, how it is judged. Without "
                            "a name: all of them.\n";

/* "# ONCE: each effect is applied once": what stands behind the name in the first line. */
static struct qn_str title_of(const struct qn_embedded *page)
{
    struct qn_str rest;
    struct qn_str line = qn_str_cut(qn_str(page->data, page->size), '\n', &rest);

    (void)qn_str_cut(line, ':', &rest);
    return qn_str_trim(rest);
}

static void list_pages(void)
{
    for (size_t i = 0; i < qn_embedded_explanation_count; i++) {
        (void)printf("%-42s %.*s\n", qn_embedded_explanations[i].name,
                     QN_STR_ARG(title_of(&qn_embedded_explanations[i])));
    }
}

static int print_page(const char *name)
{
    const struct qn_embedded *page = qn_catalogue_page(qn_str_from_cstr(name));

    if (page != NULL) {
        (void)fwrite(page->data, 1, page->size, stdout);
        return QN_EXIT_OK;
    }
    const char *nearest = qn_catalogue_nearest_page(qn_str_from_cstr(name));
    (void)fprintf(stderr, "quern explain: there is no page about %s%s%s%s\n", name,
                  nearest != NULL ? "; did you mean " : " (quern explain lists them)",
                  nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
    return QN_EXIT_USAGE;
}

int qn_explain_main(int argc, char **argv)
{
    struct qn_options options;
    struct qn_error err;
    int code = QN_EXIT_OK;

    if (!qn_options_parse(&options, NULL, 0, argc, argv, NULL, &err)) {
        (void)fprintf(stderr, "quern explain: %s\n", err.message);
        return QN_EXIT_USAGE;
    }
    if (options.wants_help) {
        (void)fputs(usage, stdout);
    } else if (options.word_count > 1) {
        (void)fprintf(stderr, "quern explain: %s", usage);
        code = QN_EXIT_USAGE;
    } else if (options.word_count == 1) {
        code = print_page(options.words[0]);
    } else {
        list_pages();
    }
    qn_options_done(&options);
    return code;
}
