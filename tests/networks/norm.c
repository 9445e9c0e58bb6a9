/* Batch norm: what it does to a group, which statistics come out for the running ones, and that its kernels have the same bits
 * at every instruction-set level. (Its gradients: gradients.c, parity.c; that groups are independent: rows.c; folding:
 * conv_model.c.) */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/cpu/kernels.h"
#include "tests/networks/board_cases.h"

static const mz_backend *const backends[] = {&mz_backend_cpu, &mz_backend_ref};

static const net_case *norm_case(void) {
  const net_case *c = &board_cases[BOARD_CASES - 2];
  assert_string_equal(c->name, "norm");
  return c;
}

typedef struct moments {
  double mean, variance;
} moments;

/* Mean and variance of one channel of a value over the rows of a group. */
static moments moments_of(net *n, mz_value value, net_size size, int group, int channel) {
  const mz_tape_value *v = mz_tape_at(n->tape, value);
  const int count = size.group * positions_of(size);
  const size_t first = (size_t)(group * count * size.width + channel);
  moments m = {0};
  for (int e = 0; e < count; e++) m.mean += net_element(n, v->data, first + (size_t)(e * size.width)) / count;
  for (int e = 0; e < count; e++) {
    m.variance += pow(net_element(n, v->data, first + (size_t)(e * size.width)) - m.mean, 2) / count;
  }
  return m;
}

static double parameter(const net *n, const char *name, int channel) {
  const int index = mz_params_find(&n->params, name);
  assert_true(index >= 0);
  return n->weights[n->params.items[index].offset + channel];
}

/* The second norm of the block has no ReLU: its outputs have mean `shift` and variance `scale`² · v/(v + ε). */
static void a_group_gets_the_moments_of_its_parameters(void **state) {
  (void)state;
  const net_size size = {.width = 32, .board = {6, 7}, .group = 2};
  enum { GROUPS = 3 };
  for (int b = 0; b < 2; b++) {
    net *n = net_open(norm_case(), backends[b], size, GROUPS * size.group, 7);
    for (int r = 0; r < GROUPS * size.group; r++) net_set_row(n, r, r);
    net_run(n, GROUPS * size.group);
    int norms = 0;
    for (int i = 0; i < n->tape->node_count; i++) {
      const mz_node *node = &n->tape->nodes[i];
      if (node->op != MZ_OP_NORM || node->activation == MZ_RELU) continue;
      norms++;
      for (int g = 0; g < GROUPS; g++) {
        for (int c = 0; c < size.width; c++) {
          const moments in = moments_of(n, node->inputs[0], size, g, c), out = moments_of(n, node->output, size, g, c);
          const double scale = parameter(n, "norm1.scale", c), shift = parameter(n, "norm1.shift", c);
          const double variance = scale * scale * in.variance / (in.variance + 1e-5);
          assert_true(fabs(out.mean - shift) <= 1e-5 && fabs(out.variance - variance) <= 1e-5 * (1 + variance));
        }
      }
    }
    assert_int_equal(norms, 2);
    net_close(n);
  }
}

/* Mean over groups and uses of what they showed, times the tape's share. */
static void statistics_are_means_over_groups_and_uses(void **state) {
  (void)state;
  const net_size size = {.width = 48, .board = {3, 3}, .group = 3};
  enum { GROUPS = 2, PLANNED = 3 };
  static const double shares[] = {1.0, 0.25};
  for (int b = 0; b < 2; b++) {
    net *n = net_open(norm_case(), backends[b], size, PLANNED * size.group, 7);
    for (int r = 0; r < GROUPS * size.group; r++) net_set_row(n, r, r);
    for (int s = 0; s < 2; s++) {
      mz_tape_set_share(n->tape, shares[s]);
      net_run(n, GROUPS * size.group);
      for (int k = 0; k < 2; k++) {
        for (int c = 0; c < size.width; c++) {
          moments expected = {0};
          int uses = 0;
          for (int i = 0; i < n->tape->node_count; i++) {
            const mz_node *node = &n->tape->nodes[i];
            if (node->op != MZ_OP_NORM || node->norm.gamma != EXTRA + 2 * k) continue;
            uses++;
            for (int g = 0; g < GROUPS; g++) {
              const moments m = moments_of(n, node->inputs[0], size, g, c);
              expected.mean += shares[s] * m.mean / (2 * GROUPS);
              expected.variance += shares[s] * m.variance / (2 * GROUPS);
            }
          }
          assert_int_equal(uses, 2);
          const mz_param *mean = &n->params.items[EXTRA + 4 + 2 * k];
          assert_true(fabs(net_element(n, n->gradients, (size_t)(mean[0].offset + c)) - expected.mean) <= 1e-5);
          assert_true(fabs(net_element(n, n->gradients, (size_t)(mean[1].offset + c)) - expected.variance) <=
                      1e-5 * (1 + expected.variance));
        }
      }
    }
    net_close(n);
  }
}

