/* The MuZero model (Schrittwieser et al. 2020): representation h, dynamics g, prediction f, written once on tapes for
 * inference and for the K-step unrolled loss. Kind `mlp`, for vectors:
 *   representation: obs → width (ReLU) [× depth] → latent, scaled (to [0,1], or to a mean square of 1)
 *   dynamics:       (latent, action) → width (ReLU) [× depth] → latent, scaled; reward head: latent' → reward bins
 *   prediction:     latent → width (ReLU) [× depth]; heads: policy logits, value bins
 * Kind `conv`, for boards (height × width × channels, NHWC):
 *   block:          x + conv(relu(norm(conv(relu(norm(x))))))        pre-activation (He et al. 2016); 3 × 3
 *   pooled block:   with y = relu(norm(x)), conv(y) + linear(means and maxima of y over the board) at every position; the last
 *                   blocks of a tower (Wu 2019, "Accelerating Self-Play Learning in Go", section 3.3)
 *   representation: conv(planes) → blocks → latent, scaled over the board
 *   of pictures:    halvings of the board first (network.downsample; MuZero appendix F): 3 × 3 convolutions of stride 2 and ReLU, the
 *                   first to half the channels, from the third on mean pools; blocks behind each. Board and latent are the small ones
 *   dynamics:       conv(latent) + action map (action_map.h) → blocks → latent, scaled
 *   prediction:     latent → prediction_blocks; each head: 1 × 1 conv to head_channels, norm, ReLU, [linear to head_width, norm, ReLU],
 *                   linear
 * Either may project latents, so that consistency compares what it learns to look at (Chen & He 2021, SimSiam; Ye et al. 2021,
 * EfficientZero, section 4.1), scaled to a mean square of 1:
 *   projection:     latent → linear to projection units, norm, ReLU → linear, norm
 *   its prediction: projection → linear to half as many, norm, ReLU → linear; of latents that the dynamics reaches
 * A game whose next mover is told (MZ_TURNS_TOLD) has one more head, like the reward's: whether another player moves there than at the
 * step where the unroll began. Values and rewards of its unroll are of the player who moves at that step: chance may decide who moves
 * next, and only values of one player can be averaged over what may happen.
 * Value and reward are categorical over equally spaced bins in h-transformed space (transform off: plain space). */
#pragma once
#include "base/config/config.h"
#include "base/spec.h"
#include "networks/lane.h"
#include "networks/parameters/params.h"
#include "networks/tape/tape.h"

typedef enum mz_model_kind { MZ_MODEL_MLP, MZ_MODEL_CONV } mz_model_kind;

typedef enum mz_precision { MZ_PRECISION_F32, MZ_PRECISION_BF16 } mz_precision;

typedef enum mz_scaling { MZ_SCALING_MINMAX, MZ_SCALING_RMS } mz_scaling; /* of latents, per row */

typedef enum mz_value_start { MZ_VALUE_START_MIDDLE, MZ_VALUE_START_ZERO } mz_value_start; /* of one-sided bins */

typedef struct mz_network_settings {
  int32_t kind;
  int64_t width, depth, latent;                                          /* mlp; latent 0: as width */
  int64_t channels, blocks, prediction_blocks, head_channels, norm_rows; /* conv */
  int64_t pooled_blocks, head_width;                                     /* head_width 0: none */
  int64_t projection;                                                    /* units; 0: none */
  int32_t downsample;        /* halvings of the board before the towers, plus 1; 0: as many as a picture's size asks for */
  int64_t downsample_blocks; /* behind each */
  double bn_momentum;
  int32_t scaling;             /* mz_scaling */
  int32_t inference, training; /* mz_precision */
  int64_t value_bins, reward_bins;
  double value_range, reward_range; /* bins span ± this, in transformed space; 0: from the environment's returns and rewards */
  int32_t value_start;              /* mz_value_start */
  bool transform;                   /* h(x) = sign(x)(√(|x|+1) − 1) + 0.001x */
} mz_network_settings;
extern const mz_settings_table mz_network_table; /* keys network.width … */

bool mz_network_normalises(const mz_network_settings *settings); /* has batch norm, whose groups of rows divide a shard */

typedef struct mz_support {
  int bins;
  float min, max;
  bool transform;
} mz_support;

extern const mz_support mz_model_turn_support; /* two bins: 0 the same player moves, 1 the other */

enum { MZ_BLOCKS_MAX = 40, MZ_HALVINGS_MAX = 4 };

/* A norm while training, by where its input comes from: what follows the representation is distributed otherwise than what follows
 * the dynamics, so what reads both (prediction) keeps running statistics of each. Elsewhere the two are one. */
