#include "muzero/compare/simulated_places.h"
#include "muzero/compare/simulated_cell.h"
#include "allocator/machine/simulation.h"
#include "muzero/batch_rule.h"
#include "muzero/limits.h"
#include "muzero/steering/curve_record.h"
#include "muzero/steering/planning.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  RUNS = 3,   /* of a place, each with noise of its own: how much they differ is the noise of times */
  ROUNDS = 32 /* that are simulated for each */
};
static const double GIB = 0x1p30;

typedef struct place { /* to be timed */
  const mz_simulated_runs *runs;
  mz_settings settings;
  mz_sim_machine machine; /* with the place's GPUs */
  const mz_simulated_probes *probes;
  double batch_size;
} place;

/* ---- the plan of a place ---- */

/* Device knobs count devices of their own pipeline; others are found by name. */
static void rename_devices(const mz_pipeline *from, const mz_pipeline *to, mz_plan *plan) {
  for (int k = 0; k < from->knob_count; k++) {
    if (from->knobs[k].scale != MZ_SCALE_CHOICE) continue;
    const char *name = from->devices[plan->values[k]].name;
    for (int d = 0; d < to->device_count; d++)
      if (strcmp(to->devices[d].name, name) == 0) plan->values[k] = d;
  }
}

static mz_status find_plan(place *p, int cores, int gpus, mz_planning **out) {
  mz_allocation_settings *a = &p->settings.allocation;
  p->machine.gpus = gpus;
  a->cpu_max = cores;
  a->gpu_max = gpus;
  return mz_planning_make_timed(out, p->runs->env, &p->settings, &p->machine, p->runs->threads, &p->probes->stages);
}

/* ---- its times ---- */

static mz_status simulate(const place *p, const mz_planning *planning, uint64_t seed, mz_observation *seen) {
  mz_simulation simulation = {.pipeline = &planning->pipeline, .machine = p->machine, .seed = seed, .units = ROUNDS};
  MZ_TRY(mz_sim_truth_from_probes(&planning->pipeline, simulation.stages));
  return mz_simulate(&simulation, &planning->best, 0, ROUNDS, seen);
}

/* Outside of rounds one thread is busy. */
static mz_phase phase_of(const place *p, const mz_planning *planning, const mz_observation *seen, int number) {
  const double cores = p->settings.allocation.cpu_max, rounds = (double)p->settings.train.phase_rounds,
               evaluation_s = mz_epoch_rest_evaluation_s(&p->runs->rest, cores, p->batch_size, number),
               rest_s = evaluation_s + mz_epoch_rest_other_s(&p->runs->rest, cores, p->batch_size, number),
               phase_s = rounds * seen->unit_s + rest_s;
  return (mz_phase){.phase = number,
                    .learner_wait = rounds * mz_simulated_learner_wait_s(&planning->best, seen->stages) / phase_s,
                    .noise_scale = NAN,
                    .phase_s = phase_s,
                    .round_s = rounds * seen->unit_s,
                    .evaluation_s = evaluation_s,
                    .cpu_s = rounds * seen->cpu_s + rest_s,
                    .reserved_core_s = cores * phase_s,
                    .gib_s = mz_plan_bytes(&planning->pipeline, &planning->best, NULL, 0) / GIB * phase_s};
}

/* The cores and GPUs of the place are held, whether its plan needs all of them or not. */
static mz_status make_curve(const place *p, const mz_planning *planning, const mz_observation *seen, uint64_t seed,
                            mz_curve *out) {
  const mz_simulated_runs *runs = p->runs;
  const double cores = p->settings.allocation.cpu_max;
  double wall_s = 0;
  mz_plan plan = planning->best;
  rename_devices(&planning->pipeline, &runs->place.outset.pipeline, &plan);
  *out = (mz_curve){
      .seed = seed, .source = "simulated", .moves = mz_epoch_moves(&p->settings), .timed = true, .count = runs->score.epochs};
  MZ_TRY(mz_alloc(&out->epochs, (size_t)out->count, sizeof *out->epochs));
  for (int e = 0; e < out->count; e++) {
    mz_phase phase = phase_of(p, planning, seen, e + 1);
    wall_s += phase.phase_s;
    phase.wall_s = wall_s;
    phase.batch_size = (int64_t)p->batch_size;
    mz_epoch_of_phase(&out->epochs[e], &phase, 0);
    out->epochs[e].amounts[MZ_COURSE_CORES] = cores;
    out->epochs[e].amounts[MZ_COURSE_GPUS] = p->machine.gpus;
    out->epochs[e].plan = plan;
  }
  out->epochs[out->count - 1].closing_s = mz_simulated_runs_closing_s(runs, cores, p->batch_size, out->count);
  return MZ_OK;
}

