#include "muzero/training/round.h"
#include "base/log.h"
#include "base/machine/clock.h"
#include "muzero/training/guard.h"
#include "muzero/training/soundness.h"
#include <string.h>

typedef struct round {
  mz_state *state;
  mz_workers *workers;
  double progress; /* of the horizon, at the round's start */
  uint32_t first_update;
  int updates; /* 0 while replay fills */
  bool void_;  /* what was learned does not count: the network went back (guard.h) */
  /* [updates × rows], in batch order: what priorities are set from */
  int64_t *leaves;
  uint64_t *serials;
  float *errors;
  _Atomic uint64_t batch_wait_ns;
} round;

/* A: a group of games advances by M moves. */
static mz_status play_group(void *context, int group, int worker) {
  round *r = context;
  const mz_settings *s = &r->state->settings;
  int slots = (int)r->workers->knobs.mcts_storage_size, first = group * slots, games = (int)s->selfplay.games;
  int count = games - first < slots ? games - first : slots;
  mz_actor *actor;
  MZ_TRY(mz_workers_actor(r->workers, worker, &actor));
  return mz_games_advance(r->state->games, actor, first, count, (int)s->selfplay.moves, r->state->published,
                          r->state->published_version, r->progress, &r->workers->results[group]);
}

/* B: a batch is drawn, reanalyzed and built into its slot of the queue. */
typedef struct reanalysis {
  round *round;
  mz_reanalyze *reanalyze;
} reanalysis;

static mz_status search_afresh(void *context, uint32_t update, int n, const void *observations, const uint8_t *legal,
                               const uint32_t *key, float *policies, float *values) {
  reanalysis *a = context;
  const mz_state *state = a->round->state;
  return mz_reanalyze_search(a->reanalyze, state->target_prepared, state->seed, update, n, observations, legal, key, policies,
                             values);
}

static mz_status evaluate_afresh(void *context, int n, const void *observations, float *values) {
  reanalysis *a = context;
  return mz_reanalyze_evaluate(a->reanalyze, a->round->state->target_prepared, n, observations, values);
}

static mz_status build(round *r, int index, int worker, mz_batch *batch) {
  const mz_state *state = r->state;
  reanalysis analysis = {.round = r};
  mz_reanalyzer reanalyzer = {.context = &analysis,
                              .ratio = state->settings.learning.reanalyze_ratio,
                              .search = search_afresh,
                              .evaluate = evaluate_afresh};
  if (reanalyzer.ratio > 0) MZ_TRY(mz_workers_reanalyze(r->workers, worker, &analysis.reanalyze));
  const mz_batch_source source = {.buffer = state->buffer,
                                  .settings = &state->settings.replay,
                                  .spec = &state->env->spec,
                                  .seed = state->seed,
                                  .reanalyzer = reanalyzer.ratio > 0 ? &reanalyzer : NULL};
  return mz_batch_build(batch, &source, r->first_update + (uint32_t)index);
}

static mz_status build_batch(void *context, int index, int worker) {
  round *r = context;
  uint64_t waited = 0;
  int slot;
  bool open = mz_queue_reserve(r->workers->queue, index, &slot, &waited);
  mz_stage_add(&r->batch_wait_ns, waited);
  if (!open) return MZ_OK; /* the learner failed and says why */
  mz_status status = build(r, index, worker, &r->workers->batches[slot]);
  if (status == MZ_OK)
    mz_queue_publish(r->workers->queue, index);
  else
    mz_queue_close(r->workers->queue);
  return status;
}

