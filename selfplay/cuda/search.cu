#include "selfplay/cuda/search_state.cuh"
#include "networks/cuda/passes.cuh"
#include "networks/cuda/transfer.cuh"
#include "selfplay/cuda/small_search.cuh"
#include <string.h>

/* ---- to the device and back ---- */

static mz_status send_schedules(mz_device_search *s, int simulations) {
  if (!s->slots.gumbel || s->scheduled == simulations) return MZ_OK;
  const size_t capacity = (size_t)s->slots.roots.schedule_simulations;
  for (int m = 0; m <= s->slots.roots.considered_max; m++)
    mz_halving_schedule(m, simulations, s->host_schedules + (size_t)m * capacity);
  s->scheduled = 0;
  MZ_TRY(
      mz_lane_load(&s->infer->lane, s->slots.roots.schedules, s->host_schedules, mz_cuda_schedules_length(s) * sizeof(int32_t)));
  s->scheduled = simulations;
  return MZ_OK;
}

static mz_status send_questions(mz_device_search *s, int n, const mz_root *roots) {
  const size_t actions = (size_t)s->slots.tree.actions, record_bytes = mz_cuda_question_bytes(s->slots.tree.actions);
  unsigned char *record = s->host_questions + mz_cuda_observations_bytes(s, n);
  for (int i = 0; i < n; i++, record += record_bytes) {
    const mz_cuda_question question = {roots[i].rng, roots[i].noise};
    memcpy(s->host_questions + (size_t)i * s->obs_bytes, roots[i].observation, s->obs_bytes);
    memcpy(record, &question, sizeof question);
    if (roots[i].legal != nullptr)
      memcpy(record + sizeof question, roots[i].legal, actions);
    else
      memset(record + sizeof question, 1, actions);
  }
  return mz_lane_load(&s->infer->lane, s->questions, s->host_questions, mz_cuda_questions_bytes(s, n));
}

static mz_status receive_answers(mz_device_search *s, int n, mz_root_result *results) {
  const size_t actions = (size_t)s->slots.tree.actions;
  MZ_TRY(mz_lane_fetch(&s->infer->lane, s->host_answers, s->answers, mz_cuda_answers_bytes(s, n)));
  MZ_TRY(mz_lane_sync(&s->infer->lane));
  for (int i = 0; i < n; i++) {
    const mz_cuda_answer *answer = (const mz_cuda_answer *)(s->host_answers + mz_cuda_answers_bytes(s, i));
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
          pass->heads.turn >= 0 ? rows_of(pass, pass->turn) : nullptr, pass->tape->values[pass->heads.policy].stride};
}

/* Evaluates the roots and begins their search. rows: as many as the simulations run. */
static mz_status begin(mz_device_search *s, int n, int rows, int simulations) {
  const mz_infer *infer = s->infer;
  const mz_infer_pass *pass = &infer->initial;
  mz_cuda_lane *lane;
  MZ_TRY(mz_cuda_lane_enter(&infer->lane, &lane));
  const mz_cuda_heads heads = heads_of(pass, false);
  const int entries = infer->model->obs_size, stride = mz_infer_latent_stride(infer->model);
  float *const input = rows_of(pass, pass->input);
  MZ_TRY(s->obs_kind == MZ_OBS_U8 ? mz_cuda_rows_from_bytes(lane, (const uint8_t *)s->questions, n, entries, input)
                                  : mz_cuda_rows_from_dense(lane, (const float *)s->questions, n, entries, input));
  MZ_TRY(mz_tape_forward(pass->tape, infer->weights, n));
  MZ_TRY(mz_cuda_latents_scatter(lane, rows_of(pass, pass->heads.latent), n, stride, s->root_latents, infer->pool));
  return mz_cuda_slots_begin(lane, &s->slots, &heads, (const char *)s->questions + mz_cuda_observations_bytes(s, n), rows, n,
                             simulations);
}

typedef struct simulation { /* one sequence of launches */
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
  MZ_ASSERT(k < MZ_CUDA_SEARCH_SEQUENCES);
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
  mz_cuda_lane *lane;
  MZ_TRY(mz_cuda_lane_enter(&infer->lane, &lane));
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
