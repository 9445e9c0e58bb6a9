#include "cli/explaining/selftest.h"
#include "base/maths/maths.h"
#include "networks/lane.h"
#include "networks/loss.h"
#include "selfplay/search/network_search.h"
#include <math.h>
#include <string.h>

enum { WIDTH = 48, OBS = 5, ACTIONS = 3, ROWS = 7, SIMULATIONS = 12 };
enum { BOARD_HEIGHT = 6, BOARD_WIDTH = 7, BOARD_PLANES = 3, BOARD_OBS = BOARD_HEIGHT * BOARD_WIDTH * BOARD_PLANES };
enum { ACTIONS_MAX = BOARD_WIDTH, OBS_MAX = BOARD_OBS };

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

static const mz_spec board_spec = {.obs_kind = MZ_OBS_F32,
                                   .obs_shape = {BOARD_HEIGHT, BOARD_WIDTH, BOARD_PLANES},
                                   .obs_size = BOARD_OBS,
                                   .actions = BOARD_WIDTH,
                                   .action_kind = MZ_ACTIONS_COLUMNS,
                                   .players = 2,
                                   .turns = MZ_TURNS_ALTERNATE,
                                   .symmetries = 1,
                                   .reward_min = -1,
                                   .reward_max = 1,
                                   .return_min = -1,
                                   .return_max = 1};

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

/* Policies after one step of the model: represented, predicted, advanced, predicted. */
static mz_status run_model(const mz_model *model, const mz_lane *where, const float *weights, const float *obs, float *policies) {
  mz_lane lane = {0};
  mz_infer *infer = NULL;
  mz_prepared *prepared = NULL;
  float values[ROWS], rewards[ROWS];
  int32_t from[ROWS], to[ROWS], action[ROWS];
  mz_status status;
  MZ_TRY_CLEANUP(mz_prepared_create(&prepared, model, where, weights));
  MZ_TRY_CLEANUP(mz_lane_open(&lane, where));
  MZ_TRY_CLEANUP(mz_infer_create(&infer, model, &lane, ROWS, 2 * ROWS));
  for (int i = 0; i < ROWS; i++) from[i] = i, to[i] = ROWS + i, action[i] = i % model->actions;
  MZ_TRY_CLEANUP(mz_infer_set_weights(infer, prepared));
  MZ_TRY_CLEANUP(mz_infer_initial(infer, ROWS, obs, MZ_OBS_F32, from, policies, values));
  MZ_TRY_CLEANUP(mz_infer_recurrent(infer, ROWS, from, action, to, policies, values, rewards));
cleanup:
  mz_infer_free(infer);
  mz_lane_close(&lane);
  mz_prepared_release(prepared);
  return status;
}

static mz_status check_kernels(const mz_model *model, const mz_lane *where, const float *weights, const float *obs) {
  const double tolerance = mz_lane_is_cpu(where) ? 1e-5 : 1e-4; /* libraries of GPUs add in orders of their own */
  float fast[ROWS * ACTIONS_MAX], slow[ROWS * ACTIONS_MAX];
  MZ_TRY(run_model(model, where, weights, obs, fast));
  MZ_TRY(run_model(model, &(mz_lane){.backend = &mz_backend_ref}, weights, obs, slow));
  for (int i = 0; i < ROWS * model->actions; i++) {
    const double wanted = (double)slow[i];
    MZ_TRY(expect("a logit of the network's fast kernels", (double)fast[i], wanted, tolerance * (1 + fabs(wanted))));
  }
  return MZ_OK;
}

