#include "allocator/pretraining/practice.h"
#include "allocator/machine/gpu_probes.h"
#include "allocator/search/space.h"
#include "base/maths/streams.h"
#include <math.h>
#include <string.h>

enum { UNITS = 6, STEPS_MOST = 4, GPUS_MOST = 8, NUMA_CORES = 16, OCTAVES = 2, PROBE_FACTORS = 2 };
static const double COST_DEVIATION = 1, PROBE_DEVIATION = 0.1, SERIAL_MOST = 0.3, MICROSECOND = 1e-6;
static const double EPISODE_LEAST = 4, EPISODE_MOST = 500, SLOPE_DEVIATION = 0.2, UNKNOWN_SHARE = 0.25;

static double uniform(mz_rng *rng, double low, double high) { return low + (high - low) * mz_rng_f64(rng); }
static double log_uniform(mz_rng *rng, double low, double high) { return exp(uniform(rng, log(low), log(high))); }

/* ---- the machine ---- */

/* Effects, over the ranges of machine_spec.c's table that real machines were seen in; off: share of machines without the effect. */
static const struct {
  const char *key;
  double off, low, high;
  bool logarithmic;
} effects[] = {{"smt", 0.5, 1, 1.4, false},         {"bandwidth", 0.2, 10, 400, true}, {"core_bandwidth", 0, 5, 20, true},
               {"streaming", 0.2, 0.01, 0.3, true}, {"remote", 0.1, 0.3, 1.2, false},  {"l2", 0, 256, 4096, true},
               {"l2_miss", 0.2, 0.02, 0.4, false},  {"l3", 0, 8, 256, true},           {"l3_miss", 0.2, 0.05, 1, false},
               {"spread", 0, 0.02, 0.5, true},      {"straggler", 0, 0.01, 0.2, true}, {"jitter", 0, 0.005, 0.05, true},
               {"tail", 0.5, 0.0001, 0.005, true},  {"wake", 0, 1, 100, true},         {"placed", 0.25, 1, 1, false},
               {"gpu_latency", 0, 5, 100, true},    {"gpu_speed", 0, 10, 300, true},   {"gpu_full", 0, 32, 1024, true},
               {"gpu_share", 0, 0.5, 1, false},     {"gpu_link", 0, 8, 60, true},      {"gpu_bytes", 0, 0.1, 16, true}};

static mz_status draw_machine(mz_sim_machine *machine, const mz_practice_options *o, mz_rng *rng) {
  MZ_TRY(mz_sim_machine_parse(machine, "sim:"));
  const double cores = round(log_uniform(rng, o->cores_min, o->cores_max));
  machine->cores = cores;
  machine->numa = cores >= NUMA_CORES ? exp2(mz_rng_below(rng, 3)) : 1;
  machine->gpus = mz_rng_f64(rng) < o->gpu_share ? 1 + mz_rng_below(rng, GPUS_MOST) : 0;
  for (size_t i = 0; i < sizeof effects / sizeof *effects; i++) {
    const double off = mz_rng_f64(rng);
    const double value = effects[i].logarithmic ? log_uniform(rng, effects[i].low, effects[i].high)
                                                : uniform(rng, effects[i].low, effects[i].high);
    MZ_TRY(mz_sim_machine_set(machine, effects[i].key, off < effects[i].off ? 0 : value));
  }
  if (mz_rng_f64(rng) < 0.25) machine->neighbour = 1 + mz_rng_below(rng, 1 + (uint32_t)cores / 2);
  if (mz_rng_f64(rng) < 0.1) machine->stream = 1 + mz_rng_below(rng, 1 + (uint32_t)cores / 2);
  if (mz_rng_f64(rng) < 0.1) machine->quota = uniform(rng, fmin(0.5, cores), cores);
  return MZ_OK;
}

/* ---- the pipeline ---- */

