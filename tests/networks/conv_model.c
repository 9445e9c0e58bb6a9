/* The convolutional model: its parameters, what it refuses, folding of batch norm, and inference: the same bits however requests are cut,
 * in both precisions, and those of the reference backend but for rounding. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/infer.h"
#include "networks/isa.h"
#include "tests/networks/cases.h"

enum { PLANES = 3, N = 70 };

static mz_model model; /* large */
static float *weights;

static mz_spec spec_of(mz_board board, mz_action_kind kind, int actions) {
  return (mz_spec){.obs_kind = MZ_OBS_U8,
                   .obs_shape = {board.height, board.width, PLANES},
                   .obs_size = board.height * board.width * PLANES,
                   .actions = actions,
                   .action_kind = kind,
                   .players = 2,
                   .return_max = 1,
                   .reward_max = 1};
}

static const mz_network_settings small = {.kind = MZ_MODEL_CONV,
                                          .channels = 16,
                                          .blocks = 2,
                                          .prediction_blocks = 1,
                                          .head_channels = 16,
                                          .norm_rows = N,
                                          .norm_share = 0.02,
                                          .inference = MZ_PRECISION_F32,
                                          .value_bins = 21,
                                          .reward_bins = 5};

/* Made-up weights everywhere: no near-uniform heads, norms that do something. */
static void open_model(mz_board board, int channels, int32_t precision) {
  mz_network_settings settings = small;
  settings.channels = channels;
  settings.inference = precision;
  const mz_spec spec = spec_of(board, MZ_ACTIONS_CELLS_PASS, board.height * board.width + 1);
  check(mz_model_init(&model, &settings, &spec));
  check(mz_alloc(&weights, (size_t)model.params.size, sizeof *weights));
  mz_params_init(&model.params, 4, weights);
  mz_rng rng = mz_rng_at(4, MZ_RNG_TEST, 0, 0);
  for (int p = 0; p < model.params.count; p++) {
    const mz_param *param = &model.params.items[p];
    if (param->decay && param->init != MZ_INIT_SMALL) continue;
    const float middle = param->init == MZ_INIT_ONE ? 1.0f : 0.0f;
    for (int i = 0; i < param->rows * param->columns; i++) {
      weights[param->offset + i / param->columns * param->stride + i % param->columns] = middle + 0.5f * mz_rng_f32(&rng) - 0.25f;
    }
  }
}

static void close_model(void) {
  free(weights);
  weights = NULL;
}

/* ---- parameters ---- */

static void expect_param(const char *name, int rows, int columns, bool decay) {
  const int index = mz_params_find(&model.params, name);
  if (index < 0) fail_msg("no parameter %s", name);
  assert_int_equal(model.params.items[index].rows, rows);
  assert_int_equal(model.params.items[index].columns, columns);
  assert_int_equal(model.params.items[index].decay, decay);
}

static void parameters_have_their_names_and_shapes(void **state) {
  (void)state;
  const mz_spec spec = spec_of((mz_board){6, 7}, MZ_ACTIONS_COLUMNS, 7);
  check(mz_model_init(&model, &small, &spec));
  expect_param("representation.stem.weight", 9 * 16, 16, true);
  expect_param("representation.stem.bias", 1, 16, false);
  expect_param("representation.1.norm1.scale", 1, 16, false);
  expect_param("representation.1.conv1.weight", 9 * 16, 16, true);
  expect_param("dynamics.stem.weight", 9 * 16, 16, true);
  expect_param("dynamics.action", 9, 16, true);
  expect_param("prediction.0.conv0.weight", 9 * 16, 16, true);
  expect_param("reward.conv.weight", 16, 16, true);
  expect_param("reward.weight", 42 * 16, 5, true);
  expect_param("policy.bias", 1, 7, false);
  expect_param("value.weight", 42 * 16, 21, true);
  expect_param("prediction.0.norm1.variance", 1, 16, false);
  const int blocks = 2 + 2 + 1;
  assert_int_equal(model.params.count, blocks * 6 + 2 * 2 + 1 + 3 * 4 + blocks * 4);
  assert_int_equal(model.latent, 42 * 16);
  assert_true(mz_params_convolve(&model.params));
}

