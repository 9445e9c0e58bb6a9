/* A tape: a network recorded once per shape and run many times. Building appends nodes; planning carves one arena for all
 * activations and gradients and prepares each node; forward and backward then walk the array. Written forward only: every
 * op knows its own gradient. A tape is owned by one thread; parameters are shared and only read.
 *
 * A value is a matrix of rows × columns, [rows][stride], stride = mz_padded(columns), padding zero. A row may be a board: height ×
 * width positions of as many channels each, NHWC, channels a multiple of 16. A row may be a graph: its positions are nodes or edges
 * of as many channels each, a multiple of 16; index lists (mz_tape_index_list) give the types of positions and the ends of edges.
 * Rows are independent: a row's result does not depend on how many rows are run or on the others (tested bit for bit); batch norm
 * while training alone mixes those of a group. */
#pragma once
#include "base/status.h"
#include "networks/model/action_map.h"
#include "networks/parameters/params.h"

typedef struct mz_tape mz_tape;
typedef struct mz_lane mz_lane;
typedef int mz_value; /* index of a value on its tape */

typedef enum mz_op {
  MZ_OP_INPUT,  /* filled by the caller before forward */
  MZ_OP_LINEAR, /* y = act(x W + b + T[index]);  b and T optional */
  MZ_OP_ADD,    /* y = a + b */
  MZ_OP_RELU,
  MZ_OP_MINMAX,         /* per row: (x − min)/(max − min + 1e-5)  (MuZero appendix G; ε as in our defaults) */
  MZ_OP_RMS,            /* per row: x / √(mean x² + 1e-5)  (Zhang & Sennrich 2019, without gains) */
  MZ_OP_SCALE_GRADIENT, /* y = x; dx += factor·dy */
  MZ_OP_SOFTMAX_XENT,   /* per row: −w · Σ target·log softmax(logits): adds to the tape's loss */
  MZ_OP_MSE,            /* per row: w · mean of (x − target)²: adds to the tape's loss; nothing flows into the target */
  MZ_OP_EXPECTATION,    /* per row: h⁻¹(Σ softmax(logits)·support), one column; inference only */
  MZ_OP_SOFTMAX,        /* inference only */
  MZ_OP_PLANES,         /* a board's channels, filled up with zeros to a multiple of 16 */
  MZ_OP_CONV,           /* y = act(conv3x3(x, W) + b + add);  b and add optional */
  MZ_OP_ACTION_MAP,     /* where the action is on the board, through a 3 × 3 convolution of its own (action_map.h) */
  MZ_OP_NORM,           /* training: batch norm over groups of rows (Ioffe & Szegedy 2015), and activation */
  MZ_OP_POOL,           /* of a board: the mean of each channel over its positions, then the largest of each */
  MZ_OP_BROADCAST,      /* one entry for each channel, at every position of a board */
  MZ_OP_TO_BF16,        /* y = x, rounded to bfloat16 */
  MZ_OP_AFFINE,         /* inference: y = act(scale · x + shift), by channel */
  MZ_OP_GELU,           /* y = x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))  (Hendrycks & Gimpel 2016, section 2) */
  MZ_OP_LAYER_NORM,     /* by position: y = gamma (x − mean)/√(variance + 1e-5) + beta  (Ba et al. 2016) */
  MZ_OP_TYPED_LINEAR,   /* by position p: y_p = x_p W[type_p] + b[type_p];  b optional; 0 where the position is absent */
  MZ_OP_GATHER,         /* by position p: y_p = x[index_p]; 0 where the position is absent */
  MZ_OP_CONCAT,         /* by position: y_p = [a_p ‖ b_p ‖ c_p];  c optional */
  MZ_OP_EDGE_ATTENTION, /* of a graph: by node, the mean of v over its incoming edges, weighted by softmax(q·k) for each head */
  MZ_OP_MASKED_POOL,    /* of a graph: POOL over the positions that are present; 0 where none is */
  MZ_OP_SCALE,          /* y = factor · x */
  MZ_OP_PATCHES,        /* of a board: what 3 × 3 windows at every second position see, padded with zeros (halving.h) */
  MZ_OP_MEAN_POOL,      /* of a board: the means of each channel over such windows, of what is on the board */
} mz_op;
enum { MZ_OPS = MZ_OP_MEAN_POOL + 1 };

