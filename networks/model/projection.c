/* Projections, which consistency compares: two layers, and for their prediction two more, the first half as wide. */
#include "networks/model/model_kinds.h"

enum { OUTER, INNER, PREDICTION };

static const char *const names[MZ_PROJECTION_NORMS] = {"projection.0", "projection.1", "projection.prediction.0"};

static int units_of(const mz_projection *projection, int layer) {
  return layer == PREDICTION ? mz_padded(projection->units / 2) : projection->units;
}

void mz_projection_add(mz_projection *projection, mz_params *params, int latent) {
  int inputs = latent;
  for (int i = 0; i < MZ_PROJECTION_NORMS; i++) {
    const int units = units_of(projection, i);
    mz_model_name_text name;
    projection->weight[i] =
        mz_params_add(params, mz_model_name(name, names[i], "weight"), inputs, units, true, MZ_INIT_HE, inputs);
    projection->norm[i] = mz_model_add_norm(params, mz_model_name(name, names[i], "norm"), units);
    inputs = units;
  }
  projection->out = mz_model_add_layer(params, "projection.prediction.1", inputs, projection->units, inputs, MZ_INIT_GLOROT);
}

void mz_projection_add_statistics(mz_projection *projection, mz_params *params, double share) {
  for (int i = 0; i < MZ_PROJECTION_NORMS; i++) {
    mz_model_name_text name;
    mz_model_add_statistics(params, &projection->norm[i], mz_model_name(name, names[i], "norm"), units_of(projection, i), share);
  }
}

static mz_value layer(const mz_model *model, mz_tape *tape, int which, mz_activation activation, mz_value x) {
  const mz_projection *projection = &model->projection;
  return mz_tape_norm(tape, mz_tape_linear(tape, x, projection->weight[which], -1, MZ_LINEAR_ONLY), &projection->norm[which],
                      model->norm_rows, activation);
}

static mz_value project(const mz_model *model, mz_tape *tape, mz_value latent) {
  return layer(model, tape, INNER, MZ_LINEAR_ONLY, layer(model, tape, OUTER, MZ_RELU, latent));
}

mz_value mz_model_project(const mz_model *model, mz_tape *tape, mz_value latent) {
  return model->projection.units == 0 ? latent : mz_tape_rms(tape, project(model, tape, latent));
}

mz_value mz_model_predict_projection(const mz_model *model, mz_tape *tape, mz_value latent) {
  const int out = model->projection.out;
  if (model->projection.units == 0) return latent;
  const mz_value hidden = layer(model, tape, PREDICTION, MZ_RELU, project(model, tape, latent));
  return mz_tape_rms(tape, mz_tape_linear(tape, hidden, out, out + 1, MZ_LINEAR_ONLY));
}
