/* Scalars as categories, and the weights of the unrolled loss. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/networks/cases.h"
#include "tests/networks/recorded.h"

static mz_support support(int bins, float reach, bool transform) {
  return (mz_support){.bins = bins, .min = -reach, .max = reach, .transform = transform};
}

static void expect_two_hot(const mz_support *s, float scalar, int low, double at_low, double above) {
  float out[64];
  mz_two_hot(s, scalar, out);
  for (int i = 0; i < s->bins; i++) {
    const double expected = i == low ? at_low : (i == low + 1 ? above : 0.0);
    if (fabs(out[i] - expected) > 6e-5)
      fail_msg("two-hot of %g: bin %d is %g, not %g", (double)scalar, i, (double)out[i], expected);
  }
}

/* muzero-cpp's values: returns of ±22 in 9 bins. */
static void two_hot_golden_values(void **state) {
  (void)state;
  const mz_support s = support(9, mz_value_transform(22.0f), true);
  expect_two_hot(&s, 1.5f, 4, 0.3896, 0.6104);
  expect_two_hot(&s, 21.25f, 7, 0.0834, 0.9166);
  expect_two_hot(&s, -10.75f, 1, 0.5549, 0.4451);
  expect_two_hot(&s, 2.0f, 4, 0.2309, 0.7691);
}

static void two_hot_at_bins_and_beyond(void **state) {
  (void)state;
  const mz_support s = support(21, 10.0f, false);
  expect_two_hot(&s, 0.0f, 10, 1.0, 0.0);
  expect_two_hot(&s, -10.0f, 0, 1.0, 0.0);
  expect_two_hot(&s, 10.0f, 20, 1.0, 0.0);
  expect_two_hot(&s, 3.25f, 13, 0.75, 0.25);
  expect_two_hot(&s, 1e9f, 20, 1.0, 0.0); /* clamped */
  expect_two_hot(&s, -1e9f, 0, 1.0, 0.0);
  const mz_support two = support(2, 1.0f, true);
  expect_two_hot(&two, 0.0f, 0, 0.5, 0.5);
}

static void transform_and_its_inverse(void **state) {
  (void)state;
  assert_true(mz_value_transform(0.0f) == 0.0f && mz_value_transform_inverse(0.0f) == 0.0f);
  assert_true(fabs(mz_value_transform(3.0f) - 1.003) < 1e-6);
  assert_true(fabs(mz_value_transform(333.0f) - (sqrt(334.0) - 1.0 + 0.333)) < 1e-5);
  for (int sign = -1; sign <= 1; sign += 2) {
    for (double size = 1e-6; size < 1e6; size *= 1.1) {
      const float x = (float)(sign * size), h = mz_value_transform(x);
      const double a = fabs((double)x), exact = sign * (a / (sqrt(a + 1.0) + 1.0) + 0.001 * a);
      assert_true(fabs(h - exact) <= 3e-7 * fabs(exact));
      assert_true(fabsf(mz_value_transform_inverse(h) - x) <= 2e-6f * fabsf(x));
    }
  }
}

/* The mean of the two-hot of x is x: what is stored as a target comes back as a value. */
static void expectation_undoes_two_hot(void **state) {
  (void)state;
  for (int t = 0; t < 2; t++) {
    const mz_support s = support(31, 12.0f, t == 1);
    const float largest = t == 1 ? mz_value_transform_inverse(12.0f) : 12.0f;
    for (int i = -50; i <= 50; i++) {
      const float x = largest * (float)i / 50.0f;
      float probabilities[31], logits[31];
      mz_two_hot(&s, x, probabilities);
      for (int b = 0; b < 31; b++) logits[b] = probabilities[b] > 0.0f ? logf(probabilities[b]) : -80.0f;
      assert_true(fabsf(mz_support_expectation(&s, logits) - x) <= 1e-5f * (1.0f + fabsf(x)));
    }
  }
}

static void expectation_is_the_ops(void **state) {
  (void)state;
  enum { ROWS = 41 };
  for (int bins = 2; bins <= 61; bins++) {
    const mz_support s = support(bins, 3.0f + (float)bins, bins % 3 != 0);
    mz_tape *tape = NULL;
    check(mz_tape_create(&tape, &mz_lane_cpu, NULL, ROWS, false));
    const mz_value logits = mz_tape_input(tape, bins), scalar = mz_tape_expectation(tape, logits, s.min, s.max, s.transform);
    check(mz_tape_plan(tape));
    float dense[ROWS * 61], found[ROWS];
    mz_rng rng = mz_rng_at(5, MZ_RNG_TEST, (uint32_t)bins, 0);
    for (int i = 0; i < ROWS * bins; i++) dense[i] = 5.0f * mz_rng_normal(&rng);
    check(mz_tape_put(tape, logits, 0, dense, ROWS));
    check(mz_tape_forward(tape, NULL, ROWS));
    check(mz_tape_get(tape, scalar, 0, found, ROWS));
    for (int r = 0; r < ROWS; r++) {
      const float expected = mz_support_expectation(&s, dense + r * bins);
      assert_memory_equal(&found[r], &expected, sizeof expected);
    }
    mz_tape_free(tape);
  }
}

static mz_model model; /* large */

static recorded record(const mz_loss_settings *settings, int rows) {
  const mz_network_settings network = {.width = 10, .depth = 1, .value_bins = 7, .reward_bins = 3, .transform = true};
  const mz_spec spec = {.obs_size = 4, .actions = 3, .return_max = 9, .reward_max = 1};
  check(mz_model_init(&model, &network, &spec));
  return recorded_create(&model, settings, rows, 3);
}

