/* The update of the weights: bit for bit the cpu's, from the same gradients. */
#include <cmath>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}
#include "networks/cuda/update.cuh"
#include "tests/cuda/support/mirrored.cuh"
#include "twin.h"

/* Parameters that begin and end inside of chunks, with and without decay; statistics behind them, in a chunk of their own and in
 * a shared one. */
static mz_params example(void) {
  mz_params params = {};
  mz_params_add(&params, "a", 37, 50, true, MZ_INIT_HE, 37);
  mz_params_add(&params, "b", 1, 50, false, MZ_INIT_HE, 37);
  mz_params_add(&params, "c", 50, 21, true, MZ_INIT_HE, 50);
  mz_params_add(&params, "d", 1, 5, false, MZ_INIT_HE, 50);
  mz_params_add_statistic(&params, "mean", 40, MZ_INIT_ZERO, 0.1f);
  mz_params_add_statistic(&params, "variance", 1400, MZ_INIT_ONE, 0.25f);
  return params;
}

/* The sum of shards [from, from + count) of one element: halves are as large as they can be, the left one a power of two. */
static float tree_sum(const std::vector<float> &gradients, size_t size, size_t element, int from, int count) {
  if (count == 1) return gradients[(size_t)from * size + element];
  int left = 1;
  while (2 * left < count) left *= 2;
  return tree_sum(gradients, size, element, from, left) + tree_sum(gradients, size, element, from + left, count - left);
}

static void shards_are_summed_over_the_tree(void **) {
  mz_cuda_lane lane = device_lane_open();
  const size_t size = 1040;
  for (int shards : {1, 2, 3, 5, 7, 8, 13, 16, 33}) {
    mirrored<float> gradients((size_t)shards * size), sum(size);
    gradients.fill((uint32_t)shards);
    gradients.upload(&lane);
    check(mz_cuda_shards_sum(&lane, gradients.device, shards, (int64_t)size, sum.device));
    sum.download(&lane);
    for (size_t i = 0; i < size; i++) assert_true(sum.host[i] == tree_sum(gradients.host, size, i, 0, shards));
    /* In place of the first shard, as the cpu does it. */
    check(mz_cuda_shards_sum(&lane, gradients.device, shards, (int64_t)size, gradients.device));
    std::vector<float> in_place(size);
    device_download(&lane, in_place.data(), gradients.device, size * sizeof(float));
    assert_memory_equal(in_place.data(), sum.host.data(), size * sizeof(float));
  }
  device_lane_close(&lane);
}

static void squares_by_chunk(void **) {
  mz_cuda_lane lane = device_lane_open();
  const mz_params params = example();
  const size_t chunks = (size_t)mz_chunk_count(&params);
  mirrored<float> gradient((size_t)params.size);
  mirrored<double> squares(chunks);
  assert_true(params.trained < params.size - MZ_CHUNK && params.trained % MZ_CHUNK != 0);
  gradient.fill(1);
  gradient.upload(&lane);
  check(mz_cuda_gradient_squares(&lane, &params, gradient.device, squares.device));
  squares.download(&lane);
  for (size_t c = 0; c < chunks; c++)
    assert_true(squares.host[c] == mz_gradient_squares_chunk(gradient.host.data(), params.trained, (int)c));
  device_lane_close(&lane);
}

/* A gradient with zeros in the padding, and with small and vanishing entries, whose moments are flushed. */
static void make_gradient(const mz_params *params, mirrored<float> *gradient, uint32_t stream) {
  gradient->fill(stream);
  for (int p = 0; p < params->count; p++) {
    const mz_param *param = &params->items[p];
    for (int i = 0; i < param->rows * param->stride; i++) {
      float *g = &gradient->host[(size_t)(param->offset + i)];
      if (i % 7 == 3) *g *= 1e-30f;
      if (i % 11 == 5 || i % param->stride >= param->columns) *g = 0.0f;
    }
  }
}

