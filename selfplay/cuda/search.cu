#include "selfplay/cuda/search.cuh"
#include "networks/cuda/passes.cuh"
#include "networks/cuda/sequence.cuh"
#include "networks/cuda/transfer.cuh"
#include "selfplay/cuda/small_search.cuh"
extern "C" {
#include "base/arena.h"
#include "selfplay/search/search_scorer.h"
}
#include <string.h>

enum { SEQUENCES = 16 }; /* of 1, 2, 4 … rows */

struct mz_device_search {
  mz_infer *infer;
  mz_search_settings settings;
  mz_obs_kind obs_kind;
  size_t obs_bytes; /* of one */
  int tile;         /* slots */
  mz_cuda_slots slots;
  int32_t *root_latents; /* [slots]: slot · nodes */
  void *questions;       /* observations, one behind the other, then records of mz_cuda_question */
  void *answers;         /* records of mz_cuda_answer */
  void *block;           /* of the device's memory */
  /* The host's: */
  unsigned char *host_questions, *host_answers;
  int32_t *host_schedules, *host_root_latents;
  void *host_block;
  int scheduled;                         /* simulations that the device's schedules are for */
  const void *weights;                   /* that the sequences read */
  mz_cuda_sequence sequences[SEQUENCES]; /* of a simulation, by the logarithm of its rows */
  bool is_small;                         /* the sequences are not used then */
  mz_cuda_small_model small;
};

/* ---- memory ---- */

static size_t observations_bytes(const mz_device_search *s, int n) {
  return ((size_t)n * s->obs_bytes + MZ_TREE_LINE - 1) / MZ_TREE_LINE * MZ_TREE_LINE;
}

static size_t questions_bytes(const mz_device_search *s, int n) {
  return observations_bytes(s, n) + (size_t)n * mz_cuda_question_bytes(s->slots.tree.actions);
}

static size_t answers_bytes(const mz_device_search *s, int n) { return (size_t)n * mz_cuda_answer_bytes(s->slots.tree.actions); }

static size_t schedules_length(const mz_device_search *s) {
  if (!s->slots.gumbel) return 0;
  return ((size_t)s->slots.roots.considered_max + 1) * (size_t)s->settings.simulations;
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
  s->tile = slots;
  s->slots.tree = {slots, nodes, actions, mz_tree_node_bytes(actions), nullptr};
  s->slots.gumbel = settings->algorithm == MZ_GUMBEL;
  s->slots.depth_max = settings->max_depth > 0 ? (int)settings->max_depth : INT32_MAX;
  mz_roots *roots = &s->slots.roots;
  roots->considered_max = settings->considered < actions ? (int)settings->considered : actions;
  roots->schedule_simulations = nodes - 1;
  roots->dirichlet_alpha = (float)settings->dirichlet_alpha;
  roots->dirichlet_fraction = (float)settings->dirichlet_fraction;
  roots->gumbel_scale = (float)settings->gumbel_scale;
}

static void carve_device(mz_device_search *s, mz_carver *carver) {
  mz_cuda_slots *slots = &s->slots;
  const size_t n = (size_t)s->tile, edges = n * (size_t)slots->tree.actions;
  mz_carve(carver, &slots->tree.records, n * (size_t)slots->tree.nodes, slots->tree.node_bytes);
  mz_carve(carver, &slots->roots.logits, edges, sizeof(float));
  mz_carve(carver, &slots->roots.gumbel_logits, edges, sizeof(float));
  mz_carve(carver, &slots->roots.first, n, sizeof(int32_t));
  mz_carve(carver, &slots->roots.considered, n, sizeof(int32_t));
  mz_carve(carver, &slots->roots.schedules, schedules_length(s), sizeof(int32_t));
  mz_carve(carver, &slots->scorer.exploration, tables_length(s), sizeof(float));
  mz_carve(carver, &slots->score, edges, sizeof(float));
  int32_t **const counts[] = {&slots->simulation, &slots->leaf, &slots->in, &slots->out, &s->root_latents};
  for (int32_t **count : counts) mz_carve(carver, count, n, sizeof(int32_t));
  mz_carve(carver, &slots->simulations, 1, sizeof(int32_t));
  mz_carve(carver, &s->questions, questions_bytes(s, s->tile), 1);
  mz_carve(carver, &s->answers, answers_bytes(s, s->tile), 1);
}

static void carve_host(mz_device_search *s, mz_carver *carver) {
  mz_carve(carver, &s->host_questions, questions_bytes(s, s->tile), 1);
  mz_carve(carver, &s->host_answers, answers_bytes(s, s->tile), 1);
  mz_carve(carver, &s->host_schedules, schedules_length(s), sizeof(int32_t));
  mz_carve(carver, &s->host_root_latents, (size_t)s->tile, sizeof(int32_t));
}

double mz_cuda_search_bytes(const mz_spec *spec, const mz_search_settings *settings, int slots) {
  mz_device_search s = {};
  mz_carver device = {}, host = {};
  describe(&s, spec, settings, slots);
  carve_device(&s, &device);
  carve_host(&s, &host);
  return (double)sizeof s + (double)device.bytes + (double)host.bytes;
}

