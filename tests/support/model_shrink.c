/* Delta debugging of the steps of a random test. Each run is a process of its own, so that an
 * engine that crashes or hangs is found and shrunk like one that answers wrongly. */
#include "tests/support/model_shrink.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUN_S = 60 };

/* Shared by the process that runs the steps and the one that waits for it. */
struct board {
    int count;
    char problem[700];
    struct model_step steps[MODEL_STEPS_MAX];
};

static struct board *board_new(void)
{
    struct board *board =
        mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (board == MAP_FAILED) {
        abort();
    }
    return board;
}

/* In the child: plays the steps on the board, or draws them there. */
static _Noreturn void run_here(const struct model_options *options, struct board *board, int count)
{
    int silent = open("/dev/null", O_WRONLY | O_CLOEXEC);

    /* What a crash has to say is said when the shrunk list is played by hand. */
    if (count > 0 && silent >= 0) {
        (void)dup2(silent, STDERR_FILENO);
    }
    (void)alarm(RUN_S);
    bool same = model_run(options, board->steps, count, &board->count, board->problem,
                          sizeof(board->problem));
    _exit(same ? 0 : 1);
}

/* True when both sides are the same to the end. */
static bool run(const struct model_options *options, struct board *board, int count)
{
    int status = 0;

    board->problem[0] = '\0';
    (void)fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        abort();
    }
    if (child == 0) {
        run_here(options, board, count);
    }
    if (waitpid(child, &status, 0) != child) {
        abort();
    }
    if (WIFSIGNALED(status)) {
        (void)snprintf(board->problem, sizeof(board->problem), "the engine ended by signal %d",
                       WTERMSIG(status));
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int without(struct model_step *to, const struct model_failure *failure, int from, int chunk)
{
    int count = 0;

    for (int i = 0; i < failure->count; i++) {
        if (i < from || i >= from + chunk) {
            to[count++] = failure->steps[i];
        }
    }
    return count;
}

static bool try_without(const struct model_options *options, struct board *board,
                        struct model_failure *failure, int from, int chunk)
{
    int count = without(board->steps, failure, from, chunk);

    if (count == 0 || run(options, board, count)) {
        return false;
    }
    memcpy(failure->steps, board->steps, (size_t)count * sizeof(failure->steps[0]));
    failure->count = count;
    (void)snprintf(failure->problem, sizeof(failure->problem), "%s", board->problem);
    return true;
}

/* Leaves out ever smaller parts, from the end to the front, until no single step can go. */
static void shrink(const struct model_options *options, struct board *board,
                   struct model_failure *failure)
{
    for (int chunk = failure->count / 2; chunk > 0;) {
        bool any = false;
        for (int from = failure->count - chunk; from > -chunk; from -= chunk) {
            any = try_without(options, board, failure, from < 0 ? 0 : from, chunk) || any;
        }
        if (chunk > 1) {
            chunk = chunk > failure->count ? failure->count / 2 : chunk / 2;
        } else if (!any) {
            chunk = 0;
        }
    }
}

/* A batch of one, or a batch with fewer entries, says the same more clearly. */
static void shrink_entries(const struct model_options *options, struct board *board,
                           struct model_failure *failure)
{
    for (int i = 0; i < failure->count; i++) {
        while (failure->steps[i].entry_count > 1) {
            memcpy(board->steps, failure->steps,
                   (size_t)failure->count * sizeof(failure->steps[0]));
            board->steps[i].entry_count--;
            if (run(options, board, failure->count)) {
                break;
            }
            failure->steps[i].entry_count--;
            (void)snprintf(failure->problem, sizeof(failure->problem), "%s", board->problem);
        }
    }
}

/* One longer way instead of several short ones. */
static void merge_advances(const struct model_options *options, struct board *board,
                           struct model_failure *failure)
{
    for (int i = 0; i + 1 < failure->count; i++) {
        int span_ms = failure->steps[i].span_ms;
        if (failure->steps[i].action != MODEL_ADVANCE ||
            failure->steps[i + 1].action != MODEL_ADVANCE) {
            continue;
        }
        failure->steps[i].span_ms += failure->steps[i + 1].span_ms;
        if (try_without(options, board, failure, i + 1, 1)) {
            i--;
        } else {
            failure->steps[i].span_ms = span_ms;
        }
    }
}

bool model_try_seed(const struct model_options *options, struct model_failure *ret_failure)
{
    struct board *board = board_new();
    bool same = run(options, board, 0);

    if (!same) {
        ret_failure->count = board->count;
        ret_failure->steps =
            qn_memory_resize(NULL, (size_t)board->count, sizeof(ret_failure->steps[0]));
        memcpy(ret_failure->steps, board->steps,
               (size_t)board->count * sizeof(ret_failure->steps[0]));
        (void)snprintf(ret_failure->problem, sizeof(ret_failure->problem), "%s", board->problem);
        shrink(options, board, ret_failure);
        shrink_entries(options, board, ret_failure);
        merge_advances(options, board, ret_failure);
    }
    (void)munmap(board, sizeof(*board));
    return same;
}

void model_failure_done(struct model_failure *failure)
{
    qn_memory_free(failure->steps);
    failure->steps = NULL;
}

void model_print_failure(FILE *out, const struct model_options *options,
                         const struct model_failure *failure)
{
    (void)fprintf(out, "seed %u, shrunk to %d steps: %s\n", options->seed, failure->count,
                  failure->problem);
    for (int i = 0; i < failure->count; i++) {
        model_print_step(out, &failure->steps[i]);
    }
}
