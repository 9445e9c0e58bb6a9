/* Inference over a pool of latents: it is the tape's, bit for bit, however requests are cut and wherever latents lie. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/infer.h"
#include "tests/networks/cases.h"

enum { OBS_SIZE = 6, ACTIONS = 3, N = 23, SLOTS = 64, WIDTH = 21, STRIDE = 32 };

static mz_model model; /* large */
static float *weights;
static float float_of_byte = 1; /* what an entry of floats is for each of its byte */

static int set_up(void **state) {
  (void)state;
  const mz_network_settings settings = {.width = WIDTH, .depth = 2, .value_bins = 33, .reward_bins = 11, .transform = true};
  const mz_spec spec = {
      .obs_kind = MZ_OBS_U8, .obs_size = OBS_SIZE, .actions = ACTIONS, .return_max = 200, .reward_min = -3, .reward_max = 3};
  if (mz_model_init(&model, &settings, &spec) != MZ_OK) return -1;
  for (int i = 0; i < model.params.count; i++) { /* no near-uniform heads */
    if (model.params.items[i].decay) model.params.items[i].init = MZ_INIT_HE;
  }
  if (mz_alloc(&weights, (size_t)model.params.size, sizeof *weights) != MZ_OK) return -1;
  mz_params_init(&model.params, 12, weights);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  free(weights);
  return 0;
}

typedef struct answers {
  float pool[SLOTS * STRIDE], policy[2][N * ACTIONS], value[2][N], reward[N];
} answers;

static void observations(uint8_t *bytes, float *floats) {
  for (int i = 0; i < N * OBS_SIZE; i++) {
    bytes[i] = (uint8_t)((i * 7) % 5);
    floats[i] = float_of_byte * bytes[i];
  }
}

/* Initial inference of N observations into slots from 40 down, then a recurrent step of each into scattered slots. */
static void ask(const mz_backend *backend, int rows_max, int at_once, mz_obs_kind kind, answers *out) {
  uint8_t bytes[N * OBS_SIZE];
  float floats[N * OBS_SIZE];
  observations(bytes, floats);
  const mz_lane lane = {.backend = backend};
  mz_infer *infer = NULL;
  mz_prepared *prepared = NULL;
  check(mz_infer_create(&infer, &model, &lane, rows_max, SLOTS));
  assert_int_equal(mz_infer_latent_stride(&model), STRIDE);
  check(mz_prepared_create(&prepared, &model, &lane, weights));
  check(mz_infer_set_weights(infer, prepared));
  memset(out, 0, sizeof *out);
  int32_t first[N], second[N], action[N];
  for (int i = 0; i < N; i++) {
    first[i] = 40 - i;
    second[i] = i == N - 1 ? 63 : 41 + (i * 5) % 22;
    action[i] = i % ACTIONS;
  }
  for (int at = 0; at < N; at += at_once) {
    const int n = N - at < at_once ? N - at : at_once;
    const void *from = kind == MZ_OBS_U8 ? (const void *)(bytes + at * OBS_SIZE) : (const void *)(floats + at * OBS_SIZE);
    check(mz_infer_initial(infer, n, from, kind, first + at, out->policy[0] + at * ACTIONS, out->value[0] + at));
  }
  for (int at = 0; at < N; at += at_once) {
    const int n = N - at < at_once ? N - at : at_once;
    check(mz_infer_recurrent(infer, n, first + at, action + at, second + at, out->policy[1] + at * ACTIONS, out->value[1] + at,
                             out->reward + at));
  }
  check(mz_infer_read_latents(infer, 0, SLOTS, out->pool));
  mz_infer_free(infer);
  mz_prepared_release(prepared);
}

static void however_requests_are_cut(void **state) {
  (void)state;
  static answers expected, found;
  ask(&mz_backend_cpu, N, N, MZ_OBS_U8, &expected);
  static const int ways[][2] = {{1, N}, {7, N}, {64, N}, {16, 5}, {1, 1}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    ask(&mz_backend_cpu, ways[i][0], ways[i][1], MZ_OBS_U8, &found);
    assert_memory_equal(&found, &expected, sizeof found);
  }
  ask(&mz_backend_cpu, N, N, MZ_OBS_F32, &found);
  assert_memory_equal(&found, &expected, sizeof found);
}