/* As mz_carve_commit, in the lane's memory. */
static mz_status commit(const mz_lane *lane, const mz_carver *carver, void **block) {
  MZ_TRY(mz_lane_alloc(lane, block, carver->bytes));
  for (int i = 0; i < carver->count; i++) {
    void *start = (char *)*block + carver->offsets[i];
    memcpy(carver->slots[i], &start, sizeof start);
  }
  return MZ_OK;
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
  MZ_TRY(commit(&s->infer->lane, &device, &s->block));
  const mz_tape *tape = s->infer->recurrent.tape;
  s->slots.action = tape->indices[s->infer->recurrent.action]; /* where the pass reads them */
  return send_tables(s, discount);
}

mz_status mz_cuda_search_create(mz_device_search **out, mz_infer *infer, const mz_spec *spec, const mz_search_settings *settings,
                                double discount, int slots, const mz_cuda_small_model *small) {
  mz_device_search *s = nullptr;
  MZ_ASSERT(infer->rows_max >= slots && infer->latents >= slots * ((int)settings->simulations + 1));
  MZ_ASSERT(discount >= 0 && discount <= 1);
  MZ_TRY(mz_alloc(&s, 1, sizeof *s));
  s->infer = infer;
  describe(s, spec, settings, slots);
  s->is_small = small != nullptr;
  if (s->is_small) s->small = *small;
  mz_status status = fill(s, (float)(spec->alternating ? -discount : discount));
  if (status == MZ_OK && s->is_small) status = mz_cuda_small_search_prepare(mz_cuda_lane_enter(&infer->lane));
  if (status == MZ_OK)
    *out = s;
  else
    mz_cuda_search_free(s);
  return status;
}

void mz_cuda_search_free(mz_device_search *s) {
  if (s == nullptr) return;
  (void)mz_cuda_lane_enter(&s->infer->lane);
  for (mz_cuda_sequence &sequence : s->sequences) mz_cuda_sequence_drop(&sequence);
  mz_lane_free(&s->infer->lane, s->block);
  free(s->host_block);
  free(s);
}

const mz_tree *mz_cuda_search_tree(const mz_device_search *s) { return &s->slots.tree; }

/* ---- to the device and back ---- */

static mz_status send_schedules(mz_device_search *s, int simulations) {
  if (!s->slots.gumbel || s->scheduled == simulations) return MZ_OK;
  const size_t capacity = (size_t)s->slots.roots.schedule_simulations;
  for (int m = 0; m <= s->slots.roots.considered_max; m++)
    mz_halving_schedule(m, simulations, s->host_schedules + (size_t)m * capacity);
  s->scheduled = 0;
  MZ_TRY(mz_lane_load(&s->infer->lane, s->slots.roots.schedules, s->host_schedules, schedules_length(s) * sizeof(int32_t)));
  s->scheduled = simulations;
  return MZ_OK;
}

static mz_status send_questions(mz_device_search *s, int n, const mz_root *roots) {
  const size_t actions = (size_t)s->slots.tree.actions, record_bytes = mz_cuda_question_bytes(s->slots.tree.actions);
  unsigned char *record = s->host_questions + observations_bytes(s, n);
  for (int i = 0; i < n; i++, record += record_bytes) {
    const mz_cuda_question question = {roots[i].rng, roots[i].noise};
    memcpy(s->host_questions + (size_t)i * s->obs_bytes, roots[i].observation, s->obs_bytes);
    memcpy(record, &question, sizeof question);
    if (roots[i].legal != nullptr)
      memcpy(record + sizeof question, roots[i].legal, actions);
    else
      memset(record + sizeof question, 1, actions);
  }
  return mz_lane_load(&s->infer->lane, s->questions, s->host_questions, questions_bytes(s, n));
}

static mz_status receive_answers(mz_device_search *s, int n, mz_root_result *results) {
  const size_t actions = (size_t)s->slots.tree.actions;
  MZ_TRY(mz_lane_fetch(&s->infer->lane, s->host_answers, s->answers, answers_bytes(s, n)));
  MZ_TRY(mz_lane_sync(&s->infer->lane));
  for (int i = 0; i < n; i++) {
    const mz_cuda_answer *answer = (const mz_cuda_answer *)(s->host_answers + answers_bytes(s, i));
    const float *policy = (const float *)(answer + 1);
    mz_root_result *result = &results[i];
    result->selected = answer->selected;
    result->value = answer->value;
    result->raw_value = answer->raw_value;
    memcpy(result->policy, policy, actions * sizeof *policy);
    if (result->visits != nullptr) memcpy(result->visits, policy + actions, actions * sizeof *result->visits);
    if (result->prior != nullptr) memcpy(result->prior, policy + 2 * actions, actions * sizeof *policy);
  }
  return MZ_OK;
}

/* ---- the search ---- */

static float *rows_of(const mz_infer_pass *pass, mz_value value) { return mz_cuda_data(&pass->tape->values[value]); }

