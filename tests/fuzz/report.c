/* The files of a run or of a comparison, one behind the other with NUL bytes between, made into a report. */
#include "muzero/report/report.h"
#include "muzero/report/data.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

#define RUN FUZZ_FOLDER "/run"
static const char *const names[] = {RUN "/metrics.jsonl", RUN "/ledger.jsonl", RUN "/config.json", RUN "/env.json",
                                    RUN "/compare.json"};
enum { NAMES = sizeof names / sizeof names[0] };

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  fuzz_quiet();
  return 0;
}

static void read_run(void) {
  cJSON *data;
  if (mz_report_run(RUN, "run", &data) == MZ_OK) cJSON_Delete(data);
  if (mz_report_comparison(RUN, "run", &data) == MZ_OK) cJSON_Delete(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const runs[] = {RUN};
  const uint8_t *at = data, *end = data + size;
  fuzz_files_clear();
  for (int i = 0; i < NAMES && at < end; i++) {
    const uint8_t *stop = memchr(at, '\0', (size_t)(end - at));
    if (!stop) stop = end;
    if (stop > at) fuzz_file_put(names[i], at, (size_t)(stop - at));
    at = stop + 1;
  }
  read_run();
  if (size % 64 == 0) (void)mz_report_write(FUZZ_FOLDER "/report.html", runs, 1); /* the page itself is large */
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  uint64_t random = seed;
  return fuzz_mutate_text(data, size, max_size, &random);
}
