/* Where --keep puts what. */
#include "chaos/check/traces.h"

#include <stdio.h>

#include "chaos/check/files.h"

enum { PATH_ROOM = 4096 };

void qn_traces_keep(const struct qn_check_options *options, struct qn_report_entry *entry,
                    const char *directory, struct qn_str mark)
{
    static const struct {
        const char *name;
        const char *suffix;
    } files[] = {{"trace.jsonl", "jsonl"},
                 {"server.log", "server.log"},
                 {"instance-1.log", "instance-1.log"}};

    if (options->keep_directory == NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char from[PATH_ROOM + 256];
        char to[PATH_ROOM + 512];
        (void)snprintf(from, sizeof(from), "%s/%s", directory, files[i].name);
        (void)snprintf(to, sizeof(to), "%s/%.*s%.*s.%s", options->keep_directory,
                       QN_STR_ARG(entry->scenario->id), QN_STR_ARG(mark), files[i].suffix);
        qn_files_copy(from, to);
        if (i == 0 && (mark.len == 0 || entry->trace_path[0] == '\0')) {
            (void)snprintf(entry->trace_path, sizeof(entry->trace_path), "%.1000s", to);
        }
    }
}
