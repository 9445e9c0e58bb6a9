/* The MuZero model (Schrittwieser et al. 2020): representation h, dynamics g, prediction f, written once on tapes for
 * inference and for the K-step unrolled loss. Kind `mlp`:
 *   representation: obs → width (ReLU) [× depth] → latent, min-max to [0,1]
 *   dynamics:       (latent, action) → width (ReLU) [× depth] → latent, min-max; reward head: latent' → reward bins
 *   prediction:     latent → width (ReLU) [× depth]; heads: policy logits, value bins
 * Value and reward are categorical over equally spaced bins in h-transformed space (transform off: plain space). */
#pragma once
#include "muzero/base/config.h"
#include "muzero/base/spec.h"
#include "networks/params.h"
#include "networks/tape.h"

typedef struct mz_network_settings {
  int64_t width, depth, latent; /* latent 0: as width */
  int64_t value_bins, reward_bins;
  double value_range, reward_range; /* bins span ± this, in transformed space; 0: from the environment's returns and rewards */
  bool transform;                   /* h(x) = sign(x)(√(|x|+1) − 1) + 0.001x */
} mz_network_settings;
extern const mz_settings_table mz_network_table; /* keys network.width … */

typedef struct mz_support {
  int bins;
  float min, max;
  bool transform;
} mz_support;

typedef struct mz_model {
  mz_params params;
  int obs_size, actions, width, depth, latent;
  mz_support value, reward;
  int representation, dynamics, action_table, reward_head, prediction, policy_head, value_head; /* first parameter of each part */
} mz_model;

/* MZ_E_CONFIG when sizes do not fit. */
mz_status mz_model_init(mz_model *model, const mz_network_settings *settings, const mz_spec *spec);
/* FLOPs of one recurrent inference of one row, forward (2 per multiply-add); and of one trained row of a K-step update (×3). */
double mz_model_inference_flops(const mz_model *model);
double mz_model_update_flops(const mz_model *model, int unroll);

typedef struct mz_model_heads {
  mz_value latent, reward, policy, value;
} mz_model_heads; /* logits; reward −1 for initial */
mz_model_heads mz_model_initial(const mz_model *model, mz_tape *tape, mz_value obs);
mz_model_heads mz_model_recurrent(const mz_model *model, mz_tape *tape, mz_value latent, int action_index);