typedef enum mz_activation { MZ_LINEAR_ONLY, MZ_RELU } mz_activation;

enum { MZ_NODE_INPUTS = 3 };

#define MZ_NORM_EPSILON 1e-5f
/* Parameters of a batch norm, from its first on; the two statistics are elsewhere. */
typedef struct mz_norm {
  int gamma, beta, mean, variance;
} mz_norm;

typedef struct mz_node {
  mz_op op;
  mz_value inputs[MZ_NODE_INPUTS];
  int input_count;
  mz_value output;
  mz_activation activation;
  int weight, bias, table; /* parameter indices, −1: none */
  int index_input;         /* which index input feeds `table`, or index list a graph's positions; −1: none */
  int positions;           /* of a row, that LINEAR maps one by one (a 1 × 1 convolution), NORM and AFFINE normalise alike */
  int heads;               /* EDGE_ATTENTION */
  mz_norm norm;            /* NORM: weight = norm.gamma, bias = norm.beta */
  int group_rows;          /* NORM */
  mz_action_map map;       /* ACTION_MAP: its table is `weight` */
  mz_board board;          /* PATCHES, MEAN_POOL: of the input */
  float factor;            /* SCALE_GRADIENT, SCALE; loss weight of SOFTMAX_XENT, MSE */
  float support_min, support_max; /* EXPECTATION: the bins are equally spaced over this range, in h-transformed space */
  bool transform;                 /* EXPECTATION: apply h⁻¹ */
  /* Planned: */
  bool first_use;  /* of its weight on this tape: the shared weight gradient is completed here (see cpu/linear.c) */
  const int *uses; /* at first_use: the nodes that share the weight and take part in backward, in recorded order */
  int use_count;
  bool backward;                   /* takes part in backward: lies between a parameter and a loss */
  bool overwrites[MZ_NODE_INPUTS]; /* backward: the first to write that input's gradient; the others add */
  void *prepared;                  /* backend's */
} mz_node;

typedef struct mz_tape_value {
  int columns, stride;
  bool bf16;      /* its elements are bfloat16: what only convolutions read; gradients are never */
  void *data;     /* [rows][stride] elements of the backend, or bf16 */
  void *gradient; /* same shape; NULL on tapes planned without backward or where none is needed */
} mz_tape_value;

/* The lane stays open as long as the tape lives, and params (NULL for a network without any) stay. with_backward: plan gradients. rows:
 * the most rows ever run. */
mz_status mz_tape_create(mz_tape **out, const mz_lane *lane, const mz_params *params, int rows, bool with_backward);
void mz_tape_free(mz_tape *tape);

/* Building. Failures (out of memory, too many nodes) are remembered and returned by mz_tape_plan. */
mz_value mz_tape_input(mz_tape *tape, int columns);
int mz_tape_index_input(mz_tape *tape); /* rows × int32, for table rows */
/* rows × `count` × int32: one entry for each position of a graph. −1: the position is absent, so that graphs of different sizes are
 * rows of one tape. Entries must be below the number of what they choose from. A tape has up to 32 index inputs and lists. */
int mz_tape_index_list(mz_tape *tape, int count);
/* bias: −1 for none. A weight may be used any number of times on a tape, always with the same bias and table. */
mz_value mz_tape_linear(mz_tape *tape, mz_value x, int weight, int bias, mz_activation activation);
/* Adds row index[r] of parameter `table` before the activation: the action encoding, equal to a one-hot concatenated to x. */
mz_value mz_tape_linear_table(mz_tape *tape, mz_value x, int weight, int bias, int table, int index_input,
                              mz_activation activation);