/* Statistics lie behind what is trained, and take the share over that the settings name. */
static void statistics_come_last(void **state) {
  (void)state;
  const mz_spec spec = spec_of((mz_board){3, 3}, MZ_ACTIONS_CELLS, 9);
  check(mz_model_init(&model, &small, &spec));
  int64_t trained = 0, values = 0;
  for (int p = 0; p < model.params.count; p++) {
    const mz_param *param = &model.params.items[p];
    const bool statistic = strstr(param->name, ".mean") != NULL || strstr(param->name, ".variance") != NULL;
    assert_true(param->statistic == (statistic ? 0.02f : 0.0f));
    assert_true((param->offset >= model.params.trained) == statistic);
    if (statistic) continue;
    trained += (int64_t)param->rows * param->stride;
    values += (int64_t)param->rows * param->columns;
  }
  assert_int_equal(model.params.trained, trained);
  assert_int_equal(mz_params_trainable(&model.params), values);
}

static void expect_refusal(const mz_network_settings *settings, const mz_spec *spec, const char *hint) {
  assert_int_equal(mz_model_init(&model, settings, spec), MZ_E_CONFIG);
  if (strstr(mz_message(), hint) == NULL) fail_msg("\"%s\" does not speak of %s", mz_message(), hint);
}

static void sizes_that_do_not_fit_are_refused(void **state) {
  (void)state;
  const mz_spec board = spec_of((mz_board){3, 3}, MZ_ACTIONS_CELLS, 9);
  const mz_spec vector = {.obs_kind = MZ_OBS_F32, .obs_shape = {1, 1, 4}, .obs_size = 4, .actions = 2};
  expect_refusal(&small, &vector, "network.kind=mlp");
  mz_network_settings settings = small;
  settings.channels = 40;
  expect_refusal(&settings, &board, "48");
  settings = small;
  settings.head_channels = 17;
  expect_refusal(&settings, &board, "32");
  settings = small;
  settings.blocks = 16;
  settings.prediction_blocks = 9;
  expect_refusal(&settings, &board, "40");
  settings = small;
  settings.inference = MZ_PRECISION_BF16;
  if (!mz_isa_halves()) expect_refusal(&settings, &board, "network.inference=f32");
}

/* ---- inference ---- */

typedef struct answers { /* of initial inference, [0], and of a recurrent step from there, [1] */
  float *latent[2], *policy[2], *value[2], *reward;
  size_t latents, policies;
} answers;

static answers answers_alloc(void) {
  answers a = {.latents = (size_t)(N * model.latent), .policies = (size_t)(N * model.actions)};
  for (int k = 0; k < 2; k++) {
    check(mz_alloc(&a.latent[k], a.latents, sizeof(float)));
    check(mz_alloc(&a.policy[k], a.policies, sizeof(float)));
    check(mz_alloc(&a.value[k], N, sizeof(float)));
  }
  check(mz_alloc(&a.reward, N, sizeof(float)));
  return a;
}

static void answers_free(answers *a) {
  for (int k = 0; k < 2; k++) {
    free(a->latent[k]);
    free(a->policy[k]);
    free(a->value[k]);
  }
  free(a->reward);
}

static uint8_t *observations(void) {
  uint8_t *bytes = NULL;
  mz_rng rng = mz_rng_at(5, MZ_RNG_TEST, 0, 0);
  check(mz_alloc(&bytes, (size_t)(N * model.obs_size), 1));
  for (int i = 0; i < N * model.obs_size; i++) bytes[i] = (uint8_t)mz_rng_below(&rng, 2);
  return bytes;
}

static int action_of(int i) { return (i * 5 + 3) % model.actions; }

