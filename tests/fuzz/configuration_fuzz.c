/* A command line and a configuration file, as far as `quern serve` goes before it touches a file:
 * options, settings, the list of queues, and the rehearsal that creates them in memory. What is
 * wrong is said in one clean line; what is accepted is there afterwards.
 *
 * An input is two records divided by a line that holds only "~": one argument a line, and the file
 * that --config names. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/cli/queue_list.h"
#include "tests/fuzz/records.h"
#include "tests/support/engine_check.h"

enum { ARGUMENTS_MAX = 32, PATH_ROOM = 64 };

struct command {
    char *argv[ARGUMENTS_MAX + 2]; /* and the name, and --config */
    int argc;
    char path[PATH_ROOM]; /* "--config=/proc/self/fd/N" */
    int fd;
};

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static void require(bool condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "configuration_fuzz: %s\n", what);
        abort();
    }
}

static void check_refusal(const struct qn_error *err)
{
    struct qn_str message = qn_str_from_cstr(err->message);

    require(err->code != QN_ERR_NONE && message.len > 0, "a refusal without a reason");
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    qn_log_set_level(QN_LOG_ERROR);
    return 0;
}

/* The file comes last, so that it is the one that is read: no other is opened. */
static void make_command(struct command *command, struct qn_str lines, struct qn_str file)
{
    command->argc = 0;
    command->argv[command->argc++] = qn_memory_copy_text("serve", 5);
    while (lines.len > 0 && command->argc <= ARGUMENTS_MAX) {
        struct qn_str line = qn_str_cut(lines, '\n', &lines);
        command->argv[command->argc++] = qn_memory_copy_text(line.ptr, line.len);
    }
    command->fd = memfd_create("configuration", MFD_CLOEXEC);
    require(command->fd >= 0 && write(command->fd, file.ptr, file.len) == (ssize_t)file.len,
            "no file");
    (void)snprintf(command->path, sizeof(command->path), "--config=/proc/self/fd/%d", command->fd);
    command->argv[command->argc++] = command->path;
}

static void drop_command(struct command *command)
{
    (void)close(command->fd);
    for (int i = 0; i + 1 < command->argc; i++) {
        qn_memory_free(command->argv[i]);
    }
}

static struct qn_engine *new_engine(const struct qn_settings *settings)
{
    return qn_engine_new(&(struct qn_engine_options){
        .limits = settings->limits,
        .aws_waits = settings->aws_waits,
        .stale_delete = settings->stale_delete,
        .one_region = settings->one_region,
        .auto_create = settings->auto_create,
        .account = settings->account,
        .region = settings->region,
        .memory_max = settings->memory_max,
        .boot = 1,
    });
}

/* What was read is text, and nothing of the command line was left out. */
static void check_read(const struct qn_options *options, const struct qn_settings *settings,
                       const struct qn_queue_list *list)
{
    require(json_array_size(list->queues) >= options->given[QN_SERVE_QUEUE].count,
            "a queue was left out");
    require(qn_str_is_utf8(settings->account) && qn_str_is_utf8(settings->region) &&
                qn_str_is_utf8(settings->public_url),
            "a name is no text");
}

/* All that was asked for is there. */
static void check_created(const struct qn_queue_list *list, const struct qn_settings *settings,
                          struct qn_engine *engine)
{
    size_t i;
    const json_t *queue;

    json_array_foreach(list->queues, i, queue)
    {
        const char *name = json_string_value(json_object_get(queue, "name"));
        require(name != NULL, "a queue without a name was accepted");
        require(qn_engine_find_queue(engine, settings->account, settings->region,
                                     qn_str_from_cstr(name)) != NULL,
                "a queue was accepted that is not there");
    }
}

static void rehearse(const struct qn_queue_list *list, const struct qn_settings *settings)
{
    struct qn_listeners listeners = {.count = 0};
    struct qn_clock clock = qn_clock_virtual_new(settings->clock_start_ms);
    struct qn_loop_parts parts = {
        .engine = new_engine(settings), .clock = &clock, .listeners = &listeners};
    const struct qn_loop_options options = {.seed = settings->seed,
                                            .boot = 1,
                                            .first_ms = settings->clock_start_ms,
                                            .account = settings->account,
                                            .region = settings->region,
                                            .public_url = settings->public_url,
                                            .under_way_max = 1 << 20};
    struct qn_error err;
    struct qn_loop *loop;

    require(qn_trace_open(NULL, 0, &parts.trace, &err), "no trace");
    parts.plan = qn_plan_new(&(struct qn_plan_options){.seed = settings->seed});
    require(qn_loop_new(&parts, &options, &loop, &err), "no loop");
    const struct qn_queue_list_place place = {
        .loop = loop, .engine = parts.engine, .settings = settings, .is_rehearsal = true};
    if (qn_queue_list_create(list, &place, &err)) {
        check_created(list, settings, parts.engine);
    } else {
        check_refusal(&err);
    }
    const char *problem = engine_check(parts.engine);
    require(problem == NULL, problem);
    qn_loop_free(loop);
    qn_plan_free(parts.plan);
    qn_engine_free(parts.engine);
    qn_trace_close(parts.trace);
    qn_clock_virtual_free(&clock);
}

static void run(struct command *command)
{
    struct qn_options options;
    struct qn_settings settings;
    struct qn_queue_list list = {.queues = NULL};
    struct qn_error err = {.code = QN_ERR_NONE};

    if (!qn_options_parse(&options, qn_serve_options, QN_SERVE_OPTION_COUNT, command->argc,
                          command->argv, NULL, &err)) {
        check_refusal(&err);
        return;
    }
    if (qn_settings_read(&options, &settings, &err) && qn_queue_list_read(&options, &list, &err)) {
        json_decref(qn_settings_show(&options, &settings));
        check_read(&options, &settings, &list);
        rehearse(&list, &settings);
    } else {
        check_refusal(&err);
    }
    qn_queue_list_done(&list);
    qn_options_done(&options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct qn_str file = qn_str((const char *)data, size);
    struct qn_str lines = records_cut(&file);
    struct command command;

    make_command(&command, lines, file);
    run(&command);
    drop_command(&command);
    return 0;
}

static const char *const templates[] = {
    "--queue\nq",
    "--queue\nq.fifo,FifoQueue=true,ContentBasedDeduplication=true",
    "--queue\nq,RedrivePolicy={\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:d\","
    "\"maxReceiveCount\":3},VisibilityTimeout=5",
    "{\"queues\":[{\"name\":\"q\",\"attributes\":{\"VisibilityTimeout\":30},\"tags\":{\"a\":\"b\"},"
    "\"redrive\":{\"to\":\"d\",\"max\":5}},{\"name\":\"d\"}]}",
    "--limit\nmessage-size=1000",
    "--clock\nvirtual=2026-01-01T00:00:00Z",
    "--max-memory\n512M",
    "--region\nany\n--account\n123456789012\n--auto-create",
};

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return records_mutate(data, size, max_size, seed, templates,
                          sizeof(templates) / sizeof(templates[0]));
}
