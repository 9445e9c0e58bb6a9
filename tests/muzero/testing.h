/* What the roof's tests share: small states made from settings, and runs in a temporary folder. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file/file.h"
#include "muzero/storage/run_path.h"
#include "muzero/trainer.h"
#include "muzero/training/round.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline void expect_ok(mz_status status) {
  if (status != MZ_OK) fail_msg("status %d: %s", status, mz_message());
}

static inline mz_settings settings_with(const char *const *sets, int count) {
  mz_settings settings;
  mz_config config = mz_settings_config(&settings, NULL);
  mz_config_defaults(&config);
  for (int i = 0; i < count; i++) expect_ok(mz_config_set_pair(&config, sets[i], "test"));
  expect_ok(mz_settings_resolve(&settings, NULL));
  return settings;
}

static inline const mz_env *env_named(const char *name) {
  const mz_env *env;
  expect_ok(mz_env_find(name, &env));
  return env;
}

/* Digest of a run's latest checkpoint, every checksum of which holds. */
static inline uint64_t digest_of_run(const char *run) {
  char path[512];
  mz_checkpoint checkpoint;
  uint64_t hashes[MZ_DIGEST_PARTS], digest;
  expect_ok(mz_run_checkpoint_path(run, path, sizeof path));
  expect_ok(mz_checkpoint_open(&checkpoint, path));
  expect_ok(mz_checkpoint_verify(&checkpoint));
  expect_ok(mz_checkpoint_digest(&checkpoint, hashes, &digest));
  mz_checkpoint_close(&checkpoint);
  return digest;
}

/* Plays a phase of a run that no limit ends yet. */
static inline mz_phase play_phase(mz_run *run) {
  const mz_limits limits = {.rounds = 1000};
  mz_phase phase;
  mz_reason reason;
  expect_ok(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason));
  return phase;
}

/* Plays a run on to so many rounds in all, which nothing else may end. */
static inline void play_to(mz_run *run, int64_t rounds) {
  const mz_limits limits = {.rounds = rounds};
  mz_phase phase;
  mz_reason reason = MZ_GOES_ON;
  while (reason == MZ_GOES_ON) expect_ok(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason));
  assert_int_equal(reason, MZ_REASON_ROUNDS);
}

/* A folder of its own; removed by drop_folder. */
static inline void make_folder(char out[64]) {
  snprintf(out, 64, "/tmp/muzero-test-XXXXXX");
  assert_non_null(mkdtemp(out));
}
static inline void drop_folder(const char *folder) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  assert_int_equal(system(command), 0);
}
