#include "muzero/compare/simulated_cell.h"
#include "allocator/allocator.h"
#include "allocator/machine/gpu_probes.h"
#include "allocator/machine/simulation.h"
#include "allocator/predictors/pretrained.h"
#include "base/maths/digest.h"
#include "muzero/steering/kept.h"
#include "muzero/steering/outset.h"
#include "muzero/steering/window.h"
#include <math.h>
#include <string.h>

static const double MICROSECOND = 1e-6, GIB = 0x1p30;

enum { TOLD_MAX = 4096 };
enum { WALL_S, CPU_S, RESERVED_CORE_S, RESERVED_GPU_S, GIB_S, COST, SUMS };

struct mz_simulated_cell {
  mz_settings settings;
  mz_memory memory;
  mz_pipeline probed;
  int threads;
  uint64_t seed;
  int64_t round, rounds;           /* played; limit */
  int changes, reverts;            /* of the plan, in the present block */
  double sums[SUMS];               /* of the present block: what block_json names */
  double rounds_s, learner_wait_s; /* of the present block: of its rounds; in which the learner waited for batches */
  double wall_s, cost;             /* since it was opened */
  mz_plan in_force;                /* of the last round; at first the one that it begins with */

  mz_simulation simulation;
  mz_pipeline granted; /* what is simulated: the outset's pipeline on the cores that there are now */
  mz_sim_clock clock;

  mz_bounds bounds;
  mz_outset outset;
  mz_kept kept;
  mz_allocator *allocator;
  mz_pretrained *pretrained; /* what its predictors bring along; NULL: nothing */
  mz_decision decision;

  mz_window_meter meter;
  mz_plan last; /* of the last round */
  mz_usage usage;
  double gpu_busy_s;
  int64_t window;  /* number of the last */
  double window_s; /* least length of the present one */
  int told;        /* rounds since the last decision */
};

/* ---- the plan follows the machine ---- */

static mz_status resolve_bounds(mz_simulated_cell *c) {
  const mz_sim_machine *machine = &c->simulation.machine;
  const mz_grants grants = mz_sim_machine_grants(machine, mz_sim_machine_cores(machine), c->threads);
  return mz_bounds_resolve(&c->bounds, &c->settings.allocation, &grants);
}

/* Fills in what probes of this machine would find. */
static mz_status probe(mz_simulated_cell *c) {
  mz_pipeline_take_probes(&c->outset.pipeline, &c->probed);
  MZ_TRY(mz_sim_truth_from_probes(&c->outset.pipeline, c->simulation.stages));
  c->outset.pipeline.handoff_s = c->simulation.machine.wake * MICROSECOND;
  return mz_sim_probe_gpus(&c->outset.pipeline, &c->simulation.machine, c->simulation.stages);
}

/* A new allocator within the machine's bounds. last: the plan to begin with; NULL: the settings'. */
static mz_status begin(mz_simulated_cell *c, const mz_knobs *last) {
  const mz_outset_options options = {.bounds = c->bounds, .threads = c->threads, .last = last};
  mz_allocator *allocator;
  mz_sim_machine_devices(&c->simulation.machine, &c->outset.devices);
  MZ_TRY(mz_outset_on_devices(&c->outset, &c->settings, &c->memory, &options));
  MZ_TRY(probe(c));
  const double needed = mz_plan_bytes(&c->outset.pipeline, &c->outset.plan, NULL, 0);
  if (last && needed > c->bounds.memory_max) c->bounds.memory_max = needed; /* no plan needs less, and the run goes on */
  MZ_TRY(mz_allocator_create(&allocator, &(mz_allocator_options){.pipeline = &c->outset.pipeline,
                                                                 .settings = &c->settings.allocation,
                                                                 .bounds = c->bounds,
                                                                 .pretrained = c->pretrained,
                                                                 .start = c->outset.plan}));
  mz_allocator_free(c->allocator);
  c->allocator = allocator;
  c->granted = c->outset.pipeline;
  c->window = 0;
  c->window_s = MZ_WINDOW_LEAST_S;
  c->told = 0;
  c->meter = (mz_window_meter){0};
  c->usage = (mz_usage){0};
  c->gpu_busy_s = 0;
  mz_allocator_begin(allocator, 0, c->round, &c->decision);
  return MZ_OK;
}

static mz_kept_grant grant_of(const mz_bounds *bounds) { return (mz_kept_grant){bounds->cpu_max, (uint64_t)bounds->memory_max}; }

