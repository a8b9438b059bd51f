/* `quern check init`: a quern.json with explanations, and the adapter for the language that is
 * found in the working directory. Nothing that is there is touched. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chaos/check/check.h"
#include "chaos/embedded.h"
#include "chaos/lex.h"
#include "server/base/buf.h"
#include "server/base/error.h"

enum { WORDS_MAX = 6, PATH_ROOM = 64 };

/* A language: what tells that a project is written in it (patterns as in a shell), what its adapter
 * is called and where it lies if that folder is there, and how its consumers are usually started:
 * these words, and then what package.json calls main, the first of the programs that is there, the
 * only script that is there, or the first. */
static const struct language {
    const char *name; /* of the embedded adapter too */
    const char *markers[WORDS_MAX + 1];
    const char *folder;
    const char *adapter;
    const char *use;
    const char *start[WORDS_MAX];
    const char *programs[WORDS_MAX + 1];
    const char *build;   /* what makes the program; NULL: nothing has to */
    const char *scripts; /* pattern of what the words can start; NULL: they start what is built */
    const char *aliases[WORDS_MAX]; /* what people call it, too */
} languages[] = {
    {"node",
     {"package.json"},
     "",
     "quern-adapter.mjs",
     "await handle(body)",
     {"node"},
     {"worker.mjs", "worker.js", "index.mjs", "index.js"},
     NULL,
     "*.[mc]js",
     {"nodejs", "javascript", "js", "typescript", "ts"}},
    {"python",
     {"requirements.txt", "pyproject.toml", "*.py"},
     "",
     "quern_adapter.py",
     "quern_adapter.handle(body)",
     {"python3"},
     {"worker.py", "consumer.py", "main.py", "app.py"},
     NULL,
     "*.py",
     {"python3", "py"}},
    {"go",
     {"go.mod"},
     "",
     "quern_adapter.go",
     "QuernHandle(body)",
     {NULL},
     {"./worker"},
     "go build -o worker .",
     NULL,
     {"golang"}},
    {"java",
     {"pom.xml", "build.gradle", "build.gradle.kts"},
     "src/main/java/",
     "QuernAdapter.java",
     "QuernAdapter.handle(body)",
     {"java", "-jar"},
     {"target/worker.jar"},
     "mvn package, or gradle build",
     NULL,
     {NULL}},
    {"ruby",
     {"Gemfile"},
     "",
     "quern_adapter.rb",
     "quern_handle(body)",
     {"ruby"},
     {"worker.rb"},
     NULL,
     "*.rb",
     {"rb"}},
    {"rust",
     {"Cargo.toml"},
     "src/",
     "quern_adapter.rs",
     "quern_adapter::handle(body)",
     {NULL},
     {"target/release/worker"},
     "cargo build --release",
     NULL,
     {"rs"}},
    {"csharp",
     {"*.csproj"},
     "",
     "QuernAdapter.cs",
     "await QuernAdapter.HandleAsync(body)",
     {"dotnet"},
     {"bin/Release/net8.0/worker.dll"},
     "dotnet build -c Release",
     NULL,
     {"c#", "cs", "dotnet", ".net"}},
    {"php",
     {"composer.json"},
     "",
     "quern_adapter.php",
     "quern_handle($body)",
     {"php"},
     {"worker.php"},
     NULL,
     "*.php",
     {NULL}},
    {"shell",
     {"*.sh"},
     "",
     "quern_adapter.sh",
     "quern_handle < BODY",
     {"quern", "consume", "{queue_url}", "--wait-for-queue", "--", "sh"},
     {"worker.sh", "consumer.sh"},
     NULL,
     "*.sh",
     {"sh", "bash", "zsh", "dash"}},
};

enum { LANGUAGE_COUNT = sizeof(languages) / sizeof(languages[0]) };

static bool is_there(const char *pattern)
{
    glob_t found;
    bool any = glob(pattern, 0, NULL, &found) == 0;

    if (any) {
        globfree(&found);
    }
    return any;
}

static bool is_called(const struct language *language, const char *name)
{
    bool is = strcasecmp(language->name, name) == 0;

    for (size_t i = 0; !is && i < WORDS_MAX && language->aliases[i] != NULL; i++) {
        is = strcasecmp(language->aliases[i], name) == 0;
    }
    return is;
}

static const struct language *language_of(const char *name)
{
    for (size_t i = 0; i < LANGUAGE_COUNT; i++) {
        if (is_called(&languages[i], name)) {
            return &languages[i];
        }
    }
    return NULL;
}

