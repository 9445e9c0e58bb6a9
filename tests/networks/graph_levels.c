/* Kernels for graphs have the same bits at every instruction-set level. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/maths/rng.h"
#include "networks/cpu/kernels.h"
#include <string.h>

enum { NODES = 6, EDGES = 23, CHANNELS_MAX = 96, COUNT = EDGES * CHANNELS_MAX };

typedef struct results {
  float y[COUNT], weights[16 * EDGES], gradients[3][COUNT], gelu[2][COUNT], norm[2][COUNT], pool[2 * CHANNELS_MAX], dpool[COUNT],
      dgamma[CHANNELS_MAX], dbeta[CHANNELS_MAX], moments[2][EDGES];
} results;

static void made_up(float *to, int count, uint32_t stream) {
  mz_rng rng = mz_rng_at(23, MZ_RNG_TEST, stream, 0);
  for (int i = 0; i < count; i++) to[i] = 2.0f * mz_rng_normal(&rng);
}

static void run_kernels(const mz_kernels *k, int channels, int heads, bool overwrite, results *out) {
  static float q[COUNT], keys[COUNT], v[COUNT], dy[COUNT], scratch[2 * 16 * EDGES];
  int32_t targets[EDGES];
  float *const filled[] = {q, keys, v, dy, out->gradients[0], out->gradients[1], out->gradients[2], out->norm[1], out->dpool};
  for (uint32_t i = 0; i < 9; i++) made_up(filled[i], COUNT, i);
  for (int e = 0; e < EDGES; e++) targets[e] = e % (NODES + 1) - 1;
  const mz_edge_attention attention = {.nodes = NODES,
                                       .edges = EDGES,
                                       .channels = channels,
                                       .heads = heads,
                                       .targets = targets,
                                       .q = q,
                                       .k = keys,
                                       .v = v,
                                       .y = out->y,
                                       .weights = out->weights,
                                       .dy = dy,
                                       .dq = out->gradients[0],
                                       .dk = out->gradients[1],
                                       .dv = out->gradients[2],
                                       .overwrite = {overwrite, overwrite, overwrite},
                                       .by_node = scratch,
                                       .by_edge = scratch + 16 * EDGES};
  k->edge_attention(&attention);
  k->edge_attention_backward(&attention);
  k->gelu(keys, out->gelu[0], COUNT);
  k->gelu_backward(keys, dy, out->gelu[1], COUNT, overwrite);
  const mz_layer_norm norm = {.positions = EDGES,
                              .channels = channels,
                              .x = keys,
                              .y = out->norm[0],
                              .gamma = q,
                              .beta = v,
                              .epsilon = 1e-5f,
                              .mean = out->moments[0],
                              .inverse = out->moments[1],
                              .dy = dy,
                              .dx = out->norm[1],
                              .overwrite = overwrite,
                              .dgamma = out->dgamma,
                              .dbeta = out->dbeta};
  k->layer_norm(&norm);
  k->layer_norm_backward(&norm);
  k->layer_norm_gradients(&norm);
  const mz_masked_pooling pooling = {.positions = EDGES,
                                     .channels = channels,
                                     .types = targets,
                                     .x = keys,
                                     .y = out->pool,
                                     .dy = dy,
                                     .dx = out->dpool,
                                     .overwrite = overwrite};
  k->masked_pool(&pooling);
  k->masked_pool_backward(&pooling);
}

static void levels_agree(void **state) {
  (void)state;
  static const int heads[] = {1, 2, 4, 8, 16};
  static results expected, found;
  for (int i = 0; i < 60; i++) {
    const int channels = 16 * (1 + i % 6);
    memset(&expected, 0, sizeof expected);
    assert_true(mz_kernels_select(MZ_ISA_LEVEL_PLAIN));
    run_kernels(mz_kernels_get(), channels, heads[i / 2 % 5], i & 1, &expected);
    for (mz_isa level = MZ_ISA_LEVEL_PLAIN + 1; level <= MZ_ISA_LEVEL_LAST && mz_kernels_select(level); level++) {
      memset(&found, 0, sizeof found);
      run_kernels(mz_kernels_get(), channels, heads[i / 2 % 5], i & 1, &found);
      assert_memory_equal(&found, &expected, sizeof found);
    }
  }
  mz_kernels_select(mz_isa_level());
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(levels_agree)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
