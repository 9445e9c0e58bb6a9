#include "tests/allocator/support/random_pipeline.h"
#include "allocator/machine/gpu_probes.h"
#include "base/maths/rng.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ERLANG = 49 };

static double between(mz_rng *rng, double least, double most) { return least * pow(most / least, mz_rng_f64(rng)); }

static int add_knob(mz_pipeline *p, const char *what, int64_t max) {
  mz_knob *knob = &p->knobs[p->knob_count];
  *knob = (mz_knob){.class_ = MZ_EXACT, .scale = MZ_SCALE_LOG2, .min = 1, .max = max > 1 ? max : 1};
  snprintf(knob->name, sizeof knob->name, "%s%d", what, p->knob_count);
  return p->knob_count++;
}

/* cpu_s: of a unit, at batches of one. */
static mz_pipeline_stage *add_stage(random_pipeline *r, const char *what, double items, double groups, double cpu_s, double fixed,
                                    double serial) {
  mz_pipeline *p = &r->pipeline;
  const int s = p->stage_count++;
  p->stages[s] = (mz_pipeline_stage){
      .threads = -1, .batch = -1, .device = -1, .items = items, .groups = groups, .serial = serial, .bytes_thread = 1 << 20};
  snprintf(p->stages[s].name, sizeof p->stages[s].name, "%s%d", what, s);
  r->simulation.stages[s] =
      (mz_sim_truth){.fixed_s = fixed * cpu_s / items, .item_s = (1 - fixed) * cpu_s / items, .serial = serial, .weight = 1};
  return &p->stages[s];
}

void random_pipeline_init(random_pipeline *out, uint64_t seed, int cores_max, int64_t knob_max) {
  mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 1, 0);
  memset(out, 0, sizeof *out);
  mz_pipeline *p = &out->pipeline;
  int cores = 2;
  while (2 * cores <= cores_max && mz_rng_below(&rng, 2) == 0) cores *= 2;
  snprintf(p->name, sizeof p->name, "random %d", (int)seed);
  p->device_count = 1;
  p->devices[0] = (mz_device){.name = "cpu:0", .kind = MZ_DEVICE_CPU, .cores = cores};
  const int64_t threads_max = 2 * cores < knob_max ? 2 * cores : knob_max;
  const double share = cores / 2.0; /* more cores have more to do */

  for (int pools = 1 + (int)mz_rng_below(&rng, 2); pools > 0; pools--) {
    const int groups = 4 + (int)mz_rng_below(&rng, 61);
    mz_pipeline_stage *pool =
        add_stage(out, "pool", 100.0 * groups, groups, share * between(&rng, 0.05, 0.5), 0.9 * mz_rng_f64(&rng), 0);
    pool->threads = add_knob(p, "threads", threads_max);
    pool->batch = add_knob(p, "batch", groups < knob_max ? groups : knob_max);
    pool->bytes_slot = 1 << 16;
  }
  const int builders = (int)mz_rng_below(&rng, 3), items = 8 << mz_rng_below(&rng, 4);
  for (int i = 0; i < builders; i++) {
    mz_pipeline_stage *builder = add_stage(out, "builder", items, items, share * between(&rng, 0.01, 0.2), 0, 0);
    builder->threads = add_knob(p, "threads", threads_max);
    mz_pipeline_queue *queue = &p->queues[p->queue_count];
    *queue = (mz_pipeline_queue){.from = p->stage_count - 1, .to = p->stage_count, .items = items, .bytes = 1 << 20};
    snprintf(queue->name, sizeof queue->name, "queue%d", p->queue_count++);
    queue->capacity = add_knob(p, "places", 32 < knob_max ? 32 : knob_max);
  }
  if (builders > 0) {
    mz_pipeline_stage *learner = add_stage(out, "learner", items, 8, between(&rng, 0.05, 0.5), 0, between(&rng, 0.03, 0.3));
    learner->threads = add_knob(p, "threads", cores < 8 ? cores : 8);
    out->simulation.stages[p->stage_count - 1].lockstep = true;
  }
  add_stage(out, "fold", 1, 1, between(&rng, 1e-3, 1e-2), 0, 0)->step = 1;
  out->simulation.pipeline = p;
  out->simulation.erlang = ERLANG;
  out->simulation.seed = seed;
}