static mz_status search_in_tiles(const mz_model *model, const mz_lane *where, const mz_prepared *weights, const float *obs,
                                 int tile, float *policies) {
  mz_search_settings settings;
  const mz_config config = {.tables = &mz_search_table, .table_count = 1, .values = &settings};
  mz_config_defaults((mz_config *)&config);
  mz_network_search search;
  MZ_TRY(mz_network_search_init(&search, &spec, &settings, model, where, 0.997, tile));
  mz_root roots[ROWS];
  mz_root_result results[ROWS];
  for (int i = 0; i < ROWS; i++) {
    roots[i] = (mz_root){.observation = obs + i * OBS, .noise = true, .rng = mz_rng_at(1, MZ_RNG_TEST, (uint32_t)i, 0)};
    results[i] = (mz_root_result){.policy = policies + i * ACTIONS};
  }
  const mz_status status = mz_network_search_run(&search, weights, ROWS, roots, SIMULATIONS, results);
  mz_network_search_deinit(&search);
  return status;
}

static mz_status check_search(const mz_model *model, const mz_lane *where, const float *weights, const float *obs) {
  float together[ROWS * ACTIONS], alone[ROWS * ACTIONS];
  mz_prepared *prepared;
  MZ_TRY(mz_prepared_create(&prepared, model, where, weights));
  mz_status status = search_in_tiles(model, where, prepared, obs, ROWS, together);
  if (status == MZ_OK) status = search_in_tiles(model, where, prepared, obs, 1, alone);
  mz_prepared_release(prepared);
  MZ_TRY(status);
  if (memcmp(together, alone, sizeof alone) != 0) return mz_fail(MZ_E_INTERNAL, "a search depends on the batch it is in");
  for (int i = 0; i < ROWS; i++)
    MZ_TRY(expect("the sum of a search's policy", (double)(alone[i * ACTIONS] + alone[i * ACTIONS + 1] + alone[i * ACTIONS + 2]),
                  1, 1e-5));
  return MZ_OK;
}

/* Checks a network with made-up weights and observations, each stream with its own. */
static mz_status check_network(const mz_network_settings *network, const mz_spec *of, const mz_lane *where, uint64_t stream,
                               bool searches) {
  mz_model *model;
  float *weights = NULL, obs[ROWS * OBS_MAX];
  MZ_TRY(mz_alloc(&model, 1, sizeof *model));
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, stream);
  for (int i = 0; i < ROWS * of->obs_size; i++) obs[i] = mz_rng_normal(&rng);
  mz_status status;
  MZ_TRY_CLEANUP(mz_model_init(model, network, of));
  MZ_TRY_CLEANUP(mz_alloc(&weights, (size_t)model->params.size, sizeof *weights));
  mz_params_init(&model->params, 1, weights);
  MZ_TRY_CLEANUP(check_kernels(model, where, weights, obs));
  if (searches) MZ_TRY_CLEANUP(check_search(model, where, weights, obs));
cleanup:
  free(weights);
  free(model);
  return status;
}

static mz_status check_networks(const mz_lane *where) {
  static const mz_network_settings mlp = {.width = WIDTH, .depth = 1, .value_bins = 21, .reward_bins = 5, .transform = true};
  static const mz_network_settings conv = {.kind = MZ_MODEL_CONV,
                                           .channels = 32,
                                           .blocks = 1,
                                           .pooled_blocks = 1,
                                           .head_channels = 16,
                                           .norm_rows = ROWS,
                                           .bn_momentum = 0.1,
                                           .value_bins = 3,
                                           .reward_bins = 3,
                                           .value_range = 1,
                                           .reward_range = 1};
  MZ_TRY(check_network(&mlp, &spec, where, 1, true));
  return check_network(&conv, &board_spec, where, 2, false);
}

mz_status mz_selftest(char *summary, size_t size) {
  MZ_TRY(check_values());
  MZ_TRY(check_networks(&mz_lane_cpu));
  snprintf(summary, size, "known values, both kinds of networks against the reference, and a search in two batchings agree");
  return MZ_OK;
}

mz_status mz_selftest_device(const mz_lane *where, char *summary, size_t size) {
  MZ_TRY(check_networks(where));
  snprintf(summary, size, "both kinds of networks against the reference, and a search in two batchings agree");
  return MZ_OK;
}
