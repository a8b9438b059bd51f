/* The time that threads waited for a processor, as the scheduler counts it. */
#include "chaos/check/processor.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/str.h"

enum { DEPTH_MAX = 8, FILE_MAX_BYTES = 4096, NS_PER_MS = 1000000 };

struct look {
    const struct qn_processor_round *last;
    struct qn_processor_round *now;
    int64_t most_ns;
};

/* Empty when it cannot be read. */
static struct qn_str read_file(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t len = 0;

    if (file != NULL) {
        len = fread(text, 1, size, file);
        (void)fclose(file);
    }
    return qn_str(text, len);
}

/* The second of "RAN WAITED SLICES", in ns; below 0: unknown. */
static int64_t waited_ns(const char *folder)
{
    char path[128];
    char text[128];
    struct qn_str rest;
    int64_t ns;

    (void)snprintf(path, sizeof(path), "%s/schedstat", folder);
    (void)qn_str_cut(read_file(path, text, sizeof(text)), ' ', &rest);
    struct qn_str waited = qn_str_cut(rest, ' ', &rest);
    return qn_str_to_int64(waited, 0, INT64_MAX, &ns) ? ns : -1;
}

/* What it had waited at the last look; one that is new has waited since then. Threads keep their
 * order from one look to the next, nearly. */
static int64_t known_ns(const struct qn_processor_round *last, int64_t number, size_t near)
{
    for (size_t i = 0; i < last->count; i++) {
        const struct qn_processor_thread *thread = &last->threads[(near + i) % last->count];
        if (thread->number == number) {
            return thread->waited_ns;
        }
    }
    return 0;
}

static void look_at_thread(struct look *look, int64_t number, const char *folder)
{
    int64_t ns = waited_ns(folder);

    if (ns < 0 || look->now->count == QN_PROCESSOR_THREADS) {
        return;
    }
    int64_t more_ns = ns - known_ns(look->last, number, look->now->count);
    look->most_ns = more_ns > look->most_ns ? more_ns : look->most_ns;
    look->now->threads[look->now->count++] =
        (struct qn_processor_thread){.number = number, .waited_ns = ns};
}

/* The processes that this one started, one level at a time. */
static void look_at_process(struct look *look, int64_t pid, int depth)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%lld/task", (long long)pid);
    DIR *threads = opendir(path);

    for (struct dirent *entry; threads != NULL && (entry = readdir(threads)) != NULL;) {
        char folder[96];
        char file[128];
        char text[FILE_MAX_BYTES];
        int64_t number;
        if (!qn_str_to_int64(qn_str_from_cstr(entry->d_name), 1, INT32_MAX, &number)) {
            continue;
        }
        (void)snprintf(folder, sizeof(folder), "%s/%lld", path, (long long)number);
        look_at_thread(look, number, folder);
        (void)snprintf(file, sizeof(file), "%s/children", folder);
        struct qn_str children = read_file(file, text, sizeof(text));
        while (depth < DEPTH_MAX && children.len > 0) {
            int64_t child;
            if (qn_str_to_int64(qn_str_cut(children, ' ', &children), 1, INT32_MAX, &child)) {
                look_at_process(look, child, depth + 1);
            }
        }
    }
    if (threads != NULL) {
        (void)closedir(threads);
    }
}

int64_t qn_processor_waited_ms(struct qn_processor_waits *waits, const pid_t *pids, size_t count)
{
    struct look look = {.last = &waits->rounds[waits->current],
                        .now = &waits->rounds[1 - waits->current]};

    look.now->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (pids[i] > 0) {
            look_at_process(&look, pids[i], 0);
        }
    }
    waits->current = 1 - waits->current;
    if (!waits->has_begun) {
        waits->has_begun = true;
        return 0;
    }
    return look.most_ns / NS_PER_MS;
}
