#include "selfplay/cuda/search_state.cuh"
#include "selfplay/cuda/small_search.cuh"
extern "C" {
#include "base/arena.h"
#include "selfplay/search/search_scorer.h"
}

/* Entries of a scorer's three tables. */
static size_t tables_length(const mz_device_search *s) { return 3 * ((size_t)s->slots.tree.nodes + 1); }

/* Sets what is known before there is memory. */
static void describe(mz_device_search *s, const mz_spec *spec, const mz_search_settings *settings, int slots) {
  const int actions = spec->actions, nodes = (int)settings->simulations + 1;
  MZ_ASSERT(actions >= 1 && nodes >= 2 && slots >= 1 && slots <= MZ_SEARCHER_SLOTS_MAX);
  s->settings = *settings;
  s->obs_kind = spec->obs_kind;
  s->obs_bytes = mz_spec_obs_bytes(spec);
  s->turns = spec->turns;
  s->tile = slots;
  s->slots.tree = {slots, nodes, actions, mz_tree_node_bytes(actions), nullptr};
  s->slots.gumbel = settings->algorithm == MZ_GUMBEL;
  s->slots.depth_max = settings->max_depth > 0 ? (int)settings->max_depth : INT32_MAX;
  s->slots.roots.schedule_simulations = nodes - 1;
  mz_roots_configure(&s->slots.roots, settings, actions);
}

static void carve_device(mz_device_search *s, mz_carver *carver) {
  mz_cuda_slots *slots = &s->slots;
  const size_t n = (size_t)s->tile, edges = n * (size_t)slots->tree.actions;
  mz_carve(carver, &slots->tree.records, n * (size_t)slots->tree.nodes, slots->tree.node_bytes);
  mz_carve(carver, &slots->roots.logits, edges, sizeof(float));
  mz_carve(carver, &slots->roots.gumbel_logits, edges, sizeof(float));
  mz_carve(carver, &slots->roots.first, n, sizeof(int32_t));
  mz_carve(carver, &slots->roots.considered, n, sizeof(int32_t));
  mz_carve(carver, &slots->roots.schedules, mz_cuda_schedules_length(s), sizeof(int32_t));
  mz_carve(carver, &slots->scorer.exploration, tables_length(s), sizeof(float));
  mz_carve(carver, &slots->score, edges, sizeof(float));
  int32_t **const counts[] = {&slots->simulation, &slots->leaf, &slots->in, &slots->out, &s->root_latents};
  for (int32_t **count : counts) mz_carve(carver, count, n, sizeof(int32_t));
  mz_carve(carver, &slots->simulations, 1, sizeof(int32_t));
  if (s->turns == MZ_TURNS_TOLD) {
    mz_carve(carver, &slots->discount, n * (size_t)slots->tree.nodes, sizeof *slots->discount);
    mz_carve(carver, &slots->away, n * (size_t)slots->tree.nodes, sizeof *slots->away);
  }
  mz_carve(carver, &s->questions, mz_cuda_questions_bytes(s, s->tile), 1);
  mz_carve(carver, &s->answers, mz_cuda_answers_bytes(s, s->tile), 1);
}

static void carve_host(mz_device_search *s, mz_carver *carver) {
  mz_carve(carver, &s->host_questions, mz_cuda_questions_bytes(s, s->tile), 1);
  mz_carve(carver, &s->host_answers, mz_cuda_answers_bytes(s, s->tile), 1);
  mz_carve(carver, &s->host_schedules, mz_cuda_schedules_length(s), sizeof(int32_t));
  mz_carve(carver, &s->host_root_latents, (size_t)s->tile, sizeof(int32_t));
}

/* Whatever goes to the device or comes back lies in the host's block, but for the scorer's tables. */
mz_lane_bytes mz_cuda_search_bytes(const mz_spec *spec, const mz_search_settings *settings, int slots) {
  mz_device_search s = {};
  mz_carver device = {}, host = {};
  describe(&s, spec, settings, slots);
  carve_device(&s, &device);
  carve_host(&s, &host);
  const double tables = (double)(tables_length(&s) * sizeof(float));
  return {(double)device.bytes, (double)sizeof s + (double)host.bytes + tables, (double)host.bytes + tables};
}

/* Sends what never changes: the scorer's tables and the numbers of the roots' latents. */
static mz_status send_tables(mz_device_search *s, float discount) {
  const mz_lane *lane = &s->infer->lane;
  const int nodes = s->slots.tree.nodes;
  mz_scorer scorer = {};
  MZ_TRY(mz_scorer_init(&scorer, &s->settings, discount, nodes));
  float *const tables = s->slots.scorer.exploration;
  const mz_status status = mz_lane_load(lane, tables, scorer.exploration, tables_length(s) * sizeof *tables);
  s->slots.scorer = scorer;
  s->slots.scorer.exploration = tables;
  s->slots.scorer.q_scale = tables + (scorer.q_scale - scorer.exploration);
  s->slots.scorer.q_decay = tables + (scorer.q_decay - scorer.exploration);
  mz_scorer_deinit(&scorer);
  MZ_TRY(status);
  for (int i = 0; i < s->tile; i++) s->host_root_latents[i] = i * nodes;
  return mz_lane_load(lane, s->root_latents, s->host_root_latents, (size_t)s->tile * sizeof *s->root_latents);
}

static mz_status fill(mz_device_search *s, float discount) {
  mz_carver device = {}, host = {};
  carve_device(s, &device);
  carve_host(s, &host);
  MZ_TRY(mz_carve_commit(&host, &s->host_block));
  MZ_TRY(mz_lane_alloc(&s->infer->lane, &s->block, device.bytes));
  mz_carve_within(&device, s->block);
  const mz_tape *tape = s->infer->recurrent.tape;
  s->slots.action = tape->indices[s->infer->recurrent.action]; /* the pass reads them there */
  return send_tables(s, discount);
}

mz_status mz_cuda_search_create(mz_device_search **out, mz_infer *infer, const mz_spec *spec, const mz_search_settings *settings,
                                double discount, int slots, const mz_cuda_small_model *small) {
  mz_device_search *s = nullptr;
  MZ_ASSERT(infer->rows_max >= slots && infer->latents >= slots * ((int)settings->simulations + 1));
  MZ_ASSERT(discount >= 0 && discount <= 1 && infer->model->tells_turns == (spec->turns == MZ_TURNS_TOLD));
  MZ_TRY(mz_alloc(&s, 1, sizeof *s));
  s->infer = infer;
  describe(s, spec, settings, slots);
  s->is_small = small != nullptr;
  if (s->is_small) s->small = *small;
  mz_cuda_lane *lane;
  mz_status status = mz_cuda_lane_enter(&infer->lane, &lane);
  if (status == MZ_OK) status = fill(s, (float)(spec->turns == MZ_TURNS_ALTERNATE ? -discount : discount));
  if (status == MZ_OK && s->is_small) status = mz_cuda_small_search_prepare(lane);
  if (status == MZ_OK)
    *out = s;
  else
    mz_cuda_search_free(s);
  return status;
}

void mz_cuda_search_free(mz_device_search *s) {
  if (s == nullptr) return;
  (void)mz_cuda_device_enter(s->infer->lane.device);
  for (mz_cuda_sequence &sequence : s->sequences) mz_cuda_sequence_drop(&sequence);
  mz_lane_free(&s->infer->lane, s->block);
  free(s->host_block);
  free(s);
}

const mz_tree *mz_cuda_search_tree(const mz_device_search *s) { return &s->slots.tree; }