/* What `backend` answers to N requests, `at_once` of them together, on passes of rows_max. */
static answers ask(const mz_backend *backend, int rows_max, int at_once) {
  answers a = answers_alloc();
  float *prepared = NULL, *pool = NULL;
  uint8_t *bytes = observations();
  mz_infer *infer = NULL;
  check(mz_infer_create(&infer, &model, backend, rows_max));
  check(mz_alloc(&prepared, (size_t)model.params.size, sizeof *prepared));
  check(mz_infer_prepare(&model, backend, weights, prepared));
  mz_infer_set_weights(infer, prepared);
  const int stride = mz_infer_latent_stride(infer);
  check(mz_alloc(&pool, (size_t)(2 * N * stride), sizeof *pool));
  int32_t first[N], second[N], action[N];
  for (int i = 0; i < N; i++) {
    first[i] = N - 1 - i;
    second[i] = N + i;
    action[i] = action_of(i);
  }
  for (int at = 0; at < N; at += at_once) {
    const int n = N - at < at_once ? N - at : at_once;
    mz_infer_initial(infer, n, bytes + at * model.obs_size, MZ_OBS_U8, pool, first + at, a.policy[0] + at * model.actions,
                     a.value[0] + at);
  }
  for (int at = 0; at < N; at += at_once) {
    const int n = N - at < at_once ? N - at : at_once;
    mz_infer_recurrent(infer, n, pool, first + at, action + at, second + at, a.policy[1] + at * model.actions, a.value[1] + at,
                       a.reward + at);
  }
  for (int i = 0; i < N; i++) {
    const size_t bytes_of_latent = (size_t)model.latent * sizeof *pool;
    memcpy(a.latent[0] + i * model.latent, pool + first[i] * stride, bytes_of_latent);
    memcpy(a.latent[1] + i * model.latent, pool + second[i] * stride, bytes_of_latent);
  }
  mz_infer_free(infer);
  free(prepared);
  free(pool);
  free(bytes);
  return a;
}

static bool same_bits(const answers *a, const answers *b) {
  bool same = memcmp(a->reward, b->reward, N * sizeof(float)) == 0;
  for (int k = 0; k < 2; k++) {
    same = same && memcmp(a->latent[k], b->latent[k], a->latents * sizeof(float)) == 0;
    same = same && memcmp(a->policy[k], b->policy[k], a->policies * sizeof(float)) == 0;
    same = same && memcmp(a->value[k], b->value[k], N * sizeof(float)) == 0;
  }
  return same;
}

/* ‖a − b‖ / ‖b‖ */
static double distance(const float *a, const float *b, size_t n) {
  double square = 0.0, square_error = 0.0;
  for (size_t i = 0; i < n; i++) {
    square += (double)b[i] * b[i];
    square_error += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
  }
  return sqrt(square_error / square);
}

static double largest_distance(const answers *a, const answers *b) {
  double largest = distance(a->reward, b->reward, N);
  for (int k = 0; k < 2; k++) {
    largest = fmax(largest, distance(a->latent[k], b->latent[k], a->latents));
    largest = fmax(largest, distance(a->policy[k], b->policy[k], a->policies));
    largest = fmax(largest, distance(a->value[k], b->value[k], N));
  }
  return largest;
}

static void cut_in_many_ways(mz_board board, int channels, int32_t precision) {
  open_model(board, channels, precision);
  answers together = ask(&mz_backend_cpu, N, N);
  static const int ways[][2] = {{1, N}, {2, N}, {3, 8}, {7, N}, {8, 5}, {16, N}, {33, 20}, {64, N}, {128, N}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    answers cut = ask(&mz_backend_cpu, ways[i][0], ways[i][1]);
    if (!same_bits(&cut, &together)) {
      fail_msg("board %d x %d, %d channels, %s: %d requests at a time in passes of %d give other bits than all in one",
               board.height, board.width, channels, precision == MZ_PRECISION_F32 ? "f32" : "bf16", ways[i][1], ways[i][0]);
    }
    answers_free(&cut);
  }
  answers_free(&together);
  close_model();
}

static const mz_board boards[] = {{2, 2}, {3, 3}, {6, 7}, {9, 9}};
enum { BOARDS = sizeof boards / sizeof *boards };

static void cut_everywhere(int32_t precision) {
  for (int b = 0; b < BOARDS; b++) {
    for (int channels = 16; channels <= 64; channels += 16) cut_in_many_ways(boards[b], channels, precision);
  }
  cut_in_many_ways((mz_board){15, 15}, 48, precision);
  cut_in_many_ways((mz_board){6, 7}, 128, precision);
  cut_in_many_ways((mz_board){3, 3}, 256, precision);
}

static void however_requests_are_cut(void **state) {
  (void)state;
  cut_everywhere(MZ_PRECISION_F32);
}

