#include "cli/explaining/plan_trace.h"
#include "cli/explaining/drawing.h"
#include <math.h>

enum { WIDTH = 720, PANEL = 150, LEFT = 80, RIGHT = 20, TOP = 34, GAP = 34, PANELS = 3 };

typedef double (*member)(const mz_search_step *step);
static double temperature_of(const mz_search_step *s) { return log10(s->temperature); }
static double energy_of(const mz_search_step *s) { return exp(s->energy); }
static double best_of(const mz_search_step *s) { return exp(s->best); }
static double accepted_of(const mz_search_step *s) { return 100 * s->accepted; }

typedef struct axis {
  const mz_search_result *search;
  double least, most; /* of y */
  int top;            /* of the panel */
} axis;

static void widen(axis *a, member of) {
  for (int i = 0; i < a->search->trace_count; i++) {
    a->least = fmin(a->least, of(&a->search->trace[i]));
    a->most = fmax(a->most, of(&a->search->trace[i]));
  }
}

static double x_of(const axis *a, int evaluated) {
  return LEFT + (WIDTH - LEFT - RIGHT) * (double)evaluated / fmax(1, a->search->evaluated);
}

static double y_of(const axis *a, double value) {
  const double range = a->most > a->least ? a->most - a->least : 1;
  return a->top + PANEL * (1 - (value - a->least) / range);
}

static void draw(mz_drawing *d, const axis *a, member of, const char *colour) {
  mz_drawing_add(d, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" points=\"", colour);
  for (int i = 0; i < a->search->trace_count; i++) {
    const mz_search_step *s = &a->search->trace[i];
    mz_drawing_add(d, "%.1f,%.1f ", x_of(a, s->evaluated), y_of(a, of(s)));
  }
  mz_drawing_add(d, "\"/>\n");
}

static void frame(mz_drawing *d, const axis *a, const char *title, const char *format) {
  char low[32], high[32];
  snprintf(low, sizeof low, format, a->least);
  snprintf(high, sizeof high, format, a->most);
  mz_drawing_add(d, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#8886\"/>\n", LEFT, a->top,
                 WIDTH - LEFT - RIGHT, PANEL);
  mz_drawing_add(d, "<text x=\"%d\" y=\"%d\">%s</text>\n", LEFT, a->top - 8, title);
  mz_drawing_add(d, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 6, a->top + 10, high);
  mz_drawing_add(d, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT - 6, a->top + PANEL, low);
}

static axis panel(const mz_search_result *search, int number) {
  return (axis){.search = search, .least = INFINITY, .most = -INFINITY, .top = TOP + number * (PANEL + GAP)};
}

static void draw_panels(mz_drawing *d, const mz_search_result *r) {
  axis temperature = panel(r, 0), energy = panel(r, 1), accepted = panel(r, 2);
  widen(&temperature, temperature_of);
  frame(d, &temperature, "temperature, logarithm to the base of ten", "%.1f");
  draw(d, &temperature, temperature_of, "#d9822b");
  widen(&energy, energy_of);
  widen(&energy, best_of);
  frame(d, &energy, "seconds (or price) of a unit: of the plan it stands on, and the least so far", "%.3g");
  draw(d, &energy, energy_of, "#8aa");
  draw(d, &energy, best_of, "#2b6fd9");
  accepted.least = 0;
  accepted.most = 100;
  frame(d, &accepted, "moves accepted at each temperature", "%.0f %%");
  draw(d, &accepted, accepted_of, "#3a9a5b");
}

mz_status mz_plan_trace_write(const char *path, const mz_search_result *search) {
  mz_drawing p = {0};
  const int height = TOP + PANELS * (PANEL + GAP) + 10;
  mz_drawing_begin_svg(&p, WIDTH, height);
  if (search->trace_count > 0)
    draw_panels(&p, search);
  else
    mz_drawing_add(&p, "<text x=\"%d\" y=\"%d\">all %d plans were evaluated: there was no temperature</text>\n", LEFT, TOP,
                   search->evaluated);
  mz_drawing_add(&p, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%d plans evaluated</text>\n", WIDTH - RIGHT, height - 8,
                 search->evaluated);
  mz_drawing_end_svg(&p);
  return mz_drawing_write(&p, path);
}