typedef enum mz_origin { MZ_FROM_ROOT, MZ_FROM_DYNAMICS, MZ_ORIGINS } mz_origin;

typedef struct mz_block { /* first parameters */
  mz_norm norm[2][MZ_ORIGINS];
  int conv[2];
  int pooled; /* from the pool to a summand of the first convolution; −1: none */
} mz_block;

typedef struct mz_tower {
  int stem;         /* convolution and bias; −1: none, in the front a mean pool */
  int first, count; /* of model->blocks */
} mz_tower;

typedef struct mz_head {   /* first parameters; out with its bias */
  int narrow, hidden, out; /* hidden: −1 where there is none */
  mz_norm norm[MZ_ORIGINS], hidden_norm[MZ_ORIGINS];
} mz_head;

/* Layers with a norm: two that project, and the first of two that predict a projection; `out` is the second's weight. */
enum { MZ_PROJECTION_NORMS = 3 };
typedef struct mz_projection {
  int units; /* 0: there is none */
  int weight[MZ_PROJECTION_NORMS], out;
  mz_norm norm[MZ_PROJECTION_NORMS];
} mz_projection;

typedef struct mz_model {
  mz_params params;
  mz_model_kind kind;
  int obs_size, actions, latent;
  float obs_scale; /* what observations are multiplied by as they enter */
  mz_scaling scaling;
  mz_support value, reward;
  bool tells_turns; /* has the head `turn` */
  int norm_rows;    /* that batch norm takes together */
  mz_projection projection;
  /* mlp */
  int width, depth;
  int representation, dynamics, action_table, reward_head, prediction, policy_head, value_head,
      turn_head; /* first parameter of each part */
  /* conv */
  mz_board seen, board;            /* of observations; of latents */
  int halvings;                    /* from one to the other */
  mz_tower front[MZ_HALVINGS_MAX]; /* one for each halving, the first on half the channels */
  int planes, channels, head_channels, head_width;
  bool infer_bf16, train_bf16; /* convolutions of inference, of training in bfloat16 */
  mz_action_map action_map;    /* its table: action_table */
  mz_tower towers[3];          /* representation, dynamics, prediction */
  mz_head heads[4];            /* reward, policy, value, turn */
  mz_block blocks[MZ_BLOCKS_MAX];
  int block_count;
} mz_model;

/* MZ_E_CONFIG when sizes do not fit. */
mz_status mz_model_init(mz_model *model, const mz_network_settings *settings, const mz_spec *spec);
/* MZ_E_CONFIG where the model asks for bfloat16 in inference, or in training, and the lane's device does not multiply it. A backend that
 * has none at all computes in its own precision. */
mz_status mz_model_check(const mz_model *model, const mz_lane *lane, bool trains);
/* Parameters as inference reads them, before the backend packs them: running statistics become part of the convolution before them
 * (its bias is norm.beta), or of norm.gamma and norm.beta. out: [params.size], not `values`. */
void mz_model_fold(const mz_model *model, const float *values, float *out);
/* FLOPs of one recurrent inference of one row, forward (2 per multiply-add); and of one trained row of a K-step update (×3),
 * without what consistency adds. */
double mz_model_inference_flops(const mz_model *model);
double mz_model_update_flops(const mz_model *model, int unroll);

/* The three networks, for who has to know what they cost. */
enum { MZ_MODEL_PARTS = 3 };
typedef struct mz_model_part {
  const char *name;         /* "representation", "dynamics", "prediction" */
  double parameters, flops; /* flops: of one row, forward (2 per multiply-add) */
  double depth, width;      /* layers one after the other, without heads; units or channels of one */
} mz_model_part;
void mz_model_take_apart(const mz_model *model, mz_model_part out[MZ_MODEL_PARTS]);

typedef struct mz_model_heads {
  mz_value latent, reward, policy, value, turn;
} mz_model_heads; /* logits; reward and turn: −1 for initial, turn where the model tells none */
mz_value mz_model_represent(const mz_model *model, mz_tape *tape, mz_value obs); /* the latent alone */
/* Consistency compares, on tapes that train, the projection of a latent that represents what was observed and what the latent that the
 * dynamics reached foretells of it. Without a projection both are the latent. */
mz_value mz_model_project(const mz_model *model, mz_tape *tape, mz_value latent);
mz_value mz_model_predict_projection(const mz_model *model, mz_tape *tape, mz_value latent);
mz_model_heads mz_model_initial(const mz_model *model, mz_tape *tape, mz_value obs);
mz_model_heads mz_model_recurrent(const mz_model *model, mz_tape *tape, mz_value latent, int action_index);