static void however_requests_are_cut_in_halves(void **state) {
  (void)state;
  if (!mz_isa_halves()) {
    print_message("skipped: this processor does not multiply bfloat16\n");
    skip();
  }
  cut_everywhere(MZ_PRECISION_BF16);
}

static void reference_backend_agrees(void **state) {
  (void)state;
  for (int b = 0; b < BOARDS; b++) {
    open_model(boards[b], 16 + 16 * (b % 3), MZ_PRECISION_F32);
    answers cpu = ask(&mz_backend_cpu, 16, N), ref = ask(&mz_backend_ref, 16, N);
    assert_true(largest_distance(&cpu, &ref) <= 1e-5);
    answers_free(&cpu);
    answers_free(&ref);
    close_model();
  }
}

/* bfloat16 keeps eight bits: off by some thousandths, not by nothing. */
static void halves_are_near(void **state) {
  (void)state;
  if (!mz_isa_halves()) {
    print_message("skipped: this processor does not multiply bfloat16\n");
    skip();
  }
  for (int b = 0; b < BOARDS; b++) {
    open_model(boards[b], 32, MZ_PRECISION_BF16);
    answers halves = ask(&mz_backend_cpu, 16, N), ref = ask(&mz_backend_ref, 16, N);
    const double off = largest_distance(&halves, &ref);
    print_message("board %d x %d: bfloat16 is off by %.1e\n", boards[b].height, boards[b].width, off);
    assert_true(off >= 1e-5 && off <= 5e-2);
    answers_free(&halves);
    answers_free(&ref);
    close_model();
  }
}

/* ---- folding ---- */

/* Losses on every head, so that all norms take part in backward. */
static void add_losses(net *n, const mz_model_heads *heads) {
  net_loss(n, heads->policy, model.actions, 1.0f);
  net_loss(n, heads->value, model.value.bins, 1.0f);
  if (heads->reward >= 0) net_loss(n, heads->reward, model.reward.bins, 1.0f);
}

static void take_statistics(const net *n) {
  for (int p = 0; p < model.params.count; p++) {
    const mz_param *param = &model.params.items[p];
    const float *batch = (const float *)n->gradients + param->offset;
    if (param->statistic == 0 || batch[0] == 0.0f) continue; /* not of this part of the model */
    memcpy(weights + param->offset, batch, (size_t)param->columns * sizeof *weights);
  }
}

static net training_tape(void) {
  net n = {.backend = &mz_backend_cpu, .params = model.params};
  check(mz_tape_create(&n.tape, n.backend, &model.params, N, true));
  return n;
}

static void train_once(net *n) {
  check(mz_tape_plan(n->tape));
  n->values = net_elements(n, weights);
  n->packed = net_elements(n, NULL);
  n->transposed = net_elements(n, NULL);
  n->gradients = net_elements(n, NULL);
  net_pack(n);
}

static void free_tape(net *n) {
  mz_tape_free(n->tape);
  free(n->values);
  free(n->packed);
  free(n->transposed);
  free(n->gradients);
}

static void expect_repeated(const net *n, mz_value value, const float *expected, int columns, const char *what) {
  float *found = NULL;
  check(mz_alloc(&found, (size_t)(N * columns), sizeof *found));
  mz_tape_read(n->tape, value, found, N);
  const double off = distance(found, expected, (size_t)(N * columns));
  if (!(off <= 1e-5)) fail_msg("%s: inference with a batch's own statistics is off by %g", what, off);
  free(found);
}