static struct qn_str data_of(const char *name)
{
    for (size_t i = 0; i < qn_embedded_adapter_count; i++) {
        if (strcmp(qn_embedded_adapters[i].name, name) == 0) {
            return qn_str(qn_embedded_adapters[i].data, qn_embedded_adapters[i].size);
        }
    }
    return QN_STR_NONE;
}

/* What package.json calls the program, if that is there; else empty. */
static void read_main(char room[PATH_ROOM])
{
    json_t *package = json_load_file("package.json", 0, NULL);
    const char *name = json_string_value(json_object_get(package, "main"));
    struct stat status;

    room[0] = '\0';
    if (name != NULL && strlen(name) < PATH_ROOM && stat(name, &status) == 0 &&
        S_ISREG(status.st_mode)) {
        (void)snprintf(room, PATH_ROOM, "%s", name);
    }
    json_decref(package);
}

/* The script, if there is one beside the adapter and no other; else empty. */
static void find_only_script(const struct language *language, char room[PATH_ROOM])
{
    glob_t found;
    size_t count = 0;

    room[0] = '\0';
    if (language->scripts == NULL || glob(language->scripts, 0, NULL, &found) != 0) {
        return;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = found.gl_pathv[i];
        if (strcmp(name, language->adapter) != 0 && strlen(name) < PATH_ROOM) {
            (void)snprintf(room, PATH_ROOM, "%s", name);
            count++;
        }
    }
    room[0] = count == 1 ? room[0] : '\0';
    globfree(&found);
}

/* NULL: none of those that consumers are usually called. The name may lie in the room. */
static const char *known_program(const struct language *language, char room[PATH_ROOM])
{
    room[0] = '\0';
    if (strcmp(language->name, "node") == 0) {
        read_main(room);
    }
    if (room[0] != '\0') {
        return room;
    }
    for (size_t i = 0; language->programs[i] != NULL; i++) {
        if (is_there(language->programs[i])) {
            return language->programs[i];
        }
    }
    return NULL;
}

static const char *program_of(const struct language *language, char room[PATH_ROOM])
{
    const char *known = known_program(language, room);

    if (known != NULL) {
        return known;
    }
    find_only_script(language, room);
    return room[0] != '\0' ? room : language->programs[0];
}

enum mark { NO_MARK, SCRIPT, PROJECT };

/* A file that describes a project says more than a script that lies there. */
static enum mark mark_of(const struct language *language)
{
    enum mark mark = NO_MARK;

    for (size_t i = 0; language->markers[i] != NULL; i++) {
        bool is_script =
            language->scripts != NULL && strcmp(language->markers[i], language->scripts) == 0;
        if (is_there(language->markers[i])) {
            mark = is_script && mark != PROJECT ? SCRIPT : PROJECT;
        }
    }
    return mark;
}

/* The first of those that have the program of a consumer, else the first of the table that has a
 * project, else the first that has scripts. How many have a mark, to say so. */
static const struct language *find_language(size_t *ret_count)
{
    const struct language *best = NULL;
    int best_rank = 0;
    char room[PATH_ROOM];

    *ret_count = 0;
    for (size_t i = 0; i < LANGUAGE_COUNT; i++) {
        const struct language *language = &languages[i];
        enum mark mark = mark_of(language);
        bool has_program = mark != NO_MARK && known_program(language, room) != NULL;
        int rank = has_program ? PROJECT + 1 : (int)mark;
        *ret_count += mark != NO_MARK;
        if (rank > best_rank) {
            best = language;
            best_rank = rank;
        }
    }
    return best;
}

static void append_config(const struct language *language, struct qn_buf *buf)
{
    static const char blank[] = "@COMMAND@";
    struct qn_str text = data_of("quern");
    size_t at = qn_str_find(text, qn_str_from_cstr(blank));
    char room[PATH_ROOM];

    qn_buf_append_str(buf, qn_str_first(text, at));
    qn_buf_append_char(buf, '[');
    for (size_t i = 0; i < WORDS_MAX && language->start[i] != NULL; i++) {
        qn_buf_append_json_string(buf, qn_str_from_cstr(language->start[i]));
        qn_buf_append_literal(buf, ", ");
    }
    qn_buf_append_json_string(buf, qn_str_from_cstr(program_of(language, room)));
    qn_buf_append_char(buf, ']');
    qn_buf_append_str(buf, qn_str_from(text, at + strlen(blank)));
}