static void take_devices(mz_pipeline *p, const mz_sim_machine *machine) {
  mz_devices devices;
  mz_sim_machine_devices(machine, &devices);
  p->device_count = devices.count;
  for (int d = 0; d < devices.count; d++) p->devices[d] = devices.items[d].device;
  for (int s = 0; s < p->stage_count; s++) {
    const mz_pipeline_stage *stage = &p->stages[s];
    if (stage->device >= 0)
      p->knobs[stage->device] = (mz_knob){.class_ = MZ_EXACT, .scale = MZ_SCALE_CHOICE, .max = devices.count - 1};
    if (stage->device >= 0) snprintf(p->knobs[stage->device].name, MZ_NAME_MAX, "device_%d", stage->device);
    if (stage->threads < 0) continue;
    mz_knob *threads = &p->knobs[stage->threads];
    threads->min = 1;
    threads->max = (int64_t)(2 * machine->cores);
    if (stage->groups >= 1 && stage->groups < (double)threads->max) threads->max = (int64_t)stage->groups;
  }
}

/* More or less work: games for a pool that a batch knob cuts into tasks, batches for the two ends of a queue. */
static void draw_work(mz_pipeline *p, mz_rng *rng) {
  double factor[MZ_STAGES_MAX];
  for (int s = 0; s < p->stage_count; s++)
    factor[s] = p->stages[s].batch >= 0 ? exp2((int)mz_rng_below(rng, 2 * OCTAVES + 1) - OCTAVES) : 1;
  for (int q = 0; q < p->queue_count; q++) {
    const double more = exp2((int)mz_rng_below(rng, 2 * OCTAVES + 1) - OCTAVES);
    const double items = fmax(1, round(p->queues[q].items * more));
    factor[p->queues[q].from] = factor[p->queues[q].to] = items / p->queues[q].items;
    p->queues[q].items = items;
  }
  for (int s = 0; s < p->stage_count; s++) {
    mz_pipeline_stage *stage = &p->stages[s];
    bool consumes = false;
    for (int q = 0; q < p->queue_count; q++) consumes |= p->queues[q].to == s;
    stage->items *= factor[s];
    if (!consumes && stage->groups >= 1) stage->groups = fmax(1, round(stage->groups * factor[s]));
    if (stage->batch < 0 || !(stage->groups >= 1)) continue;
    mz_knob *batch = &p->knobs[stage->batch];
    if ((double)batch->max > stage->groups) batch->max = (int64_t)stage->groups;
    if (batch->min > batch->max) batch->min = batch->max;
  }
}

static void draw_costs(mz_pipeline *p, mz_rng *rng) {
  for (int s = 0; s < p->stage_count; s++) {
    const double factor = exp(COST_DEVIATION * mz_rng_normal(rng));
    for (int i = 0; i < MZ_PROBES_MAX; i++) p->stages[s].probes[MZ_DEVICE_CPU].cpu_s[i] *= factor;
  }
}

/* Probes are taken alone and once: they miss what stages cost at work, all of a stage on a kind of device alike and each by itself. */
static void draw_probes(mz_pipeline *p, mz_rng *rng) {
  for (int s = 0; s < p->stage_count; s++) {
    for (int kind = 0; kind < MZ_DEVICE_KINDS; kind++) {
      mz_probes *probes = &p->stages[s].probes[kind];
      const double alike = PROBE_DEVIATION * mz_rng_normal(rng);
      for (int i = 0; i < MZ_PROBES_MAX; i++) {
        const double factor = exp(alike + PROBE_DEVIATION / PROBE_FACTORS * mz_rng_normal(rng));
        probes->cpu_s[i] *= factor;
        probes->device_s[i] *= factor;
      }
    }
  }
}

/* Nothing in a simulation follows from it: a network learns what it may see, and that costs alone say more. */
static mz_training_stage draw_training(mz_rng *rng) {
  mz_training_stage t = {.replay_fill = mz_rng_f64(rng),
                         .episode_length = log_uniform(rng, EPISODE_LEAST, EPISODE_MOST),
                         .horizon = mz_rng_f64(rng),
                         .score_slope = SLOPE_DEVIATION * mz_rng_normal(rng)};
  double *const values[] = {&t.replay_fill, &t.episode_length, &t.horizon, &t.score_slope};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    if (mz_rng_f64(rng) < UNKNOWN_SHARE) *values[i] = NAN;
  return t;
}

