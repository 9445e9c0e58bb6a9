/* The head that says whether another player moves: networks of games with MZ_TURNS_TOLD have it, others are as they were. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/maths/rng.h"
#include "networks/infer.h"
#include "networks/tape/tape_state.h"
#include "networks/update.h"
#include "tests/networks/recorded.h"

enum { ROWS = 8, UNROLL = 2, ACTIONS = 3, SIDE = 3, PLANES = 2, OBS = SIDE * SIDE * PLANES };

static mz_model model, other; /* large */

static void open_model(mz_model *out, mz_model_kind kind, mz_turns turns) {
  const mz_network_settings network = {.kind = kind,
                                       .width = 12,
                                       .depth = 1,
                                       .channels = 16,
                                       .blocks = 1,
                                       .head_channels = 16,
                                       .norm_rows = 4,
                                       .bn_momentum = 0.1,
                                       .value_bins = 7,
                                       .reward_bins = 3};
  const mz_spec spec = {.obs_shape = {SIDE, SIDE, PLANES},
                        .obs_size = OBS,
                        .actions = ACTIONS,
                        .players = 2,
                        .turns = turns,
                        .reward_min = -1,
                        .reward_max = 1,
                        .return_min = -1,
                        .return_max = 1};
  check(mz_model_init(out, &network, &spec));
}

/* Parameters keep their names, sizes and order without the head; an mlp's keep their places with it, too. */
static void other_networks_are_as_they_were(void **state) {
  (void)state;
  for (int kind = MZ_MODEL_MLP; kind <= MZ_MODEL_CONV; kind++) {
    open_model(&other, kind, MZ_TURNS_ALTERNATE);
    open_model(&model, kind, MZ_TURNS_TOLD);
    assert_true(model.tells_turns && !other.tells_turns && model.params.count > other.params.count);
    int at = 0;
    for (int i = 0; i < model.params.count; i++) {
      const mz_param *param = &model.params.items[i];
      if (strncmp(param->name, "turn.", 5) == 0) continue;
      assert_string_equal(param->name, other.params.items[at].name);
      assert_true(kind == MZ_MODEL_CONV || param->offset == other.params.items[at].offset);
      assert_true(param->rows == other.params.items[at].rows && param->columns == other.params.items[at].columns);
      at++;
    }
    assert_int_equal(at, other.params.count);
    mz_model_part parts[2][MZ_MODEL_PARTS];
    mz_model_take_apart(&model, parts[0]);
    mz_model_take_apart(&other, parts[1]);
    for (int i = 0; i < MZ_MODEL_PARTS; i++) { /* it belongs to the dynamics, whose latent it reads */
      assert_int_equal(parts[0][i].parameters > parts[1][i].parameters, i == 1);
      assert_int_equal(parts[0][i].flops > parts[1][i].flops, i == 1);
    }
  }
}

static void put(recorded *r, mz_value value, mz_rng *rng, bool spread) {
  float rows[ROWS * OBS];
  const int columns = mz_tape_at(r->tape, value)->columns;
  for (int i = 0; i < ROWS; i++) {
    float *row = rows + i * columns, sum = 0;
    for (int c = 0; c < columns; c++) sum += row[c] = mz_rng_f32(rng);
    for (int c = 0; spread && c < columns; c++) row[c] /= sum;
  }
  check(mz_tape_put(r->tape, value, 0, rows, ROWS));
}

/* The whole loss of made-up rows in the reference, without heads of weight 0. */
static recorded record(const mz_loss_settings *settings) {
  recorded r = recorded_create(&model, settings, ROWS, 5);
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  put(&r, r.loss.obs, &rng, false);
  for (int k = 0; k <= r.loss.unroll; k++) {
    const mz_value targets[] = {r.loss.policy_target[k], r.loss.value_target[k], r.loss.reward_target[k], r.loss.turn_target[k]};
    const mz_value ones[] = {r.loss.policy_weight[k], r.loss.value_weight[k], r.loss.reward_weight[k], r.loss.turn_weight[k]};
    for (int h = 0; h < 4; h++) {
      if (targets[h] >= 0) put(&r, targets[h], &rng, true);
      if (ones[h] >= 0) put(&r, ones[h], &rng, false);
    }
    if (r.loss.next_obs[k] >= 0) {
      put(&r, r.loss.next_obs[k], &rng, false);
      put(&r, r.loss.next_weight[k], &rng, false);
    }
    for (int i = 0; k > 0 && i < ROWS; i++) check(mz_tape_put_list(r.tape, r.loss.action[k], i, &(int32_t){i % ACTIONS}, 1));
  }
  return r;
}

static double loss_of(recorded *r) {
  check(mz_tape_forward(r->tape, r->values, ROWS));
  return tape_loss(r->tape);
}