/* Row r of every input, from example `example`; all row weights `weight`. */
static void fill(recorded *rec, int r, int example, float weight) {
  const mz_loss *loss = &rec->loss;
  double *obs = (double *)mz_tape_at(rec->tape, loss->obs)->data + r * 16;
  for (int i = 0; i < 4; i++) obs[i] = sin(example * 4 + i);
  for (int k = 0; k <= loss->unroll; k++) {
    const mz_value targets[] = {loss->policy_target[k], loss->value_target[k], loss->reward_target[k]};
    const mz_value weights[] = {loss->policy_weight[k], loss->value_weight[k], loss->reward_weight[k]};
    for (int h = 0; h < (k == 0 ? 2 : 3); h++) {
      const mz_tape_value *target = mz_tape_at(rec->tape, targets[h]);
      for (int c = 0; c < target->columns; c++) ((double *)target->data)[r * 16 + c] = c == (example + k + h) % target->columns;
      ((double *)mz_tape_at(rec->tape, weights[h])->data)[r * 16] = weight;
    }
    if (k > 0) mz_tape_index_at(rec->tape, loss->action[k])[r] = (example + k) % 3;
  }
}

static double entropy(recorded *r, mz_value value) { return *(const double *)mz_tape_at(r->tape, value)->data; }

static void steps_and_heads_have_their_weights(void **state) {
  (void)state;
  const mz_loss_settings settings = {.unroll = 4, .value_weight = 0.5, .reward_weight = 2, .policy_weight = 3};
  recorded r = record(&settings, 1);
  assert_int_equal(r.loss.unroll, 4);
  assert_true(r.loss.heads[0].reward == -1 && r.loss.reward_loss[0] == -1 && r.loss.reward_target[0] == -1);
  fill(&r, 0, 1, 0.25f);
  check(mz_tape_forward(r.tape, r.values, 1));
  double expected = 3.0 * entropy(&r, r.loss.policy_loss[0]) + 0.5 * entropy(&r, r.loss.value_loss[0]);
  for (int k = 1; k <= 4; k++) {
    expected += (3.0 * entropy(&r, r.loss.policy_loss[k]) + 0.5 * entropy(&r, r.loss.value_loss[k]) +
                 2.0 * entropy(&r, r.loss.reward_loss[k])) /
                4.0;
  }
  assert_true(fabs(tape_loss(r.tape) - 0.25 * expected) <= 1e-9);
  recorded_free(&r);
}

static void shards_add_and_masked_rows_do_nothing(void **state) {
  (void)state;
  const mz_loss_settings settings = {.unroll = 3, .value_weight = 0.25, .reward_weight = 1, .policy_weight = 1};
  recorded whole = record(&settings, 3), part = record(&settings, 3);
  for (int r = 0; r < 3; r++) fill(&whole, r, r, r == 1 ? 0.0f : 0.5f);
  check(mz_tape_forward(whole.tape, whole.values, 3));
  check(mz_tape_backward(whole.tape, whole.values, NULL, whole.gradients, 3));
  double loss = tape_loss(whole.tape);
  for (int example = 0; example < 3; example += 2) { /* without the masked row */
    fill(&part, 0, example, 0.5f);
    check(mz_tape_forward(part.tape, part.values, 1));
    check(mz_tape_backward(part.tape, part.values, NULL, part.gradients, 1));
    loss -= tape_loss(part.tape);
    for (int64_t i = 0; i < model.params.size; i++) whole.gradients[i] -= part.gradients[i];
  }
  assert_true(fabs(loss) <= 1e-12);
  for (int64_t i = 0; i < model.params.size; i++) assert_true(fabs(whole.gradients[i]) <= 1e-12);
  recorded_free(&whole);
  recorded_free(&part);
}

static void losses_are_counted_as_they_are_recorded(void **state) {
  (void)state;
  static mz_model counted; /* large */
  const mz_network_settings network = {.width = 8, .depth = 1, .value_bins = 5, .reward_bins = 5};
  for (int way = 0; way < 8; way++) {
    const mz_spec spec = {.obs_kind = MZ_OBS_F32,
                          .obs_shape = {1, 1, 3},
                          .obs_size = 3,
                          .actions = 2,
                          .turns = way % 2 == 0 ? MZ_TURNS_ALONE : MZ_TURNS_TOLD,
                          .return_max = 1,
                          .reward_max = 1};
    const mz_loss_settings settings = {.unroll = way / 4 == 0 ? 1 : MZ_UNROLL_MAX,
                                       .value_weight = 1,
                                       .reward_weight = 1,
                                       .policy_weight = 1,
                                       .consistency_weight = way / 2 % 2};
    int count = 0;
    check(mz_model_init(&counted, &network, &spec));
    recorded r = recorded_create(&counted, &settings, 1, 3);
    for (int i = 0; i < r.tape->node_count; i++) count += mz_node_traits(&r.tape->nodes[i])->is_loss;
    assert_int_equal(mz_loss_count(&counted, &settings), count);
    assert_true(count <= MZ_LOSSES_MAX && (way < 7 || count == MZ_LOSSES_MAX));
    recorded_free(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_hot_golden_values),
      cmocka_unit_test(two_hot_at_bins_and_beyond),
      cmocka_unit_test(transform_and_its_inverse),
      cmocka_unit_test(expectation_undoes_two_hot),
      cmocka_unit_test(expectation_is_the_ops),
      cmocka_unit_test(steps_and_heads_have_their_weights),
      cmocka_unit_test(shards_add_and_masked_rows_do_nothing),
      cmocka_unit_test(losses_are_counted_as_they_are_recorded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
