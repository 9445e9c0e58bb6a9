#include "allocator/search/space.h"
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The steps of a knob, in order; returns how many. */
static int list_steps(const mz_knob *knob, int64_t start, int64_t values[MZ_AXIS_MAX]) {
  int count = 0;
  const bool choice = knob->scale == MZ_SCALE_CHOICE;
  for (int64_t v = knob->min; count < MZ_AXIS_MAX - 1;) {
    values[count++] = v;
    const int64_t next = choice ? v + 1 : mz_knob_step(knob, v, 1);
    if (next == v || next > knob->max) break;
    v = next;
  }
  for (int i = 0; i < count; i++)
    if (values[i] == start) return count;
  if (start >= knob->min && start <= knob->max) values[count++] = start;
  qsort(values, (size_t)count, sizeof *values, compare);
  return count;
}

void mz_space_init(mz_space *s, const mz_pipeline *pipeline, const mz_plan *start) {
  *s = (mz_space){.pipeline = pipeline, .start = *start};
  for (int k = 0; k < pipeline->knob_count; k++) {
    const mz_knob *knob = &pipeline->knobs[k];
    if (knob->min == knob->max || mz_knob_packs(pipeline, k)) continue;
    s->knob[s->axes] = k;
    s->count[s->axes] = list_steps(knob, start->values[k], s->values[s->axes]);
    s->axes++;
  }
}

int64_t mz_space_plans(const mz_space *s) {
  int64_t plans = 1;
  for (int a = 0; a < s->axes; a++) {
    if (plans > INT64_MAX / s->count[a]) return INT64_MAX;
    plans *= s->count[a];
  }
  return plans;
}

mz_plan mz_space_plan(const mz_space *s, const mz_point *point) {
  mz_plan plan = s->start;
  for (int a = 0; a < s->axes; a++) plan.values[s->knob[a]] = s->values[a][point->at[a]];
  return plan;
}

mz_point mz_space_point(const mz_space *s, const mz_plan *plan) {
  mz_point point = {{0}};
  for (int a = 0; a < s->axes; a++) {
    const int64_t value = plan->values[s->knob[a]];
    for (int i = 1; i < s->count[a]; i++)
      if (llabs(s->values[a][i] - value) < llabs(s->values[a][point.at[a]] - value)) point.at[a] = (int16_t)i;
  }
  return point;
}

mz_point mz_space_draw(const mz_space *s, mz_rng *rng) {
  mz_point point = {{0}};
  for (int a = 0; a < s->axes; a++) point.at[a] = (int16_t)mz_rng_below(rng, (uint32_t)s->count[a]);
  return point;
}

bool mz_space_next(const mz_space *s, mz_point *point) {
  for (int a = s->axes - 1; a >= 0; a--) {
    if (++point->at[a] < s->count[a]) return true;
    point->at[a] = 0;
  }
  return false;
}
