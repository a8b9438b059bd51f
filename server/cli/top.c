/* `quern top`: all queues live on a terminal, or once as plain text. */
#include "server/cli/top.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "server/cli/figures.h"

enum { INTERVAL_MIN_MS = 100, INTERVAL_MAX_MS = 3600000, USUAL_LINES = 24, USUAL_COLUMNS = 80 };

static const struct qn_option top_options[] = {
    QN_REMOTE_OPTIONS,
    {"once", NULL, NULL, NULL, "print once, as plain text; so it does when stdout is no terminal",
     0},
    {"interval", "N", "1000", "ms", "how often to look, and what rates are measured over", 0},
    {"sort", "COLUMN", "name", NULL, "name, or the most first: visible, oldest, dead", 0},
};
enum { TOP_ONCE = QN_REMOTE_COUNT, TOP_INTERVAL, TOP_SORT, TOP_COUNT };

struct top {
    struct qn_remote *remote;
    struct qn_progress progress;
    int64_t interval_ms;
    enum qn_top_sort sort;
    json_t *queues;       /* as they are */
    json_t *before;       /* as they were */
    int64_t looked_at_ms; /* the last time that there was an answer */
    int64_t tried_at_ms;
    int64_t elapsed_ms; /* between the two */
    bool has_colours;
    struct termios kept; /* how the terminal was */
    bool has_keys;
};

/* ---- looking ---- */

static bool look(struct top *top, struct quern_error *err)
{
    json_t *queues = NULL;
    int64_t now_ms;

    top->tried_at_ms = qn_clock_monotonic_ms();
    if (!qn_figures_ask(top->remote, &top->progress, &queues, err)) {
        return false;
    }
    now_ms = qn_clock_monotonic_ms();
    json_decref(top->before);
    top->before = top->queues;
    top->queues = queues;
    top->elapsed_ms = now_ms - top->looked_at_ms;
    top->looked_at_ms = now_ms;
    return true;
}

static bool has_counters(const struct top *top)
{
    return json_object_get(json_array_get(top->queues, 0), "metrics") != NULL;
}

static void make_rows(const struct top *top, struct qn_top_rows *rows)
{
    qn_top_rows_init(rows, top->queues, top->before, top->elapsed_ms, top->sort);
}

static struct winsize terminal_size(void)
{
    struct winsize size = {.ws_row = 0};

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
        size = (struct winsize){.ws_row = USUAL_LINES, .ws_col = USUAL_COLUMNS};
    }
    return size;
}

/* ---- once ---- */

static int show_once(struct top *top)
{
    struct qn_top_page page = {.end_of_line = "\n"};
    struct qn_top_rows rows;
    struct quern_error err = {.code = ""};

    /* Rates need two looks. */
    bool ok = look(top, &err) &&
              (!has_counters(top) ||
               (!qn_progress_pause(&top->progress, (int)top->interval_ms) && look(top, &err)));
    qn_progress_end(&top->progress);
    if (!ok) {
        return top->progress.is_interrupted ? QN_EXIT_FAILED : qn_remote_fail(top->remote, &err);
    }
    make_rows(top, &rows);
    if (qn_remote_wants_json(top->remote)) {
        qn_remote_print_json(json_pack("{s:o}", "queues", qn_top_rows_json(&rows)));
    } else {
        page.columns = isatty(STDOUT_FILENO) == 1 ? terminal_size().ws_col : 0;
        qn_top_rows_print(&rows, &page);
    }
    qn_top_rows_done(&rows);
    return QN_EXIT_OK;
}

/* ---- live ---- */

static void open_screen(struct top *top)
{
    struct termios raw;

    top->has_keys = tcgetattr(STDIN_FILENO, &top->kept) == 0;
    if (top->has_keys) {
        raw = top->kept;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    (void)fputs("\033[?1049h\033[?25l", stdout); /* a screen of its own, no cursor */
}

static void close_screen(const struct top *top)
{
    (void)fputs("\033[?25h\033[?1049l", stdout);
    (void)fflush(stdout);
    if (top->has_keys) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &top->kept);
    }
}

