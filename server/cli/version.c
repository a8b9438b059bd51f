/* `quern version` */
#include <stdio.h>

#include "server/cli/cli.h"

int qn_version_main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        (void)fprintf(stderr, "error version: takes no arguments\n");
        return QN_EXIT_USAGE;
    }
    (void)printf("quern %s\n", QN_VERSION);
    return QN_EXIT_OK;
}