/* Dead channels, as behind a ReLU that never fires, must not divide by zero. */
static void a_channel_without_variance_stays_finite(void **state) {
  (void)state;
  for (int b = 0; b < 2; b++) {
    const net_size size = {.width = 16, .board = {2, 3}, .group = 1};
    net *n =
        net_open(norm_case(), backends[b], size, 1, 7); /* all inputs are 0: each channel is its bias everywhere, or nearly */
    memset(n->values, 0, (size_t)n->params.items[CONV_A].offset * n->backend->element_size);
    net_pack(n);
    net_run(n, 1);
    for (int64_t i = 0; i < n->params.size; i++) assert_true(isfinite(net_element(n, n->gradients, (size_t)i)));
    assert_true(isfinite(tape_loss(n->tape)));
    net_close(n);
  }
}

enum { POSITIONS = 37, CHANNELS_MAX = 176, COUNT = POSITIONS * CHANNELS_MAX };
typedef struct results {
  float y[COUNT], dy[COUNT], dx[COUNT], affine[COUNT];
  float sums[5][CHANNELS_MAX];
  uint16_t affine_bf16[COUNT];
} results;

static void made_up(float *to, uint32_t stream) {
  mz_rng rng = mz_rng_at(6, MZ_RNG_TEST, stream, 0);
  for (int i = 0; i < COUNT; i++) to[i] = 3.0f * mz_rng_normal(&rng) + 1.0f;
}

static void run_kernels(const mz_kernels *k, int channels, bool relu, bool overwrite, results *out) {
  static float x[COUNT], gamma[COUNT], beta[COUNT];
  made_up(x, 0);
  made_up(gamma, 1);
  made_up(beta, 2);
  made_up(out->dy, 3);
  made_up(out->dx, 4);
  const mz_norm_group group = {.positions = POSITIONS,
                               .channels = channels,
                               .x = x,
                               .y = out->y,
                               .gamma = gamma,
                               .beta = beta,
                               .epsilon = 1e-5f,
                               .relu = relu,
                               .mean = out->sums[0],
                               .variance = out->sums[1],
                               .inverse = out->sums[2],
                               .dy = out->dy,
                               .dx = out->dx,
                               .overwrite = overwrite,
                               .sum_dy = out->sums[3],
                               .sum_dy_x = out->sums[4]};
  k->norm(&group);
  k->norm_backward(&group);
  k->affine(x, out->affine, false, POSITIONS, channels, gamma, beta, relu);
  k->affine(x, out->affine_bf16, true, POSITIONS, channels, gamma, beta, relu);
}

static void levels_agree(void **state) {
  (void)state;
  static results expected, found;
  for (int channels = 16; channels <= CHANNELS_MAX; channels += 16) {
    for (int way = 0; way < 4; way++) {
      memset(&expected, 0, sizeof expected);
      assert_true(mz_kernels_select(MZ_ISA_LEVEL_PLAIN));
      run_kernels(mz_kernels_get(), channels, way & 1, way & 2, &expected);
      for (mz_isa level = MZ_ISA_LEVEL_PLAIN + 1; level <= MZ_ISA_LEVEL_LAST && mz_kernels_select(level); level++) {
        memset(&found, 0, sizeof found);
        run_kernels(mz_kernels_get(), channels, way & 1, way & 2, &found);
        assert_memory_equal(&found, &expected, sizeof found);
      }
    }
  }
  mz_kernels_select(mz_isa_level());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_group_gets_the_moments_of_its_parameters),
      cmocka_unit_test(statistics_are_means_over_groups_and_uses),
      cmocka_unit_test(a_channel_without_variance_stays_finite),
      cmocka_unit_test(levels_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
