#include "envs/own/declared.h"
#include "envs/own/abi_versions.h"
#include <limits.h>
#include <math.h>

static mz_status check_version(const muzero_env_abi *abi, const char *path) {
  const size_t size = mz_own_abi_size(abi->version);
  if (size == 0)
    return mz_fail(
        MZ_E_CONFIG,
        "%s: version: made for version %u of muzero/env_abi.h, this program takes versions 1 to %u; compile it with this "
        "program's header",
        path, abi->version, MUZERO_ENV_ABI_VERSION);
  if (abi->size != size)
    return mz_fail(MZ_E_CONFIG,
                   "%s: size: %u bytes, but muzero_env_abi of version %u has %zu; write .size = sizeof(muzero_env_abi)", path,
                   abi->size, abi->version, size);
  return MZ_OK;
}

static mz_status check_present(const muzero_env_abi *abi, const char *path) {
  const struct {
    const char *name;
    bool there;
  } needed[] = {{"title", abi->title}, {"rules", abi->rules}, {"observation", abi->observation},
                {"reset", abi->reset}, {"step", abi->step},   {"observe", abi->observe}};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
    if (!needed[i].there) return mz_fail(MZ_E_CONFIG, "%s: %s: is NULL, and has to be given", path, needed[i].name);
  if (abi->players == 2 && !abi->to_play) return mz_fail(MZ_E_CONFIG, "%s: to_play: is NULL, and two players need it", path);
  return MZ_OK;
}

static mz_status check_range(const char *path, const char *member, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s: %s: %lld is outside of %lld … %lld; nearest valid value: %lld", path, member, (long long)value,
                 (long long)min, (long long)max, (long long)(value < min ? min : max));
}

static mz_status check_whole_numbers(const muzero_env_abi *abi, const char *path) {
  const struct {
    const char *member;
    int64_t value, min, max;
  } rows[] = {
      {"observation_kind", abi->observation_kind, MUZERO_ENV_U8, MUZERO_ENV_F32},
      {"observation_shape[0]", abi->observation_shape[0], 1, MZ_OWN_OBS_MAX},
      {"observation_shape[1]", abi->observation_shape[1], 1, MZ_OWN_OBS_MAX},
      {"observation_shape[2]", abi->observation_shape[2], 1, MZ_OWN_OBS_MAX},
      {"actions", abi->actions, 1, MZ_OWN_ACTIONS_MAX},
      {"action_kind", abi->action_kind, MUZERO_ENV_PLAIN, MUZERO_ENV_DIRECTIONS},
      {"players", abi->players, 1, 2},
      {"alternating", abi->alternating, 0, abi->players == 2},
      {"max_moves", abi->max_moves, 0, INT32_MAX},
      {"draws", abi->draws, 0, 1},
      {"one_sided", abi->one_sided, 0, 1},
      {"frames", abi->frames, 0, abi->observation_shape[2]},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    MZ_TRY(check_range(path, rows[i].member, rows[i].value, rows[i].min, rows[i].max));
  const int64_t entries = (int64_t)abi->observation_shape[0] * abi->observation_shape[1]; /* at most 2^40 */
  if (entries > MZ_OWN_OBS_MAX || entries * abi->observation_shape[2] > MZ_OWN_OBS_MAX)
    return mz_fail(MZ_E_CONFIG, "%s: observation_shape: %d × %d × %d are more than %d entries", path,
                   (int)abi->observation_shape[0], (int)abi->observation_shape[1], (int)abi->observation_shape[2],
                   MZ_OWN_OBS_MAX);
  const size_t bytes = abi->state_size, nearest = bytes > MZ_OWN_STATE_BYTES_MAX ? MZ_OWN_STATE_BYTES_MAX : (bytes + 8) / 8 * 8;
  if (bytes == 0 || bytes > MZ_OWN_STATE_BYTES_MAX || bytes % 8 != 0)
    return mz_fail(MZ_E_CONFIG, "%s: state_size: %zu bytes; it takes multiples of 8 up to %d; nearest valid value: %zu", path,
                   bytes, MZ_OWN_STATE_BYTES_MAX, nearest);
  return MZ_OK;
}

/* Actions, shape and symmetries have to go together. */
static mz_status check_board(const muzero_env_abi *abi, const char *path) {
  const int height = abi->observation_shape[0], width = abi->observation_shape[1], cells = height * width;
  const int wanted[] = {[MUZERO_ENV_PLAIN] = abi->actions,
                        [MUZERO_ENV_CELLS] = cells,
                        [MUZERO_ENV_CELLS_PASS] = cells + 1,
                        [MUZERO_ENV_COLUMNS] = width,
                        [MUZERO_ENV_DIRECTIONS] = 4};
  if (abi->actions != wanted[abi->action_kind])
    return mz_fail(MZ_E_CONFIG,
                   "%s: actions: %d do not fit action_kind %d on a board of %d × %d; nearest valid value: %d, or action_kind 0 "
                   "(MUZERO_ENV_PLAIN)",
                   path, (int)abi->actions, (int)abi->action_kind, height, width, wanted[abi->action_kind]);
  const int s = abi->symmetries;
  const bool plain = abi->action_kind == MUZERO_ENV_PLAIN, columns = abi->action_kind == MUZERO_ENV_COLUMNS;
  if (s != 1 && s != 2 && s != 8)
    return mz_fail(MZ_E_CONFIG, "%s: symmetries: %d; it takes 1, 2 or 8; nearest valid value: %d", path, s,
                   s < 2   ? 1
                   : s < 5 ? 2
                           : 8);
  if (s > 1 && plain)
    return mz_fail(MZ_E_CONFIG,
                   "%s: symmetries: %d, but action_kind is 0 (MUZERO_ENV_PLAIN), which has none; nearest valid value: 1", path,
                   s);
  if (s == 8 && (height != width || columns))
    return mz_fail(MZ_E_CONFIG,
                   "%s: symmetries: 8 turns a board, which takes a square one and actions that are cells or directions; "
                   "nearest valid value: 2",
                   path);
  return MZ_OK;
}

static mz_status check_pictures(const muzero_env_abi *abi, const char *path) {
  const int channels = abi->observation_shape[2];
  int nearest = abi->frames;
  while (nearest > 1 && channels % nearest != 0) nearest--;
  if (nearest != abi->frames)
    return mz_fail(MZ_E_CONFIG, "%s: frames: %d do not divide %d channels (observation_shape[2]); nearest valid value: %d", path,
                   (int)abi->frames, channels, nearest);
  if (!isfinite(abi->observation_scale) || abi->observation_scale < 0)
    return mz_fail(MZ_E_CONFIG,
                   "%s: observation_scale: %g is no finite number from 0 on; nearest valid value: 0, which leaves bytes as "
                   "they are",
                   path, (double)abi->observation_scale);
  if (abi->observation_kind == MUZERO_ENV_F32 && abi->observation_scale != 0)
    return mz_fail(MZ_E_CONFIG,
                   "%s: observation_scale: %g, but observation_kind is 1 (MUZERO_ENV_F32), which is taken as it is; "
                   "nearest valid value: 0",
                   path, (double)abi->observation_scale);
  return MZ_OK;
}

static mz_status check_bounds(const char *path, const char *member, float min, float max) {
  if (isfinite(min) && isfinite(max) && min <= max) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s: %s_min … %s_max: %g … %g is no range of finite numbers", path, member, member, (double)min,
                 (double)max);
}