/* A 1 × 1 convolution: the same linear map of each of a row's `positions`. */
mz_value mz_tape_pointwise(mz_tape *tape, mz_value x, int positions, int weight, int bias, mz_activation activation);
/* x: positions × channels → positions × mz_padded(channels). Of an input or its SCALE: no gradient. */
mz_value mz_tape_planes(mz_tape *tape, mz_value x, int positions);
/* weight: of mz_params_add_conv. bias, add (of the output's shape): −1 for none. */
mz_value mz_tape_conv(mz_tape *tape, mz_value x, int weight, int bias, mz_value add, mz_activation activation);
/* rows × (positions · columns of `table`), a parameter of mz_action_map_rows(map) rows. */
mz_value mz_tape_action_map(mz_tape *tape, const mz_action_map *map, int table, int index_input);
/* On tapes with backward. Groups of `group_rows` rows in order; the rows run must be a multiple of it. The "gradients" of mean and
 * variance become the mean over groups and uses of what batches showed, times the tape's share (mz_tape_set_share). */
mz_value mz_tape_norm(mz_tape *tape, mz_value x, const mz_norm *norm, int group_rows, mz_activation activation);
/* scale, shift: parameters of one row each. On tapes without backward. */
mz_value mz_tape_affine(mz_tape *tape, mz_value x, int scale, int shift, mz_activation activation);
mz_value mz_tape_add(mz_tape *tape, mz_value a, mz_value b);
mz_value mz_tape_relu(mz_tape *tape, mz_value x);
mz_value mz_tape_gelu(mz_tape *tape, mz_value x);
mz_value mz_tape_minmax(mz_tape *tape, mz_value x);
mz_value mz_tape_rms(mz_tape *tape, mz_value x);
/* x: positions × channels, channels a multiple of 16; may be bf16. The first of several largest gets the gradient. */
mz_value mz_tape_pool(mz_tape *tape, mz_value x, int positions);
/* x: channels, a multiple of 16. */
mz_value mz_tape_broadcast(mz_tape *tape, mz_value x, int positions);
mz_value mz_tape_scale_gradient(mz_tape *tape, mz_value x, float factor);
mz_value mz_tape_scale(mz_tape *tape, mz_value x, float factor);
/* x: board × channels, channels a multiple of 16, or any number of an input or its SCALE → half the board (mz_halved) × mz_padded(9 ·
 * channels): by tap (kernel row, kernel column), then channel. A pointwise map of it is a convolution of stride 2 and padding 1 whose
 * weight is HWIO, with rows of zeros behind. */
mz_value mz_tape_patches(mz_tape *tape, mz_value x, mz_board board);
/* x: board × channels, a multiple of 16 → half the board × channels. */
mz_value mz_tape_mean_pool(mz_tape *tape, mz_value x, mz_board board);

/* Graphs. `types`, `index` and `targets` are index lists; a list of n entries gives a row n positions. */
/* gamma, beta: parameters of one row each; x: positions × channels, channels those of gamma. Absent positions have no say in the
 * gradients as long as nobody reads them. */
mz_value mz_tape_layer_norm(mz_tape *tape, mz_value x, int gamma, int beta);
/* x: positions × inputs → positions × outputs. weight: one matrix below the other, (number of types · inputs) × outputs; bias: (number
 * of types) × outputs, −1 for none. What x holds at absent positions is not read. */
mz_value mz_tape_typed_linear(mz_tape *tape, mz_value x, int types, int weight, int bias);
/* x: positions × channels → (entries of `index`) × channels: for each edge, what x holds at the node that `index` names. */
mz_value mz_tape_gather(mz_tape *tape, mz_value x, int positions, int index);
/* parts: two or three different values, positions × channels each → positions × (sum of their channels). */
mz_value mz_tape_concat(mz_tape *tape, const mz_value *parts, int count, int positions);
/* q: nodes × channels; k, v: edges × channels; targets: for each edge the node it leads to → nodes × channels. Channels are divided
 * into `heads` blocks of d. Head m of node i: y_i = Σ_e a_e v_e over the edges e that lead to i, a = softmax over those edges of
 * (q_i · k_e)/√d (Vaswani et al. 2017, section 3.2, on edges). A node that no edge leads to gets 0. q, k and v differ. */
