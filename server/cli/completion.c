/* Scripts that let a shell complete commands and options. */
#include "server/cli/completion.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/cli/remote.h"
#include "server/cli/spool.h"

enum { HELP_BYTES = 1024 * 1024, NAME_BYTES = 64 };

/* A line of a help: an option or a word, and what it is. */
struct entry {
    struct qn_str name;
    struct qn_str help;
};

/* What a shell calls a script. */
struct shell {
    const char *name;
    void (*print)(const struct qn_word *commands, size_t count);
};

/* ---- reading help ---- */

/* In a process of its own, with its stdout in a file. Empty when there is none. `below` is the word
 * after the command's own, or NULL. */
static void read_help(const struct qn_word *command, struct qn_str below, struct qn_buf *help)
{
    char block[4096];
    int fd = qn_spool_open();
    ssize_t got;

    help->len = 0;
    (void)fflush(stdout);
    pid_t child = fd < 0 ? -1 : fork();
    if (child == 0) {
        char first[NAME_BYTES];
        char second[NAME_BYTES];
        char asking[] = "--help";
        (void)snprintf(first, sizeof(first), "%s", command->name);
        (void)snprintf(second, sizeof(second), "%.*s", QN_STR_ARG(below));
        char all[] = "all";
        char *three[] = {first, asking, all, NULL};
        char *four[] = {first, second, asking, all, NULL};
        (void)dup2(fd, STDOUT_FILENO);
        (void)setenv("COLUMNS", "10000", 1); /* what is told of an option in one line */
        int code = below.len > 0 ? command->run(4, four) : command->run(3, three);
        (void)fflush(stdout);
        _exit(code);
    }
    if (child > 0) {
        (void)waitpid(child, NULL, 0);
        (void)lseek(fd, 0, SEEK_SET);
        while ((got = read(fd, block, sizeof(block))) > 0) {
            qn_buf_append(help, block, (size_t)got);
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static bool is_name(char c)
{
    return qn_char_is_alphanumeric(c) || c == '-';
}

/* The next entry of the help, which begins with two blanks; what stands on the line below, when its
 * own has no room. None: the end. */
static struct entry next_entry(struct qn_str *text)
{
    while (text->len > 0) {
        struct qn_str line = qn_str_cut(*text, '\n', text);
        size_t end = 2;
        while (end < line.len && is_name(line.ptr[end])) {
            end++;
        }
        if (end == 2 || !qn_str_starts_with(line, QN_STR("  "))) {
            continue;
        }
        struct qn_str rest = qn_str_from(line, end);
        struct qn_str help = qn_str_trim(qn_str_from(rest, qn_str_find(rest, QN_STR("  "))));
        struct qn_str below = qn_str_first(*text, qn_str_find_char(*text, '\n'));
        if (help.len == 0 && qn_str_starts_with(below, QN_STR("    "))) {
            help = qn_str_trim(below);
        }
        return (struct entry){qn_str_from(qn_str_first(line, end), 2), help};
    }
    return (struct entry){QN_STR_NONE, QN_STR_NONE};
}

/* Whether the command takes another word first. */
static bool has_words(struct qn_str help, const struct qn_word *command)
{
    char usage[2 * NAME_BYTES];

    (void)snprintf(usage, sizeof(usage), "usage: quern %s COMMAND ", command->name);
    return qn_str_starts_with(help, qn_str_from_cstr(usage));
}

/* Calls `print` for what each command takes, and each word of those that have words. */
static void each_help(const struct qn_word *commands, size_t count,
                      void (*print)(const char *word, struct qn_str below, struct qn_str help))
{
    struct qn_buf help;
    struct qn_buf inner;

    qn_buf_init(&help, HELP_BYTES);
    qn_buf_init(&inner, HELP_BYTES);
    for (size_t i = 0; i < count; i++) {
        read_help(&commands[i], QN_STR_NONE, &help);
        struct qn_str text = qn_buf_str(&help);
        print(commands[i].name, QN_STR_NONE, text);
        bool goes_on = has_words(text, &commands[i]);
        while (goes_on) {
            struct entry entry = next_entry(&text);
            goes_on = !qn_str_is_none(entry.name);
            if (goes_on) {
                read_help(&commands[i], entry.name, &inner);
                print(commands[i].name, entry.name, qn_buf_str(&inner));
            }
        }
    }
    qn_buf_done(&help);
    qn_buf_done(&inner);
}

/* ---- names ---- */

/* Where a name is wanted: the command and the word before it, as a pattern of either shell, and
 * what prints the names. */
static const struct {
    const char *place;
    const char *names;
} known[] = {
    {"'check check'", "echo init"},
    {"'check --only'|'check --skip'|'scenarios show'", "$program scenarios | sed '1d; s/ .*//'"},
    {"'explain explain'", "$program explain | sed 's/ .*//'"},
    {"'scenarios scenarios'", "echo show"},
    {"'completion completion'", "echo bash zsh"},
    {"'chaos add --profile'|'chaos show show'|'serve --chaos'",
     "$program chaos profiles | sed '1d; s/ .*//'"},
    {"*' --profile'", "echo standard fifo lambda"},
    {"'check --tempo'", "echo fast normal real"},
    {"'serve --sync'", "echo normal full"},
};

/* The branches of a `case`. `open`, `from` and `to` are what the shell has around them. */
static void print_known(const char *open, const char *from, const char *to)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        (void)printf("    %s%s) known=%s%s%s ;;\n", open, known[i].place, from, known[i].names, to);
    }
}

/* ---- bash ---- */

static void print_bash_case(const char *word, struct qn_str below, struct qn_str help)
{
    struct entry entry;

    if (below.len > 0) {
        (void)printf("    '%s %.*s') words='", word, QN_STR_ARG(below));
    } else {
        (void)printf("    '%s') words='", word);
    }
    while (!qn_str_is_none((entry = next_entry(&help)).name)) {
        (void)printf("%.*s ", QN_STR_ARG(entry.name));
    }
    (void)puts("--help' ;;");
}

static void print_bash(const struct qn_word *commands, size_t count)
{
    (void)fputs("# Completion of quern in bash: source <(quern completion bash)\n"
                "_quern() {\n"
                "    local current=${COMP_WORDS[COMP_CWORD]} path= words= word known=\n"
                "    local program=${COMP_WORDS[0]}\n"
                "    COMPREPLY=()\n"
                "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                "        [[ $word == -- ]] && return\n"
                "    done\n"
                "    (( COMP_CWORD > 1 )) && path=${COMP_WORDS[1]}\n"
                "    [[ $path == chaos ]] && (( COMP_CWORD > 2 )) && path+=\" ${COMP_WORDS[2]}\"\n"
                "    case $path in\n"
                "    '') words='",
                stdout);
    for (size_t i = 0; i < count; i++) {
        (void)printf("%s ", commands[i].name);
    }
    (void)puts("--help --version' ;;");
    each_help(commands, count, print_bash_case);
    (void)fputs("    esac\n"
                "    case \"$path ${COMP_WORDS[COMP_CWORD-1]}\" in\n",
                stdout);
    print_known("", "$(", ")");
    (void)fputs("    esac\n"
                "    # A word that is no option is a file, unless it is a command or a name.\n"
                "    if [[ $current == -* || $path == '' || $path == chaos ]]; then\n"
                "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                "    elif [[ $known ]]; then\n"
                "        COMPREPLY=($(compgen -W \"$known\" -- \"$current\"))\n"
                "    fi\n"
                "}\n"
                "complete -o default -F _quern quern\n",
                stdout);
}

/* ---- zsh ---- */

/* In single quotes, as 'name:help'. */
static void print_zsh_entry(struct qn_str name, struct qn_str help)
{
    (void)printf("        '%.*s:", QN_STR_ARG(name));
    for (size_t i = 0; i < help.len; i++) {
        if (help.ptr[i] == '\'') {
            (void)fputs("'\\''", stdout);
        } else {
            (void)putchar(help.ptr[i]);
        }
    }
    (void)puts("'");
}

static void print_zsh_case(const char *word, struct qn_str below, struct qn_str help)
{
    struct entry entry;

    if (below.len > 0) {
        (void)printf("    ('%s %.*s') found=(\n", word, QN_STR_ARG(below));
    } else {
        (void)printf("    ('%s') found=(\n", word);
    }
    while (!qn_str_is_none((entry = next_entry(&help)).name)) {
        print_zsh_entry(entry.name, entry.help);
    }
    print_zsh_entry(QN_STR("--help"), QN_STR("what it takes"));
    (void)puts("        ) ;;");
}

static void print_zsh(const struct qn_word *commands, size_t count)
{
    (void)fputs("#compdef quern\n"
                "# Completion of quern in zsh: source <(quern completion zsh)\n"
                "_quern() {\n"
                "    local -a found known\n"
                "    local path_of='' program=$words[1]\n"
                "    (( ${words[(i)--]} < CURRENT )) && { _default; return }\n"
                "    (( CURRENT > 2 )) && path_of=$words[2]\n"
                "    [[ $path_of == chaos ]] && (( CURRENT > 3 )) && path_of+=\" $words[3]\"\n"
                "    case $path_of in\n"
                "    ('') found=(\n",
                stdout);
    for (size_t i = 0; i < count; i++) {
        print_zsh_entry(qn_str_from_cstr(commands[i].name), qn_str_from_cstr(commands[i].help));
    }
    (void)puts("        ) ;;");
    each_help(commands, count, print_zsh_case);
    (void)fputs("    esac\n"
                "    case \"$path_of $words[CURRENT-1]\" in\n",
                stdout);
    print_known("(", "(${=\"$(", ")\"})");
    (void)fputs("    esac\n"
                "    if [[ $path_of == '' || $path_of == chaos ]]; then\n"
                "        _describe command found\n"
                "    elif [[ $words[CURRENT] == -* ]]; then\n"
                "        _describe -o option found\n"
                "    elif (( $#known )); then\n"
                "        compadd -a known\n"
                "        [[ $path_of != serve ]] || _files\n"
                "    else\n"
                "        _files\n"
                "    fi\n"
                "}\n"
                "if [[ ${funcstack[1]-} == _quern ]]; then\n"
                "    _quern \"$@\"\n"
                "else\n"
                "    compdef _quern quern\n"
                "fi\n",
                stdout);
}

/* ---- the command ---- */

static const struct shell shells[] = {{"bash", print_bash}, {"zsh", print_zsh}};

int qn_completion_main(const struct qn_word *commands, size_t count, int argc, char **argv)
{
    struct qn_remote remote;
    struct qn_error err;
    int code;

    if (!qn_remote_read(&remote, "completion bash|zsh", NULL, 0, 1, 1, argc, argv, &code)) {
        return code;
    }
    code = -1;
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(remote.options.words[0], shells[i].name) == 0) {
            shells[i].print(commands, count);
            code = QN_EXIT_OK;
        }
    }
    if (code < 0) {
        (void)qn_fail(&err, QN_ERR_INVALID_PARAMETER_VALUE, "%s is no shell it knows: bash or zsh",
                      remote.options.words[0]);
        code = qn_remote_misuse(&remote, &err);
    }
    qn_remote_close(&remote);
    return code;
}