static mz_status time_place(mz_simulated_runs *runs, place *p, int cores, int gpus) {
  mz_planning *planning;
  mz_status status = MZ_OK;
  MZ_TRY(find_plan(p, cores, gpus, &planning));
  for (int r = 0; r < RUNS && status == MZ_OK; r++) {
    const uint64_t seed = 1 + (uint64_t)r;
    mz_observation seen;
    status = simulate(p, planning, seed, &seen);
    if (status == MZ_OK) status = make_curve(p, planning, &seen, seed, &runs->timed[runs->timed_count]);
    if (status == MZ_OK) runs->timed_count++;
  }
  free(planning);
  return status;
}

/* ---- the grid ---- */

/* The next power of two, and the last value itself. */
static int next(int value, int last) { return value < last && 2 * value > last ? last : value > 0 ? 2 * value : 1; }

static int first_cores(const mz_bounds *b) { return (int)fmax(b->cpu_min, 1); }

static mz_status begin_place(const mz_simulated_runs *runs, int batch, place *p) {
  *p = (place){.runs = runs,
               .settings = runs->settings,
               .machine = runs->machine,
               .probes = &runs->probes[batch],
               .batch_size = runs->score.batch[batch].rows};
  p->settings.allocation.objective = MZ_OBJECTIVE_TIME;
  return mz_batch_rule_apply(&p->settings, (int64_t)p->batch_size, "batch_size");
}

/* Whether any plan makes use of all these GPUs: there are not more stages than may be on some. */
static mz_status uses_gpus(const mz_simulated_runs *runs, int gpus, bool *out) {
  const mz_bounds *b = &runs->place.bounds;
  *out = gpus == (int)b->gpu_min;
  for (int i = 0; i < runs->score.batches && !*out; i++) {
    place p;
    MZ_TRY(begin_place(runs, i, &p));
    for (int cores = first_cores(b); cores <= (int)b->cpu_max && !*out; cores = next(cores, (int)b->cpu_max)) {
      mz_planning *planning;
      MZ_TRY(find_plan(&p, cores, gpus, &planning));
      *out = mz_plan_gpus(&planning->pipeline, &planning->best) >= gpus;
      free(planning);
    }
  }
  return MZ_OK;
}

/* All batch sizes and cores, so that the grid has no gaps. */
static mz_status time_with_gpus(mz_simulated_runs *runs, int gpus) {
  const mz_bounds *b = &runs->place.bounds;
  for (int i = 0; i < runs->score.batches; i++) {
    place p;
    MZ_TRY(begin_place(runs, i, &p));
    for (int cores = first_cores(b); cores <= (int)b->cpu_max; cores = next(cores, (int)b->cpu_max)) {
      if (runs->timed_count == RUNS * MZ_EPOCH_TIME_POINTS_MAX)
        return mz_fail(
            MZ_E_CONFIG,
            "--machine: %d batch sizes on so many cores and GPUs are more than the %d places that a plan looks at: lower "
            "limits.cpu_max or limits.gpu_max",
            runs->score.batches, MZ_EPOCH_TIME_POINTS_MAX);
      MZ_TRY(time_place(runs, &p, cores, gpus));
    }
  }
  return MZ_OK;
}

mz_status mz_simulated_places_time(mz_simulated_runs *runs) {
  const mz_bounds *b = &runs->place.bounds;
  MZ_TRY(mz_alloc(&runs->timed, RUNS * MZ_EPOCH_TIME_POINTS_MAX, sizeof *runs->timed));
  for (int gpus = (int)b->gpu_min; gpus <= (int)b->gpu_max; gpus = next(gpus, (int)b->gpu_max)) {
    bool used;
    MZ_TRY(uses_gpus(runs, gpus, &used));
    if (used) MZ_TRY(time_with_gpus(runs, gpus));
  }
  return MZ_OK;
}