static mz_status follow(mz_simulated_cell *c, bool *followed) {
  const mz_bounds before = c->bounds;
  MZ_TRY(resolve_bounds(c));
  *followed = before.cpu_max != c->bounds.cpu_max || before.memory_max != c->bounds.memory_max;
  if (!*followed) return MZ_OK;
  const mz_knobs in_force = mz_knobs_of_plan(mz_allocator_kept(c->allocator));
  const bool fixed = strcmp(c->settings.allocation.strategy, mz_strategy_fixed.name) == 0;
  const mz_knobs last = mz_kept_plan(&c->kept, &c->outset.pipeline, &in_force, grant_of(&before), grant_of(&c->bounds), fixed);
  return begin(c, &last);
}

/* Threads stay where they are, on as many of their cores as are left. */
static void confine(mz_simulated_cell *c, int cores) {
  c->granted = c->outset.pipeline;
  const int before = mz_pipeline_cores(&c->granted);
  for (int d = 0; d < c->granted.device_count && cores < before; d++) {
    mz_device *device = &c->granted.devices[d];
    const int left = device->cores * cores / before;
    if (device->kind == MZ_DEVICE_CPU) device->cores = left > 1 ? left : 1;
  }
}

void mz_simulated_cell_change(mz_simulated_cell *c, const mz_sim_machine *machine) {
  c->simulation.machine = *machine;
  confine(c, mz_sim_machine_cores(machine));
}

/* ---- opening ---- */

mz_status mz_simulated_cell_open(mz_simulated_cell **out, const mz_simulated_cell_options *options) {
  mz_simulated_cell *c;
  MZ_TRY(mz_alloc(&c, 1, sizeof *c));
  c->settings = *options->settings;
  c->memory = *options->memory;
  c->probed = *options->probed;
  c->threads = options->threads;
  c->seed = options->seed;
  c->rounds = options->rounds;
  c->simulation = (mz_simulation){
      .pipeline = &c->granted, .machine = options->machine, .seed = options->noise_seed, .units = (double)options->rounds};
  const mz_strategy *strategy;
  mz_status status;
  MZ_TRY_CLEANUP(mz_strategy_find(c->settings.allocation.strategy, "allocate.strategy", &strategy));
  if (strategy->learns) c->pretrained = mz_pretrained_open_optional(c->settings.allocation.pretrained);
  MZ_TRY_CLEANUP(resolve_bounds(c));
  MZ_TRY_CLEANUP(begin(c, NULL));
  c->in_force = *mz_allocator_plan(c->allocator);
  *out = c;
cleanup:
  if (status != MZ_OK) mz_simulated_cell_close(c);
  return status;
}

mz_status mz_simulated_cell_move(mz_simulated_cell *c, const mz_simulated_cell_options *options, const mz_knobs *start) {
  c->settings = *options->settings;
  c->memory = *options->memory;
  c->probed = *options->probed;
  MZ_TRY(resolve_bounds(c));
  MZ_TRY(begin(c, start));
  c->in_force = *mz_allocator_plan(c->allocator);
  return MZ_OK;
}

void mz_simulated_cell_close(mz_simulated_cell *c) {
  if (!c) return;
  mz_allocator_free(c->allocator);
  mz_pretrained_free(c->pretrained);
  free(c);
}

void mz_simulated_cell_bytes(const mz_simulated_cell *c, double *plan, double *least) {
  *plan = mz_plan_bytes(&c->outset.pipeline, mz_allocator_plan(c->allocator), NULL, 0);
  *least = mz_outset_least(&c->outset);
}

/* ---- a window ---- */

double mz_simulated_learner_wait_s(const mz_plan *plan, const mz_stage_sample *stages) {
  return stages[MZ_STAGE_LEARNER].wait_in_s / (double)plan->values[MZ_KNOB_LEARNER_THREADS];
}

static void add_usage(mz_simulated_cell *c, const mz_sim_unit *unit) {
  c->usage.wall_s += unit->unit_s;
  c->usage.cpu_s += unit->cpu_s;
  c->usage.others_cpu_s += unit->others_cpu_s;
  c->usage.throttled_s += unit->throttled_s;
  c->usage.pressure_cpu += unit->waiting_s; /* a share only when the window is read */
  c->gpu_busy_s += unit->gpu_busy_s;
}

