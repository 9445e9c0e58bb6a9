#include "state.h"
#include "leaks.h"
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

thread_local bool twin_is_running = false;
thread_local int twin_device = 0;
static thread_local cudaError_t last_error = cudaSuccess;

static long number_from_environment(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text && *text ? strtol(text, nullptr, 10) : otherwise;
}

static void check_at_exit() {
  const bool leaked = twin_leaks_list();
  if (twin().violations == 0 && !leaked) return;
  fprintf(stderr, "cuda twin: %ld violations%s\n", twin().violations, leaked ? ", and leaks" : "");
  fflush(nullptr);
  _Exit(TWIN_EXIT_VIOLATION);
}

twin_state &twin(void) {
  /* Never freed: calls may come until the process is gone. */
  static twin_state *const state = [] {
    twin_state *made = new twin_state();
    made->sticky.assign((size_t)number_from_environment("MUZERO_TWIN_DEVICES", 1), cudaSuccess);
    made->busy = (int)number_from_environment("MUZERO_TWIN_BUSY", -1);
    made->memory_max = (size_t)number_from_environment("MUZERO_TWIN_MEMORY", 8L << 30);
    made->random = (uint64_t)number_from_environment("MUZERO_TWIN_SEED", 1);
    made->fail_after = number_from_environment("MUZERO_TWIN_FAIL", 0);
    atexit(check_at_exit);
    return made;
  }();
  return *state;
}

uint64_t twin_random(uint64_t bound) { /* SplitMix64 */
  uint64_t z = twin().random += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  __extension__ typedef unsigned __int128 wide;
  return (uint64_t)((wide)(z ^ (z >> 31)) * bound >> 64);
}

static std::string format_list(const char *format, va_list arguments) {
  char text[2048];
  vsnprintf(text, sizeof text, format, arguments);
  return text;
}

std::string twin_format(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = format_list(format, arguments);
  va_end(arguments);
  return text;
}

void twin_violate(const std::string &why) {
  fprintf(stderr, "cuda twin: violation: %s\n", why.c_str());
  twin().violations++;
  twin().message = why;
}

void twin_violation(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const std::string why = format_list(format, arguments);
  va_end(arguments);
  const twin_guard guard;
  twin_violate(why);
}

static bool fail_is_due() { return twin().fail_after > 0 && --twin().fail_after == 0; }

bool twin_fails(const char *call) {
  const twin_guard guard;
  if (!fail_is_due()) return false;
  twin().message = twin_format("%s: failed on demand", call);
  return true;
}

twin_call::twin_call(const char *called, twin_call_kind kind) : error(cudaSuccess), name(called) {
  if (twin_is_running) {
    error = last_error = cudaErrorNotPermitted;
    twin_violate(twin_format("%s: called by work that runs on a stream", name));
    return;
  }
  if (kind != TWIN_OF_LIBRARY && fail_is_due())
    fail(cudaErrorUnknown, "failed on demand");
  else if (twin().sticky.empty())
    fail(cudaErrorNoDevice, "there is no device");
  else if (kind == TWIN_OF_RUNTIME && twin_device == twin().busy)
    fail(cudaErrorDevicesUnavailable, "another process has device %d for itself", twin_device);
  else if (kind != TWIN_OF_DEVICES && twin().sticky[(size_t)twin_device] != cudaSuccess)
    error = last_error = twin().sticky[(size_t)twin_device];
}

cudaError_t twin_call::fail(cudaError_t with, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  twin().message = std::string(name) + ": " + format_list(format, arguments);
  va_end(arguments);
  return error = last_error = with;
}

cudaError_t cudaPeekAtLastError(void) { return last_error; }

cudaError_t cudaGetLastError(void) {
  const cudaError_t error = last_error;
  const twin_guard guard;
  last_error = twin().sticky.empty() ? cudaSuccess : twin().sticky[(size_t)twin_device];
  return error;
}

twin_counters twin_counters_get(void) {
  const twin_guard guard;
  return twin().counters;
}

void twin_counters_reset(void) {
  const twin_guard guard;
  twin().counters = twin_counters();
}

void twin_seed(unsigned long long seed) {
  const twin_guard guard;
  twin().random = seed;
}

void twin_fail_after(long n) {
  const twin_guard guard;
  twin().fail_after = n;
}

int twin_fail_pending(void) {
  const twin_guard guard;
  return twin().fail_after > 0;
}

long twin_violations(void) {
  const twin_guard guard;
  return twin().violations;
}

void twin_violations_clear(void) {
  const twin_guard guard;
  twin().violations = 0;
}

const char *twin_message(void) {
  static thread_local std::string copy;
  const twin_guard guard;
  copy = twin().message;
  return copy.c_str();
}