mz_status mz_own_declared_check(const muzero_env_abi *abi, const char *path, mz_spec *spec) {
  MZ_TRY(check_version(abi, path));
  MZ_TRY(check_present(abi, path));
  MZ_TRY(check_whole_numbers(abi, path));
  MZ_TRY(check_board(abi, path));
  MZ_TRY(check_pictures(abi, path));
  MZ_TRY(check_bounds(path, "reward", abi->reward_min, abi->reward_max));
  MZ_TRY(check_bounds(path, "return", abi->return_min, abi->return_max));
  if (abi->one_sided && (fminf(abi->reward_min, abi->return_min) < 0) == (fmaxf(abi->reward_max, abi->return_max) > 0))
    return mz_fail(MZ_E_CONFIG, "%s: one_sided: 1, but rewards or returns reach from %g to %g; nearest valid value: 0", path,
                   (double)fminf(abi->reward_min, abi->return_min), (double)fmaxf(abi->reward_max, abi->return_max));
  if (abi->one_sided && abi->players == 2 && !abi->alternating)
    return mz_fail(
        MZ_E_CONFIG,
        "%s: one_sided: 1, but alternating is 0, and rewards of the other player count negatively; nearest valid value: 0", path);
  static const mz_action_kind kinds[] = {MZ_ACTIONS_PLAIN, MZ_ACTIONS_CELLS, MZ_ACTIONS_CELLS_PASS, MZ_ACTIONS_COLUMNS,
                                         MZ_ACTIONS_DIRECTIONS};
  const int32_t *shape = abi->observation_shape;
  *spec = (mz_spec){.obs_kind = abi->observation_kind == MUZERO_ENV_U8 ? MZ_OBS_U8 : MZ_OBS_F32,
                    .obs_shape = {shape[0], shape[1], shape[2]},
                    .obs_size = shape[0] * shape[1] * shape[2],
                    .obs_scale = abi->observation_scale,
                    .frames = abi->frames > 1 ? abi->frames : 0,
                    .actions = abi->actions,
                    .action_kind = kinds[abi->action_kind],
                    .players = abi->players,
                    .turns = abi->players == 1  ? MZ_TURNS_ALONE
                             : abi->alternating ? MZ_TURNS_ALTERNATE
                                                : MZ_TURNS_TOLD,
                    .max_moves = abi->max_moves,
                    .symmetries = abi->symmetries,
                    .reward_min = abi->reward_min,
                    .reward_max = abi->reward_max,
                    .return_min = abi->return_min,
                    .return_max = abi->return_max,
                    .one_sided = abi->one_sided != 0};
  return MZ_OK;
}
