/* nearest: the mean of the three measured plans that are fewest steps away, the nearer the more (Cover & Hart 1967; Shepard's
 * weights 1968). */
#include "allocator/predictors/predictor.h"
#include <math.h>

enum { NEIGHBOURS = 3 };
static const double SQUARE_LEAST = 0.25; /* half a step: a plan that was measured counts as near, not as all there is */

typedef struct memory {
  const mz_lessons *lessons;
} memory;

static void fit(void *context, const mz_lessons *lessons) { ((memory *)context)->lessons = lessons; }

typedef struct neighbour {
  double distance;
  const mz_lesson *lesson;
} neighbour;

static int find_neighbours(const mz_lessons *l, const mz_plan *plan, neighbour found[NEIGHBOURS + 1]) {
  int count = 0;
  for (int i = 0; i < l->count; i++) {
    const neighbour n = {mz_plan_distance(l->pipeline, plan, &l->items[i].plan), &l->items[i]};
    int at = count;
    for (; at > 0 && n.distance < found[at - 1].distance; at--) found[at] = found[at - 1];
    found[at] = n;
    if (count < NEIGHBOURS) count++;
  }
  return count;
}

static mz_prediction predict(const void *context, const mz_plan *plan) {
  const memory *m = context;
  neighbour found[NEIGHBOURS + 1];
  const int count = find_neighbours(m->lessons, plan, found);
  double weights = 0, sum = 0, squares = 0;
  for (int i = 0; i < count; i++) {
    const double weight = 1 / (found[i].distance * found[i].distance + SQUARE_LEAST), log_s = found[i].lesson->log_s;
    weights += weight;
    sum += weight * log_s;
    squares += weight * log_s * log_s;
  }
  if (count == 0) return (mz_prediction)MZ_UNPREDICTED;
  const double mean = sum / weights, noise = found[0].lesson->sigma;
  return mz_prediction_of(mean, sqrt(fmax(squares / weights - mean * mean, 0) + noise * noise));
}

const mz_predictor mz_predictor_nearest = {.name = "nearest",
                                           .summary = "the three nearest plans that were measured",
                                           .source = "baseline",
                                           .memory_bytes = sizeof(memory),
                                           .fit = fit,
                                           .predict = predict};
