/* `quern version` */
#include <stdio.h>

#include "server/cli/cli.h"
#include "server/cli/options.h"

static const struct qn_option table[] = {
    {"json", NULL, NULL, NULL, "print JSON", 0},
};

int qn_version_main(int argc, char **argv)
{
    struct qn_options options;
    struct qn_error err;
    int code = QN_EXIT_OK;

    if (!qn_options_parse(&options, table, 1, argc, argv, NULL, &err)) {
        (void)fprintf(stderr, "quern version: %s\n", err.message);
        return QN_EXIT_USAGE;
    }
    if (options.wants_help) {
        (void)puts("usage: quern version [--json]");
    } else if (options.word_count > 0) {
        (void)fputs("quern version: usage: quern version [--json]\n", stderr);
        code = QN_EXIT_USAGE;
    } else if (qn_options_is_on(&options, 0)) {
        (void)printf("{\"version\":\"%s\"}\n", QN_VERSION);
    } else {
        (void)printf("quern %s\n", QN_VERSION);
    }
    qn_options_done(&options);
    return code;
}