/* C: the batches are learned from, in order. */
static mz_status learn(round *r, mz_round_stats *stats) {
  int rows = (int)r->state->settings.learning.batch_size;
  for (int i = 0; i < r->updates; i++) {
    int slot;
    mz_activity_step(&r->workers->activity);
    if (!mz_queue_take(r->workers->queue, &slot, &stats->learner_wait_ns)) return MZ_OK; /* a builder failed and says why */
    const mz_batch *batch = &r->workers->batches[slot];
    const uint64_t begun = mz_clock_ns(), cpu_begun = mz_clock_thread_ns();
    mz_status status = mz_learner_update(r->state->learner, batch, r->errors + (size_t)i * (size_t)rows, &stats->learning);
    const mz_update_seen seen = mz_learner_seen(r->state->learner);
    if (status == MZ_OK) status = mz_guard_check(&r->state->settings.guard, r->state->counters.updates + i + 1, &seen);
    stats->learn_ns += mz_clock_ns() - begun;
    stats->learn_cpu_ns += mz_clock_thread_ns() - cpu_begun;
    if (status != MZ_OK) {
      mz_queue_close(r->workers->queue);
      return status;
    }
    mz_prequential_update(&r->workers->prequential, batch, mz_learner_row_losses(r->state->learner), &stats->prequential);
    memcpy(r->leaves + (size_t)i * (size_t)rows, batch->leaf, (size_t)rows * sizeof *r->leaves);
    memcpy(r->serials + (size_t)i * (size_t)rows, batch->serial, (size_t)rows * sizeof *r->serials);
    mz_queue_release(r->workers->queue);
  }
  return MZ_OK;
}

static void set_priorities(round *r) {
  size_t rows = (size_t)r->updates * (size_t)r->state->settings.learning.batch_size;
  if (r->state->settings.replay.priority_exponent == 0 || r->void_) return;
  for (size_t i = 0; i < rows; i++) mz_buffer_set_priority(r->state->buffer, r->leaves[i], r->serials[i], r->errors[i]);
}

static mz_status copy_target_when_due(round *r) {
  const mz_learning_settings *own = &r->state->own.learning, *present = &r->state->settings.learning;
  const int64_t interval = own->target_interval * own->batch_size, before = mz_state_trained_rows(r->state);
  if ((before + r->updates * present->batch_size) / interval == before / interval || r->void_) return MZ_OK;
  memcpy(r->state->target, mz_learner_weights(r->state->learner), (size_t)r->state->model.params.size * sizeof(float));
  return mz_state_target_changed(r->state);
}

/* Groups are ranges of games in order, so reading them in order gives (game, ordinal). */
static mz_status insert_segments(round *r) {
  for (int g = 0; g < r->workers->groups; g++) {
    mz_selfplay_result *h = &r->workers->results[g];
    for (int i = 0; i < h->segment_count; i++) {
      mz_segment *segment = h->segments[i];
      h->segments[i] = NULL;
      MZ_TRY(mz_buffer_insert(r->state->buffer, segment));
    }
  }
  return MZ_OK;
}

static void count(round *r, mz_round_stats *stats) {
  mz_counters *c = &r->state->counters;
  for (int g = 0; g < r->workers->groups; g++) {
    mz_selfplay_result *h = &r->workers->results[g];
    c->env_steps += h->moves;
    c->simulations += h->simulations;
    c->episodes += h->episodes;
    stats->moves += h->moves;
    stats->simulations += h->simulations;
    stats->episodes += h->episodes;
    stats->return_sum += h->return_sum;
    stats->length_sum += h->length_sum;
    stats->policy_entropy_sum += h->policy_entropy_sum;
    stats->root_value_sum += h->root_value_sum;
    mz_selfplay_result_deinit(h);
    memset(h, 0, sizeof *h);
  }
  c->rounds++;
  c->phases = c->rounds / r->state->settings.train.phase_rounds;
  c->updates += r->updates;
  if (r->state->moves_batch_size) r->state->trained_rows += r->updates * r->state->settings.learning.batch_size;
  stats->rounds++;
}

/* Publishes what was learned where it is sound, otherwise what was sound before; keeps a sound state at a phase's end. */
static mz_status publish_soundly(round *r) {
  mz_state *state = r->state;
  MZ_TRY(mz_state_publish(state));
  if (!state->guard) return MZ_OK;
  const mz_status sound = r->void_ ? MZ_OK : mz_state_check_sound(state, r->workers);
  if (sound == MZ_E_DIVERGED) {
    MZ_TRY(mz_guard_go_back(state->guard, state));
    return mz_state_publish(state);
  }
  if (sound == MZ_OK && !r->void_ && state->counters.rounds % state->settings.train.phase_rounds == 0)
    mz_guard_keep(state->guard, state);
  return sound;
}

static mz_status fold(round *r, mz_round_stats *stats) {
  MZ_TRY(mz_learner_fetch(r->state->learner, r->state->guard != NULL)); /* a guard keeps the moments, too */
  set_priorities(r);
  MZ_TRY(copy_target_when_due(r));
  MZ_TRY(insert_segments(r)); /* evicts as it goes */
  count(r, stats);
  return publish_soundly(r);
}

