/* A main for a fuzz target without libFuzzer: gives it each file of the folders once. Says how many there were and which took most
 * CPU time, the least of three tries. So the inputs that are kept are tried by every compiler, and refusals are timed without
 * sanitizers.
 * usage: inputs_TARGET FOLDER… */
#include "base/file/file.h"
#include "base/machine/clock.h"
#include "tests/fuzz/fuzz.h"
#include <stdlib.h>
#include <string.h>

#pragma weak LLVMFuzzerInitialize

/* Mutators are not called here. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) {
  (void)data, (void)max_size;
  return size;
}

typedef struct input {
  char path[512];
  uint8_t *data;
  size_t size;
} input;

typedef struct inputs {
  const char *folder;
  input *items;
  int count, capacity;
} inputs;

static mz_status read_input(void *context, const char *name) {
  inputs *all = context;
  input *next;
  MZ_TRY(mz_reserve_one(&all->items, &all->capacity, all->count, sizeof *all->items));
  next = &all->items[all->count];
  MZ_TRY(mz_path_join(next->path, sizeof next->path, all->folder, name));
  MZ_TRY(mz_file_read(next->path, 0, &next->data, &next->size));
  all->count++;
  return MZ_OK;
}

static uint64_t time_once(const input *in) {
  const uint64_t begun = mz_clock_process_ns();
  LLVMFuzzerTestOneInput(in->data, in->size);
  return mz_clock_process_ns() - begun;
}

static void try_all(const inputs *all) {
  const input *slowest = all->items;
  uint64_t most = 0;
  for (int i = 0; i < all->count; i++) {
    uint64_t ns = time_once(&all->items[i]);
    for (int again = 0; again < 2 && ns > most; again++) {
      const uint64_t next = time_once(&all->items[i]);
      if (next < ns) ns = next;
    }
    if (ns <= most) continue;
    most = ns;
    slowest = &all->items[i];
  }
  printf("%d inputs, the slowest %.1f ms: %s\n", all->count, (double)most * 1e-6, slowest->path);
}

int main(int argc, char **argv) {
  inputs all = {0};
  for (int i = 1; i < argc; i++) { /* before a target puts files of its own before the program's */
    all.folder = argv[i];
    fuzz_must(mz_file_list(argv[i], read_input, &all));
  }
  if (all.count == 0) return 1;
  if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
  try_all(&all);
  for (int i = 0; i < all.count; i++) free(all.items[i].data);
  free(all.items);
  return 0;
}
