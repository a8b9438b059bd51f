/* The files of a report: whether they can be written, and writing them. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "chaos/check/report/report.h"

typedef void render(const struct qn_report *report, struct qn_buf *buf);

static const struct format {
    const char *option;
    size_t path_offset;
    render *render;
} formats[] = {
    {"--json", offsetof(struct qn_check_options, json_path), qn_report_json},
    {"--junit", offsetof(struct qn_check_options, junit_path), qn_report_junit},
    {"--tap", offsetof(struct qn_check_options, tap_path), qn_report_tap},
    {"--html", offsetof(struct qn_check_options, html_path), qn_report_html},
    {"--badge", offsetof(struct qn_check_options, badge_path), qn_report_badge},
};

enum { FORMAT_COUNT = sizeof(formats) / sizeof(formats[0]) };

static const char *path_of(const struct format *format, const struct qn_check_options *options)
{
    return *(const char *const *)(const void *)((const char *)options + format->path_offset);
}

static bool is_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
}

bool qn_report_takes_stdout(const struct qn_check_options *options)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        const char *path = path_of(&formats[i], options);
        if (path != NULL && is_stdout(path)) {
            return true;
        }
    }
    return false;
}

/* Leaves nothing behind: a file that is not there yet is made and removed again. */
static bool can_write(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (file >= 0) {
        (void)close(file);
        return unlink(path) == 0;
    }
    if (errno != EEXIST) {
        return false;
    }
    file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return false;
    }
    (void)close(file);
    return true;
}

bool qn_report_check_outputs(const struct qn_check_options *options, struct qn_error *err)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        const char *path = path_of(&formats[i], options);
        for (size_t j = 0; path != NULL && j < i; j++) {
            const char *other = path_of(&formats[j], options);
            if (other != NULL && strcmp(path, other) == 0) {
                return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                               "%s and %s both name %s: give each a file of its own",
                               formats[j].option, formats[i].option, path);
            }
        }
        if (path != NULL && !is_stdout(path) && !can_write(path)) {
            return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s %s: %s", formats[i].option,
                           path, strerror(errno));
        }
    }
    return true;
}

static bool write_one(const struct qn_report *report, const struct format *format, const char *path)
{
    FILE *file = is_stdout(path) ? stdout : fopen(path, "we");
    struct qn_buf text;
    bool ok = false;

    if (file == NULL) {
        return false;
    }
    qn_buf_init(&text, SIZE_MAX / 2);
    format->render(report, &text);
    ok = fwrite(text.ptr, 1, text.len, file) == text.len;
    ok = fflush(file) == 0 && ok;
    int reason = errno;
    if (file != stdout) {
        (void)fclose(file);
    }
    errno = reason;
    qn_buf_done(&text);
    return ok;
}

bool qn_report_write(const struct qn_report *report, bool shows_paths, struct qn_error *err)
{
    bool ok = true;

    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        const char *path = path_of(&formats[i], report->options);
        if (path == NULL || (formats[i].render == qn_report_tap && report->streams_tap)) {
            continue; /* not wanted, or told already */
        }
        /* One that cannot be written takes nothing from the others. */
        if (!write_one(report, &formats[i], path)) {
            ok = ok && qn_fail(err, QN_ERR_INTERNAL, "%s %s: %s", formats[i].option, path,
                               strerror(errno));
        } else if (shows_paths && !is_stdout(path)) {
            (void)fprintf(report->console, " report: %s\n", path);
        }
    }
    return ok;
}
