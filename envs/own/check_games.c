#include "envs/own/check_games.h"
#include "base/machine/clock.h"
#include "envs/own/mirrored.h"

enum { MOVES_ENOUGH = 200000 };

/* Plays games until there are enough of them, or of their moves. */
static mz_status play_games(const muzero_env_abi *abi, const mz_spec *spec, uint64_t seed, mz_check_memory *memory,
                            mz_env_check *out) {
  mz_contract *contract;
  MZ_TRY(mz_contract_create(&contract, abi, spec, memory->moves, &out->findings));
  for (; out->games < MZ_CHECK_GAMES && out->moves < MOVES_ENOUGH; out->games++) {
    int moves;
    mz_contract_play(contract, seed + (uint64_t)out->games, &memory->games[out->games], &moves);
    out->moves += moves;
    if (moves > out->longest) out->longest = moves;
  }
  out->only_alternates = spec->turns == MZ_TURNS_TOLD && !mz_contract_moved_twice(contract);
  mz_contract_free(contract);
  return MZ_OK;
}

/* Ends at the first way that has a finding: later ones would show it again. */
static mz_status repeat_games(const mz_repeats *repeats, mz_env_check *out) {
  static const struct {
    mz_status (*play)(const mz_repeats *);
    const char *text;
  } ways[] = {{mz_repeats_alone, " when the game is played again"},
              {mz_repeats_moved, " when the state was copied to another place"},
              {mz_repeats_together, " when the game is stepped beside others in one call"},
              {mz_repeats_in_threads, " when several threads play at a time"}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways && out->findings.count == 0; i++) {
    mz_watch_way(ways[i].text);
    MZ_TRY(ways[i].play(repeats));
  }
  if (out->findings.count > 0) return MZ_OK;
  out->complete = true;
  mz_watch_way(" when its mirror image is played beside it");
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

mz_status mz_check_games_run(const mz_env *env, uint64_t seed, mz_check_memory *memory, mz_env_check *out) {
  static muzero_env_abi abi;
  mz_watch_begin(&memory->watch, mz_own_env_of(env)->abi, &abi);
  out->symmetries_declared = env->spec.symmetries;
  MZ_TRY(play_games(&abi, &env->spec, seed, memory, out));
  const mz_repeats repeats = {
      .abi = &abi, .spec = &env->spec, .findings = &out->findings, .games = memory->games, .count = out->games};
  if (out->findings.count == 0) MZ_TRY(repeat_games(&repeats, out));
  mz_watch_way("");
  return out->findings.count == 0 ? measure(&repeats, out) : MZ_OK;
}
