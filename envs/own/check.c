#include "envs/own/check.h"
#include "base/machine/clock.h"
#include "envs/own/boundary.h"
#include "envs/own/contract.h"
#include "envs/own/mirrored.h"
#include <math.h>

enum { GAMES = 64, MOVES_ENOUGH = 200000 };

/* Plays games until there are enough of them, or of their moves. */
static mz_status play_games(const mz_own_env *own, const mz_spec *spec, uint64_t seed, mz_recorded_game *games,
                            mz_env_check *out) {
  mz_contract *contract;
  MZ_TRY(mz_contract_create(&contract, own->abi, spec, &out->findings));
  for (; out->games < GAMES && out->moves < MOVES_ENOUGH; out->games++) {
    int moves;
    mz_contract_play(contract, seed + (uint64_t)out->games, &games[out->games], &moves);
    out->moves += moves;
    if (moves > out->longest) out->longest = moves;
  }
  out->only_alternates = spec->turns == MZ_TURNS_TOLD && !mz_contract_moved_twice(contract);
  mz_contract_free(contract);
  return MZ_OK;
}

/* Ends at the first way that has a finding: later ones would show it again. */
static mz_status repeat_games(const mz_repeats *repeats, mz_env_check *out) {
  static mz_status (*const ways[])(const mz_repeats *) = {mz_repeats_alone, mz_repeats_moved, mz_repeats_together,
                                                          mz_repeats_in_threads};
  for (size_t i = 0; i < sizeof ways / sizeof *ways && out->findings.count == 0; i++) MZ_TRY(ways[i](repeats));
  if (out->findings.count > 0) return MZ_OK;
  out->complete = true;
  return mz_mirrored_check(repeats, &out->symmetries);
}

/* Steps that one replay of all games makes, in a second of the thread's time. */
static mz_status measure(const mz_repeats *repeats, mz_env_check *out) {
  enum { ENOUGH_NS = 100 * 1000 * 1000 };
  int64_t steps = 0, each = 0;
  const uint64_t begin = mz_clock_thread_ns();
  uint64_t taken;
  for (int i = 0; i < repeats->count; i++) each += repeats->games[i].count;
  if (each == 0) return MZ_OK;
  do {
    MZ_TRY(mz_repeats_alone(repeats));
    steps += each;
    taken = mz_clock_thread_ns() - begin;
  } while (taken < ENOUGH_NS);
  out->steps_per_s = (double)steps / ((double)taken * 1e-9);
  return MZ_OK;
}

mz_status mz_env_check_run(const mz_env *env, uint64_t seed, mz_env_check *out) {
  const mz_own_env *own = mz_own_env_of(env);
  *out = (mz_env_check){.steps_per_s = NAN};
  if (!own)
    return mz_fail(MZ_E_CONFIG,
                   "--check: not for %s, which is bundled and has tests; it takes the path of an environment of your own",
                   env->name);
  if (own->isolated) return mz_fail(MZ_E_CONFIG, "--check: looks at the memory of this process; name the file without isolate=1");
  mz_recorded_game *games;
  MZ_TRY(mz_alloc(&games, GAMES, sizeof *games));
  mz_status status = play_games(own, &env->spec, seed, games, out);
  const mz_repeats repeats = {
      .abi = own->abi, .spec = &env->spec, .findings = &out->findings, .games = games, .count = out->games};
  if (status == MZ_OK && out->findings.count == 0) status = repeat_games(&repeats, out);
  if (status == MZ_OK && out->findings.count == 0) status = measure(&repeats, out);
  free(games);
  if (status != MZ_OK) mz_env_check_deinit(out);
  return status;
}

void mz_env_check_deinit(mz_env_check *check) { mz_findings_deinit(&check->findings); }

cJSON *mz_env_check_to_json(const mz_env *env, const mz_env_check *check) {
  cJSON *json = cJSON_CreateObject();
  if (!json || !cJSON_AddStringToObject(json, "file", env->name)) goto fail;
  cJSON *findings = cJSON_AddArrayToObject(json, "findings");
  if (!findings) goto fail;
  for (int i = 0; i < check->findings.count; i++) {
    cJSON *item = mz_finding_to_json(&check->findings.items[i]);
    if (!item) goto fail;
    cJSON_AddItemToArray(findings, item);
  }
  if (cJSON_AddNumberToObject(json, "games", check->games) && cJSON_AddNumberToObject(json, "moves", (double)check->moves) &&
      cJSON_AddNumberToObject(json, "longest", check->longest) && cJSON_AddBoolToObject(json, "complete", check->complete) &&
      cJSON_AddBoolToObject(json, "only_alternates", check->only_alternates) &&
      cJSON_AddNumberToObject(json, "symmetries_checked", check->symmetries) &&
      cJSON_AddNumberToObject(json, "steps_per_s", check->steps_per_s))
    return json;
fail:
  cJSON_Delete(json);
  return NULL;
}