/* The other weights are off, so the loss is the head's cross entropy over K steps, each with weight 1/K. */
static void the_head_has_its_own_loss(void **state) {
  (void)state;
  for (int kind = MZ_MODEL_MLP; kind <= MZ_MODEL_CONV; kind++) {
    open_model(&model, kind, MZ_TURNS_TOLD);
    const mz_loss_settings settings = {.unroll = UNROLL};
    recorded r = record(&settings);
    assert_true(r.loss.turn_target[0] == -1 && r.loss.heads[0].turn == -1);
    const double found = loss_of(&r);
    double expected = 0;
    for (int k = 1; k <= UNROLL; k++) {
      const mz_tape_value *logits = mz_tape_at(r.tape, r.loss.heads[k].turn), *target = mz_tape_at(r.tape, r.loss.turn_target[k]);
      const mz_tape_value *weight = mz_tape_at(r.tape, r.loss.turn_weight[k]);
      assert_int_equal(logits->columns, 2);
      for (int i = 0; i < ROWS; i++) {
        const double *x = (const double *)logits->data + i * logits->stride,
                     *p = (const double *)target->data + i * target->stride;
        const double sum = log(exp(x[0]) + exp(x[1]));
        expected += ((const double *)weight->data)[i * weight->stride] * (p[0] * (sum - x[0]) + p[1] * (sum - x[1])) / UNROLL;
      }
    }
    assert_true(expected > 0 && fabs(found - expected) <= 1e-9);
    recorded_free(&r);
  }
}

/* Central differences of the whole loss, consistency with what is observed next included. The gradient is halved where a latent enters
 * the dynamics, so the representation's is not the loss's; with one step nothing behind it is halved. */
static void gradients_are_the_losss(void **state) {
  (void)state;
  open_model(&model, MZ_MODEL_MLP, MZ_TURNS_TOLD);
  const mz_loss_settings settings = {
      .unroll = 1, .value_weight = 0.25, .reward_weight = 1, .policy_weight = 1, .consistency_weight = 2};
  recorded r = record(&settings);
  (void)loss_of(&r);
  check(mz_tape_backward(r.tape, r.values, NULL, r.gradients, ROWS));
  double largest = 0;
  for (int p = model.dynamics; p < model.params.count; p++) {
    const mz_param *param = &model.params.items[p];
    for (int i = 0; i < param->rows * param->columns; i += 1 + param->rows / 4) {
      double *value = &r.values[param->offset + i / param->columns * param->stride + i % param->columns];
      const double at = *value, step = 1e-5;
      *value = at + step;
      const double above = loss_of(&r);
      *value = at - step;
      const double below = loss_of(&r);
      *value = at;
      const double gradient = r.gradients[value - r.values];
      assert_true(fabs((above - below) / (2 * step) - gradient) <= 1e-6 + 1e-4 * fabs(gradient));
      if (p >= model.turn_head) largest = fmax(largest, fabs(gradient));
    }
  }
  assert_true(largest > 1e-3);
  recorded_free(&r);
}

/* Inference gives the head's probability, the same in the reference. */
static void inference_gives_the_probability(void **state) {
  (void)state;
  for (int kind = MZ_MODEL_MLP; kind <= MZ_MODEL_CONV; kind++) {
    open_model(&model, kind, MZ_TURNS_TOLD);
    const mz_backend *const backends[] = {&mz_backend_cpu, &mz_backend_ref};
    float *weights = NULL, observations[ROWS * OBS], turn[2][ROWS];
    check(mz_alloc(&weights, (size_t)model.params.size, sizeof *weights));
    mz_params_init(&model.params, 5, weights);
    const mz_param *head = &model.params.items[model.params.count - 1];
    for (int p = 0; p < model.params.count; p++) { /* a head that says something */
      const mz_param *param = &model.params.items[p];
      if (strcmp(param->name, "turn.weight") != 0) continue;
      head = param;
      for (int i = 0; i < param->rows * param->stride; i++) weights[param->offset + i] *= kind == MZ_MODEL_MLP ? 1000 : 30;
    }
    assert_string_equal(head->name, "turn.weight");
    mz_rng rng = mz_rng_at(4, MZ_RNG_TEST, 0, 0);
    for (int i = 0; i < ROWS * OBS; i++) observations[i] = mz_rng_f32(&rng);
    float least = 1, most = 0;
    for (int b = 0; b < 2; b++) {
      const mz_lane lane = {.backend = backends[b]};
      mz_infer *infer = NULL;
      mz_prepared *prepared = NULL;
      float policy[ROWS * ACTIONS], value[ROWS], reward[ROWS];
      int32_t from[ROWS], to[ROWS], action[ROWS];
      for (int i = 0; i < ROWS; i++) from[i] = i, to[i] = ROWS + i, action[i] = i % ACTIONS;
      check(mz_infer_create(&infer, &model, &lane, ROWS, 2 * ROWS));
      check(mz_prepared_create(&prepared, &model, &lane, weights));
      check(mz_infer_set_weights(infer, prepared));
      check(mz_infer_initial(infer, ROWS, observations, MZ_OBS_F32, from, policy, value));
      check(mz_infer_recurrent_turns(infer, ROWS, from, action, to, policy, value, reward, turn[b]));
      mz_infer_free(infer);
      mz_prepared_release(prepared);
    }
    for (int i = 0; i < ROWS; i++) {
      assert_true(turn[1][i] > 0 && turn[1][i] < 1 && fabsf(turn[0][i] - turn[1][i]) < 1e-4f);
      least = fminf(least, turn[1][i]);
      most = fmaxf(most, turn[1][i]);
    }
    assert_true(most - least > 1e-3f);
    free(weights);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(other_networks_are_as_they_were),
      cmocka_unit_test(the_head_has_its_own_loss),
      cmocka_unit_test(gradients_are_the_losss),
      cmocka_unit_test(inference_gives_the_probability),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
