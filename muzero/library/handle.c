#include "muzero/library/handle.h"
#include "muzero/library/failure.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A handle: generation, index, kind. An entry's word: generation, kind, requests, whether it is open, whether somebody has entered
 * it. */
enum {
  KIND_BITS = 4,
  INDEX_BITS = 12,
  BUSY = 1,
  OPEN = 2,
  REQUESTS_SHIFT = 2,
  REQUESTS = 3 << REQUESTS_SHIFT,
  KIND_SHIFT = 4,
  GENERATION_SHIFT = KIND_SHIFT + KIND_BITS
};
_Static_assert(1 << INDEX_BITS == MZ_HANDLES_MAX, "an index fits its bits");
_Static_assert(sizeof(uintptr_t) == 8, "48 bits of generation fit beside index and kind");
_Static_assert(REQUESTS >> REQUESTS_SHIFT == (MUZERO_REQUEST_STOP | MUZERO_REQUEST_CHECKPOINT), "every request has a bit");

typedef struct entry {
  _Atomic uint64_t word;
  void *object; /* changes only while the entry is not open */
} entry;

static entry entries[MZ_HANDLES_MAX];
static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;

static uint64_t value_of(const void *handle) { return (uint64_t)(uintptr_t)handle; }
static entry *entry_of(const void *handle) { return &entries[value_of(handle) >> KIND_BITS & (MZ_HANDLES_MAX - 1)]; }
static mz_handle_kind kind_of(const void *handle) { return (mz_handle_kind)(value_of(handle) & ((1 << KIND_BITS) - 1)); }
static uint64_t generation_of(const void *handle) { return value_of(handle) >> (KIND_BITS + INDEX_BITS); }

/* The entry's word while this handle is open, nobody has entered it and no request waits. */
static uint64_t open_word(const void *handle) {
  return generation_of(handle) << GENERATION_SHIFT | (uint64_t)kind_of(handle) << KIND_SHIFT | OPEN;
}

/* Whether a word that was read from the handle's entry is of this handle, and the handle is open. */
static bool is_open(const void *handle, uint64_t word) { return (word & ~(uint64_t)(BUSY | REQUESTS)) == open_word(handle); }

static const char *name_of(mz_handle_kind kind) {
  return kind == MZ_HANDLE_RUN ? "run" : kind == MZ_HANDLE_AGENT ? "agent" : kind == MZ_HANDLE_GAME ? "game" : "unknown";
}

muzero_status mz_handle_create(void **handle, mz_handle_kind kind, void *object) {
  static int next; /* entries are used in turn */
  muzero_status status = MUZERO_E_USAGE;
  pthread_mutex_lock(&creating);
  for (int tried = 0; tried < MZ_HANDLES_MAX && status != MUZERO_OK; tried++, next = (next + 1) % MZ_HANDLES_MAX) {
    entry *e = &entries[next];
    const uint64_t word = atomic_load(&e->word);
    if (word & OPEN) continue;
    const uint64_t generation = (word >> GENERATION_SHIFT) + 1;
    e->object = object;
    *handle = (void *)(uintptr_t)(generation << (KIND_BITS + INDEX_BITS) | (uint64_t)next << KIND_BITS | (uint64_t)kind);
    atomic_store(&e->word, open_word(*handle));
    status = MUZERO_OK;
  }
  pthread_mutex_unlock(&creating);
  if (status == MUZERO_OK) return status;
  return mz_failure(status, "%d handles are open, which is as many as there can be: close some", MZ_HANDLES_MAX);
}

muzero_status mz_handle_enter(const void *handle, mz_handle_kind kind, const char *function, void **object) {
  const char *name = name_of(kind);
  if (!handle) return mz_failure(MUZERO_E_USAGE, "%s: the %s is NULL", function, name);
  if (kind_of(handle) != kind)
    return mz_failure(MUZERO_E_USAGE, "%s: takes a handle of type %s; what was given is of another type, or none of this library",
                      function, name);
  entry *e = entry_of(handle);
  uint64_t word = atomic_load(&e->word);
  do {
    if (!is_open(handle, word)) return mz_failure(MUZERO_E_USAGE, "%s: the %s is closed", function, name);
    if (word & BUSY) {
      return mz_failure(MUZERO_E_BUSY,
                        "%s: another call on the %s is not over, in another thread or around the callback that calls", function,
                        name);
    }
  } while (!atomic_compare_exchange_weak(&e->word, &word, word | BUSY));
  *object = e->object;
  return MUZERO_OK;
}

void mz_handle_leave(const void *handle) { atomic_fetch_and(&entry_of(handle)->word, ~(uint64_t)BUSY); }

void mz_handle_destroy(const void *handle) { atomic_store(&entry_of(handle)->word, generation_of(handle) << GENERATION_SHIFT); }

muzero_status mz_handle_request(const void *handle, mz_handle_kind kind, int requests) {
  if (kind_of(handle) != kind || requests == 0 || (requests & ~(REQUESTS >> REQUESTS_SHIFT))) return MUZERO_E_USAGE;
  entry *e = entry_of(handle);
  uint64_t word = atomic_load(&e->word);
  do {
    if (!is_open(handle, word)) return MUZERO_E_USAGE;
  } while (!atomic_compare_exchange_weak(&e->word, &word, word | (uint64_t)requests << REQUESTS_SHIFT));
  return MUZERO_OK;
}

int mz_handle_take_requests(const void *handle) {
  return (int)((atomic_fetch_and(&entry_of(handle)->word, ~(uint64_t)REQUESTS) & REQUESTS) >> REQUESTS_SHIFT);
}
