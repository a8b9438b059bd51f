/* From a word to what it does. */
#include "server/cli/words.h"

#include <stdio.h>
#include <string.h>

#include "chaos/lex.h"
#include "server/cli/cli.h"

enum { WORDS_MAX = 64, NAME_MAX_BYTES = 64, HELP_WIDTH = 12 };

static void print_help(const char *above, const struct qn_word *words, size_t count)
{
    (void)printf("usage: %s COMMAND [OPTIONS]\n\n", above);
    for (size_t i = 0; i < count; i++) {
        (void)printf("  %-*s %s\n", HELP_WIDTH, words[i].name, words[i].help);
    }
    (void)printf("\n%s COMMAND --help tells more of each.\n", above);
}

static void refuse(const char *above, const struct qn_word *words, size_t count, const char *word)
{
    const char *names[WORDS_MAX] = {NULL};

    for (size_t i = 0; i < count && i < WORDS_MAX; i++) {
        names[i] = words[i].name;
    }
    const char *nearest = qn_nearest_word(qn_str_from_cstr(word), names, count);
    (void)fprintf(stderr, "%s: no such command: %s%s%s%s (%s --help lists them)\n", above, word,
                  nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                  nearest != NULL ? "?" : "", above);
}

/* "chaos add": the program's own name is known. */
static int run(const char *above, const struct qn_word *word, int argc, char **argv)
{
    const char *blank = strchr(above, ' ');
    char name[NAME_MAX_BYTES];

    (void)snprintf(name, sizeof(name), "%s%s%s", blank == NULL ? "" : blank + 1,
                   blank == NULL ? "" : " ", word->name);
    argv[1] = name;
    return word->run(argc - 1, argv + 1);
}

int qn_words_run(const char *above, const struct qn_word *words, size_t count, int argc,
                 char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";

    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_help(above, words, count);
        return QN_EXIT_OK;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, words[i].name) == 0) {
            return run(above, &words[i], argc, argv);
        }
    }
    if (argc < 2) {
        (void)fprintf(stderr, "%s: which command? (%s --help lists them)\n", above, above);
    } else {
        refuse(above, words, count, word);
    }
    return QN_EXIT_USAGE;
}
