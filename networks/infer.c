#include "networks/infer_state.h"

int mz_infer_latent_stride(const mz_model *model) { return mz_padded(model->latent); }

static size_t pool_bytes(const mz_model *model, int latents) {
  return (size_t)latents * (size_t)mz_infer_latent_stride(model) * sizeof(float);
}

static mz_value expectation(mz_tape *tape, mz_value logits, const mz_support *support) {
  return mz_tape_expectation(tape, logits, support->min, support->max, support->transform);
}

static mz_status pass_record(mz_infer *infer, mz_infer_pass *pass, bool recurrent) {
  const mz_model *model = infer->model;
  MZ_TRY(mz_tape_create(&pass->tape, &infer->lane, &model->params, infer->rows_max, false));
  mz_tape *tape = pass->tape;
  pass->input = mz_tape_input(tape, recurrent ? model->latent : model->obs_size);
  if (recurrent) {
    pass->action = mz_tape_index_input(tape);
    pass->heads = mz_model_recurrent(model, tape, pass->input, pass->action);
    pass->reward = expectation(tape, pass->heads.reward, &model->reward);
    if (model->tells_turns) pass->turn = expectation(tape, pass->heads.turn, &mz_model_turn_support);
  } else {
    pass->heads = mz_model_initial(model, tape, pass->input);
  }
  pass->value = expectation(tape, pass->heads.value, &model->value);
  return MZ_OK;
}

static mz_status pass_init(mz_infer *infer, mz_infer_pass *pass, bool recurrent) {
  MZ_TRY(pass_record(infer, pass, recurrent));
  return mz_tape_plan(pass->tape);
}

mz_status mz_infer_bytes(const mz_model *model, const mz_lane *lane, int rows_max, int latents, double *bytes) {
  mz_infer infer = {.model = model, .lane = *lane, .rows_max = rows_max};
  *bytes = (double)sizeof infer + (double)pool_bytes(model, latents);
  if (lane->backend->memory != NULL) *bytes += mz_prepared_bytes(model, lane, NULL); /* its own copy of the weights */
  for (int recurrent = 0; recurrent < 2; recurrent++) {
    mz_infer_pass pass = {0};
    size_t size = 0;
    mz_status status = pass_record(&infer, &pass, recurrent);
    if (status == MZ_OK) status = mz_tape_measure(pass.tape, &size);
    mz_tape_free(pass.tape);
    MZ_TRY(status);
    *bytes += (double)size;
  }
  return MZ_OK;
}

double mz_infer_moved(const mz_model *model, int rows) {
  enum { INDICES = 3, ANSWERS = 3 }; /* from, action, to; value, reward, turn */
  return (double)rows * ((double)model->obs_size * sizeof(float) + (double)model->actions * sizeof(float) +
                         INDICES * sizeof(int32_t) + ANSWERS * sizeof(float));
}

mz_status mz_infer_create(mz_infer **out, const mz_model *model, const mz_lane *lane, int rows_max, int latents) {
  mz_status status = MZ_OK;
  mz_infer *infer = NULL;
  MZ_TRY(mz_model_check(model, lane, false));
  MZ_TRY(mz_alloc(&infer, 1, sizeof *infer));
  infer->model = model;
  infer->lane = *lane;
  infer->rows_max = rows_max;
  infer->latents = latents;
  MZ_TRY_CLEANUP(pass_init(infer, &infer->initial, false));
  MZ_TRY_CLEANUP(pass_init(infer, &infer->recurrent, true));
  MZ_TRY_CLEANUP(mz_lane_alloc(lane, &infer->pool, pool_bytes(model, latents)));
  *out = infer;
  infer = NULL;
cleanup:
  mz_infer_free(infer);
  return status;
}

void mz_infer_free(mz_infer *infer) {
  if (infer == NULL) return;
  mz_tape_free(infer->initial.tape);
  mz_tape_free(infer->recurrent.tape);
  mz_lane_free(&infer->lane, infer->pool);
  mz_lane_free(&infer->lane, infer->own_weights);
  free(infer);
}