/* `trouble`: why there is nothing new, or NULL. */
static void draw(const struct top *top, const char *trouble)
{
    struct winsize size = terminal_size();
    const struct qn_top_page page = {
        .columns = size.ws_col,
        .lines = size.ws_row > 2 ? size.ws_row - 2U : 1U,
        .has_colours = top->has_colours,
        .end_of_line = "\033[K\n",
    };
    struct qn_top_rows rows;
    char line[USUAL_COLUMNS * 4];

    make_rows(top, &rows);
    (void)snprintf(line, sizeof(line), "%s  %zu queues  %s",
                   quern_client_endpoint(top->remote->client), rows.count,
                   trouble != NULL ? trouble : "(q ends)");
    (void)fputs("\033[H", stdout);
    for (size_t i = 0; line[i] != '\0' && i < size.ws_col; i++) {
        (void)putchar((unsigned char)line[i] < 0x20 || line[i] == 0x7F ? ' ' : line[i]);
    }
    (void)fputs("\033[K\n", stdout);
    qn_top_rows_print(&rows, &page);
    (void)fputs("\033[J", stdout);
    (void)fflush(stdout);
    qn_top_rows_done(&rows);
}

/* Until the next look, a key or a signal; whether it is to end. */
static bool pause_is_end(struct top *top)
{
    int64_t until_ms = top->tried_at_ms + top->interval_ms;
    struct pollfd waiting[] = {{.fd = top->progress.signals, .events = POLLIN},
                               {.fd = top->has_keys ? STDIN_FILENO : -1, .events = POLLIN}};
    int64_t left_ms;
    char key;

    while ((left_ms = until_ms - qn_clock_monotonic_ms()) > 0) {
        (void)poll(waiting, 2, (int)left_ms);
        if (qn_progress_is_interrupted(&top->progress)) {
            return true;
        }
        if (waiting[1].revents != 0 &&
            (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q')) {
            return true;
        }
    }
    return qn_progress_is_interrupted(&top->progress);
}

static int show_live(struct top *top)
{
    const char *no_colour = getenv("NO_COLOR");
    struct quern_error err;

    if (!look(top, &err)) {
        qn_progress_end(&top->progress);
        return qn_remote_fail(top->remote, &err);
    }
    top->has_colours = no_colour == NULL || no_colour[0] == '\0';
    top->progress.is_shown = false; /* the screen is its own progress */
    open_screen(top);
    draw(top, NULL);
    while (!pause_is_end(top)) {
        draw(top, look(top, &err) ? NULL : err.message);
    }
    close_screen(top);
    qn_progress_end(&top->progress);
    return QN_EXIT_OK;
}

/* ---- the command ---- */

/* A terminal that knows no place to write to, as in an editor. */
static bool is_dumb(void)
{
    const char *terminal = getenv("TERM");

    return terminal != NULL && strcmp(terminal, "dumb") == 0;
}

static bool read_options(struct top *top, struct qn_error *err)
{
    static const char *const names[] = {
        [QN_TOP_BY_NAME] = "name",
        [QN_TOP_BY_VISIBLE] = "visible",
        [QN_TOP_BY_OLDEST] = "oldest",
        [QN_TOP_BY_DEAD] = "dead",
    };
    const struct qn_options *options = &top->remote->options;
    const char *sort = qn_options_text(options, TOP_SORT);

    for (size_t i = 0; sort != NULL && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(sort, names[i]) == 0) {
            top->sort = (enum qn_top_sort)i;
            sort = NULL;
        }
    }
    if (sort != NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--sort takes name, visible, oldest or dead, not %s", sort);
    }
    return qn_options_integer(options, TOP_INTERVAL, INTERVAL_MIN_MS, INTERVAL_MAX_MS,
                              &top->interval_ms, err);
}

int qn_top_main(int argc, char **argv)
{
    struct qn_remote remote;
    struct top top = {.remote = &remote};
    struct qn_error err;
    int code;

    if (!qn_remote_open(&remote, "top [OPTIONS]", top_options, TOP_COUNT, 0, 0, argc, argv,
                        &code)) {
        return code;
    }
    if (read_options(&top, &err)) {
        bool is_once = qn_options_is_on(&remote.options, TOP_ONCE) ||
                       qn_remote_wants_json(&remote) || isatty(STDOUT_FILENO) != 1 || is_dumb();
        qn_progress_begin(&top.progress, "asked");
        code = is_once ? show_once(&top) : show_live(&top);
    } else {
        code = qn_remote_misuse(&remote, &err);
    }
    json_decref(top.queues);
    json_decref(top.before);
    qn_remote_close(&remote);
    return code;
}
