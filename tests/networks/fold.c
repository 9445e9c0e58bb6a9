/* Folding of batch norm into convolutions: with a batch's own statistics as the running ones, inference is what training
 * computed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/networks/board_model.h"

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
  net n = {.backend = &mz_backend_cpu, .lane = mz_lane_cpu, .params = model.params};
  check(mz_tape_create(&n.tape, &(mz_lane){.backend = n.backend}, &model.params, N, true));
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
  check(mz_tape_get(n->tape, value, 0, found, N));
  const double off = distance(found, expected, (size_t)(N * columns));
  if (!(off <= 3e-5)) fail_msg("%s: inference with a batch's own statistics is off by %g", what, off); /* a convolution: 4e-6 */
  free(found);
}

/* Heads of distributions: inference gives their means. */
static void expect_mean(const net *n, mz_value logits, const mz_support *support, const float *expected, const char *what) {
  float *found = NULL, means[N];
  check(mz_alloc(&found, (size_t)(N * support->bins), sizeof *found));
  check(mz_tape_get(n->tape, logits, 0, found, N));
  for (int r = 0; r < N; r++) means[r] = mz_support_expectation(support, found + r * support->bins);
  const double off = distance(means, expected, N);
  if (!(off <= 3e-5)) fail_msg("%s: inference with a batch's own statistics is off by %g", what, off);
  free(found);
}

/* Where the running statistics are those of a batch, inference of this batch is what training computed. */
static void folded_statistics_of_a_batch_repeat_it(const mz_backend *backend, mz_board board, int channels, int halvings) {
  open_halving_model(board, channels, MZ_PRECISION_F32, halvings);
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
  check(mz_tape_put(initial.tape, input, 0, obs, N));
  net_run(&initial, N);
  take_statistics(&initial);
  answers a = ask(backend, 16, N);
  check(mz_tape_get(initial.tape, root.latent, 0, latent, N));
  expect_repeated(&initial, root.latent, a.latent[0], model.latent, "latent");
  expect_repeated(&initial, root.policy, a.policy[0], model.actions, "policy");
  expect_mean(&initial, root.value, &model.value, a.value[0], "value");
  answers_free(&a);

  recurrent = training_tape();
  const mz_value from = mz_tape_input(recurrent.tape, model.latent);
  const int action = mz_tape_index_input(recurrent.tape);
  const mz_model_heads next = mz_model_recurrent(&model, recurrent.tape, from, action);
  add_losses(&recurrent, &next);
  train_once(&recurrent);
  for (int r = 0; r < N; r++) {
    net_set_row(&recurrent, r, r);
    const int32_t taken = action_of(r);
    check(mz_tape_put_list(recurrent.tape, action, r, &taken, 1));
  }
  check(mz_tape_put(recurrent.tape, from, 0, latent, N));
  net_run(&recurrent, N);
  take_statistics(&recurrent);
  a = ask(backend, 16, N);
  expect_repeated(&recurrent, next.latent, a.latent[1], model.latent, "next latent");
  expect_repeated(&recurrent, next.policy, a.policy[1], model.actions, "next policy");
  expect_mean(&recurrent, next.value, &model.value, a.value[1], "next value");
  expect_mean(&recurrent, next.reward, &model.reward, a.reward, "reward");
  expect_repeated(&initial, root.policy, a.policy[0], model.actions, "policy, whose statistics are its own");
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
    folded_statistics_of_a_batch_repeat_it(&mz_backend_cpu, boards[b], 16 + 16 * (b % 2), 0);
    folded_statistics_of_a_batch_repeat_it(&mz_backend_ref, boards[b], 16, 0);
  }
}

static void halved_boards_fold(void **state) {
  (void)state;
  for (int halvings = 1; halvings <= 3; halvings++) {
    folded_statistics_of_a_batch_repeat_it(&mz_backend_cpu, (mz_board){9, 12}, 32, halvings);
    folded_statistics_of_a_batch_repeat_it(&mz_backend_ref, (mz_board){9, 9}, 16, halvings);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(folding_is_the_unfolded_formula),
      cmocka_unit_test(halved_boards_fold),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
