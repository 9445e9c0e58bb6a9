#include "muzero/training/memory.h"
#include "envs/worker/workers.h"
#include "base/machine/machine.h"
#include "muzero/training/guard.h"
#include "muzero/training/memory_gpu.h"
#include "muzero/training/workers.h"
#include "networks/lane.h"
#include "replay/storage/store.h"
#include "selfplay/evaluation/evaluate.h"
#include <malloc.h>
#include <math.h>
#include <string.h>

static const double OVERHEAD = 12 << 20; /* of libraries, the history, JSON, buffers of zstd; measured */
static const double THREAD = 256 << 10;  /* a thread's stack and its arena's beginnings */
static const double PACKED = 0.7;        /* of a segment, at the most, measured on the bundled environments */
static const double COPIED = 2;          /* of a section: its buffer grows by half, with the last one beside it */
static const double COMPRESSED = 3;      /* of all sections: the same, and the file made of them */

/* The run that is counted. */
typedef struct subject {
  const mz_env *env;
  const mz_settings *settings;
  const mz_model *model;
  mz_learner_settings learning;
  mz_cut cut;
  double segments, positions; /* in the replay, at the most */
} subject;

/* ---- parts that no knob changes ---- */

static double parameters(const subject *s) { return (double)s->model->params.size * sizeof(float); }

static double gradient_bytes(const subject *s) { return (double)s->learning.update.shards * parameters(s); }

/* Weights, target, moments, and the average of weights. */
static double vectors_bytes(const subject *s) {
  return (2 + (s->settings->optimizer.kind == MZ_ADAM ? 2 : 1) + (s->learning.update.average > 0)) * parameters(s);
}

static double network_bytes(const subject *s) {
  double making;
  const double prepared = mz_prepared_bytes(s->model, &mz_lane_cpu, &making);
  const double target = parameters(s) + prepared, published = 2 * prepared + making; /* and the next */
  const double to_go_back_to = s->settings->guard.mode == MZ_GUARD_BACK ? vectors_bytes(s) : 0;
  return mz_learner_bytes(s->model, &mz_lane_cpu, &s->learning) - gradient_bytes(s) + target + published + to_go_back_to;
}

/* Indices of the replay, and of the checkpoints that are kept: the last ones share most segments with it. */
static double index_bytes(const subject *s) {
  const mz_train_settings *train = &s->settings->train;
  const double kept = 2 + 5 * (double)train->spaced, hashes = (double)(train->keep + 1) + 10 * (double)train->spaced;
  return mz_buffer_index_bytes(&s->settings->replay, &s->env->spec, s->cut) + mz_store_table_bytes(kept * s->segments) +
         hashes * s->segments * sizeof(uint64_t) + mz_prequential_bytes(s->segments);
}

/* The segments of a round wait for its end. */
static double game_bytes(const subject *s) {
  const mz_selfplay_settings *play = &s->settings->selfplay;
  return mz_games_bytes(s->env, play, s->cut) +
         (double)play->games * (double)play->moves * mz_transition_bytes(&s->env->spec, s->cut);
}

static double round_bytes(const subject *s) {
  return (double)s->learning.update.batch_size * (double)s->settings->learning.loop_count *
         (sizeof(int64_t) + sizeof(uint64_t) + sizeof(float));
}

/* Sections are copied for the checkpoint and, while it is written, for the digest of a phase. */
static double save_bytes(const subject *s) {
  const double weights = vectors_bytes(s) * (s->settings->guard.mode == MZ_GUARD_BACK ? 2 : 1);
  const double index = s->positions * sizeof(uint32_t) + s->segments * (sizeof(uint32_t) + sizeof(uint64_t));
  const double games = (double)s->settings->selfplay.games * /* halfway, on average */
                       (mz_segment_bytes_max(&s->env->spec, s->cut) / 2 + 2 * (double)s->env->state_size);
  const double sections = weights + index + games, hashes = s->segments * (sizeof(uint64_t) + sizeof(mz_content));
  const double segments = mz_store_write_bytes(mz_buffer_content_bytes(&s->settings->replay, &s->env->spec, s->cut),
                                               mz_segment_bytes_max(&s->env->spec, s->cut));
  return 2 * COPIED * sections + hashes + fmax(segments, COMPRESSED * sections);
}

/* Memory that earlier runs of this process gave back is not counted. */
static double process_bytes(void) {
  malloc_trim(0);
  return (double)mz_machine_rss() + OVERHEAD;
}

double mz_memory_resident(const mz_env *env) {
  return (double)mz_machine_rss() + (env->workers ? mz_env_workers_memory_now(env->workers).bytes : 0);
}

/* The timings have a learner of their own, before there is anything to learn from or to save. */
static double probe_bytes(const subject *s, const mz_memory *m) {
  if (strcmp(s->settings->allocation.strategy, "fixed") == 0 || s->settings->learning.loop_count == 0) return 0;
  const double learner = mz_learner_bytes(s->model, &mz_lane_cpu, &s->learning) + m->learner + m->batch;
  const double later = m->fixed[MZ_MEMORY_SAVE] + m->fixed[MZ_MEMORY_ROUND] + m->learner + m->batch;
  return fmax(0, learner - later);
}

/* ---- what knobs multiply ---- */

