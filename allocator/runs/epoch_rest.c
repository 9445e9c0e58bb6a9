#include "allocator/runs/epoch_rest.h"
#include "base/maths/statistics.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- places ---- */

static bool kept_its_setup(const mz_curve *curve) {
  for (int i = 1; i < curve->count; i++)
    if (!mz_epoch_same_setup(&curve->epochs[0], &curve->epochs[i])) return false;
  return curve->count > 0;
}

static bool counts(const mz_curve *curve) {
  return curve->timed && curve->learned && kept_its_setup(curve) && curve->epochs[0].amounts[MZ_COURSE_GPUS] == 0;
}

static bool ran_at(const mz_curve *curve, const mz_epoch_rest_place *place) {
  return counts(curve) && curve->epochs[0].amounts[MZ_COURSE_CORES] == place->cores &&
         curve->epochs[0].batch_size == place->batch_size;
}

static void find_places(mz_epoch_rest *rest, const mz_curve *curves, int count) {
  for (int i = 0; i < count; i++) {
    int p = 0;
    if (!counts(&curves[i])) continue;
    while (p < rest->count && !ran_at(&curves[i], &rest->places[p])) p++;
    if (p == MZ_EPOCH_REST_PLACES_MAX) continue;
    if (p == rest->count)
      rest->places[rest->count++] = (mz_epoch_rest_place){.cores = curves[i].epochs[0].amounts[MZ_COURSE_CORES],
                                                          .batch_size = curves[i].epochs[0].batch_size};
    const int length = mz_curve_length(&curves[i]);
    if (length > rest->places[p].epochs) rest->places[p].epochs = length;
  }
}

/* ---- medians ---- */

/* NULL where the epoch, or the one before it, is missing. */
static const mz_epoch *find_epoch(const mz_curve *curve, int number, double *before_s) {
  *before_s = 0;
  for (int i = 0; i < curve->count && curve->epochs[i].number <= number; i++) {
    if (curve->epochs[i].number == number) return *before_s > 0 || number == 1 ? &curve->epochs[i] : NULL;
    *before_s = curve->epochs[i].number == number - 1 ? curve->epochs[i].wall_s : 0;
  }
  return NULL;
}

/* An epoch that no run tells of is as the one before it. */
static void fill_place(const mz_epoch_rest_place *place, double *evaluation_s, double *other_s, const mz_curve *curves, int count,
                       double *scratch) {
  for (int e = 0; e < place->epochs; e++) {
    double *const others = scratch + count;
    int found = 0;
    for (int i = 0; i < count; i++) {
      double before_s;
      const mz_epoch *epoch = ran_at(&curves[i], place) ? find_epoch(&curves[i], e + 1, &before_s) : NULL;
      if (!epoch) continue;
      const double evaluated_s = isfinite(epoch->evaluation_s) ? epoch->evaluation_s : 0;
      scratch[found] = evaluated_s;
      others[found++] = fmax(epoch->wall_s - before_s - epoch->rounds_s - evaluated_s, 0);
    }
    evaluation_s[e] = found > 0 ? mz_median(scratch, found) : e > 0 ? evaluation_s[e - 1] : 0;
    other_s[e] = found > 0 ? mz_median(others, found) : e > 0 ? other_s[e - 1] : 0;
  }
}

mz_status mz_epoch_rest_init(mz_epoch_rest *rest, const mz_curve *curves, int count) {
  size_t epochs = 0;
  memset(rest, 0, sizeof *rest);
  find_places(rest, curves, count);
  for (int p = 0; p < rest->count; p++) epochs += (size_t)rest->places[p].epochs;
  MZ_TRY(mz_alloc(&rest->numbers, 2 * (epochs + (size_t)count) + 1, sizeof *rest->numbers));
  double *next = rest->numbers, *const scratch = rest->numbers + 2 * epochs;
  for (int p = 0; p < rest->count; p++) {
    mz_epoch_rest_place *place = &rest->places[p];
    fill_place(place, next, next + place->epochs, curves, count, scratch);
    place->evaluation_s = next;
    place->other_s = next + place->epochs;
    next += 2 * place->epochs;
  }
  return MZ_OK;
}

void mz_epoch_rest_deinit(mz_epoch_rest *rest) {
  free(rest->numbers);
  memset(rest, 0, sizeof *rest);
}

/* ---- asking ---- */

/* Returns whether place a stands for `cores` better than b does. */
static bool better(const mz_epoch_rest_place *a, const mz_epoch_rest_place *b, double cores, double batch_size) {
  if (a->cores != b->cores) {
    const bool a_fits = a->cores <= cores, b_fits = b->cores <= cores;
    return a_fits != b_fits ? a_fits : a_fits ? a->cores > b->cores : a->cores < b->cores;
  }
  return fabs(log(a->batch_size / batch_size)) < fabs(log(b->batch_size / batch_size));
}

static const mz_epoch_rest_place *find_place(const mz_epoch_rest *rest, double cores, double batch_size) {
  const mz_epoch_rest_place *best = NULL;
  for (int p = 0; p < rest->count; p++)
    if (best == NULL || better(&rest->places[p], best, cores, batch_size)) best = &rest->places[p];
  return best;
}

static int index_of(const mz_epoch_rest_place *place, double epoch) {
  return epoch >= place->epochs ? place->epochs - 1 : epoch <= 1 ? 0 : (int)epoch - 1;
}

double mz_epoch_rest_evaluation_s(const mz_epoch_rest *rest, double cores, double batch_size, double epoch) {
  const mz_epoch_rest_place *place = find_place(rest, cores, batch_size);
  return place ? place->evaluation_s[index_of(place, epoch)] : NAN;
}

double mz_epoch_rest_longest_evaluation_s(const mz_epoch_rest *rest, double cores, double batch_size) {
  const mz_epoch_rest_place *place = find_place(rest, cores, batch_size);
  double longest = NAN;
  for (int e = 0; place && e < place->epochs; e++) longest = fmax(longest, place->evaluation_s[e]);
  return longest;
}

double mz_epoch_rest_other_s(const mz_epoch_rest *rest, double cores, double batch_size, double epoch) {
  const mz_epoch_rest_place *place = find_place(rest, cores, batch_size);
  return place ? place->other_s[index_of(place, epoch)] : NAN;
}

double mz_epoch_rest_cores(const mz_epoch_rest *rest) {
  double most = 0;
  for (int p = 0; p < rest->count; p++) most = fmax(most, rest->places[p].cores);
  return most;
}
