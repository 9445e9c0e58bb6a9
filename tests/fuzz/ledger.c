/* A run's ledger, replayed to its end, and its plans as a run that repeats them reads them. */
#include "allocator/records/ledger.h"
#include "allocator/records/plan_list.h"
#include "tests/fuzz/fuzz.h"

#define PATH FUZZ_FOLDER "/ledger.jsonl"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  fuzz_quiet();
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mz_replayed replayed;
  mz_plan_list plans;
  fuzz_file_put(PATH, data, size);
  if (mz_ledger_replay(PATH, INT64_MAX, &replayed) != MZ_OK) return 0;
  const mz_allocator_options *options = &replayed.options;
  if (replayed.allocator && mz_plan_list_read(&plans, PATH, options->pipeline, &options->bounds) == MZ_OK)
    mz_plan_list_deinit(&plans);
  mz_replayed_free(&replayed);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  uint64_t random = seed;
  return fuzz_mutate_text(data, size, max_size, &random);
}