/* A device's passes are recorded with the addresses that they read. */
mz_status mz_infer_set_weights(mz_infer *infer, const mz_prepared *weights) {
  infer->weights = mz_prepared_values(weights);
  if (infer->lane.backend->memory == NULL) return MZ_OK;
  if (infer->own_weights == NULL) MZ_TRY(mz_lane_alloc(&infer->lane, &infer->own_weights, mz_prepared_size(weights)));
  infer->weights = infer->own_weights;
  if (infer->weights_number == mz_prepared_number(weights)) return MZ_OK;
  infer->weights_number = 0;
  MZ_TRY(mz_lane_copy(&infer->lane, infer->own_weights, mz_prepared_values(weights), mz_prepared_size(weights)));
  infer->weights_number = mz_prepared_number(weights);
  return MZ_OK;
}

/* The pass over `rows` rows, whose input is there, and its results; to, policy, value: of these rows. */
static mz_status run(mz_infer *infer, const mz_infer_pass *pass, int rows, const int32_t *to, float *policy, float *value) {
  MZ_TRY(mz_tape_forward(pass->tape, infer->weights, rows));
  MZ_TRY(mz_tape_get_pooled(pass->tape, pass->heads.latent, infer->pool, to, rows));
  MZ_TRY(mz_tape_get(pass->tape, pass->heads.policy, 0, policy, rows));
  return mz_tape_get(pass->tape, pass->value, 0, value, rows);
}

/* The tape copies rows without a look at where they lie. */
static void check_places(const mz_infer *infer, const int32_t *places, int n) {
  for (int i = 0; i < n; i++) MZ_ASSERT(places[i] >= 0 && places[i] < infer->latents);
}

mz_status mz_infer_initial(mz_infer *infer, int n, const void *observations, mz_obs_kind kind, const int32_t *out, float *policy,
                           float *value) {
  MZ_ASSERT(infer->weights != NULL);
  check_places(infer, out, n);
  const mz_infer_pass *pass = &infer->initial;
  const size_t actions = (size_t)infer->model->actions, size = (size_t)infer->model->obs_size;
  for (int at = 0; at < n; at += infer->rows_max) {
    const int rows = n - at < infer->rows_max ? n - at : infer->rows_max;
    const size_t seen = (size_t)at * size;
    MZ_TRY(kind == MZ_OBS_U8 ? mz_tape_put_bytes(pass->tape, pass->input, (const uint8_t *)observations + seen, rows)
                             : mz_tape_put(pass->tape, pass->input, 0, (const float *)observations + seen, rows));
    MZ_TRY(run(infer, pass, rows, out + at, policy + (size_t)at * actions, value + at));
  }
  return mz_lane_sync(&infer->lane);
}

mz_status mz_infer_recurrent(mz_infer *infer, int n, const int32_t *in, const int32_t *action, const int32_t *out, float *policy,
                             float *value, float *reward) {
  return mz_infer_recurrent_turns(infer, n, in, action, out, policy, value, reward, NULL);
}

mz_status mz_infer_recurrent_turns(mz_infer *infer, int n, const int32_t *in, const int32_t *action, const int32_t *out,
                                   float *policy, float *value, float *reward, float *turn) {
  MZ_ASSERT(infer->weights != NULL && (turn == NULL || infer->model->tells_turns));
  check_places(infer, in, n);
  check_places(infer, out, n);
  const mz_infer_pass *pass = &infer->recurrent;
  const size_t actions = (size_t)infer->model->actions;
  for (int at = 0; at < n; at += infer->rows_max) {
    const int rows = n - at < infer->rows_max ? n - at : infer->rows_max;
    MZ_TRY(mz_tape_put_pooled(pass->tape, pass->input, infer->pool, in + at, rows));
    MZ_TRY(mz_tape_put_list(pass->tape, pass->action, 0, action + at, rows));
    MZ_TRY(run(infer, pass, rows, out + at, policy + (size_t)at * actions, value + at));
    MZ_TRY(mz_tape_get(pass->tape, pass->reward, 0, reward + at, rows));
    if (turn != NULL) MZ_TRY(mz_tape_get(pass->tape, pass->turn, 0, turn + at, rows));
  }
  return mz_lane_sync(&infer->lane);
}

mz_status mz_infer_read_latents(mz_infer *infer, int first, int count, float *latents) {
  const size_t stride = (size_t)mz_infer_latent_stride(infer->model);
  MZ_ASSERT(first >= 0 && count >= 0 && first + count <= infer->latents);
  MZ_TRY(mz_lane_fetch(&infer->lane, latents, infer->pool + (size_t)first * stride, (size_t)count * stride * sizeof *latents));
  return mz_lane_sync(&infer->lane);
}
