/* MZ_OP_CONV on the cpu: of floats by minimal filtering (winograd.h), of bf16 by oneDNN (onednn_conv.h). */
#pragma once
#include "networks/tape/backend.h"
#include "networks/cpu/onednn_conv.h"

mz_status mz_conv_node_prepare(mz_tape *tape, mz_node *node);
void mz_conv_node_release(mz_node *node);
/* Bytes that prepare takes, at the most; claims the scratch that it would. */
size_t mz_conv_node_bytes(mz_tape *tape, const mz_node *node, bool sends_gradient);
void mz_conv_node_forward(mz_tape *tape, mz_node *node, int rows);
void mz_conv_node_backward(mz_tape *tape, mz_node *node, int rows);
/* A packed convolution takes up to MZ_CONV_PACKED elements for each input and output. */
enum { MZ_CONV_PACKED = 68 };
int64_t mz_conv_packed(const mz_param *param);
/* A convolution's weights, `values`, as a direction reads them: `out`, mz_conv_packed elements. */
mz_status mz_conv_pack_param(const mz_param *param, mz_conv_direction direction, bool bf16, const float *values, float *out);
