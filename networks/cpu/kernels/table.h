/* The functions of kernels/ at this level: MZ_LEVEL(mz_product) is mz_product_avx2 and so on. */
#pragma once
#include "networks/cpu/kernels.h"

#define MZ_LEVEL_JOIN_(name, level) name##_##level
#define MZ_LEVEL_JOIN(name, level) MZ_LEVEL_JOIN_(name, level)
#define MZ_LEVEL(name) MZ_LEVEL_JOIN(name, MZ_ISA)

void MZ_LEVEL(mz_product)(const mz_product *product);
void MZ_LEVEL(mz_column_sums)(const mz_term *terms, int term_count, int rows, int columns, ptrdiff_t stride, float *sums);
void MZ_LEVEL(mz_add)(const float *a, const float *b, float *y, size_t count);
void MZ_LEVEL(mz_to_bf16)(const float *x, uint16_t *y, size_t count);
void MZ_LEVEL(mz_relu)(const float *x, float *y, size_t count);
void MZ_LEVEL(mz_relu_mask)(const float *y, float *dy, size_t count);
void MZ_LEVEL(mz_relu_backward)(const float *y, const float *dy, float *dx, size_t count, bool overwrite);
void MZ_LEVEL(mz_scale)(const float *dy, float factor, float *dx, size_t count, bool overwrite);
void MZ_LEVEL(mz_gelu)(const float *x, float *y, size_t count);
void MZ_LEVEL(mz_gelu_backward)(const float *x, const float *dy, float *dx, size_t count, bool overwrite);
void MZ_LEVEL(mz_minmax)(const float *x, float *y, int rows, int columns, ptrdiff_t stride);
void MZ_LEVEL(mz_minmax_backward)(const float *x, const float *y, const float *dy, float *dx, int rows, int columns,
                                  ptrdiff_t stride, bool overwrite);
void MZ_LEVEL(mz_rms)(const float *x, float *y, int rows, int columns, ptrdiff_t stride);
void MZ_LEVEL(mz_rms_backward)(const float *x, const float *y, const float *dy, float *dx, int rows, int columns,
                               ptrdiff_t stride, bool overwrite);
void MZ_LEVEL(mz_mse)(const float *x, const float *target, float *mse, int rows, int columns, ptrdiff_t stride);
void MZ_LEVEL(mz_mse_backward)(const float *x, const float *target, const float *row_weights, float factor, float *dx, int rows,
                               int columns, ptrdiff_t stride, bool overwrite);
void MZ_LEVEL(mz_pool)(const mz_pooling *pooling);
void MZ_LEVEL(mz_pool_backward)(const mz_pooling *pooling);
void MZ_LEVEL(mz_broadcast)(const float *x, float *y, int rows, int positions, int channels);
void MZ_LEVEL(mz_broadcast_backward)(const float *dy, float *dx, int rows, int positions, int channels, bool overwrite);
void MZ_LEVEL(mz_norm)(const mz_norm_group *group);
void MZ_LEVEL(mz_norm_backward)(const mz_norm_group *group);
void MZ_LEVEL(mz_affine)(const float *x, void *y, bool bf16, int positions, int channels, const float *scale, const float *shift,
                         bool relu);
void MZ_LEVEL(mz_layer_norm)(const mz_layer_norm *norm);
void MZ_LEVEL(mz_layer_norm_backward)(const mz_layer_norm *norm);
void MZ_LEVEL(mz_layer_norm_gradients)(const mz_layer_norm *norm);
void MZ_LEVEL(mz_edge_attention)(const mz_edge_attention *attention);
void MZ_LEVEL(mz_edge_attention_backward)(const mz_edge_attention *attention);
void MZ_LEVEL(mz_masked_pool)(const mz_masked_pooling *pooling);
void MZ_LEVEL(mz_masked_pool_backward)(const mz_masked_pooling *pooling);
void MZ_LEVEL(mz_softmax)(const mz_logits *logits, float *y);
void MZ_LEVEL(mz_expectation)(const mz_logits *logits, float min, float step, bool transform, float *result,
                              ptrdiff_t result_stride);
void MZ_LEVEL(mz_softmax_xent)(const mz_logits *logits, const float *targets, const float *row_weights, float factor,
                               float *entropy, float *gradient);
void MZ_LEVEL(mz_tiles_input_transform)(const mz_tiling *tiling, const float *x, float *points);
void MZ_LEVEL(mz_tiles_output_gradient_transform)(const mz_tiling *tiling, const float *dy, float *points);
void MZ_LEVEL(mz_tiles_output_transform)(const mz_tiling *tiling, const float *points, const mz_tile_finish *finish, float *y);
void MZ_LEVEL(mz_taps_filter_transform)(const mz_taps *taps, const float *kernel, float *points);
void MZ_LEVEL(mz_taps_filter_gradient_transform)(const mz_taps *taps, const float *points, float *kernel);
