/* The curves as an SVG of four panels. Colours are chosen to be read on light and on dark pages. */
#include "client/bench/curves.h"
#include "client/bench/report.h"

#include <math.h>

enum {
    PANEL_WIDTH = 400,
    PANEL_HEIGHT = 250,
    LEFT = 56,
    RIGHT = 20,
    TOP = 44,
    BOTTOM = 44,
    HEAD = 34, /* the legend above the panels */
};

static const char *const send_colour = "#3b82f6";
static const char *const drain_colour = "#f97316";

/* A panel's axes, both logarithmic: what lies at its edges. */
struct scale {
    double x0, y0; /* the corner of the panel in the picture */
    double x_min, x_max;
    double y_min, y_max;
};

static double place_x(const struct scale *scale, double value)
{
    double part = log(value / scale->x_min) / log(scale->x_max / scale->x_min);

    return scale->x0 + LEFT + part * (PANEL_WIDTH - LEFT - RIGHT);
}

static double place_y(const struct scale *scale, double value)
{
    double part = log(value / scale->y_min) / log(scale->y_max / scale->y_min);

    return scale->y0 + PANEL_HEIGHT - BOTTOM - part * (PANEL_HEIGHT - TOP - BOTTOM);
}

/* "1", "64", "10k", "1M"; of bytes "4 KiB", "1 MiB". */
static void write_tick(char out[32], double value, bool is_bytes)
{
    double thousand = is_bytes ? 1024 : 1000;
    const char *unit = "";

    if (value >= thousand * thousand) {
        value /= thousand * thousand;
        unit = is_bytes ? " MiB" : "M";
    } else if (value >= thousand) {
        value /= thousand;
        unit = is_bytes ? " KiB" : "k";
    } else if (is_bytes) {
        unit = " B";
    }
    (void)snprintf(out, 32, "%g%s", value, unit);
}

static void take_in(struct scale *scale, double value)
{
    scale->y_min = value > 0 && value < scale->y_min ? value : scale->y_min;
    scale->y_max = value > scale->y_max ? value : scale->y_max;
}

static struct scale scale_of(const struct qn_bench_curve *curve, size_t number)
{
    size_t line = number / 2;
    struct scale scale = {
        .x0 = (double)(number % 2) * PANEL_WIDTH,
        .y0 = HEAD + (double)line * PANEL_HEIGHT,
        .x_min = curve->x[0],
        .x_max = curve->x[curve->count - 1],
        .y_min = 1e9,
        .y_max = 1e-9,
    };

    for (size_t i = 0; i < curve->count; i++) {
        take_in(&scale, curve->send[i].cpu_us);
        take_in(&scale, curve->drain[i].cpu_us);
    }
    /* Whole decades, and at least two of them: a flat curve shall look flat. */
    scale.y_min = pow(10, floor(log10(scale.y_min)));
    scale.y_max = pow(10, ceil(log10(scale.y_max * 1.001)));
    if (scale.y_max / scale.y_min < 99) {
        scale.y_max = scale.y_min * 100;
    }
    return scale;
}

static void draw_axes(const struct scale *scale, const struct qn_bench_curve *curve, bool is_bytes,
                      struct qn_buf *svg)
{
    double left = scale->x0 + LEFT;
    double right = scale->x0 + PANEL_WIDTH - RIGHT;
    double bottom = scale->y0 + PANEL_HEIGHT - BOTTOM;
    char tick[32];

    qn_buf_append_format(svg, "<text class=\"title\" x=\"%.1f\" y=\"%.1f\">by %s</text>\n", left,
                         scale->y0 + TOP - 14, curve->title);
    int decades = (int)lround(log10(scale->y_max / scale->y_min));
    for (int i = 0; i <= decades; i++) {
        double y = scale->y_min * pow(10, i);
        write_tick(tick, y, false);
        qn_buf_append_format(svg,
                             "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n"
                             "<text class=\"end\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                             left, place_y(scale, y), right, left - 6, place_y(scale, y) + 4, tick);
    }
    for (size_t i = 0; i < curve->count; i++) {
        write_tick(tick, curve->x[i], is_bytes);
        qn_buf_append_format(svg,
                             "<path class=\"axis\" d=\"M%.1f %.1fv4\"/>\n"
                             "<text class=\"middle\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                             place_x(scale, curve->x[i]), bottom, place_x(scale, curve->x[i]),
                             bottom + 17, tick);
    }
    qn_buf_append_format(svg, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", left,
                         scale->y0 + TOP, bottom, right);
}

static void draw_line(const struct scale *scale, const struct qn_bench_curve *curve,
                      const struct qn_bench_point *points, const char *colour, struct qn_buf *svg)
{
    qn_buf_append_format(svg, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
                         colour);
    for (size_t i = 0; i < curve->count; i++) {
        qn_buf_append_format(svg, "%s%.1f,%.1f", i > 0 ? " " : "", place_x(scale, curve->x[i]),
                             place_y(scale, points[i].cpu_us));
    }
    qn_buf_append_literal(svg, "\"/>\n");
    for (size_t i = 0; i < curve->count; i++) {
        qn_buf_append_format(svg, "<circle fill=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", colour,
                             place_x(scale, curve->x[i]), place_y(scale, points[i].cpu_us));
    }
}

static void draw_head(struct qn_buf *svg)
{
    int width = 2 * PANEL_WIDTH;
    int height = HEAD + 2 * PANEL_HEIGHT;

    qn_buf_append_format(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
        "height=\"%d\" role=\"img\" aria-label=\"CPU time per message\">\n"
        "<style>text{font:12px sans-serif;fill:#6b7280}.title{font-weight:bold}"
        ".end{text-anchor:end}.middle{text-anchor:middle}.axis{stroke:#6b7280;fill:none}"
        ".grid{stroke:#9ca3af;stroke-opacity:.35;fill:none}</style>\n",
        width, height, width, height);
    qn_buf_append_format(
        svg,
        "<text class=\"title\" x=\"%d\" y=\"22\">server CPU per message, microseconds</text>\n"
        "<path stroke=\"%s\" stroke-width=\"2\" d=\"M400 18h24\"/>"
        "<text x=\"430\" y=\"22\">SendMessage</text>\n"
        "<path stroke=\"%s\" stroke-width=\"2\" d=\"M530 18h24\"/>"
        "<text x=\"560\" y=\"22\">receive(10) + delete(10)</text>\n",
        LEFT, send_colour, drain_colour);
}

void qn_bench_curves_draw(const struct qn_bench_curves *curves, struct qn_buf *svg)
{
    draw_head(svg);
    for (size_t i = 0; i < QN_BENCH_AXES; i++) {
        const struct qn_bench_curve *curve = &curves->axes[i];
        struct scale scale = scale_of(curve, i);
        draw_axes(&scale, curve, i == QN_BENCH_BODY, svg);
        draw_line(&scale, curve, curve->send, send_colour, svg);
        draw_line(&scale, curve, curve->drain, drain_colour, svg);
    }
    qn_buf_append_literal(svg, "</svg>\n");
}

bool qn_bench_curves_write(const struct qn_bench_curves *curves, const char *path)
{
    struct qn_buf svg;

    qn_buf_init(&svg, SIZE_MAX / 2);
    qn_bench_curves_draw(curves, &svg);
    bool ok = qn_bench_write_file(path, qn_buf_str(&svg));
    qn_buf_done(&svg);
    return ok;
}