/* Says what became of it. False: it could not be written. */
static bool write_new(const char *path, struct qn_str text, const char *what)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    size_t written = 0;

    if (file < 0 && errno == EEXIST) {
        (void)printf("%-32s is there already, and stays as it is\n", path);
        return true;
    }
    while (file >= 0 && written < text.len) {
        ssize_t count = write(file, text.ptr + written, text.len - written);
        if (count <= 0) {
            break;
        }
        written += (size_t)count;
    }
    if (file < 0 || close(file) < 0 || written < text.len) {
        (void)fprintf(stderr, "quern check init: %s: %s\n", path, strerror(errno));
        return false;
    }
    (void)printf("%-32s written: %s\n", path, what);
    return true;
}

static bool write_files(const struct language *language)
{
    struct qn_buf config;
    struct stat folder;
    char path[PATH_ROOM];
    char use[128];

    bool has_folder = language->folder[0] != '\0' && stat(language->folder, &folder) == 0 &&
                      S_ISDIR(folder.st_mode);
    (void)snprintf(path, sizeof(path), "%s%s", has_folder ? language->folder : "",
                   language->adapter);
    (void)snprintf(use, sizeof(use), "call %s where your handler stands", language->use);
    qn_buf_init(&config, SIZE_MAX / 2);
    append_config(language, &config);
    bool ok = write_new("quern.json", qn_buf_str(&config), "what you say of your consumer") &&
              write_new(path, data_of(language->name), use);
    qn_buf_done(&config);
    return ok;
}

static void print_next(const struct language *language)
{
    char room[PATH_ROOM];
    const char *program = program_of(language, room);
    bool is_missing = !is_there(program);

    (void)printf(
        "\nnext: see to it that \"command\" in quern.json starts your consumer (now: %s%s),\n"
        "      let it do its work by the adapter%s%s, and run\n\n"
        "  quern check --only base.drain-and-profile\n\n"
        "which tells what kind of consumer was seen. `quern check` runs all scenarios.\n",
        program, is_missing ? ", which is not there" : "",
        language->build != NULL && is_missing ? ", build it with " : "",
        language->build != NULL && is_missing ? language->build : "");
    if (strcmp(language->name, "shell") == 0) {
        (void)printf("A script that receives by itself is started without quern consume: "
                     "[\"sh\", \"%s\"].\n",
                     program);
    }
}

static int refuse(const char *name)
{
    const char *names[LANGUAGE_COUNT];

    for (size_t i = 0; i < LANGUAGE_COUNT; i++) {
        names[i] = languages[i].name;
    }
    const char *nearest =
        name != NULL ? qn_nearest_word(qn_str_from_cstr(name), names, LANGUAGE_COUNT) : NULL;
    (void)fprintf(stderr, "quern check init: ");
    if (nearest != NULL) {
        (void)fprintf(stderr, "no adapter for %s: did you mean %s?\n", name, nearest);
        return QN_CHECK_USAGE;
    }
    if (name != NULL) {
        (void)fprintf(stderr, "no adapter for %s", name);
    } else {
        (void)fputs("no language was found here", stderr);
    }
    (void)fputs(": say quern check init LANGUAGE, one of", stderr);
    for (size_t i = 0; i < LANGUAGE_COUNT; i++) {
        (void)fprintf(stderr, " %s", names[i]);
    }
    (void)fputc('\n', stderr);
    return QN_CHECK_USAGE;
}

int qn_check_init_main(int argc, char **argv)
{
    size_t count = 0;
    const struct language *language = argc > 1 ? language_of(argv[1]) : find_language(&count);

    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        (void)puts(
            "usage: quern check init [LANGUAGE]\n\n"
            "Writes a quern.json with explanations and the adapter for the language of the\n"
            "project in the working directory: of several, that of which there is a worker,\n"
            "say worker.py. Nothing that is there is touched.");
        return QN_CHECK_WELL;
    }
    if (argc > 2) {
        (void)fputs("quern check init: one language at most\n", stderr);
        return QN_CHECK_USAGE;
    }
    if (language == NULL) {
        return refuse(argc > 1 ? argv[1] : NULL);
    }
    if (count > 1) {
        (void)printf("several languages are here, taken is %s (quern check init LANGUAGE says "
                     "another)\n",
                     language->name);
    }
    if (!write_files(language)) {
        return QN_CHECK_USAGE;
    }
    print_next(language);
    return QN_CHECK_WELL;
}