/* Trees are made for a tile of slots, all else for every slot: a straight line each, from three sizes. */
static mz_status count_actor(mz_memory *m, const subject *s) {
  enum { MORE = 64, SLOTS_MAX = 4096 };
  const mz_search_settings *search = &s->settings->search;
  const int tile = mz_search_tile(search, s->env->spec.actions, mz_infer_latent_stride(s->model), SLOTS_MAX);
  double one, full, more;
  MZ_TRY(mz_actor_bytes(s->env, search, s->model, &mz_lane_cpu, 1, &one));
  MZ_TRY(mz_actor_bytes(s->env, search, s->model, &mz_lane_cpu, tile, &full));
  MZ_TRY(mz_actor_bytes(s->env, search, s->model, &mz_lane_cpu, tile + MORE, &more));
  m->tile = tile;
  m->actor_slot = (more - full) / MORE;
  m->actor_tile = tile > 1 ? fmax(0, (full - one) / (tile - 1) - m->actor_slot) : 0;
  m->actor = fmax(0, one - m->actor_slot - m->actor_tile) + THREAD;
  return MZ_OK;
}

static mz_status count_builder(mz_memory *m, const subject *s) {
  const mz_settings *settings = s->settings;
  const int rows = (int)s->learning.update.batch_size;
  double reanalyze = 0;
  if (settings->learning.reanalyze_ratio > 0)
    MZ_TRY(mz_reanalyze_bytes(&settings->search, &s->env->spec, s->model, &mz_lane_cpu,
                              mz_workers_reanalyze_slots(settings, &mz_lane_cpu), &reanalyze));
  const int unroll = (int)settings->loss.unroll, observed = mz_loss_observed(&settings->loss);
  const bool reanalyzed = settings->learning.reanalyze_ratio > 0;
  m->builder = THREAD + reanalyze;
  m->batch = mz_batch_bytes(&settings->replay, &s->env->spec, s->cut, rows, unroll, observed, reanalyzed);
  return MZ_OK;
}

static mz_status count_evaluation(mz_memory *m, const subject *s) {
  const mz_train_settings *train = &s->settings->train;
  const mz_search_settings search = mz_settings_evaluation_search(s->settings);
  MZ_TRY(mz_planner_bytes(&s->env->spec, &search, s->model, &mz_lane_cpu, mz_agent_slots_max(&mz_lane_cpu), &m->evaluation));
  mz_player opponent;
  if (s->env->spec.players > 1 && train->eval_opponent[0] && strcmp(train->eval_opponent, "all") != 0 &&
      mz_player_parse(train->eval_opponent, s->env, &opponent) == MZ_OK)
    m->evaluation += mz_player_bytes(&opponent, s->env);
  return MZ_OK;
}

mz_status mz_memory_count(mz_memory *out, const mz_env *env, const mz_settings *settings, const mz_lane *gpu) {
  mz_model *model;
  MZ_TRY(mz_alloc(&model, 1, sizeof *model));
  mz_status status;
  const mz_env_workers *workers = env->workers;
  mz_memory m = {.env = {.has_workers = workers != NULL,
                         .keeps_games = workers && mz_env_workers_keep_games(workers),
                         .given = workers ? mz_env_workers_given(workers) : 0,
                         .bytes = workers ? mz_env_workers_memory_now(env->workers).largest : 0},
                 .packed = PACKED,
                 .packed_max = (double)settings->replay.packed_bytes};
  MZ_TRY_CLEANUP(mz_model_init(model, &settings->network, &env->spec));
  subject s = {
      .env = env, .settings = settings, .model = model, .learning = mz_state_learning(settings), .cut = mz_state_cut(settings)};
  s.segments = mz_buffer_segments_most(&settings->replay, &env->spec, s.cut);
  s.positions = mz_buffer_positions_most(&settings->replay, &env->spec, s.cut);
  MZ_TRY_CLEANUP(count_actor(&m, &s));
  MZ_TRY_CLEANUP(count_builder(&m, &s));
  MZ_TRY_CLEANUP(count_evaluation(&m, &s));
  MZ_TRY_CLEANUP(mz_learner_thread_bytes(model, &mz_lane_cpu, &s.learning, &m.learner));
  m.learner += THREAD;
  if (gpu) MZ_TRY_CLEANUP(mz_memory_count_gpu(&m, env, settings, model, gpu));
  m.replay = mz_buffer_content_bytes(&settings->replay, &env->spec, s.cut);
  m.fixed[MZ_MEMORY_PROCESS] = process_bytes() + m.gpu_host;
  m.fixed[MZ_MEMORY_NETWORK] = network_bytes(&s);
  m.fixed[MZ_MEMORY_GRADIENTS] = gradient_bytes(&s);
  m.fixed[MZ_MEMORY_INDEX] = index_bytes(&s);
  m.fixed[MZ_MEMORY_GAMES] = game_bytes(&s);
  m.fixed[MZ_MEMORY_ROUND] = round_bytes(&s);
  m.fixed[MZ_MEMORY_SAVE] = save_bytes(&s);
  m.fixed[MZ_MEMORY_PROBE] = probe_bytes(&s, &m);
  mz_model_take_apart(model, m.networks);
  *out = m;
cleanup:
  free(model);
  return status;
}
