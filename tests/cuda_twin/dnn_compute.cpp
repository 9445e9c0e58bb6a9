#include "dnn_program.h"
#include "library.h"
#include <cstring>

namespace {

enum { SIDE = 3, TAPS = SIDE * SIDE };

float float_of(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float x;
  memcpy(&x, &wide, sizeof x);
  return x;
}

/* To the nearest, ties to even; `lost`: low bits of a float that go. */
uint32_t rounded(float x, int lost) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (bits + (1u << (lost - 1)) - 1 + (bits >> lost & 1)) >> lost << lost;
}

float round_input(float x, dnn_arithmetic arithmetic) {
  const int lost = arithmetic == DNN_TF32 ? 13 : arithmetic == DNN_BF16_INPUTS ? 16 : 0;
  if (lost == 0) return x;
  const uint32_t bits = rounded(x, lost);
  memcpy(&x, &bits, sizeof x);
  return x;
}

std::vector<float> load(const dnn_tensor &tensor, const void *from, dnn_arithmetic arithmetic) {
  std::vector<float> values(tensor.count());
  for (size_t i = 0; i < values.size(); i++) {
    const float x = tensor.bf16 ? float_of(static_cast<const uint16_t *>(from)[i]) : static_cast<const float *>(from)[i];
    values[i] = round_input(x, arithmetic);
  }
  return values;
}

void store(const dnn_tensor &tensor, const std::vector<float> &values, void *to) {
  for (size_t i = 0; i < values.size(); i++) {
    if (tensor.bf16) {
      static_cast<uint16_t *>(to)[i] = (uint16_t)(rounded(values[i], 16) >> 16);
    } else {
      static_cast<float *>(to)[i] = values[i];
    }
  }
}

/* Sizes of a convolution, and its loop over what meets: for each row, position and tap, the position seen through it. */
struct convolution {
  int64_t rows, height, width, inputs, outputs;
  int64_t positions() const { return height * width; }
  int64_t seen(int64_t position, int64_t tap) const {
    const int64_t y = position / width + tap / SIDE - 1, x = position % width + tap % SIDE - 1;
    return y >= 0 && y < height && x >= 0 && x < width ? y * width + x : -1;
  }
  template <typename F> void each(bool backwards, F meet) const {
    const int64_t all = rows * positions() * TAPS;
    for (int64_t i = 0; i < all; i++) {
      const int64_t at = backwards ? all - 1 - i : i, tap = at % TAPS, position = at / TAPS % positions();
      const int64_t row = at / TAPS / positions(), other = seen(position, tap);
      if (other >= 0) meet(row * positions() + position, row * positions() + other, tap);
    }
  }
};

/* sums[i] += factor · values[i]; of vectors that are the stand-in's own, so that sanitizers need not look at each number. */
__attribute__((no_sanitize("address", "undefined", "thread"))) void add_scaled(float *sums, const float *values, float factor,
                                                                               int64_t count) {
  for (int64_t i = 0; i < count; i++) sums[i] = sums[i] + factor * values[i];
}

/* [o][tap][i] → [tap][i][o]. */
std::vector<float> outputs_last(const std::vector<float> &filters, const convolution &c) {
  std::vector<float> turned(filters.size());
  for (int64_t o = 0; o < c.outputs; o++) {
    for (int64_t i = 0; i < TAPS * c.inputs; i++)
      turned[(size_t)(i * c.outputs + o)] = filters[(size_t)(o * TAPS * c.inputs + i)];
  }
  return turned;
}

std::vector<float> convolve(const dnn_program &p, const std::vector<float> &first, const std::vector<float> &second,
                            bool backwards) {
  const dnn_tensor &w = p.direction == DNN_FILTER ? p.result : p.second;
  const convolution c = {p.first.dimensions[0], p.first.dimensions[2], p.first.dimensions[3], w.dimensions[1], w.dimensions[0]};
  std::vector<float> sums(p.result.count(), 0.0f);
  if (p.direction == DNN_FORWARD) {
    const std::vector<float> filters = outputs_last(second, c);
    c.each(backwards, [&](int64_t y, int64_t x, int64_t tap) {
      for (int64_t i = 0; i < c.inputs; i++) {
        add_scaled(&sums[(size_t)(y * c.outputs)], &filters[(size_t)((tap * c.inputs + i) * c.outputs)],
                   first[(size_t)(x * c.inputs + i)], c.outputs);
      }
    });
  } else if (p.direction == DNN_DATA) {
    c.each(backwards, [&](int64_t y, int64_t x, int64_t tap) {
      for (int64_t o = 0; o < c.outputs; o++) {
        add_scaled(&sums[(size_t)(x * c.inputs)], &second[(size_t)((o * TAPS + tap) * c.inputs)],
                   first[(size_t)(y * c.outputs + o)], c.inputs);
      }
    });
  } else {
    c.each(backwards, [&](int64_t y, int64_t x, int64_t tap) {
      for (int64_t o = 0; o < c.outputs; o++) {
        add_scaled(&sums[(size_t)((o * TAPS + tap) * c.inputs)], &first[(size_t)(x * c.inputs)],
                   second[(size_t)(y * c.outputs + o)], c.inputs);
      }
    });
  }
  return sums;
}

void apply(const dnn_step &step, const void *operand, std::vector<float> &values) {
  const size_t channels = (size_t)step.result.dimensions[1];
  const float *other = static_cast<const float *>(operand);
  const bool by_channel = step.has_operand && step.operand.count() == channels && step.result.count() != channels;
  for (size_t i = 0; i < values.size(); i++) {
    if (step.mode == CUDNN_POINTWISE_ADD) values[i] = values[i] + other[by_channel ? i % channels : i];
    if (step.mode == CUDNN_POINTWISE_RELU_FWD && values[i] < 0.0f) values[i] = 0.0f;
  }
}

} // namespace

void dnn_program_run(const dnn_program &program, dnn_arithmetic arithmetic, const std::vector<void *> &pointers) {
  const bool backwards = (arithmetic == DNN_BY_ROWS && program.rows() > 2) ||
                         (arithmetic == DNN_UNREPEATABLE && twin_library_toss()) || arithmetic == DNN_BACKWARDS;
  const std::vector<float> first = load(program.first, pointers[0], arithmetic);
  const std::vector<float> second = load(program.second, pointers[1], arithmetic);
  std::vector<float> values = convolve(program, first, second, backwards);
  size_t at = 2;
  for (const dnn_step &step : program.steps) {
    apply(step, step.has_operand ? pointers[at] : nullptr, values);
    if (step.has_operand) at++;
  }
  store(program.end(), values, pointers[at]);
}
