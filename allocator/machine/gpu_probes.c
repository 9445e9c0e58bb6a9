#include "allocator/machine/gpu_probes.h"
#include "allocator/machine/simulation.h"
#include <math.h>

enum { ONE_CORE, ONE_GPU, DEVICES };
enum { BATCH_KNOB, DEVICE_KNOB, KNOBS };

/* Nothing varies, nobody disturbs. */
static mz_sim_machine quiet(const mz_sim_machine *machine) {
  mz_sim_machine m = *machine;
  m.spread = m.straggler = m.jitter = m.tail = m.wake = 0;
  m.quota = m.neighbour = m.stream = 0;
  return m;
}

/* The stage alone on a GPU: a pool with one call of `batch` items, a stage in lockstep with one item. */
static mz_pipeline alone(const mz_pipeline_stage *stage, bool lockstep, double batch) {
  mz_pipeline p = {.name = "probe",
                   .stage_count = 1,
                   .device_count = DEVICES,
                   .knob_count = KNOBS,
                   .stages = {*stage},
                   .devices = {[ONE_CORE] = {.name = "cpu:0", .kind = MZ_DEVICE_CPU, .cores = 1},
                               [ONE_GPU] = {.name = "cuda:0", .kind = MZ_DEVICE_CUDA}},
                   .knobs = {[BATCH_KNOB] = {"batch", MZ_EXACT, MZ_SCALE_LOG2, 1, (int64_t)batch},
                             [DEVICE_KNOB] = {"device", MZ_EXACT, MZ_SCALE_CHOICE, ONE_CORE, ONE_GPU}}};
  mz_pipeline_stage *only = &p.stages[0];
  only->step = 0;
  only->threads = -1;
  only->batch = BATCH_KNOB;
  only->device = DEVICE_KNOB;
  only->items = lockstep ? 1 : batch;
  if (!lockstep) only->groups = batch;
  return p;
}

static mz_status probe(const mz_pipeline_stage *stage, const mz_sim_machine *machine, const mz_sim_truth *truth, double batch,
                       double *cpu_s, double *device_s) {
  const mz_pipeline pipeline = alone(stage, truth->lockstep, batch);
  const mz_simulation simulation = {.pipeline = &pipeline, .machine = quiet(machine), .stages = {*truth}};
  const mz_plan plan = {.values = {[BATCH_KNOB] = (int64_t)batch, [DEVICE_KNOB] = ONE_GPU}};
  mz_observation seen;
  MZ_TRY(mz_simulate(&simulation, &plan, 0, 1, &seen));
  *cpu_s = seen.stages[0].cpu_s / seen.stages[0].items;
  *device_s = seen.stages[0].device_s / seen.stages[0].items;
  return MZ_OK;
}

static mz_status probe_stage(mz_pipeline_stage *stage, const mz_sim_machine *machine, const mz_sim_truth *truth) {
  static const double batches[MZ_PROBES_MAX] = {1, 8, 64, 512};
  mz_probes *probes = &stage->probes[MZ_DEVICE_CUDA];
  *probes = (mz_probes){0};
  for (int i = 0; i < MZ_PROBES_MAX; i++) {
    const double batch = stage->groups > 0 ? fmin(batches[i], stage->groups) : batches[i];
    if (i > 0 && (stage->batch < 0 || probes->batch[i - 1] >= batch)) break;
    MZ_TRY(probe(stage, machine, truth, batch, &probes->cpu_s[i], &probes->device_s[i]));
    probes->batch[i] = batch;
  }
  return MZ_OK;
}

mz_status mz_sim_probe_gpus(mz_pipeline *pipeline, const mz_sim_machine *machine, const mz_sim_truth truths[MZ_STAGES_MAX]) {
  for (int s = 0; s < pipeline->stage_count && machine->gpus > 0; s++)
    if (mz_probes_count(&pipeline->stages[s].probes[MZ_DEVICE_CPU]) > 0)
      MZ_TRY(probe_stage(&pipeline->stages[s], machine, &truths[s]));
  return MZ_OK;
}