/* Positions are given up segment by segment, and bytes may bound them before replay.capacity does. */
static void tell_where_it_never_learns(const mz_state *state, mz_workers *workers) {
  const mz_buffer *buffer = state->buffer;
  const mz_replay_settings *s = &state->settings.replay;
  const bool gives_up = mz_buffer_segments(buffer) > 0 && mz_buffer_entry(buffer, 0).serial > 0;
  if (!gives_up || workers->told || mz_buffer_positions(buffer) >= s->min_fill) return;
  workers->told = true;
  mz_log_write(
      MZ_LOG_WARNING,
      "replay.min_fill: learning waits for %lld positions, and the replay gives old ones up with %lld in it; lower it, or "
      "raise replay.capacity (%lld) or replay.bytes (%lld)",
      (long long)s->min_fill, (long long)mz_buffer_positions(buffer), (long long)s->capacity, (long long)s->bytes_max);
}

mz_status mz_round_play(mz_state *state, mz_workers *workers, mz_round_stats *stats) {
  uint64_t start = mz_clock_ns();
  const mz_settings *s = &state->settings;
  bool learning = mz_buffer_positions(state->buffer) >= (s->replay.min_fill > 0 ? s->replay.min_fill : 1);
  round r = {.state = state,
             .workers = workers,
             .first_update = (uint32_t)state->counters.updates,
             .updates = learning ? (int)s->learning.loop_count : 0,
             .progress = mz_state_progress(state)};
  const mz_rate_position position = mz_state_rate_position(state);
  if (state->moves_batch_size) mz_learner_set_position(state->learner, &position);
  size_t rows = (size_t)r.updates * (size_t)s->learning.batch_size;
  mz_status status;
  MZ_TRY_CLEANUP(mz_alloc(&r.leaves, rows, sizeof *r.leaves));
  MZ_TRY_CLEANUP(mz_alloc(&r.serials, rows, sizeof *r.serials));
  MZ_TRY_CLEANUP(mz_alloc(&r.errors, rows, sizeof *r.errors));
  MZ_TRY_CLEANUP(mz_queue_reset(workers->queue, workers->capacity));
  MZ_TRY_CLEANUP(mz_prequential_follow(&workers->prequential, state->buffer));

  mz_activity *activity = &workers->activity;
  const int64_t number = state->counters.rounds + 1;
  mz_activity_begin(activity, MZ_DOING_UPDATES, number);
  mz_pool_start(workers->actor_pool, play_group, &r, workers->groups);
  mz_pool_start(workers->batch_pool, build_batch, &r, r.updates);
  mz_status learned = learn(&r, stats);
  char why[MZ_MESSAGE_MAX];
  snprintf(why, sizeof why, "%s", mz_message());
  mz_activity_begin(activity, MZ_DOING_WAIT_BATCHES, number);
  mz_status built = mz_pool_wait(workers->batch_pool);
  if (built != MZ_OK && learned == MZ_OK) snprintf(why, sizeof why, "%s", mz_message());
  mz_activity_begin(activity, MZ_DOING_WAIT_SELFPLAY, number);
  mz_status played = mz_pool_wait(workers->actor_pool);
  status = learned != MZ_OK ? learned : built;
  if (learned == MZ_E_DIVERGED && state->guard && built == MZ_OK && played == MZ_OK) {
    mz_fail(learned, "%s", why);
    status = mz_guard_go_back(state->guard, state);
    snprintf(why, sizeof why, "%s", mz_message());
    r.void_ = true;
  }
  if (status != MZ_OK) MZ_TRY_CLEANUP(mz_fail(status, "round %lld: %s", (long long)number, why));
  MZ_TRY_CLEANUP(played);

  uint64_t folding = mz_clock_ns();
  mz_activity_begin(activity, MZ_DOING_FOLD, number);
  MZ_TRY_CLEANUP(fold(&r, stats));
  if (!learning) tell_where_it_never_learns(state, workers);
  uint64_t ended = mz_clock_ns();
  stats->batch_wait_ns += atomic_load(&r.batch_wait_ns);
  stats->fold_ns += ended - folding;
  stats->wall_ns += ended - start;
cleanup:
  free(r.leaves);
  free(r.serials);
  free(r.errors);
  return status;
}
