/* Files of a run. */
#include "chaos/check/files.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

bool qn_files_read(const char *path, struct qn_buf *buf, struct qn_error *err)
{
    char block[16384];
    size_t len;
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");

    if (file == NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: %s", path, strerror(errno));
    }
    while ((len = fread(block, 1, sizeof(block), file)) > 0) {
        qn_buf_append(buf, block, len);
    }
    bool ok = ferror(file) == 0;
    if (file != stdin) {
        (void)fclose(file);
    }
    return ok || qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: cannot be read", path);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void qn_files_remove_tree(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void qn_files_copy(const char *from, const char *to)
{
    char block[16384];
    size_t len;
    FILE *in = fopen(from, "re");
    FILE *out = in != NULL ? fopen(to, "we") : NULL;

    while (out != NULL && (len = fread(block, 1, sizeof(block), in)) > 0) {
        if (fwrite(block, 1, len, out) != len) {
            break;
        }
    }
    if (in != NULL) {
        (void)fclose(in);
    }
    if (out != NULL) {
        (void)fclose(out);
    }
}

void qn_files_last_line(const char *path, char line[QN_LAST_LINE_MAX])
{
    struct qn_error ignored;
    struct qn_buf text;

    line[0] = '\0';
    qn_buf_init(&text, SIZE_MAX / 2);
    if (qn_files_read(path, &text, &ignored)) {
        struct qn_str rest = qn_buf_str(&text);
        while (rest.len > 0) {
            struct qn_str one = qn_str_cut(rest, '\n', &rest);
            if (one.len > 0) {
                (void)snprintf(line, QN_LAST_LINE_MAX, ": %.*s",
                               (int)qn_str_first(one, QN_LAST_LINE_MAX - 3).len, one.ptr);
            }
        }
    }
    qn_buf_done(&text);
}
