#include "allocator/machine/simulation_state.h"
#include "base/maths/streams.h"
#include <math.h>
#include <string.h>

/* ---- a step ---- */

/* What a step's threads and queues take, in one block each. */
typedef struct storage {
  mz_sim_thread *threads;
  int *heaps;
  bool *published;
} storage;

static void storage_free(storage *memory) { free(memory->threads), free(memory->heaps), free(memory->published); }

static mz_status place_threads(mz_sim_step *u, storage *memory) {
  MZ_TRY(mz_alloc(&memory->threads, (size_t)u->thread_count, sizeof *memory->threads));
  MZ_TRY(mz_alloc(&memory->heaps, (size_t)u->thread_count * MZ_SIM_LANES, sizeof *memory->heaps));
  u->threads = memory->threads;
  int *heap = memory->heaps;
  for (int s = 0; s < u->pipeline->stage_count; s++) {
    mz_sim_stage *stage = &u->stages[s];
    if (!stage->runs) continue;
    for (int lane = 0; lane < MZ_SIM_LANES; lane++, heap += stage->threads) stage->lanes[lane].threads = heap;
    for (int i = stage->first; i < stage->first + stage->threads; i++)
      u->threads[i] = (mz_sim_thread){.stage = s, .task = -1, .lane = mz_sim_thread_lane(u, s, i - stage->first), .rests = true};
  }
  return MZ_OK;
}

/* Tokens that one of so many tasks moves at the most. */
static int moved_at_once(int tokens, int tasks) { return tasks > 0 ? (tokens + tasks - 1) / tasks : 0; }

static mz_status place_queues(mz_sim_step *u, storage *memory) {
  size_t tasks = 0, at = 0;
  for (int q = 0; q < u->pipeline->queue_count; q++)
    if (mz_sim_queue_runs(u, q)) tasks += (size_t)u->stages[u->pipeline->queues[q].from].tasks;
  MZ_TRY(mz_alloc(&memory->published, tasks, sizeof *memory->published));
  for (int q = 0; q < u->pipeline->queue_count; q++) {
    const mz_pipeline_queue *p = &u->pipeline->queues[q];
    if (!mz_sim_queue_runs(u, q)) continue;
    const int producers = u->stages[p->from].tasks, consumers = u->stages[p->to].tasks, tokens = (int)ceil(p->items);
    const int capacity = p->capacity >= 0 ? (int)u->plan->values[p->capacity] : 1;
    /* What one task brings must fit behind what another one waits for. */
    const int largest = moved_at_once(tokens, producers) + (consumers > 0 ? moved_at_once(tokens, consumers) - 1 : 0);
    u->queues[q] = (mz_sim_queue){
        .tokens = tokens, .capacity = capacity > largest ? capacity : largest, .published = memory->published + at};
    at += (size_t)producers;
  }
  return MZ_OK;
}

static mz_status begin_step(mz_sim_step *u, int step, storage *memory) {
  u->step = step;
  u->thread_count = 0;
  for (int s = 0; s < u->pipeline->stage_count; s++) {
    const mz_pipeline_stage *p = &u->pipeline->stages[s];
    u->stages[s].runs = false;
    if (p->step != step || p->apart) continue;
    mz_sim_begin_stage(u, s);
    mz_sim_place_stage(u, s);
    u->stages[s].first = u->thread_count;
    u->thread_count += u->stages[s].threads;
  }
  mz_sim_place_cores(u);
  MZ_TRY(place_threads(u, memory));
  return place_queues(u, memory);
}

/* Returns the seconds until something changes; INFINITY: nothing will. */
static double next_change_s(const mz_sim_step *u) {
  double wait = INFINITY;
  bool any = false;
  for (int s = 0; s < u->pipeline->stage_count; s++) {
    if (!u->stages[s].runs) continue;
    any = any || u->stages[s].states[MZ_SIM_WORKS] > 0;
    for (int lane = 0; lane < MZ_SIM_LANES; lane++) wait = fmin(wait, mz_sim_lane_left_s(u, &u->stages[s].lanes[lane]));
  }
  return any ? fmin(wait, mz_sim_quota_left_s(&u->quota, u->in_use)) : INFINITY;
}

