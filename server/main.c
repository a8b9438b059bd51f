/* argv to subcommand. */
#include <stdio.h>
#include <string.h>

#include "chaos/check/check.h"
#include "chaos/lex.h"
#include "server/cli/cli.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
};

static const struct command commands[] = {
    {"serve", qn_serve_main, "serve Amazon SQS"},
    {"check", qn_check_main, "put a consumer through the scenarios (quern check -- CMD)"},
    {"scenarios", qn_scenarios_main, "list the scenarios of quern check, or show one"},
    {"explain", qn_explain_main, "a page about a scenario or an invariant"},
    {"judge", qn_judge_main, "judge a stored trace anew"},
    {"bench", qn_bench_main, "measure a server"},
    {"assumptions", qn_assumptions_main, "what clients relied on that AWS does not promise"},
    {"queues", qn_queues_main, "list the queues of a running server"},
    {"send", qn_send_main, "send a message"},
    {"receive", qn_receive_main, "receive messages"},
    {"peek", qn_peek_main, "look at messages without receiving them"},
    {"export", qn_export_main, "write the messages of a queue as JSON lines"},
    {"import", qn_import_main, "send the messages of a file of JSON lines"},
    {"replay", qn_replay_main, "send the requests of a recording again"},
    {"purge", qn_purge_main, "empty a queue"},
    {"health", qn_health_main, "ask a running server whether it is well"},
    {"version", qn_version_main, "print the version"},
};

enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE *out)
{
    (void)fputs("usage: quern COMMAND [OPTIONS]\n\n", out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        (void)fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].help);
    }
    (void)fputs("\nquern COMMAND --help tells more of each.\n", out);
}

static void refuse(const char *word)
{
    const char *names[COMMAND_COUNT];

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        names[i] = commands[i].name;
    }
    const char *nearest = qn_nearest_word(qn_str_from_cstr(word), names, COMMAND_COUNT);
    (void)fprintf(stderr, "quern: no such command: %s%s%s%s (quern --help lists them)\n", word,
                  nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                  nearest != NULL ? "?" : "");
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";

    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_help(stdout);
        return QN_EXIT_OK;
    }
    if (strcmp(word, "--version") == 0) {
        word = "version";
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(word, commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    if (argc < 2) {
        (void)fputs("quern: which command? (quern --help lists them)\n", stderr);
    } else {
        refuse(word);
    }
    return QN_EXIT_USAGE;
}