static mz_status draw_pipeline(mz_practice *out, const mz_practice_options *o, mz_rng *rng) {
  mz_pipeline *p = &out->pipeline;
  *p = o->pipelines[mz_rng_below(rng, (uint32_t)o->pipeline_count)];
  draw_work(p, rng);
  draw_costs(p, rng);
  take_devices(p, &out->simulation.machine);
  p->handoff_s = out->simulation.machine.wake * MICROSECOND; /* what a probe of this machine would find */
  MZ_TRY(mz_sim_truth_from_probes(p, out->simulation.stages));
  for (int s = 0; s < p->stage_count; s++)
    if (out->simulation.stages[s].lockstep) out->simulation.stages[s].serial = uniform(rng, 0, SERIAL_MOST);
  MZ_TRY(mz_sim_probe_gpus(p, &out->simulation.machine, out->simulation.stages));
  draw_probes(p, rng);
  out->training = draw_training(rng);
  return MZ_OK;
}

/* ---- plans ---- */

static void find_usual(mz_practice *it) {
  const mz_pipeline *p = &it->pipeline;
  for (int k = 0; k < p->knob_count; k++) {
    const mz_knob *knob = &p->knobs[k];
    const bool sized = knob->scale == MZ_SCALE_LOG2 && !mz_knob_packs(p, k);
    const double middle = sqrt((double)knob->min * (double)knob->max);
    it->usual.values[k] = sized ? mz_knob_clamp(knob, (int64_t)middle) : mz_knob_packs(p, k) ? knob->max : knob->min;
  }
  mz_plan_set_pools(p, mz_sim_machine_cores(&it->simulation.machine), &it->usual);
}

static mz_plan draw_anywhere(const mz_space *space, mz_rng *rng) {
  const mz_point point = mz_space_draw(space, rng);
  return mz_space_plan(space, &point);
}

static mz_plan draw_near(const mz_space *space, const mz_plan *usual, mz_rng *rng) {
  mz_point point = mz_space_point(space, usual);
  const int steps = 1 + (int)mz_rng_below(rng, STEPS_MOST);
  for (int i = 0; i < steps && space->axes > 0; i++) {
    const int axis = (int)mz_rng_below(rng, (uint32_t)space->axes), by = mz_rng_below(rng, 2) ? 1 : -1;
    const int at = point.at[axis] + by;
    if (at >= 0 && at < space->count[axis]) point.at[axis] = (int16_t)at;
  }
  return mz_space_plan(space, &point);
}

static bool is_new(const mz_practice *it, const mz_plan *plan) {
  for (int i = 0; i < it->count; i++)
    if (mz_plan_equal(&it->pipeline, plan, &it->seen[i].plan)) return false;
  return true;
}

static mz_status try_plans(mz_practice *it, int plans, mz_rng *rng) {
  mz_space space;
  find_usual(it);
  mz_space_init(&space, &it->pipeline, &it->usual);
  for (int i = 0; i < plans; i++) {
    const mz_plan plan = i == 0 ? it->usual : i % 2 ? draw_near(&space, &it->usual, rng) : draw_anywhere(&space, rng);
    if (!is_new(it, &plan)) continue;
    MZ_TRY(mz_simulate(&it->simulation, &plan, (uint64_t)i * UNITS, UNITS, &it->seen[it->count]));
    it->seen[it->count++].training = it->training;
  }
  return MZ_OK;
}

mz_status mz_practice_draw(mz_practice *out, const mz_practice_options *o, uint64_t number) {
  mz_rng machine = mz_stream_practice(o->seed, MZ_PRACTICE_MACHINE, number),
         pipeline = mz_stream_practice(o->seed, MZ_PRACTICE_PIPELINE, number),
         plans = mz_stream_practice(o->seed, MZ_PRACTICE_PLAN, number);
  MZ_ASSERT(o->plans <= MZ_PRACTICE_PLANS_MAX && o->cores_min >= 1 && o->cores_max >= o->cores_min);
  memset(out, 0, sizeof *out);
  MZ_TRY(draw_machine(&out->simulation.machine, o, &machine));
  out->simulation.pipeline = &out->pipeline;
  out->simulation.seed = mz_rng_u64(&machine);
  MZ_TRY(draw_pipeline(out, o, &pipeline));
  return try_plans(out, o->plans, &plans);
}
