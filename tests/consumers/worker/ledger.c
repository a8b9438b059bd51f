/* A table on disk, for bugs that need a memory beyond the process: lines of key, tab, value, of
 * which the last one counts. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "tests/consumers/worker/bugs.h"

enum { LEDGER_MODE = 0600 };

/* One for each run and scenario. NULL when the disk does not want it. */
static FILE *open_ledger(void)
{
    const char *folder = getenv("TMPDIR");
    const char *run = getenv("QUERN_RUN_ID");
    const char *scenario = getenv("QUERN_SCENARIO");
    char path[1024];

    (void)snprintf(path, sizeof(path), "%s/quern-worker-%s-%s.ledger",
                   folder != NULL ? folder : "/tmp", run != NULL ? run : "0",
                   scenario != NULL ? scenario : "0");
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, LEDGER_MODE);
    if (fd == -1 || flock(fd, LOCK_EX) != 0) {
        worker_log("worker: cannot use %s", path);
        exit(1);
    }
    return fdopen(fd, "a+");
}

static json_t *read_all(FILE *file)
{
    json_t *all = json_object();
    char *line = NULL;
    size_t room = 0;

    rewind(file);
    while (getline(&line, &room, file) > 0) {
        struct qn_str value;
        struct qn_str key = qn_str_cut(qn_str(line, strcspn(line, "\n")), '\t', &value);
        json_object_setn_new(all, key.ptr, key.len,
                             json_stringn(value.ptr != NULL ? value.ptr : "", value.len));
    }
    free(line);
    return all;
}

json_t *ledger_all(void)
{
    FILE *file = open_ledger();
    json_t *all = read_all(file);

    (void)fclose(file);
    return all;
}

char *ledger_get(const char *key)
{
    json_t *all = ledger_all();
    const char *value = json_string_value(json_object_get(all, key));
    char *copy = value != NULL ? qn_memory_copy_text(value, strlen(value)) : NULL;

    json_decref(all);
    return copy;
}

void ledger_put(const char *key, const char *value)
{
    FILE *file = open_ledger();

    (void)fprintf(file, "%s\t%s\n", key, value);
    (void)fclose(file);
}

bool ledger_claim(const char *key, const char *value)
{
    FILE *file = open_ledger();
    json_t *all = read_all(file);
    const char *there = json_string_value(json_object_get(all, key));
    bool is_free = there == NULL || there[0] == '\0';

    if (is_free) {
        (void)fprintf(file, "%s\t%s\n", key, value);
    }
    json_decref(all);
    (void)fclose(file);
    return is_free;
}