static void it_is_the_tape(void **state) {
  (void)state;
  static answers found;
  ask(&mz_backend_cpu, N, N, MZ_OBS_F32, &found);
  mz_tape *tape = NULL;
  check(mz_tape_create(&tape, &mz_lane_cpu, &model.params, N, true)); /* as the learner records it */
  const mz_value obs = mz_tape_input(tape, OBS_SIZE);
  const int index = mz_tape_index_input(tape);
  const mz_model_heads root = mz_model_initial(&model, tape, obs), next = mz_model_recurrent(&model, tape, root.latent, index);
  check(mz_tape_plan(tape));
  uint8_t bytes[N * OBS_SIZE];
  float floats[N * OBS_SIZE], logits[N * 33], policy[N * ACTIONS], latent[N * WIDTH];
  observations(bytes, floats);
  check(mz_tape_put(tape, obs, 0, floats, N));
  for (int i = 0; i < N; i++) check(mz_tape_put_list(tape, index, i, &(int32_t){i % ACTIONS}, 1));
  check(mz_tape_forward(tape, weights, N));

  check(mz_tape_get(tape, root.policy, 0, policy, N));
  assert_memory_equal(policy, found.policy[0], sizeof policy);
  check(mz_tape_get(tape, next.policy, 0, policy, N));
  assert_memory_equal(policy, found.policy[1], sizeof policy);
  check(mz_tape_get(tape, root.latent, 0, latent, N));
  for (int i = 0; i < N; i++) assert_memory_equal(latent + i * WIDTH, found.pool + (40 - i) * STRIDE, WIDTH * sizeof *latent);
  check(mz_tape_get(tape, root.value, 0, logits, N));
  for (int i = 0; i < N; i++) assert_true(mz_support_expectation(&model.value, logits + i * 33) == found.value[0][i]);
  check(mz_tape_get(tape, next.value, 0, logits, N));
  for (int i = 0; i < N; i++) assert_true(mz_support_expectation(&model.value, logits + i * 33) == found.value[1][i]);
  check(mz_tape_get(tape, next.reward, 0, logits, N));
  for (int i = 0; i < N; i++) assert_true(mz_support_expectation(&model.reward, logits + i * 11) == found.reward[i]);
  mz_tape_free(tape);
}

static void padding_of_latents_stays_zero(void **state) {
  (void)state;
  static answers found;
  ask(&mz_backend_cpu, N, N, MZ_OBS_U8, &found);
  for (int slot = 0; slot < SLOTS; slot++) {
    for (int c = WIDTH; c < STRIDE; c++) assert_true(found.pool[slot * STRIDE + c] == 0.0f);
  }
  for (int c = 0; c < STRIDE; c++) assert_true(found.pool[c] == 0.0f); /* slots not asked for are not written */
}

static void near(const float *a, const float *b, int n, double tolerance) {
  for (int i = 0; i < n; i++) assert_true(fabs((double)a[i] - (double)b[i]) <= tolerance * (1.0 + fabs((double)b[i])));
}

/* A scale of the observations is what they are multiplied by before a model without one: a power of two, exactly. */
static void bytes_are_scaled(void **state) {
  (void)state;
  static answers expected, found, raw;
  ask(&mz_backend_cpu, N, N, MZ_OBS_U8, &raw);
  for (int b = 0; b < 2; b++) {
    const mz_backend *backend = b == 0 ? &mz_backend_cpu : &mz_backend_ref;
    float_of_byte = 0.25f;
    ask(backend, N, N, MZ_OBS_F32, &expected);
    float_of_byte = 1;
    model.obs_scale = 0.25f;
    ask(backend, 5, N, MZ_OBS_U8, &found);
    model.obs_scale = 1;
    assert_memory_equal(&found, &expected, sizeof found);
    assert_memory_not_equal(&found, &raw, sizeof found);
  }
}