static void read_usage(const mz_simulated_cell *c, const mz_plan *plan, mz_usage *out) {
  const double gpus = mz_plan_gpus(&c->outset.pipeline, plan);
  *out = c->usage;
  out->missing = 1u << MZ_SENSOR_THREADS | (c->simulation.machine.gpus > 0 ? 0 : 1u << MZ_SENSOR_GPU);
  out->pressure_cpu = out->wall_s > 0 ? out->pressure_cpu / out->wall_s : 0;
  out->rss_bytes = out->rss_peak_bytes = mz_plan_bytes(&c->outset.pipeline, plan, NULL, 0);
  out->available_bytes = fmax(c->simulation.machine.memory * GIB - out->rss_bytes, 0);
  out->core_share_p95 = out->wall_s > 0 ? out->cpu_s / (out->wall_s * c->bounds.cpu_max) : 0;
  out->gpu_busy = gpus > 0 && out->wall_s > 0 ? c->gpu_busy_s / (out->wall_s * gpus) : 0;
  out->samples = 1;
}

static int64_t phase_of(const mz_simulated_cell *c) {
  const int64_t rounds = c->settings.train.phase_rounds;
  return (c->round + rounds - 1) / rounds;
}

static mz_status decide(mz_simulated_cell *c, const mz_plan *plan) {
  bool followed;
  MZ_TRY(follow(c, &followed));
  if (followed) return MZ_OK;
  const mz_window_meter *m = &c->meter;
  mz_window window = {.number = ++c->window,
                      .phase = phase_of(c),
                      .round = c->round,
                      .units = m->full,
                      .wall_s = m->full_s,
                      .round_count = m->count,
                      .training = mz_training_stage_unknown(),
                      .score = NAN};
  memcpy(window.round_s, m->round_s, sizeof window.round_s);
  memcpy(window.stages, m->stages, sizeof m->stages);
  read_usage(c, plan, &window.usage);
  mz_window_quantise(&window);
  mz_allocator_decide(c->allocator, &window, &c->decision);
  c->changes += c->decision.action == MZ_DECISION_TRY || c->decision.action == MZ_DECISION_REVERT ||
                (c->decision.action == MZ_DECISION_CONFIRM && !c->settings.allocation.verify);
  c->reverts += c->decision.action == MZ_DECISION_REVERT;
  c->window_s = mz_window_next_s(c->window_s, c->decision.calm);
  c->told = 0;
  c->meter = (mz_window_meter){0};
  c->usage = (mz_usage){0};
  c->gpu_busy_s = 0;
  return MZ_OK;
}

static bool is_due(const mz_simulated_cell *c) {
  const bool on_trial = c->decision.action == MZ_DECISION_TRY || c->decision.action == MZ_DECISION_WAIT;
  return c->told == TOLD_MAX ||
         mz_window_is_long_enough(&c->meter, c->settings.allocation.window, on_trial, c->told, c->window_s);
}

/* The first round under another plan tells the allocator its time, and is in no window. */
static void count_round(mz_simulated_cell *c, const mz_plan *plan, const mz_sim_unit *unit) {
  const double seconds = mz_quantised(unit->unit_s);
  const bool warm = c->round > 0 && mz_plan_equal(&c->outset.pipeline, plan, &c->last);
  c->meter.played++;
  c->told++;
  c->last = *plan;
  add_usage(c, unit);
  if (warm) {
    mz_window_count(&c->meter, seconds);
    for (int s = 0; s < MZ_WINDOW_STAGES; s++) mz_stage_sample_add(&c->meter.stages[s], &unit->stages[s], 1);
  }
  c->rounds_s += unit->unit_s;
  c->learner_wait_s += mz_simulated_learner_wait_s(plan, unit->stages);
  if (mz_allocator_round(c->allocator, seconds)) c->meter = (mz_window_meter){.played = c->meter.played};
}

/* ---- a block ---- */

static uint64_t digest_of(const mz_simulated_cell *c) { return mz_hash_combine(c->seed, (uint64_t)c->round); }

