/* The fixed small job: a few rounds of tic-tac-toe with prioritised replay and reanalyze, small enough that only our own kernels
 * run. */
#include "muzero/training/round.h"
#include "muzero/storage/sections.h"
#include "muzero/knobs.h"

mz_status mz_signature(int threads, uint64_t *out) {
  enum { ROUNDS = 6 };
  static const char *const sets[] = {"num_games=16",
                                     "moves_per_round=5",
                                     "loop_count=4",
                                     "batch_size=32",
                                     "shards=4",
                                     "simulations=12",
                                     "unroll_steps=3",
                                     "td_steps=4",
                                     "discount=0.99",
                                     "network.width=48",
                                     "network.value_bins=11",
                                     "replay.min_fill=64",
                                     "replay.segment_moves=0",
                                     "selfplay.opening_plies=2",
                                     "replay.priority_exponent=0.6",
                                     "replay.importance_exponent=0.4",
                                     "reanalyze_ratio=0.25",
                                     "target_interval=5",
                                     "weight_average=0.9"};
  const mz_env *env;
  MZ_TRY(mz_env_find("tictactoe", &env));
  mz_settings settings;
  mz_config config = mz_settings_config(&settings, NULL);
  mz_config_defaults(&config);
  for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) MZ_TRY(mz_config_set_pair(&config, sets[i], "signature"));
  MZ_TRY(mz_settings_resolve(&settings, NULL));
  mz_knobs knobs = settings.knobs;
  mz_knobs_resolve(&knobs, &settings, threads);
  mz_state state;
  mz_workers workers;
  MZ_TRY(mz_state_init(&state, env, &settings, 2020, (int)knobs.learner_threads, NULL));
  mz_status status = mz_workers_init(&workers, &state, &knobs, NULL);
  if (status == MZ_OK) {
    mz_round_stats stats = {0};
    for (int r = 0; r < ROUNDS && status == MZ_OK; r++) status = mz_round_play(&state, &workers, &stats);
    uint64_t hashes[MZ_DIGEST_PARTS];
    if (status == MZ_OK) status = mz_state_digest(&state, hashes, out);
    mz_workers_deinit(&workers);
  }
  mz_state_deinit(&state);
  return status;
}
