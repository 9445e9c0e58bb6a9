/* Kind `conv`: which sizes fit, and the boards that observations and latents lie on. */
#include "networks/model/model_kinds.h"
#include "networks/tape/halving.h"

static mz_status check(const mz_network_settings *settings, const mz_spec *spec) {
  const int height = spec->obs_shape[0], width = spec->obs_shape[1];
  if (height < 2 || width < 2) {
    return mz_fail(MZ_E_CONFIG, "network.kind: conv needs a board, observations here are %d x %d x %d; use network.kind=mlp",
                   height, width, spec->obs_shape[2]);
  }
  MZ_TRY(mz_model_check_width("network.channels", settings->channels));
  MZ_TRY(mz_model_check_width("network.head_channels", settings->head_channels));
  return mz_model_check_width("network.head_width", settings->head_width);
}

static int shorter_side(mz_board board) { return board.height < board.width ? board.height : board.width; }
static int longer_side(mz_board board) { return board.height > board.width ? board.height : board.width; }

/* Places of actions are positions of the board that is seen: it is not halved. */
static bool has_places(const mz_spec *spec) {
  return spec->action_kind != MZ_ACTIONS_PLAIN && spec->action_kind != MZ_ACTIONS_DIRECTIONS;
}

/* Sets halvings and the board that they lead to. */
static mz_status set_board(mz_model *model, const mz_network_settings *settings, const mz_spec *spec) {
  enum { PICTURE = 32, SMALL = 8, SHORTEST = 2 }; /* sides */
  const bool automatic = settings->downsample == 0;
  const int asked = automatic ? MZ_HALVINGS_MAX : settings->downsample - 1;
  model->seen = model->board = (mz_board){spec->obs_shape[0], spec->obs_shape[1]};
  model->halvings = 0;
  if (automatic && (has_places(spec) || longer_side(model->seen) <= PICTURE)) return MZ_OK;
  if (asked > 0 && has_places(spec)) {
    return mz_fail(MZ_E_CONFIG,
                   "network.downsample: %d, but actions here are places on a board of %d x %d; nearest valid value: 0", asked,
                   model->seen.height, model->seen.width);
  }
  while (model->halvings < asked && shorter_side(model->board) > SHORTEST && (!automatic || longer_side(model->board) > SMALL)) {
    model->board = mz_halved(model->board);
    model->halvings++;
  }
  if (automatic || model->halvings == asked) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "network.downsample: %d, but %d halvings lead from %d x %d to %d x %d; nearest valid value: %d",
                 asked, model->halvings, model->seen.height, model->seen.width, model->board.height, model->board.width,
                 model->halvings);
}

static mz_status check_blocks(const mz_model *model, const mz_network_settings *settings) {
  const int64_t blocks = 2 * settings->blocks + settings->prediction_blocks + model->halvings * settings->downsample_blocks;
  if (blocks <= MZ_BLOCKS_MAX) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "network: %lld blocks in three towers and behind halvings: %d is the most", (long long)blocks,
                 MZ_BLOCKS_MAX);
}

mz_status mz_conv_model_size(mz_model *model, const mz_network_settings *settings, const mz_spec *spec) {
  MZ_TRY(check(settings, spec));
  MZ_TRY(set_board(model, settings, spec));
  return check_blocks(model, settings);
}