mz_value mz_tape_edge_attention(mz_tape *tape, mz_value q, mz_value k, mz_value v, int heads, int targets);
/* x: positions × channels → 2 · channels: means, then maxima, over positions whose type is not −1. As in POOL, the first of several
 * largest gets the gradient. */
mz_value mz_tape_masked_pool(mz_tape *tape, mz_value x, int types);

/* targets: an input of the logits' shape; row_weights: an input of one column. Nothing else that trains may read these logits.
 * The loss of row r is factor · row_weights[r] · cross entropy; the unweighted cross entropy is the returned value's one column. */
mz_value mz_tape_softmax_xent(mz_tape *tape, mz_value logits, mz_value targets, mz_value row_weights, float factor);
/* target: of x's shape; what it is computed from does not learn from this. The loss of row r is factor · row_weights[r] · mean of
 * (x − target)²; the unweighted mean is the returned value's one column. */
mz_value mz_tape_mse(mz_tape *tape, mz_value x, mz_value target, mz_value row_weights, float factor);
mz_value mz_tape_expectation(mz_tape *tape, mz_value logits, float support_min, float support_max, bool transform);
mz_value mz_tape_softmax(mz_tape *tape, mz_value logits);

/* The value in bfloat16, where the backend computes with it (else the value itself): rounded as it is written where only
 * convolutions read it (AFFINE, NORM, PLANES, in inference a convolution that adds nothing), else a copy. */
mz_value mz_tape_to_bf16(mz_tape *tape, mz_value x);
/* Sets which fraction of an update's rows this tape runs (default 1); batch statistics are weighted by it. */
void mz_tape_set_share(mz_tape *tape, double share);
bool mz_tape_trains(const mz_tape *tape); /* was created with backward */

/* Carves the arena and prepares every node. After it nothing may be appended. */
mz_status mz_tape_plan(mz_tape *tape);
/* Bytes that planning would take, nodes included, to know them before they are taken. The tape is afterwards only good for
 * freeing. */
mz_status mz_tape_measure(mz_tape *tape, size_t *bytes);

/* Running, on the tape's lane and in its memory. What fails on a device is MZ_E_DEVICE. values: elements of the backend's type, as its
 * pack_forward leaves them (mz_lane_pack): where no parameter is a convolution's (mz_params_convolve), they are the values themselves. */
mz_status mz_tape_forward(mz_tape *tape, const void *values, int rows);
/* After forward with the same rows. `transposed` is what the backend's pack_backward filled (NULL if it has
 * none). gradients: params->size elements, overwritten (padding and unused parameters become 0). */
mz_status mz_tape_backward(mz_tape *tape, const void *values, const void *transposed, void *gradients, int rows);
/* Σ over rows and loss nodes of the last forward. */
mz_status mz_tape_loss(mz_tape *tape, double *out);
size_t mz_tape_bytes(const mz_tape *tape);

/* Rows in and out, in order with the passes: what is put may change as soon as a call returns; what is got is there after mz_tape_sync.
 * Rows are dense, as many floats as the value has columns, from row `first` on. */
mz_status mz_tape_put(mz_tape *tape, mz_value value, int first, const float *rows, int count);
mz_status mz_tape_put_bytes(mz_tape *tape, mz_value value, const uint8_t *rows, int count); /* from row 0 on */
mz_status mz_tape_put_list(mz_tape *tape, int list, int first, const int32_t *entries,
                           int count); /* of an index input: one a row */
mz_status mz_tape_get(mz_tape *tape, mz_value value, int first, float *rows, int count);
/* Between rows 0 … count−1 and a pool of latents in the lane's memory, floats [index][the value's stride], padding included. */
mz_status mz_tape_put_pooled(mz_tape *tape, mz_value value, const float *pool, const int32_t *from, int count);
mz_status mz_tape_get_pooled(mz_tape *tape, mz_value value, float *pool, const int32_t *to, int count);
mz_status mz_tape_sync(mz_tape *tape);
