/* The line of the scenario that runs: drawn over and over on a terminal, never in a file. */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "chaos/check/report/report.h"

enum { LINE_ROOM = 256, USUAL_COLUMNS = 80 };

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

void qn_report_progress(struct qn_report *report, const struct qn_run_progress *progress)
{
    const struct qn_report_entry *entry = &report->entries[report->count - 1];
    char line[LINE_ROOM];

    if (!report->is_live) {
        return;
    }
    (void)snprintf(
        line, sizeof(line),
        " %c     %-42.*s %5.1fs   %zu of %zu messages done, %zu faults, scenario %zu of %zu",
        spinner[report->frame++ % 4], QN_STR_ARG(entry->scenario->id),
        (double)progress->wall_ms / 1000, progress->messages - progress->left, progress->messages,
        progress->faults, report->count, report->planned);
    /* A line that wraps could not be drawn over. */
    struct qn_str shown = qn_str_first(qn_str_from_cstr(line), columns(report->console) - 1);
    (void)fprintf(report->console, "%s%.*s", begin_of_line, QN_STR_ARG(shown));
    (void)fflush(report->console);
    report->has_progress = true;
}

void qn_report_progress_clear(struct qn_report *report)
{
    if (report->has_progress) {
        (void)fputs(begin_of_line, report->console);
        (void)fflush(report->console);
        report->has_progress = false;
    }
}
