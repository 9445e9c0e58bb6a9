/* The kinds of model, one file each, behind model.h. */
#pragma once
#include "networks/model/model.h"

typedef struct mz_model_macs { /* multiply-adds of one row through each part */
  double representation, dynamics, prediction;
} mz_model_macs;

mz_status mz_mlp_init(mz_model *model, const mz_network_settings *settings);
mz_value mz_mlp_represent(const mz_model *model, mz_tape *tape, mz_value obs);
mz_model_heads mz_mlp_initial(const mz_model *model, mz_tape *tape, mz_value obs);
mz_model_heads mz_mlp_recurrent(const mz_model *model, mz_tape *tape, mz_value latent, int action_index);
mz_model_macs mz_mlp_macs(const mz_model *model);

/* Sets halvings and the boards before and behind them. conv_size.c */
mz_status mz_conv_model_size(mz_model *model, const mz_network_settings *settings, const mz_spec *spec);
mz_status mz_conv_model_init(mz_model *model, const mz_network_settings *settings, const mz_spec *spec);
mz_value mz_conv_model_represent(const mz_model *model, mz_tape *tape, mz_value obs);
mz_model_heads mz_conv_model_initial(const mz_model *model, mz_tape *tape, mz_value obs);
mz_model_heads mz_conv_model_recurrent(const mz_model *model, mz_tape *tape, mz_value latent, int action_index);
void mz_conv_model_add_statistics(mz_model *model, double share); /* behind all that is trained */
void mz_conv_model_fold(const mz_model *model, const float *values, float *out);
mz_model_macs mz_conv_model_macs(const mz_model *model);

/* projection.c, for models of either kind; units: set. */
void mz_projection_add(mz_projection *projection, mz_params *params, int latent);
void mz_projection_add_statistics(mz_projection *projection, mz_params *params, double share);

mz_value mz_model_scale(const mz_model *model, mz_tape *tape, mz_value latent);

/* layers.c */
/* MZ_E_CONFIG, with the nearest valid value, unless width (setting `key`) is a multiple of MZ_LANES. */
mz_status mz_model_check_width(const char *key, int64_t width);
typedef char mz_model_name_text[sizeof((mz_param *)0)->name];
const char *mz_model_name(mz_model_name_text out, const char *part, const char *what); /* out: "part.what" */
/* "name.weight" and "name.bias": two parameters in a row; returns the first. */
int mz_model_add_layer(mz_params *params, const char *name, int inputs, int outputs, int fan_in, mz_init init);
/* "part.scale" and "part.shift"; then, behind all that is trained, "part.mean" and "part.variance". */
mz_norm mz_model_add_norm(mz_params *params, const char *part, int channels);
void mz_model_add_statistics(mz_params *params, mz_norm *norm, const char *part, int channels, double share);
