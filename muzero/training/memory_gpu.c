#include "muzero/training/memory_gpu.h"
#include "muzero/training/state.h"
#include "muzero/training/workers.h"
#include "selfplay/evaluation/evaluate.h"
#include <math.h>

/* An estimate: the libraries' handles and their workspace. */
static const double LANE = 96 << 20;

typedef struct subject {
  const mz_env *env;
  const mz_settings *settings;
  const mz_model *model;
  const mz_lane *gpu;
} subject;

/* Bytes for so many slots, of the host and of the GPU together. */
typedef mz_status count(const subject *s, const mz_search_settings *search, int slots, double *all);

static mz_status count_actor(const subject *s, const mz_search_settings *search, int slots, double *all) {
  return mz_actor_bytes(s->env, search, s->model, s->gpu, slots, all);
}

static mz_status count_reanalyze(const subject *s, const mz_search_settings *search, int slots, double *all) {
  return mz_reanalyze_bytes(search, &s->env->spec, s->model, s->gpu, slots, all);
}

static mz_status count_planner(const subject *s, const mz_search_settings *search, int slots, double *all) {
  return mz_planner_bytes(&s->env->spec, search, s->model, s->gpu, slots, all);
}

/* What lies on the GPU is the search. */
static mz_status split(const subject *s, count *of, const mz_search_settings *search, int slots, double *host, double *gpu) {
  double all;
  MZ_TRY(of(s, search, slots, &all));
  MZ_TRY(mz_network_search_lane_bytes(&s->env->spec, search, s->model, s->gpu, slots, gpu));
  *host = all - *gpu;
  return MZ_OK;
}

/* What a search's lane keeps for copies: by slot where `slots` are few, and more than that where it reaches its bound. */
static void add_pinned(const subject *s, mz_gpu_bytes *out) {
  const mz_search_settings *search = &s->settings->search;
  const double one = mz_network_search_pinned(&s->env->spec, search, s->model, s->gpu, 1);
  const double slot = mz_network_search_pinned(&s->env->spec, search, s->model, s->gpu, 2) - one;
  out->host_slot += slot;
  out->host_thread += one - slot;
}

/* A straight line through one slot and many. */
static mz_status count_line(const subject *s, count *of, mz_gpu_bytes *out) {
  enum { MANY = 1024 };
  double host, gpu, host_many, gpu_many;
  MZ_TRY(split(s, of, &s->settings->search, 1, &host, &gpu));
  MZ_TRY(split(s, of, &s->settings->search, MANY, &host_many, &gpu_many));
  out->host_slot = (host_many - host) / (MANY - 1);
  out->host_thread = fmax(0, host - out->host_slot);
  out->slot = (gpu_many - gpu) / (MANY - 1);
  out->thread = fmax(0, gpu - out->slot) + LANE;
  add_pinned(s, out);
  return MZ_OK;
}

/* Builders search all rows of a batch together, evaluation all its games in two tasks: both whatever the plan. */
static mz_status count_builder(const subject *s, mz_gpu_bytes *out) {
  if (s->settings->learning.reanalyze_ratio == 0) return MZ_OK;
  const int slots = mz_workers_reanalyze_slots(s->settings, s->gpu);
  MZ_TRY(split(s, count_reanalyze, &s->settings->search, slots, &out->host_thread, &out->thread));
  out->thread += LANE;
  out->host_thread += mz_network_search_pinned(&s->env->spec, &s->settings->search, s->model, s->gpu, slots);
  return MZ_OK;
}

static mz_status count_evaluation(const subject *s, mz_gpu_bytes *out) {
  enum { TASKS = 2 };
  const mz_train_settings *train = &s->settings->train;
  const mz_search_settings search = mz_settings_evaluation_search(s->settings);
  const int64_t games = (train->eval_games + TASKS - 1) / TASKS, most = mz_agent_slots_max(s->gpu);
  const int slots = (int)(games < most ? games : most);
  double gpu;
  MZ_TRY(split(s, count_planner, &search, slots, &out->host_thread, &gpu));
  out->host_thread += mz_network_search_pinned(&s->env->spec, &search, s->model, s->gpu, slots);
  out->fixed = TASKS * (gpu + LANE);
  return MZ_OK;
}

/* The learner's host memory is whatever the plan, and so is that of the lane by which weights are published. */
static mz_status count_learner(const subject *s, mz_gpu_bytes *out, double *host) {
  const mz_learner_settings learning = mz_state_learning(s->settings);
  double tape;
  MZ_TRY(mz_update_thread_bytes(s->gpu, s->model, &learning.update, &tape));
  const mz_lane_bytes update = mz_update_bytes(s->gpu, s->model, &learning.update);
  out->fixed = update.device + tape + LANE;
  *host =
      update.host + mz_lane_pinned(s->gpu, update.moved) + mz_lane_pinned(s->gpu, (double)s->model->params.size * sizeof(float));
  return MZ_OK;
}

mz_status mz_memory_count_gpu(mz_memory *m, const mz_env *env, const mz_settings *settings, const mz_model *model,
                              const mz_lane *gpu) {
  const subject s = {env, settings, model, gpu};
  double making;
  const double prepared = mz_prepared_bytes(model, gpu, &making);
  MZ_TRY(count_line(&s, count_actor, &m->gpu_actor));
  MZ_TRY(count_builder(&s, &m->gpu_builder));
  MZ_TRY(count_evaluation(&s, &m->gpu_evaluation));
  MZ_TRY(count_learner(&s, &m->gpu_learner, &m->gpu_host));
  m->gpu_actor.fixed = 2 * prepared + making; /* published, and the next */
  m->gpu_builder.fixed = 2 * prepared + making;
  return MZ_OK;
}
