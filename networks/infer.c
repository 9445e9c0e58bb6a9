#include "networks/infer.h"
#include "networks/tape/backend.h"
#include <string.h>

typedef struct infer_pass { /* one recorded network with its scalar heads */
  mz_tape *tape;
  mz_value input;
  int action;
  mz_model_heads heads;
  mz_value value, reward; /* expectations */
} infer_pass;

struct mz_infer {
  const mz_model *model;
  int rows_max, stride;
  infer_pass initial, recurrent;
  const void *weights;
  double *wide_weights; /* weights in double, for backends that compute in it; otherwise NULL */
};

static mz_value expectation(mz_tape *tape, mz_value logits, const mz_support *support) {
  return mz_tape_expectation(tape, logits, support->min, support->max, support->transform);
}

static mz_status pass_record(mz_infer *infer, infer_pass *pass, const mz_backend *backend, bool recurrent) {
  const mz_model *model = infer->model;
  MZ_TRY(mz_tape_create(&pass->tape, backend, &model->params, infer->rows_max, false));
  mz_tape *tape = pass->tape;
  pass->input = mz_tape_input(tape, recurrent ? model->latent : model->obs_size);
  if (recurrent) {
    pass->action = mz_tape_index_input(tape);
    pass->heads = mz_model_recurrent(model, tape, pass->input, pass->action);
    pass->reward = expectation(tape, pass->heads.reward, &model->reward);
  } else {
    pass->heads = mz_model_initial(model, tape, pass->input);
  }
  pass->value = expectation(tape, pass->heads.value, &model->value);
  return MZ_OK;
}

static mz_status pass_init(mz_infer *infer, infer_pass *pass, const mz_backend *backend, bool recurrent) {
  MZ_TRY(pass_record(infer, pass, backend, recurrent));
  return mz_tape_plan(pass->tape);
}

mz_status mz_infer_bytes(const mz_model *model, const mz_backend *backend, int rows_max, double *bytes) {
  mz_infer infer = {.model = model, .rows_max = rows_max};
  *bytes = sizeof infer;
  for (int recurrent = 0; recurrent < 2; recurrent++) {
    infer_pass pass = {0};
    size_t size = 0;
    mz_status status = pass_record(&infer, &pass, backend, recurrent);
    if (status == MZ_OK) status = mz_tape_measure(pass.tape, &size);
    mz_tape_free(pass.tape);
    MZ_TRY(status);
    *bytes += (double)size;
  }
  if (backend->element_size == sizeof(double)) *bytes += (double)model->params.size * sizeof(double);
  return MZ_OK;
}

mz_status mz_infer_create(mz_infer **out, const mz_model *model, const mz_backend *backend, int rows_max) {
  mz_status status = MZ_OK;
  mz_infer *infer = NULL;
  MZ_TRY(mz_alloc(&infer, 1, sizeof *infer));
  infer->model = model;
  infer->rows_max = rows_max;
  infer->stride = mz_padded(model->latent);
  MZ_TRY_CLEANUP(pass_init(infer, &infer->initial, backend, false));
  MZ_TRY_CLEANUP(pass_init(infer, &infer->recurrent, backend, true));
  if (backend->element_size == sizeof(double)) {
    MZ_TRY_CLEANUP(mz_alloc(&infer->wide_weights, (size_t)model->params.size, sizeof *infer->wide_weights));
  }
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
  free(infer->wide_weights);
  free(infer);
}

mz_status mz_infer_prepare(const mz_model *model, const mz_backend *backend, const float *values, float *out) {
  mz_model_fold(model, values, out);
  if (backend->pack_forward == NULL || !mz_params_convolve(&model->params)) return MZ_OK;
  float *folded = NULL;
  MZ_TRY(mz_alloc(&folded, (size_t)model->params.size, sizeof *folded));
  memcpy(folded, out, (size_t)model->params.size * sizeof *folded);
  const mz_status status = mz_pack_all(backend->pack_forward, &model->params, folded, model->infer_bf16, out);
  free(folded);
  return status;
}

void mz_infer_set_weights(mz_infer *infer, const float *prepared) {
  infer->weights = prepared;
  if (infer->wide_weights == NULL) return;
  for (int64_t i = 0; i < infer->model->params.size; i++) infer->wide_weights[i] = prepared[i];
  infer->weights = infer->wide_weights;
}

int mz_infer_latent_stride(const mz_infer *infer) { return infer->stride; }

/* Between `n` floats and the start of a row on a tape, of either element type. */
static inline void row_in(const mz_infer *infer, const mz_tape_value *to, int row, const float *from, size_t n) {
  const size_t at = (size_t)row * (size_t)to->stride;
  if (infer->wide_weights == NULL) {
    memcpy((float *)to->data + at, from, n * sizeof *from);
  } else {
    for (size_t i = 0; i < n; i++) ((double *)to->data)[at + i] = from[i];
  }
}