mz_status random_pipeline_add_gpus(random_pipeline *r, uint64_t seed) {
  mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 5, 0);
  mz_pipeline *p = &r->pipeline;
  mz_sim_machine *machine = &r->simulation.machine;
  const int gpus = 1 + (int)mz_rng_below(&rng, 2);
  for (int gpu = 0; gpu < gpus; gpu++) {
    mz_device *device = &p->devices[p->device_count++];
    *device = (mz_device){.kind = MZ_DEVICE_CUDA};
    snprintf(device->name, sizeof device->name, "cuda:%d", gpu);
  }
  machine->gpus = gpus;
  machine->gpu_latency = between(&rng, 1, 50);
  machine->gpu_speed = between(&rng, 5, 100);
  machine->gpu_full = between(&rng, 1, 64);
  machine->gpu_share = 0.5 + 0.5 * mz_rng_f64(&rng);
  machine->gpu_link = 25, machine->gpu_bytes = 1;
  for (int s = 0; s < p->stage_count; s++) {
    mz_pipeline_stage *stage = &p->stages[s];
    const mz_sim_truth *truth = &r->simulation.stages[s];
    if (stage->batch < 0 && !truth->lockstep) continue;
    stage->device = add_knob(p, "device", 1);
    p->knobs[stage->device] = (mz_knob){.class_ = MZ_EXACT, .scale = MZ_SCALE_CHOICE, .min = 0, .max = gpus};
    snprintf(p->knobs[stage->device].name, MZ_NAME_MAX, "device%d", stage->device);
    stage->probes[MZ_DEVICE_CPU] = (mz_probes){.batch = {1}, .cpu_s = {truth->fixed_s + truth->item_s}};
  }
  return mz_sim_probe_gpus(p, machine, r->simulation.stages);
}

void random_pipeline_give_way(random_pipeline *r, int stage) {
  bool queued = false;
  for (int q = 0; q < r->pipeline.queue_count; q++)
    queued |= r->pipeline.queues[q].from == stage || r->pipeline.queues[q].to == stage;
  r->pipeline.stages[stage].gives_way = r->simulation.stages[stage].fixed_s > 0 && !queued;
  r->simulation.stages[stage].weight = r->pipeline.stages[stage].gives_way ? 0.1 : 1;
}

mz_plan random_pipeline_least(const mz_pipeline *pipeline) {
  mz_plan plan = {0};
  for (int k = 0; k < pipeline->knob_count; k++) plan.values[k] = pipeline->knobs[k].min;
  return plan;
}

mz_plan random_pipeline_plan(const mz_pipeline *pipeline, uint64_t seed) {
  mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 2, 0);
  mz_plan plan = random_pipeline_least(pipeline);
  for (int k = 0; k < pipeline->knob_count; k++)
    for (uint32_t steps = mz_rng_below(&rng, 8); steps > 0; steps--)
      plan.values[k] = mz_knob_step(&pipeline->knobs[k], plan.values[k], 1);
  return plan;
}

mz_observation simulate_units(const mz_simulation *simulation, const mz_plan *plan, uint64_t first, int units) {
  mz_observation seen;
  const mz_status status = mz_simulate(simulation, plan, first, units, &seen);
  MZ_ASSERT(status == MZ_OK);
  return seen;
}

mz_analytic random_pipeline_model(const random_pipeline *p) {
  mz_analytic model;
  mz_analytic_init(&model, &p->pipeline, p->pipeline.devices[0].cores);
  model.variation = 1.0 / ERLANG;
  for (int s = 0; s < p->pipeline.stage_count; s++) {
    model.stages[s].costs[MZ_DEVICE_CPU].fixed_s = p->simulation.stages[s].fixed_s;
    model.stages[s].costs[MZ_DEVICE_CPU].item_s = p->simulation.stages[s].item_s;
    model.stages[s].serial = p->simulation.stages[s].serial;
  }
  return model;
}