static void steps_of(mz_optimizer_kind kind) {
  mz_cuda_lane lane = device_lane_open();
  const mz_params params = example();
  const size_t size = (size_t)params.size;
  mz_optimizer_settings settings = {};
  settings.kind = kind;
  settings.beta1 = settings.momentum = 0.9;
  settings.beta2 = 0.99;
  settings.epsilon = 1e-5;
  settings.weight_decay = 0.05;
  mz_optimizer cpu;
  check(mz_optimizer_init(&cpu, &settings, &params));
  std::vector<float> values(size), average(size);
  mz_params_init(&params, 3, values.data());
  mirrored<float> gradient(size), moment1(size), moment2(size), device_values(size), device_average(size);
  device_values.host = values;
  device_values.upload(&lane);
  for (mirrored<float> *zeros : {&moment1, &moment2, &device_average}) zeros->upload(&lane);
  mz_cuda_update update;
  check(mz_cuda_update_init(&update, &lane, kind, &params));
  for (uint32_t t = 0; t < 4; t++) {
    const float scale = t == 2 ? 0.3f : 1.0f, decay = 0.9f;
    const double rate = 0.1 / (t + 1);
    make_gradient(&params, &gradient, t);
    gradient.upload(&lane);
    cpu.steps++;
    for (int c = 0; c < mz_chunk_count(&params); c++)
      mz_optimizer_step_chunk(&cpu, c, gradient.host.data(), scale, rate, values.data());
    const bool averages = t != 1;
    for (size_t i = 0; i < size && averages; i++) average[i] += (1 - decay) * (values[i] - average[i]);
    const mz_step_factors factors = mz_optimizer_factors(&cpu, scale, rate);
    const mz_cuda_step step = {gradient.device,
                               moment1.device,
                               kind == MZ_ADAM ? moment2.device : nullptr,
                               device_values.device,
                               averages ? device_average.device : nullptr,
                               (double)decay,
                               nullptr};
    check(mz_cuda_update_step(&update, &lane, &factors, &step));
    device_values.download(&lane);
    device_average.download(&lane);
    moment1.download(&lane);
    moment2.download(&lane);
    assert_memory_equal(device_values.host.data(), values.data(), size * sizeof(float));
    assert_memory_equal(device_average.host.data(), average.data(), size * sizeof(float));
    assert_memory_equal(moment1.host.data(), cpu.moment1, size * sizeof(float));
    if (kind == MZ_ADAM) assert_memory_equal(moment2.host.data(), cpu.moment2, size * sizeof(float));
  }
  mz_cuda_update_deinit(&update);
  mz_optimizer_deinit(&cpu);
  device_lane_close(&lane);
}

static void steps_of_adam(void **) { steps_of(MZ_ADAM); }
static void steps_of_sgd(void **) { steps_of(MZ_SGD); }

/* Whatever fails, nothing stays behind: the twin lists what is left at exit. */
static void preparing_may_fail(void **) {
  mz_cuda_lane lane = device_lane_open();
  const mz_params params = example();
  bool through = false;
  for (long n = 1; !through; n++) {
    mz_cuda_update update = {};
    twin_fail_after(n);
    const mz_status status = mz_cuda_update_init(&update, &lane, MZ_ADAM, &params);
    through = twin_fail_pending() != 0;
    twin_fail_after(0);
    assert_int_equal(status, through ? MZ_OK : MZ_E_DEVICE);
    if (through) mz_cuda_update_deinit(&update);
    assert_true(through ? n > 3 : update.rules == nullptr); /* memory there and pinned, and a copy */
  }
  device_lane_close(&lane);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shards_are_summed_over_the_tree),
      cmocka_unit_test(squares_by_chunk),
      cmocka_unit_test(steps_of_adam),
      cmocka_unit_test(steps_of_sgd),
      cmocka_unit_test(preparing_may_fail),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
