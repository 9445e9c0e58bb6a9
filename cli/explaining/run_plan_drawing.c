#include "cli/explaining/run_plan_drawing.h"
#include "cli/explaining/drawing.h"
#include <math.h>

enum { WIDTH = 720, HEIGHT = 420, LEFT = 80, RIGHT = 150, TOP = 34, BOTTOM = 50 };
static const char *const colours[] = {"#2b6fd9", "#d9822b", "#3a9a5b", "#b0413e", "#7a5bb5", "#8a8a3a", "#3aa0a0", "#c05a9a"};
enum { COLOURS = sizeof colours / sizeof *colours };

typedef struct axis {
  double least, most; /* of the logarithm */
} axis;

static void widen(axis *a, double value) {
  if (!isfinite(value) || value <= 0) return;
  a->least = fmin(a->least, log10(value));
  a->most = fmax(a->most, log10(value));
}

/* Keeps marks off the frame. */
static void pad(axis *a) {
  const double margin = 0.06 * (a->most > a->least ? a->most - a->least : 1);
  a->least -= margin;
  a->most += margin;
}

static double along(const axis *a, double value) {
  const double range = a->most > a->least ? a->most - a->least : 1;
  return (log10(value) - a->least) / range;
}

static double x_of(const axis *a, double value) { return LEFT + (WIDTH - LEFT - RIGHT) * along(a, value); }
static double y_of(const axis *a, double value) { return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * along(a, value); }

static void frame(mz_drawing *d, const axis *time, const axis *cost, double target) {
  mz_drawing_add(d, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#8886\"/>\n", LEFT, TOP,
                 WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
  mz_drawing_add(
      d, "<text x=\"%d\" y=\"%d\">cost and time of the fewest epochs that reach a score of %g, with 90 %% intervals</text>\n",
      LEFT, TOP - 12, target);
  mz_drawing_add(d, "<text x=\"%d\" y=\"%d\">%.3g s</text>\n", LEFT, HEIGHT - BOTTOM + 18, pow(10, time->least));
  mz_drawing_add(d, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.3g s</text>\n", WIDTH - RIGHT, HEIGHT - BOTTOM + 18,
                 pow(10, time->most));
  mz_drawing_add(d, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.3g</text>\n", LEFT - 6, TOP + 10, pow(10, cost->most));
  mz_drawing_add(d, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.3g</text>\n", LEFT - 6, HEIGHT - BOTTOM, pow(10, cost->least));
}

static int batch_number(const mz_run_planning *p, double rows) {
  int b = 0;
  while (b < p->score.batches && p->score.batch[b].rows != rows) b++;
  return b;
}

/* Hollow: no number of epochs that was measured reaches the score. */
static void draw_choice(mz_drawing *d, const mz_run_planning *p, const mz_run_plan *plan, const axis *time, const axis *cost) {
  const char *colour = colours[batch_number(p, plan->batch_size) % COLOURS];
  const double x = x_of(time, plan->seconds.estimate), y = y_of(cost, plan->cost.estimate);
  const bool reaches = plan->score.low >= p->score.target;
  if (isfinite(plan->seconds.high) && plan->seconds.low > 0)
    mz_drawing_add(d, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-opacity=\"0.5\"/>\n",
                   x_of(time, plan->seconds.low), y, x_of(time, plan->seconds.high), y, colour);
  mz_drawing_add(d, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" stroke=\"%s\" fill=\"%s\"/>\n", x, y, colour,
                 reaches ? colour : "none");
  mz_drawing_add(d, "<text x=\"%.1f\" y=\"%.1f\">%g</text>\n", x + 7, y - 5, plan->amounts[MZ_COURSE_CORES]);
}

static void draw_key(mz_drawing *d, const mz_run_planning *p) {
  for (int b = 0; b < p->score.batches; b++) {
    const int y = TOP + 16 + 20 * b;
    mz_drawing_add(d, "<circle cx=\"%d\" cy=\"%d\" r=\"4\" fill=\"%s\"/>\n", WIDTH - RIGHT + 18, y - 4, colours[b % COLOURS]);
    mz_drawing_add(d, "<text x=\"%d\" y=\"%d\">batches of %g</text>\n", WIDTH - RIGHT + 28, y, p->score.batch[b].rows);
  }
  mz_drawing_add(d, "<text x=\"%d\" y=\"%d\">numbers: cores; hollow: the score is not reached</text>\n", LEFT, HEIGHT - 10);
}

static void draw_limits(mz_drawing *d, const axis *time, const axis *cost, double deadline_s, double budget) {
  if (isfinite(deadline_s))
    mz_drawing_add(d, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#888\" stroke-dasharray=\"4 3\"/>\n",
                   x_of(time, deadline_s), TOP, x_of(time, deadline_s), HEIGHT - BOTTOM);
  if (isfinite(budget))
    mz_drawing_add(d, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#888\" stroke-dasharray=\"4 3\"/>\n", LEFT,
                   y_of(cost, budget), WIDTH - RIGHT, y_of(cost, budget));
}

mz_status mz_run_plan_draw(const char *path, const mz_run_planning *p, double deadline_s, double budget) {
  mz_drawing d = {0};
  axis time = {INFINITY, -INFINITY}, cost = {INFINITY, -INFINITY};
  widen(&time, deadline_s);
  widen(&cost, budget);
  for (int i = 0; i < p->count; i++) {
    widen(&time, p->choices[i].seconds.low);
    widen(&time, p->choices[i].seconds.estimate);
    widen(&time, p->choices[i].seconds.high);
    widen(&cost, p->choices[i].cost.estimate);
  }
  pad(&time);
  pad(&cost);
  mz_drawing_begin_svg(&d, WIDTH, HEIGHT);
  frame(&d, &time, &cost, p->score.target);
  draw_limits(&d, &time, &cost, deadline_s, budget);
  for (int i = 0; i < p->count; i++) draw_choice(&d, p, &p->choices[i], &time, &cost);
  draw_key(&d, p);
  mz_drawing_end_svg(&d);
  return mz_drawing_write(&d, path);
}