/* Bytes have the scale that the environment says, floats none. */
static void scale_is_the_environments(void **state) {
  (void)state;
  static mz_model other; /* large */
  const mz_network_settings settings = {.width = 8, .depth = 1, .value_bins = 3, .reward_bins = 3};
  mz_spec spec = {.obs_kind = MZ_OBS_U8, .obs_size = 4, .actions = 2, .return_max = 1, .reward_max = 1};
  check(mz_model_init(&other, &settings, &spec));
  assert_true(other.obs_scale == 1);
  spec.obs_scale = 1.0f / 255;
  check(mz_model_init(&other, &settings, &spec));
  assert_true(other.obs_scale == 1.0f / 255);
  spec.obs_kind = MZ_OBS_F32;
  check(mz_model_init(&other, &settings, &spec));
  assert_true(other.obs_scale == 1);
}

static void reference_backend_agrees(void **state) {
  (void)state;
  static answers cpu, ref, cut;
  ask(&mz_backend_cpu, N, N, MZ_OBS_U8, &cpu);
  ask(&mz_backend_ref, N, N, MZ_OBS_U8, &ref);
  near(cpu.pool, ref.pool, SLOTS * STRIDE, 1e-5);
  near(cpu.policy[0], ref.policy[0], 2 * N * ACTIONS, 1e-5);
  near(cpu.value[0], ref.value[0], 2 * N, 1e-4);
  near(cpu.reward, ref.reward, N, 1e-4);
  ask(&mz_backend_ref, 4, 9, MZ_OBS_F32, &cut);
  assert_memory_equal(&cut, &ref, sizeof cut);
}

static void new_weights_count_at_once(void **state) {
  (void)state;
  float *zero = NULL;
  check(mz_alloc(&zero, (size_t)model.params.size, sizeof *zero));
  static const mz_backend *const backends[] = {&mz_backend_cpu, &mz_backend_ref};
  for (int b = 0; b < 2; b++) {
    const mz_lane lane = {.backend = backends[b]};
    mz_infer *infer = NULL;
    mz_prepared *prepared[2];
    check(mz_infer_create(&infer, &model, &lane, 2, 1));
    check(mz_prepared_create(&prepared[0], &model, &lane, weights));
    check(mz_prepared_create(&prepared[1], &model, &lane, zero));
    const float obs[OBS_SIZE] = {1, 2, 3, 4, 5, 6};
    float policy[ACTIONS], value;
    const int32_t slot = 0;
    check(mz_infer_set_weights(infer, prepared[0]));
    check(mz_infer_initial(infer, 1, obs, MZ_OBS_F32, &slot, policy, &value));
    assert_true(policy[0] != policy[1]);
    check(mz_infer_set_weights(infer, prepared[1]));
    check(mz_infer_initial(infer, 1, obs, MZ_OBS_F32, &slot, policy, &value));
    for (int a = 0; a < ACTIONS; a++) assert_true(policy[a] == 0.0f);
    assert_true(fabsf(value) < 1e-4f); /* uniform over a symmetric support */
    mz_infer_free(infer);
    for (int i = 0; i < 2; i++) mz_prepared_release(prepared[i]);
  }
  free(zero);
}

static void memory_may_run_out(void **state) {
  (void)state;
  static const mz_backend *const backends[] = {&mz_backend_cpu, &mz_backend_ref};
  for (int b = 0; b < 2; b++) {
    const mz_lane lane = {.backend = backends[b]};
    mz_status status = MZ_E_MEMORY;
    for (long failing = 1; status != MZ_OK; failing++) {
      mz_infer *infer = NULL;
      mz_prepared *prepared = NULL;
      mz_alloc_fail_after(failing);
      status = mz_infer_create(&infer, &model, &lane, 3, 6);
      if (status == MZ_OK) status = mz_prepared_create(&prepared, &model, &lane, weights);
      mz_alloc_fail_after(0);
      if (status != MZ_OK) assert_int_equal(status, MZ_E_MEMORY);
      assert_true(prepared == NULL || status == MZ_OK);
      mz_infer_free(infer);
      mz_prepared_release(prepared);
      assert_true(failing < 1000);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(however_requests_are_cut),
      cmocka_unit_test(it_is_the_tape),
      cmocka_unit_test(padding_of_latents_stays_zero),
      cmocka_unit_test(reference_backend_agrees),
      cmocka_unit_test(bytes_are_scaled),
      cmocka_unit_test(scale_is_the_environments),
      cmocka_unit_test(new_weights_count_at_once),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