static mz_cuda_heads heads_of(const mz_infer_pass *pass, bool recurrent) {
  return {rows_of(pass, pass->heads.policy), rows_of(pass, pass->value), recurrent ? rows_of(pass, pass->reward) : nullptr,
          pass->tape->values[pass->heads.policy].stride};
}

/* Evaluates the roots and begins their search. rows: that the simulations will run. */
static mz_status begin(mz_device_search *s, int n, int rows, int simulations) {
  const mz_infer *infer = s->infer;
  const mz_infer_pass *pass = &infer->initial;
  const mz_cuda_lane *lane = mz_cuda_lane_enter(&infer->lane);
  const mz_cuda_heads heads = heads_of(pass, false);
  const int entries = infer->model->obs_size, stride = mz_infer_latent_stride(infer->model);
  float *const input = rows_of(pass, pass->input);
  MZ_TRY(s->obs_kind == MZ_OBS_U8 ? mz_cuda_rows_from_bytes(lane, (const uint8_t *)s->questions, n, entries, input)
                                  : mz_cuda_rows_from_dense(lane, (const float *)s->questions, n, entries, input));
  MZ_TRY(mz_tape_forward(pass->tape, infer->weights, n));
  MZ_TRY(mz_cuda_latents_scatter(lane, rows_of(pass, pass->heads.latent), n, stride, s->root_latents, infer->pool));
  return mz_cuda_slots_begin(lane, &s->slots, &heads, (const char *)s->questions + observations_bytes(s, n), rows, n,
                             simulations);
}

typedef struct simulation { /* of so many rows */
  mz_device_search *search;
  int rows;
} simulation;

static mz_status enqueue_simulation(void *context) {
  const simulation *own = (const simulation *)context;
  const mz_device_search *s = own->search;
  const mz_infer *infer = s->infer;
  const mz_infer_pass *pass = &infer->recurrent;
  const mz_cuda_lane *lane = mz_cuda_lane_of(pass->tape);
  const mz_cuda_heads heads = heads_of(pass, true);
  const int rows = own->rows, stride = mz_infer_latent_stride(infer->model);
  pass->tape->weights = infer->weights;
  pass->tape->live_rows = rows;
  MZ_TRY(mz_cuda_latents_gather(lane, infer->pool, s->slots.in, rows, stride, rows_of(pass, pass->input)));
  MZ_TRY(mz_cuda_pass_enqueue(pass->tape, false, rows));
  MZ_TRY(mz_cuda_latents_scatter(lane, rows_of(pass, pass->heads.latent), rows, stride, s->slots.out, infer->pool));
  return mz_cuda_slots_finish(lane, &s->slots, &heads, rows);
}

/* Returns the sequence of a simulation of so many rows. */
static mz_cuda_sequence *sequence_of(mz_device_search *s, int rows) {
  int k = 0;
  while (1 << k < rows) k++;
  MZ_ASSERT(k < SEQUENCES);
  if (s->weights != s->infer->weights) {
    for (mz_cuda_sequence &sequence : s->sequences) mz_cuda_sequence_drop(&sequence);
    s->weights = s->infer->weights;
  }
  return &s->sequences[k];
}

static mz_status run_passes(mz_device_search *s, const mz_cuda_lane *lane, int rows, int simulations) {
  mz_cuda_sequence *sequence = sequence_of(s, rows);
  simulation one = {s, rows};
  for (int i = 0; i < simulations; i++) MZ_TRY(mz_cuda_sequence_run(sequence, lane, enqueue_simulation, &one));
  return MZ_OK;
}

static mz_status search_tile(mz_device_search *s, int n, const mz_root *roots, int simulations, mz_root_result *results) {
  const mz_infer *infer = s->infer;
  const mz_cuda_lane *lane = mz_cuda_lane_enter(&infer->lane);
  const int rows = s->is_small ? n : mz_cuda_pass_rows(infer->recurrent.tape, n);
  MZ_TRY(send_questions(s, n, roots));
  MZ_TRY(begin(s, n, rows, simulations));
  MZ_TRY(s->is_small
             ? mz_cuda_small_search_run(lane, &s->small, &s->slots, (const float *)infer->weights, infer->pool, n, simulations)
             : run_passes(s, lane, rows, simulations));
  MZ_TRY(mz_cuda_slots_answer(lane, &s->slots, s->answers, n));
  return receive_answers(s, n, results);
}

mz_status mz_cuda_search_run(mz_device_search *s, int n, const mz_root *roots, int simulations, mz_root_result *results) {
  MZ_ASSERT(s->infer->weights != nullptr && simulations >= 0 && simulations <= s->settings.simulations);
  if (simulations == 0) simulations = (int)s->settings.simulations;
  MZ_TRY(send_schedules(s, simulations));
  for (int done = 0; done < n;) {
    const int tiles = (n - done + s->tile - 1) / s->tile, size = (n - done + tiles - 1) / tiles;
    MZ_TRY(search_tile(s, size, roots + done, simulations, results + done));
    done += size;
  }
  return MZ_OK;
}
