/* How much a round trains, where the objective is goodput: what allocator/goodput/goodput.h judges from, and loop_count as it says. */
#include "muzero/steering/steer_state.h"

_Static_assert((int)MZ_PASS_GROUPS == (int)MZ_GOODPUT_GROUPS, "the same groups of passes");

static bool judges(const mz_steer *s) {
  return s->state->settings.allocation.objective == MZ_OBJECTIVE_GOODPUT && !mz_steer_follows(s);
}

void mz_steer_pace_phase(mz_steer *s) { s->pace.told = (mz_prequential_stats){0}; }

void mz_steer_pace_round(mz_steer *s, const mz_round_stats *stats) {
  const mz_prequential_stats *now = &stats->prequential, *told = &s->pace.told;
  mz_goodput_evidence *e = &s->pace.evidence;
  if (!judges(s)) return;
  for (int g = 0; g < MZ_PASS_GROUPS; g++) {
    e->rows[g] += (double)(now->rows[g] - told->rows[g]);
    e->passes[g] += now->passes[g] - told->passes[g];
    e->loss[g] += now->loss[g] - told->loss[g];
  }
  s->pace.told = *now;
}

/* The window's costs, of as many rounds as its clocks ran for. */
static void add_window(mz_steer *s) {
  const mz_settings *settings = &s->state->settings;
  const mz_stage_sample *actor = &s->window.stages[MZ_STAGE_ACTOR], *batch = &s->window.stages[MZ_STAGE_BATCH],
                        *learner = &s->window.stages[MZ_STAGE_LEARNER];
  mz_goodput_evidence *e = &s->pace.evidence;
  if (!(s->window.units > 0)) return;
  const double rounds = learner->items / (double)settings->learning.loop_count;
  s->pace.rounds += rounds;
  e->fresh += rounds * (double)(settings->selfplay.games * settings->selfplay.moves);
  e->trained += learner->items * (double)settings->learning.batch_size;
  e->fresh_s += actor->cpu_s + s->window.stages[MZ_STAGE_ENV].cpu_s;
  e->trained_s += batch->cpu_s + learner->cpu_s;
}

static void quantise(mz_goodput_evidence *e) {
  double *const counted[] = {&e->fresh, &e->trained, &e->fresh_s, &e->trained_s};
  for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) *counted[i] = mz_quantised(*counted[i]);
  for (int g = 0; g < MZ_GOODPUT_GROUPS; g++) {
    e->rows[g] = mz_quantised(e->rows[g]);
    e->passes[g] = mz_quantised(e->passes[g]);
    e->loss[g] = mz_quantised(e->loss[g]);
  }
}

static int64_t stepped(int64_t loops, int step) {
  const int64_t next = step > 0 ? 2 * loops : step < 0 ? loops / 2 : loops;
  return next < 1 || next > MZ_LOOP_COUNT_MAX ? loops : next;
}

/* A round's priorities are all that it takes in memory. */
static bool has_room(const mz_steer *s, int64_t loops) {
  const double more = (double)loops / (double)s->state->settings.learning.loop_count - 1;
  const double bytes = mz_plan_bytes(&s->outset.pipeline, mz_allocator_kept(s->allocator), NULL, 0);
  return bytes + more * s->memory.fixed[MZ_MEMORY_ROUND] <= s->bounds.memory_max;
}

mz_status mz_steer_pace(mz_steer *s, mz_workers *workers) {
  if (!judges(s)) return MZ_OK;
  add_window(s);
  if (s->pace.rounds < MZ_GOODPUT_ROUNDS_MIN) return MZ_OK;
  const int64_t loops = s->state->settings.learning.loop_count;
  mz_goodput_record record = {.phase = s->window.phase,
                              .round = s->window.round,
                              .training = loops,
                              .next = loops,
                              .before = s->pace.memory,
                              .evidence = s->pace.evidence};
  mz_goodput_verdict verdict;
  quantise(&record.evidence);
  mz_goodput_judge(&s->pace.memory, &record.evidence, &verdict);
  const int64_t next = stepped(loops, verdict.step);
  if (has_room(s, next)) record.next = next;
  s->pace.memory.rests = record.next != loops; /* a step that could not be taken leaves nothing to rest from */
  s->pace.evidence = (mz_goodput_evidence){0};
  s->pace.rounds = 0;
  MZ_TRY(mz_ledger_append_goodput(&s->ledger, &record, &verdict));
  return record.next == loops ? MZ_OK : mz_steer_set_loop_count(s, workers, record.next, mz_allocator_kept(s->allocator));
}
