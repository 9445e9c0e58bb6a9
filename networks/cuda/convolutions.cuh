/* Convolutions of boards on a device by cuDNN (9.8 or later), planned once and then run for any number of rows up to the most.
 *
 * A convolution keeps one engine with one configuration for all numbers of rows, so that a row has the same bits however many
 * run. Candidates are tried in the order in which the library's heuristics name them; with `any_rows` the heuristics are asked for
 * MZ_CUDA_CHOICE_ROWS, whatever the most. The first one is kept that the rules allow and that can be built for each number of rows in
 * use. Where there is none, the next form is tried.
 * Nothing is timed, so the same library chooses the same on the same kind of device. The rules: results repeat bit for bit,
 * f32 is not rounded to TF32, sums are f32, no transforms (FFT, Winograd), the workspace is enough. Numbers in use are the
 * most rows and, with `any_rows`, the powers of two below: the smallest that is enough is run, and what comes out for rows
 * beyond those asked for means nothing. Not thread-safe; belongs to the lane's thread. */
#pragma once
#include "networks/cuda/dnn_engine.cuh"
#include "networks/cuda/dnn_graph.cuh"
#include "networks/cuda/lane.cuh"

/* Who computes, in the order in which forms are tried. */
typedef enum mz_cuda_conv_form {
  MZ_CUDA_CONV_FUSED,    /* one graph does everything */
  MZ_CUDA_CONV_SEPARATE, /* a graph convolves into scratch, kernels of ours do the rest */
  MZ_CUDA_CONV_DIRECT,   /* kernels of ours (direct_conv.cuh): the library knows no engine that keeps the rules */
} mz_cuda_conv_form;

typedef struct mz_cuda_convolution_settings {
  mz_cuda_conv_graph_settings graph;
  int rows; /* at most */
  bool any_rows;
} mz_cuda_convolution_settings;

typedef struct mz_cuda_convolution mz_cuda_convolution;

mz_status mz_cuda_convolution_create(mz_cuda_convolution **out, const mz_cuda_conv_target *target,
                                     const mz_cuda_convolution_settings *settings);
/* Several owners of the same settings may share a convolution; each calls _free once. */
mz_cuda_convolution *mz_cuda_convolution_share(mz_cuda_convolution *convolution);
bool mz_cuda_convolution_is_of(const mz_cuda_convolution *convolution, const mz_cuda_convolution_settings *settings);
void mz_cuda_convolution_free(mz_cuda_convolution *convolution);

mz_cuda_conv_form mz_cuda_convolution_form(const mz_cuda_convolution *convolution);

/* The data of a graph's tensors by what names them (MZ_CUDA_CONV_X …), on the lane's device, aligned to 16 bytes, of as many
 * rows as the most; NULL: the graph has no such tensor. The result lies over none of the others: cuDNN promises nothing where it does.
 * A SEPARATE graph has neither bias nor add; its result is f32. */
typedef struct mz_cuda_conv_data {
  void *tensors[MZ_CUDA_CONV_RESULT + 1];
} mz_cuda_conv_data;

/* Returns how many rows a run of `rows` reads and writes. For weight gradients those beyond `rows` must be 0. */
int mz_cuda_convolution_rows(const mz_cuda_convolution *convolution, int rows);

/* Runs the graph, of FUSED and SEPARATE, on the lane's stream. rows ≥ 1. */
mz_status mz_cuda_convolution_run(mz_cuda_convolution *convolution, const mz_cuda_lane *lane, int rows,
                                  const mz_cuda_conv_data *data);
