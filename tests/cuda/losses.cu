/* Sums of the unrolled loss: bit for bit the cpu's, from the same numbers. */
#include <cmath>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}
#include "networks/cuda/losses.cuh"
#include "tests/cuda/support/mirrored.cuh"

enum { ROWS = 300, PLANNED = 304, UNROLL = 3 };

/* An unrolled loss on the cpu, after forward; some rows' weights are 0. */
struct unrolled {
  net n;
  mz_loss loss;
};

static void set_inputs(net *n, const mz_loss *loss) {
  for (int i = 0; i < n->tape->node_count; i++) {
    const mz_tape_value *value = &n->tape->values[i];
    if (n->tape->nodes[i].op != MZ_OP_INPUT) continue;
    mz_rng rng = mz_rng_at(5, MZ_RNG_TEST, (uint32_t)i, 0);
    for (int r = 0; r < ROWS; r++) {
      for (int c = 0; c < value->columns; c++) {
        const float x = mz_rng_f32(&rng);
        ((float *)value->data)[r * value->stride + c] = value->columns == 1 && x < 0.3f ? 0.0f : x;
      }
    }
  }
  for (int k = 1; k <= loss->unroll; k++) {
    for (int r = 0; r < ROWS; r++) mz_tape_index_at(n->tape, loss->action[k])[r] = (r + k) % NET_ACTIONS;
  }
}

static unrolled *open_unrolled(double consistency) {
  unrolled *u = nullptr;
  check(mz_alloc(&u, 1, sizeof *u));
  mz_network_settings network = {};
  network.width = 16;
  network.depth = 1;
  network.latent = 19;
  network.value_bins = NET_BINS;
  network.reward_bins = 5;
  network.transform = true;
  mz_spec spec = {};
  spec.obs_kind = MZ_OBS_F32;
  spec.obs_size = OBS;
  spec.actions = NET_ACTIONS;
  spec.return_max = 300;
  spec.reward_min = -1;
  spec.reward_max = 2;
  check(mz_model_init(&u->n.model, &network, &spec));
  u->n.params = u->n.model.params;
  u->n.backend = &mz_backend_cpu;
  u->n.lane = mz_lane_cpu;
  check(mz_alloc(&u->n.values, (size_t)u->n.params.size, sizeof(float)));
  mz_params_init(&u->n.params, 3, (float *)u->n.values);
  check(mz_tape_create(&u->n.tape, &mz_lane_cpu, &u->n.params, PLANNED, true));
  const mz_loss_settings settings = {UNROLL, 0.25, 1.5, 1.0, consistency};
  mz_loss_build(&u->loss, &u->n.model, &settings, u->n.tape);
  check(mz_tape_plan(u->n.tape));
  set_inputs(&u->n, &u->loss);
  check(mz_tape_forward(u->n.tape, u->n.values, ROWS));
  return u;
}

static void close_unrolled(unrolled *u) {
  mz_tape_free(u->n.tape);
  free(u->n.values);
  free(u);
}

static float entry(const unrolled *u, mz_value value, int r) {
  return ((const float *)u->n.tape->values[value].data)[r * MZ_LANES];
}

static void sums_of_losses(void **) {
  for (double consistency : {0.0, 0.75}) {
    unrolled *u = open_unrolled(consistency);
    device_tape device = {};
    device_tape_open(&device, &u->n);
    for (int i = 0; i < device.tape.node_count; i++) device_tape_put_data(&device, i, 0, ROWS);
    const size_t losses = (size_t)mz_cuda_loss_count(&device.tape), count = 3 * (UNROLL + 1);
    mirrored<float> columns(count * ROWS);
    mirrored<double> sums(losses);
    check(mz_cuda_loss_columns(&device.tape, &u->loss, ROWS, columns.device));
    check(mz_cuda_loss_sums(&device.tape, ROWS, sums.device));
    columns.download(&device.lane);
    sums.download(&device.lane);
    assert_true(mz_cuda_loss_total(&device.tape, sums.host.data()) == tape_loss(u->n.tape));
    assert_true(tape_loss(u->n.tape) > 0.0);
    for (int r = 0; r < ROWS; r++) {
      for (int k = 0; k <= UNROLL; k++) {
        const float *at = &columns.host[(size_t)(3 * k * ROWS + r)];
        assert_true(at[0] == entry(u, u->loss.policy_loss[k], r) && at[ROWS] == entry(u, u->loss.value_loss[k], r));
        assert_true(at[2 * ROWS] == (k == 0 ? 0.0f : entry(u, u->loss.reward_loss[k], r)));
      }
    }
    device_tape_close(&device);
    close_unrolled(u);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sums_of_losses)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
