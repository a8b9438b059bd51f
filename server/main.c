/* argv to subcommand. */
#include <string.h>

#include "chaos/check/check.h"
#include "server/cli/cli.h"
#include "server/cli/completion.h"
#include "server/cli/output.h"
#include "server/cli/words.h"

static int complete(int argc, char **argv);

static const struct qn_word commands[] = {
    {"serve", qn_serve_main, "serve Amazon SQS"},
    {"check", qn_check_main, "put a consumer through the scenarios (quern check -- CMD)"},
    {"scenarios", qn_scenarios_main, "list the scenarios of quern check, or show one"},
    {"explain", qn_explain_main, "a page about a scenario or an invariant"},
    {"judge", qn_judge_main, "judge a stored trace anew"},
    {"bench", qn_bench_main, "measure a server"},
    {"chaos", qn_chaos_main, "add, list and remove the fault rules of a running server"},
    {"assumptions", qn_assumptions_main, "what clients relied on that AWS does not promise"},
    {"queues", qn_queues_main, "list the queues with their numbers"},
    {"top", qn_top_main, "watch all queues live"},
    {"attributes", qn_attributes_main, "show or set the attributes of a queue"},
    {"send", qn_send_main, "send a message"},
    {"receive", qn_receive_main, "receive messages"},
    {"delete", qn_delete_main, "delete messages by receipt handle, or a queue"},
    {"consume", qn_consume_main, "run a command for each message (quern consume QUEUE -- CMD)"},
    {"peek", qn_peek_main, "look at messages without receiving them"},
    {"tail", qn_tail_main, "show the messages of a queue as they come in"},
    {"lambda", qn_lambda_main, "invoke a function with the messages of a queue"},
    {"export", qn_export_main, "write the messages of a queue as JSON lines"},
    {"import", qn_import_main, "send the messages of a file of JSON lines"},
    {"replay", qn_replay_main, "send the requests of a recording again"},
    {"purge", qn_purge_main, "empty a queue"},
    {"redrive", qn_redrive_main, "move the messages of a dead-letter queue back to their queues"},
    {"move", qn_move_main, "move messages from queue to queue"},
    {"health", qn_health_main, "ask a running server whether it is well"},
    {"completion", complete, "print the completion script of a shell: bash or zsh"},
    {"version", qn_version_main, "print the version"},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static int complete(int argc, char **argv)
{
    return qn_completion_main(commands, COMMANDS, argc, argv);
}

int main(int argc, char **argv)
{
    char version[] = "version";

    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        argv[1] = version;
    }
    const char *word = argc > 1 ? argv[1] : ""; /* argv changes on the way */
    return qn_output_end(word, qn_words_run("quern", commands, COMMANDS, argc, argv));
}
