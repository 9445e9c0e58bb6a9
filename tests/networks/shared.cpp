/* The formulas of networks that GPUs share, compiled as C++: the bits of the C library's, and its order of an action's stamps. */
#include <cmath>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

extern "C" {
#include <cmocka.h>
#include "networks/cpu/kernels.h"
#include "networks/loss.h"
#include "networks/model/action_map.h"
}

#include "base/maths/rng_inline.h"
#include "networks/math/lanes.h"
#include "networks/math/scaling.h"
#include "networks/math/value.h"

static void expect_f32(float found, float expected) { assert_int_equal(mz_bits_of_f32(found), mz_bits_of_f32(expected)); }

static void value_transforms(void **) {
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 10007) {
    const float x = mz_f32_of_bits((uint32_t)bits);
    if (!std::isfinite(x)) continue;
    expect_f32(mz_h_inline(x), mz_value_transform(x));
    expect_f32(mz_h_inverse_inline(x), mz_value_transform_inverse(x));
  }
}

/* A support's expectation as mz_support_expectation takes it, from the shared formulas. */
static void expectations(void **) {
  const mz_support support = {-20, 20, 41, true};
  mz_rng rng = mz_rng_at(5, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < 1000; i++) {
    float logits[41], sum[MZ_SUM_LANES] = {}, weighted[MZ_SUM_LANES] = {}, largest = -INFINITY;
    for (float &logit : logits) {
      logit = 3 * mz_rng_normal(&rng);
      largest = logit > largest ? logit : largest;
    }
    const float step = mz_bin_step_inline(support.min, support.max, support.bins);
    for (int bin = 0; bin < support.bins; bin++) {
      const float e = mz_expf_inline(logits[bin] - largest);
      sum[bin % MZ_SUM_LANES] += e;
      weighted[bin % MZ_SUM_LANES] += e * mz_bin_inline(support.min, step, (float)bin);
    }
    const float mean = mz_lanes_sum(weighted) / mz_lanes_sum(sum);
    expect_f32(mz_h_inverse_inline(mean), mz_support_expectation(&support, logits));
  }
}

/* Rows of one vector of lanes, so that a sum of squares is mz_lanes_sum of the squares. */
static void scaled_rows(void **) {
  mz_rng rng = mz_rng_at(6, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < 1000; i++) {
    alignas(64) float x[MZ_SUM_LANES], y[MZ_SUM_LANES];
    float squares[MZ_SUM_LANES], least = INFINITY, largest = -INFINITY;
    for (int c = 0; c < MZ_SUM_LANES; c++) {
      x[c] = mz_rng_normal(&rng);
      squares[c] = x[c] * x[c];
      least = x[c] < least ? x[c] : least;
      largest = x[c] > largest ? x[c] : largest;
    }
    const float minmax = mz_minmax_inverse_inline(least, largest);
    mz_kernels_get()->minmax(x, y, 1, MZ_SUM_LANES, MZ_SUM_LANES);
    for (int c = 0; c < MZ_SUM_LANES; c++) expect_f32((x[c] - least) * minmax, y[c]);
    const float rms = mz_rms_inverse_inline(mz_lanes_sum(squares), MZ_SUM_LANES);
    mz_kernels_get()->rms(x, y, 1, MZ_SUM_LANES, MZ_SUM_LANES);
    for (int c = 0; c < MZ_SUM_LANES; c++) expect_f32(x[c] * rms, y[c]);
  }
}

/* ---- stamps ---- */

using stamps = std::vector<std::pair<int, int>>; /* position and row */

static stamps visited(const mz_action_map &map, int action) {
  stamps found;
  mz_action_map_visit(
      &map, action, [](void *context, int position, int row) { static_cast<stamps *>(context)->emplace_back(position, row); },
      &found);
  return found;
}

/* The stamps at one position in the order of rows, as a thread for each position adds them. */
static stamps asked(const mz_action_map &map, int action, int position) {
  const int everywhere = mz_action_map_everywhere(&map, action);
  if (everywhere != MZ_NO_ROW) return {{position, everywhere}};
  stamps found;
  for (int tap = 0; tap < MZ_KERNEL * MZ_KERNEL; tap++)
    if (mz_action_map_is_seen(&map, action, position, tap)) found.emplace_back(position, tap);
  return found;
}

static void expect_same_stamps(const mz_action_map &map) {
  const int positions = map.board.height * map.board.width;
  for (int action = 0; action < map.actions; action++) {
    const stamps all = visited(map, action);
    size_t count = 0;
    std::vector<int> last(static_cast<size_t>(mz_action_map_rows(&map)), -1); /* the position at which a row was added last */
    for (const auto &[position, row] : all) {
      assert_true(position > last[static_cast<size_t>(row)]);
      last[static_cast<size_t>(row)] = position;
    }
    for (int p = 0; p < positions; p++) {
      stamps here;
      for (const auto &stamp : all)
        if (stamp.first == p) here.push_back(stamp);
      assert_true(here == asked(map, action, p));
      count += here.size();
    }
    assert_int_equal(count, all.size());
    assert_true(count > 0);
  }
}

static void stamps_of_actions(void **) {
  const mz_board boards[] = {{1, 1}, {1, 4}, {2, 2}, {3, 3}, {6, 7}, {9, 9}, {5, 2}};
  for (const mz_board &board : boards) {
    const int cells = board.height * board.width;
    expect_same_stamps({board, MZ_ACTIONS_PLAIN, 6});
    expect_same_stamps({board, MZ_ACTIONS_CELLS, cells});
    expect_same_stamps({board, MZ_ACTIONS_CELLS_PASS, cells + 1});
    expect_same_stamps({board, MZ_ACTIONS_COLUMNS, board.width});
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(value_transforms),
      cmocka_unit_test(expectations),
      cmocka_unit_test(scaled_rows),
      cmocka_unit_test(stamps_of_actions),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
