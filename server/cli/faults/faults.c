/* `quern chaos`: the fault rules of a running server, by hand. */
#include "server/cli/faults/faults.h"

#include "server/cli/words.h"

static const struct qn_word words[] = {
    {"add", qn_chaos_add_main, "add rules, a file of them or a profile"},
    {"list", qn_chaos_list_main, "list the rules, and how often each matched and fired"},
    {"log", qn_chaos_log_main, "show the faults that fired"},
    {"disable", qn_chaos_disable_main, "switch rules off; their counts are kept"},
    {"enable", qn_chaos_enable_main, "switch them on again"},
    {"release", qn_chaos_release_main, "let the requests go on that rules hold"},
    {"remove", qn_chaos_remove_main, "remove rules"},
    {"clear", qn_chaos_clear_main, "remove all rules"},
    {"profiles", qn_chaos_profiles_main, "list the ready-made rules that are in this program"},
    {"show", qn_chaos_show_main, "print the rules of a profile"},
};

int qn_chaos_main(int argc, char **argv)
{
    return qn_words_run("quern chaos", words, sizeof(words) / sizeof(words[0]), argc, argv);
}