static void pass(mz_sim_step *u, double seconds) {
  mz_sim_unit *out = u->out;
  if (mz_sim_quota_stands(&u->quota)) out->throttled_s += seconds;
  if (u->crowded) out->waiting_s += seconds;
  out->others_cpu_s += seconds * u->others;
  mz_sim_quota_pass(&u->quota, seconds, u->in_use);
  for (int s = 0; s < u->pipeline->stage_count; s++) {
    mz_sim_stage *stage = &u->stages[s];
    mz_stage_sample *sample = &out->stages[s];
    if (!stage->runs) continue;
    const mz_sim_lane *gpu = &stage->lanes[MZ_SIM_GPU];
    sample->wait_in_s += seconds * stage->states[MZ_SIM_WAITS_IN];
    sample->wait_out_s += seconds * stage->states[MZ_SIM_WAITS_OUT];
    sample->busy_s += seconds * stage->states[MZ_SIM_WORKS];
    for (int lane = 0; lane < MZ_SIM_GPU; lane++) sample->cpu_s += seconds * stage->lanes[lane].share * stage->lanes[lane].count;
    sample->device_s += seconds * gpu->share * gpu->count;
    out->gpu_busy_s += seconds * gpu->share * gpu->count;
    if (stage->states[MZ_SIM_WORKS] > 0) sample->elapsed_s += seconds;
    for (int lane = 0; lane < MZ_SIM_LANES; lane++)
      stage->lanes[lane].progress += seconds * stage->lanes[lane].share * stage->lanes[lane].speed;
  }
}

static void finish_ended(mz_sim_step *u) {
  for (int s = 0; s < u->pipeline->stage_count; s++) {
    if (!u->stages[s].runs) continue;
    for (int lane = 0; lane < MZ_SIM_LANES; lane++) {
      mz_sim_lane *l = &u->stages[s].lanes[lane];
      while (mz_sim_lane_ended(u, l)) mz_sim_finish(u, mz_sim_lane_pop(u, l), lane);
    }
  }
}

static mz_status run_step(mz_sim_step *u, int step, double *seconds) {
  storage memory = {0};
  mz_status status;
  *seconds = 0;
  MZ_TRY_CLEANUP(begin_step(u, step, &memory));
  for (;;) {
    mz_sim_settle(u);
    mz_sim_share(u);
    const double wait = next_change_s(u);
    if (isinf(wait)) break;
    *seconds += wait;
    pass(u, wait);
    finish_ended(u);
  }
  for (int s = 0; s < u->pipeline->stage_count; s++) /* anything else is a deadlock: a mistake in here */
    MZ_ASSERT(!u->stages[s].runs || u->stages[s].states[MZ_SIM_ENDED] == u->stages[s].threads);
cleanup:
  storage_free(&memory);
  return status;
}

/* ---- units ---- */

static double cost_of_unit(const mz_simulation *simulation, uint64_t unit) {
  mz_rng rng = mz_stream_simulated(simulation->seed, MZ_SIMULATED_UNIT, unit, 0, 0);
  return mz_sim_spread(simulation->machine.jitter, 1, &rng);
}

mz_status mz_simulate_unit(const mz_simulation *simulation, const mz_plan *plan, uint64_t unit, mz_sim_clock *clock,
                           mz_sim_unit *out) {
  const mz_sim_machine *machine = &simulation->machine;
  mz_sim_step u = {.simulation = simulation,
                   .pipeline = simulation->pipeline,
                   .plan = plan,
                   .unit = unit,
                   .cost = cost_of_unit(simulation, unit),
                   .quota = {.cores = machine->quota,
                             .period_s = machine->period * 1e-3,
                             .now_s = clock->quota_now_s,
                             .used_s = clock->quota_used_s},
                   .out = out};
  *out = (mz_sim_unit){0};
  int steps = 0;
  for (int s = 0; s < u.pipeline->stage_count; s++)
    if (!u.pipeline->stages[s].apart && u.pipeline->stages[s].step >= steps) steps = u.pipeline->stages[s].step + 1;
  for (int step = 0; step < steps; step++) {
    double seconds;
    MZ_TRY(run_step(&u, step, &seconds));
    out->unit_s += seconds;
    if (step == 0) out->round_s = seconds;
  }
  for (int s = 0; s < u.pipeline->stage_count; s++) {
    if (!u.pipeline->stages[s].apart) out->stages[s].items = u.pipeline->stages[s].items;
    out->cpu_s += out->stages[s].cpu_s;
  }
  *clock = (mz_sim_clock){u.quota.now_s, u.quota.used_s};
  return MZ_OK;
}

mz_status mz_simulate(const mz_simulation *simulation, const mz_plan *plan, uint64_t first, int units, mz_observation *out) {
  mz_sim_clock clock = {0};
  *out = (mz_observation){.plan = *plan, .rounds = units, .training = mz_training_stage_unknown()};
  for (int i = 0; i < units; i++) {
    mz_sim_unit unit;
    MZ_TRY(mz_simulate_unit(simulation, plan, first + (uint64_t)i, &clock, &unit));
    out->unit_s += unit.unit_s / units;
    out->round_s += unit.round_s / units;
    out->cpu_s += unit.cpu_s / units;
    for (int s = 0; s < simulation->pipeline->stage_count; s++)
      mz_stage_sample_add(&out->stages[s], &unit.stages[s], 1.0 / units);
  }
  return MZ_OK;
}