static cJSON *block_json(const mz_simulated_cell *c, double score, mz_reason reason) {
  static const char *const names[SUMS] = {"wall_s", "cpu_s", "reserved_core_s", "reserved_gpu_s", "gib_s", "cost"};
  const mz_knobs knobs = mz_knobs_of_plan(&c->in_force);
  cJSON *o = cJSON_CreateObject();
  cJSON_AddNumberToObject(o, "rounds", (double)c->round);
  for (int i = 0; i < SUMS; i++) cJSON_AddNumberToObject(o, names[i], c->sums[i]);
  mz_json_add(o, "score", isnan(score) ? cJSON_CreateNull() : cJSON_CreateNumber(score));
  mz_json_add_u64_hex(o, "digest", digest_of(c));
  cJSON_AddNumberToObject(o, "changes", c->changes);
  cJSON_AddNumberToObject(o, "reverts", c->reverts);
  cJSON_AddNumberToObject(o, "rss_bytes", mz_plan_bytes(&c->outset.pipeline, &c->in_force, NULL, 0));
  cJSON_AddStringToObject(o, "reason", mz_reason_name(reason));
  if (!cJSON_AddItemToObject(o, "plan", mz_knobs_to_json(&knobs))) {
    cJSON_Delete(o);
    return NULL;
  }
  return o;
}

/* Adds what the plan in force reserves for so long, and what was used. */
static void spend(mz_simulated_cell *c, double seconds, double cpu_s) {
  const mz_pipeline *pipeline = &c->outset.pipeline;
  const double amounts[SUMS] = {seconds,
                                cpu_s,
                                seconds * mz_plan_cores(pipeline, &c->in_force),
                                seconds * mz_plan_gpus(pipeline, &c->in_force),
                                seconds * mz_plan_bytes(pipeline, &c->in_force, NULL, 0) / GIB,
                                seconds * mz_plan_price_s(pipeline, &c->settings.allocation, &c->in_force)};
  for (int k = 0; k < SUMS; k++) c->sums[k] += amounts[k];
  c->wall_s += seconds;
  c->cost += amounts[COST];
}

mz_status mz_simulated_cell_play(mz_simulated_cell *c, int64_t rounds) {
  for (int64_t i = 0; i < rounds && c->round < c->rounds; i++) {
    mz_sim_unit unit;
    c->in_force = *mz_allocator_plan(c->allocator);
    const mz_plan plan = c->in_force;
    MZ_TRY(mz_simulate_unit(&c->simulation, &plan, (uint64_t)c->round, &c->clock, &unit));
    spend(c, unit.unit_s, unit.cpu_s);
    count_round(c, &plan, &unit);
    c->round++;
    if (is_due(c)) MZ_TRY(decide(c, &plan));
  }
  return MZ_OK;
}

void mz_simulated_cell_phase(const mz_simulated_cell *c, mz_phase *out) {
  *out = (mz_phase){.phase = phase_of(c),
                    .wall_s = c->wall_s,
                    .learner_wait = c->sums[WALL_S] > 0 ? c->learner_wait_s / c->sums[WALL_S] : 0,
                    .phase_s = c->sums[WALL_S],
                    .round_s = c->rounds_s,
                    .cpu_s = c->sums[CPU_S],
                    .reserved_core_s = c->sums[RESERVED_CORE_S],
                    .gib_s = c->sums[GIB_S],
                    .plan = mz_knobs_of_plan(&c->in_force)};
}

void mz_simulated_cell_pass(mz_simulated_cell *c, double seconds) { spend(c, seconds, seconds); }

mz_status mz_simulated_cell_end_block(mz_simulated_cell *c, double score, mz_reason reason, cJSON **block) {
  *block = block_json(c, score, reason);
  memset(c->sums, 0, sizeof c->sums);
  c->rounds_s = c->learner_wait_s = 0;
  c->changes = c->reverts = 0;
  return *block ? MZ_OK : mz_fail(MZ_E_MEMORY, "compare: no memory for a block");
}

mz_simulated_spent mz_simulated_cell_spent(const mz_simulated_cell *c) {
  const mz_pipeline *pipeline = &c->outset.pipeline;
  return (mz_simulated_spent){.rounds = c->round,
                              .wall_s = c->wall_s,
                              .cost = c->cost,
                              .price_s = mz_plan_price_s(pipeline, &c->settings.allocation, &c->in_force),
                              .cores = mz_plan_cores(pipeline, &c->in_force),
                              .gpus = mz_plan_gpus(pipeline, &c->in_force)};
}

mz_status mz_simulated_cell_advance(mz_simulated_cell *c, int64_t rounds, cJSON **block, bool *ended) {
  MZ_TRY(mz_simulated_cell_play(c, rounds));
  *ended = c->round == c->rounds;
  return mz_simulated_cell_end_block(c, NAN, *ended ? MZ_REASON_ROUNDS : MZ_GOES_ON, block);
}