static inline void row_out(const mz_infer *infer, const mz_tape_value *from, int row, float *to, size_t n) {
  const size_t at = (size_t)row * (size_t)from->stride;
  if (infer->wide_weights == NULL) {
    memcpy(to, (const float *)from->data + at, n * sizeof *to);
  } else {
    for (size_t i = 0; i < n; i++) to[i] = (float)((const double *)from->data)[at + i];
  }
}

static void load_bytes(const mz_infer *infer, const mz_tape_value *to, int row, const uint8_t *from, size_t n) {
  const size_t at = (size_t)row * (size_t)to->stride;
  if (infer->wide_weights == NULL) {
    for (size_t i = 0; i < n; i++) ((float *)to->data)[at + i] = from[i];
  } else {
    for (size_t i = 0; i < n; i++) ((double *)to->data)[at + i] = from[i];
  }
}

static void load_observations(const mz_infer *infer, const void *observations, mz_obs_kind kind, int rows) {
  const mz_tape_value *to = mz_tape_at(infer->initial.tape, infer->initial.input);
  const size_t size = (size_t)infer->model->obs_size;
  for (int i = 0; i < rows; i++) {
    if (kind == MZ_OBS_U8) {
      load_bytes(infer, to, i, (const uint8_t *)observations + (size_t)i * size, size);
    } else {
      row_in(infer, to, i, (const float *)observations + (size_t)i * size, size);
    }
  }
}

/* Whole strides move: a latent's padding is 0 on the tape and so in the pool. */
static void load_latents(const mz_infer *infer, const float *pool, const int32_t *from, int rows) {
  const mz_tape_value *to = mz_tape_at(infer->recurrent.tape, infer->recurrent.input);
  const size_t stride = (size_t)infer->stride;
  for (int i = 0; i < rows; i++) row_in(infer, to, i, pool + (size_t)from[i] * stride, stride);
}

static void store_results(const mz_infer *infer, const infer_pass *pass, int rows, float *pool, const int32_t *to, float *policy,
                          float *value) {
  const mz_tape_value *latents = mz_tape_at(pass->tape, pass->heads.latent),
                      *policies = mz_tape_at(pass->tape, pass->heads.policy);
  const mz_tape_value *values = mz_tape_at(pass->tape, pass->value);
  const size_t stride = (size_t)infer->stride, actions = (size_t)infer->model->actions;
  for (int i = 0; i < rows; i++) {
    row_out(infer, latents, i, pool + (size_t)to[i] * stride, stride);
    row_out(infer, policies, i, policy + (size_t)i * actions, actions);
    row_out(infer, values, i, value + i, 1);
  }
}

void mz_infer_initial(mz_infer *infer, int n, const void *observations, mz_obs_kind kind, float *pool, const int32_t *out_latent,
                      float *policy, float *value) {
  MZ_ASSERT(infer->weights != NULL);
  const infer_pass *pass = &infer->initial;
  const size_t actions = (size_t)infer->model->actions;
  const size_t obs_bytes = (size_t)infer->model->obs_size * (kind == MZ_OBS_U8 ? 1 : sizeof(float));
  for (int at = 0; at < n; at += infer->rows_max) {
    const int rows = n - at < infer->rows_max ? n - at : infer->rows_max;
    load_observations(infer, (const char *)observations + (size_t)at * obs_bytes, kind, rows);
    mz_tape_forward(pass->tape, infer->weights, rows);
    store_results(infer, pass, rows, pool, out_latent + at, policy + (size_t)at * actions, value + at);
  }
}

void mz_infer_recurrent(mz_infer *infer, int n, float *pool, const int32_t *in_latent, const int32_t *action,
                        const int32_t *out_latent, float *policy, float *value, float *reward) {
  MZ_ASSERT(infer->weights != NULL);
  const infer_pass *pass = &infer->recurrent;
  const size_t actions = (size_t)infer->model->actions;
  for (int at = 0; at < n; at += infer->rows_max) {
    const int rows = n - at < infer->rows_max ? n - at : infer->rows_max;
    load_latents(infer, pool, in_latent + at, rows);
    memcpy(mz_tape_index_at(pass->tape, pass->action), action + at, (size_t)rows * sizeof *action);
    mz_tape_forward(pass->tape, infer->weights, rows);
    store_results(infer, pass, rows, pool, out_latent + at, policy + (size_t)at * actions, value + at);
    for (int i = 0; i < rows; i++) row_out(infer, mz_tape_at(pass->tape, pass->reward), i, reward + at + i, 1);
  }
}