/* Where the running statistics are those of a batch, inference of this batch is what training computed. */
static void folded_statistics_of_a_batch_repeat_it(const mz_backend *backend, mz_board board, int channels) {
  open_model(board, channels, MZ_PRECISION_F32);
  static net initial, recurrent; /* large */
  uint8_t *bytes = observations();
  float *obs = NULL, *latent = NULL;
  check(mz_alloc(&obs, (size_t)(N * model.obs_size), sizeof *obs));
  check(mz_alloc(&latent, (size_t)(N * model.latent), sizeof *latent));
  for (int i = 0; i < N * model.obs_size; i++) obs[i] = bytes[i];

  initial = training_tape();
  const mz_value input = mz_tape_input(initial.tape, model.obs_size);
  const mz_model_heads root = mz_model_initial(&model, initial.tape, input);
  add_losses(&initial, &root);
  train_once(&initial);
  for (int r = 0; r < N; r++) net_set_row(&initial, r, r);
  mz_tape_write(initial.tape, input, obs, N);
  net_run(&initial, N);
  take_statistics(&initial);
  answers a = ask(backend, 16, N);
  mz_tape_read(initial.tape, root.latent, latent, N);
  expect_repeated(&initial, root.latent, a.latent[0], model.latent, "latent");
  expect_repeated(&initial, root.policy, a.policy[0], model.actions, "policy");
  answers_free(&a);

  recurrent = training_tape();
  const mz_value from = mz_tape_input(recurrent.tape, model.latent);
  const int action = mz_tape_index_input(recurrent.tape);
  const mz_model_heads next = mz_model_recurrent(&model, recurrent.tape, from, action);
  add_losses(&recurrent, &next);
  train_once(&recurrent);
  for (int r = 0; r < N; r++) {
    net_set_row(&recurrent, r, r);
    mz_tape_index_at(recurrent.tape, action)[r] = action_of(r);
  }
  mz_tape_write(recurrent.tape, from, latent, N);
  net_run(&recurrent, N);
  take_statistics(&recurrent);
  a = ask(backend, 16, N);
  expect_repeated(&recurrent, next.latent, a.latent[1], model.latent, "next latent");
  expect_repeated(&recurrent, next.policy, a.policy[1], model.actions, "next policy");
  answers_free(&a);

  free_tape(&initial);
  free_tape(&recurrent);
  free(bytes);
  free(obs);
  free(latent);
  close_model();
}

static void folding_is_the_unfolded_formula(void **state) {
  (void)state;
  for (int b = 0; b < BOARDS; b++) {
    folded_statistics_of_a_batch_repeat_it(&mz_backend_cpu, boards[b], 16 + 16 * (b % 2));
    folded_statistics_of_a_batch_repeat_it(&mz_backend_ref, boards[b], 16);
  }
}

static void memory_may_run_out(void **state) {
  (void)state;
  open_model((mz_board){3, 3}, 16, MZ_PRECISION_AUTO);
  float *prepared = NULL;
  check(mz_alloc(&prepared, (size_t)model.params.size, sizeof *prepared));
  mz_status status = MZ_E_MEMORY;
  for (long failing = 1; status != MZ_OK; failing++) {
    mz_infer *infer = NULL;
    mz_alloc_fail_after(failing);
    status = mz_infer_create(&infer, &model, &mz_backend_cpu, 3);
    if (status == MZ_OK) status = mz_infer_prepare(&model, &mz_backend_cpu, weights, prepared);
    mz_alloc_fail_after(0);
    if (status != MZ_OK) assert_int_equal(status, MZ_E_MEMORY);
    mz_infer_free(infer);
    assert_true(failing < 1000);
  }
  free(prepared);
  close_model();
}

/* A 3 × 3 convolution of c to c channels takes 9 c² multiply-adds a position. */
static void flops_count_multiply_adds_twice(void **state) {
  (void)state;
  const mz_spec spec = spec_of((mz_board){6, 7}, MZ_ACTIONS_COLUMNS, 7);
  check(mz_model_init(&model, &small, &spec));
  const double conv = 42 * 9 * 16 * 16, head = 42 * 16 * 16;
  const double dynamics = conv + 4 * conv + head + 42 * 16 * 5, prediction = 2 * conv + 2 * head + 42 * 16 * (7 + 21);
  const double representation = 42 * 9 * PLANES * 16 + 4 * conv;
  assert_true(mz_model_inference_flops(&model) == 2 * (dynamics + prediction));
  assert_true(mz_model_update_flops(&model, 3) == 6 * (representation + 4 * prediction + 3 * dynamics));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameters_have_their_names_and_shapes),
      cmocka_unit_test(statistics_come_last),
      cmocka_unit_test(sizes_that_do_not_fit_are_refused),
      cmocka_unit_test(however_requests_are_cut),
      cmocka_unit_test(however_requests_are_cut_in_halves),
      cmocka_unit_test(reference_backend_agrees),
      cmocka_unit_test(halves_are_near),
      cmocka_unit_test(folding_is_the_unfolded_formula),
      cmocka_unit_test(memory_may_run_out),
      cmocka_unit_test(flops_count_multiply_adds_twice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
