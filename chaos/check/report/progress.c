/* The line of the scenarios that run: drawn over and over on a terminal, never in a file. */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "chaos/check/report/report.h"

enum { USUAL_COLUMNS = 80 };

static const char spinner[] = "|/-\\";
static const char begin_of_line[] = "\r\033[K";

void qn_report_look_at_console(struct qn_report *report)
{
    const char *terminal = getenv("TERM");
    const char *no_colour = getenv("NO_COLOR");
    bool is_terminal =
        isatty(fileno(report->console)) != 0 && (terminal == NULL || strcmp(terminal, "dumb") != 0);

    report->colours = is_terminal && (no_colour == NULL || no_colour[0] == '\0');
    /* With -v each event has a line of its own. */
    report->is_live = is_terminal && !report->options->verbose;
}

static size_t columns(FILE *file)
{
    struct winsize size;

    return ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                          : USUAL_COLUMNS;
}

static void describe_one(const struct qn_report *report, const struct qn_report_entry *entry,
                         struct qn_buf *line)
{
    const struct qn_run_progress *progress = &entry->progress;

    qn_buf_append_format(
        line, "    %-42.*s %5.1fs   %zu of %zu messages done, %zu faults, scenario %zu of %zu",
        QN_STR_ARG(entry->scenario->id), (double)progress->wall_ms / 1000,
        progress->messages - progress->left, progress->messages, progress->faults, report->done + 1,
        report->planned);
    if (entry->shrink_runs > 0) {
        qn_buf_append_format(line, ", smallest failing set so far %zu rules, run %zu",
                             entry->shrink_left, entry->shrink_runs);
    }
}

/* Those that have run longest come first, as they are in order. */
static void describe_several(const struct qn_report *report, struct qn_buf *line)
{
    size_t told = 0;

    qn_buf_append_format(line, "    %zu of %zu scenarios done, %zu running:", report->done,
                         report->planned, report->running);
    for (size_t i = 0; i < report->planned; i++) {
        const struct qn_report_entry *entry = &report->entries[i];
        if (entry->is_running) {
            qn_buf_append_format(line, "%s %.*s %.0fs", told++ > 0 ? "," : "",
                                 QN_STR_ARG(entry->scenario->id),
                                 (double)entry->progress.wall_ms / 1000);
        }
    }
}

void qn_report_progress(struct qn_report *report)
{
    struct qn_buf line;

    if (!report->is_live || report->running == 0) {
        return;
    }
    qn_buf_init(&line, SIZE_MAX / 2);
    qn_buf_append_format(&line, " %c ", spinner[report->frame++ % 4]);
    for (size_t i = 0; i < report->planned && report->running == 1; i++) {
        if (report->entries[i].is_running) {
            describe_one(report, &report->entries[i], &line);
        }
    }
    if (report->running > 1) {
        describe_several(report, &line);
    }
    /* A line that wraps could not be drawn over. */
    struct qn_str shown = qn_str_first(qn_buf_str(&line), columns(report->console) - 1);
    (void)fprintf(report->console, "%s%.*s", begin_of_line, QN_STR_ARG(shown));
    (void)fflush(report->console);
    report->has_progress = true;
    qn_buf_done(&line);
}

void qn_report_progress_clear(struct qn_report *report)
{
    if (report->has_progress) {
        (void)fputs(begin_of_line, report->console);
        (void)fflush(report->console);
        report->has_progress = false;
    }
}
