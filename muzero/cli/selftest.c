#include "muzero/cli/selftest.h"
#include "muzero/base/maths.h"
#include "networks/backend.h"
#include "networks/loss.h"
#include "selfplay/search.h"
#include <math.h>
#include <string.h>

enum { WIDTH = 48, OBS = 5, ACTIONS = 3, ROWS = 7, SIMULATIONS = 12 };

static const mz_spec spec = {.obs_kind = MZ_OBS_F32,
                             .obs_shape = {1, 1, OBS},
                             .obs_size = OBS,
                             .actions = ACTIONS,
                             .players = 1,
                             .symmetries = 1,
                             .reward_min = -1,
                             .reward_max = 1,
                             .return_min = -10,
                             .return_max = 10};

static mz_status expect(const char *what, double got, double wanted, double tolerance) {
  if (fabs(got - wanted) <= tolerance) return MZ_OK;
  return mz_fail(MZ_E_INTERNAL, "%s is %.9g, not %.9g", what, got, wanted);
}

static mz_status check_values(void) {
  MZ_TRY(expect("exp(1)", (double)mz_expf(1), 2.718281828459045, 1e-6));
  MZ_TRY(expect("log(10)", (double)mz_logf(10), 2.302585092994046, 1e-6));
  MZ_TRY(expect("the value transform of 100", (double)mz_value_transform(100), 9.149875621120889, 1e-5));
  MZ_TRY(expect("its inverse", (double)mz_value_transform_inverse(mz_value_transform(100)), 100, 1e-2));
  const mz_support support = {.bins = 21, .min = -10, .max = 10};
  float two_hot[21], mean = 0;
  mz_two_hot(&support, 3.3f, two_hot);
  for (int i = 0; i < 21; i++) mean += two_hot[i] * (float)(i - 10);
  return expect("the mean of a two-hot 3.3", (double)mean, 3.3, 1e-5);
}

static mz_status run_model(const mz_model *model, const mz_backend *backend, const void *values, const float *obs, float *out) {
  mz_tape *tape;
  MZ_TRY(mz_tape_create(&tape, backend, &model->params, ROWS, false));
  const mz_value input = mz_tape_input(tape, OBS);
  const int action = mz_tape_index_input(tape);
  const mz_model_heads first = mz_model_initial(model, tape, input);
  const mz_model_heads second = mz_model_recurrent(model, tape, first.latent, action);
  const mz_status status = mz_tape_plan(tape);
  if (status == MZ_OK) {
    mz_tape_write(tape, input, obs, ROWS);
    for (int i = 0; i < ROWS; i++) mz_tape_index_at(tape, action)[i] = i % ACTIONS;
    mz_tape_forward(tape, values, ROWS);
    mz_tape_read(tape, second.policy, out, ROWS);
  }
  mz_tape_free(tape);
  return status;
}

static mz_status check_kernels(const mz_model *model, const float *weights, const float *obs) {
  const size_t size = (size_t)model->params.size;
  float fast[ROWS * ACTIONS], slow[ROWS * ACTIONS];
  double *exact;
  MZ_TRY(mz_alloc(&exact, size, sizeof *exact));
  for (size_t i = 0; i < size; i++) exact[i] = (double)weights[i];
  mz_status status = run_model(model, &mz_backend_cpu, weights, obs, fast);
  if (status == MZ_OK) status = run_model(model, &mz_backend_ref, exact, obs, slow);
  free(exact);
  for (int i = 0; i < ROWS * ACTIONS && status == MZ_OK; i++)
    status =
        expect("a logit of the network's fast kernels", (double)fast[i], (double)slow[i], 1e-5 * (1 + fabs((double)slow[i])));
  return status;
}

static mz_status search_in_tiles(const mz_model *model, const float *weights, const float *obs, int tile, float *policies) {
  mz_search_settings settings;
  const mz_config config = {.tables = &mz_search_table, .table_count = 1, .values = &settings};
  mz_config_defaults((mz_config *)&config);
  mz_infer *infer;
  MZ_TRY(mz_infer_create(&infer, model, &mz_backend_cpu, tile));
  mz_infer_set_weights(infer, weights);
  mz_infer_model adapter = {.infer = infer, .kind = MZ_OBS_F32};
  const mz_search_model searched = mz_search_model_of_infer(&adapter, model);
  mz_search *search;
  const mz_status status = mz_search_create(&search, &settings, ACTIONS, searched.latent_stride, 0.997, false, tile);
  if (status == MZ_OK) {
    mz_root roots[ROWS];
    mz_root_result results[ROWS];
    for (int i = 0; i < ROWS; i++) {
      roots[i] = (mz_root){.observation = obs + i * OBS, .noise = true, .rng = mz_rng_at(1, MZ_RNG_TEST, (uint32_t)i, 0)};
      results[i] = (mz_root_result){.policy = policies + i * ACTIONS};
    }
    mz_search_run(search, &searched, ROWS, roots, SIMULATIONS, results);
    mz_search_free(search);
  }
  mz_infer_free(infer);
  return status;
}

static mz_status check_search(const mz_model *model, const float *weights, const float *obs) {
  float together[ROWS * ACTIONS], alone[ROWS * ACTIONS];
  MZ_TRY(search_in_tiles(model, weights, obs, ROWS, together));
  MZ_TRY(search_in_tiles(model, weights, obs, 1, alone));
  if (memcmp(together, alone, sizeof alone) != 0) return mz_fail(MZ_E_INTERNAL, "a search depends on the batch it is in");
  for (int i = 0; i < ROWS; i++)
    MZ_TRY(expect("the sum of a search's policy", (double)(alone[i * ACTIONS] + alone[i * ACTIONS + 1] + alone[i * ACTIONS + 2]),
                  1, 1e-5));
  return MZ_OK;
}

mz_status mz_selftest(char *summary, size_t size) {
  MZ_TRY(check_values());
  const mz_network_settings network = {.width = WIDTH, .depth = 1, .value_bins = 21, .reward_bins = 5, .transform = true};
  mz_model *model;
  float *weights = NULL, obs[ROWS * OBS];
  MZ_TRY(mz_alloc(&model, 1, sizeof *model));
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 1);
  for (int i = 0; i < ROWS * OBS; i++) obs[i] = mz_rng_normal(&rng);
  mz_status status;
  MZ_TRY_CLEANUP(mz_model_init(model, &network, &spec));
  MZ_TRY_CLEANUP(mz_alloc(&weights, (size_t)model->params.size, sizeof *weights));
  mz_params_init(&model->params, 1, weights);
  MZ_TRY_CLEANUP(check_kernels(model, weights, obs));
  MZ_TRY_CLEANUP(check_search(model, weights, obs));
  snprintf(summary, size, "known values, kernels against the reference, and a search in two batchings agree");
cleanup:
  free(weights);
  free(model);
  return status;
}
