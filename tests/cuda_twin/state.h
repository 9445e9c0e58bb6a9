/* The state of the whole twin, and the frame of every call. */
#pragma once
#include "twin.h"
#include <cstdint>
#include <mutex>
#include <string>

struct twin_state {
  std::mutex lock;                 /* guards everything of the twin's */
  std::vector<cudaError_t> sticky; /* one for each device; cudaSuccess: the device works */
  int busy;                        /* the device that another process has for itself; −1: none */
  size_t memory_max;               /* bytes of each device */
  uint64_t random;
  long fail_after; /* calls until the one that fails, itself included; 0: none */
  twin_counters counters;
  long violations;
  std::string message;
};

/* Returns the one state; the first call reads the environment and arranges for the check at exit. */
twin_state &twin(void);

/* Returns a number below `bound`, which is positive. The lock is held. */
uint64_t twin_random(uint64_t bound);

std::string twin_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* As twin_violation, while the lock is held. */
void twin_violate(const std::string &why);

/* True while this thread runs work of a stream. */
extern thread_local bool twin_is_running;
/* The device that is current on this thread. */
extern thread_local int twin_device;

/* Holds the lock, unless this thread runs work, for which it is held already. */
class twin_guard {
public:
  twin_guard() : held(twin().lock, std::defer_lock) {
    if (!twin_is_running) held.lock();
  }

private:
  std::unique_lock<std::mutex> held;
};

/* A library's call has asked twin_fails itself; one about devices answers in spite of sticky errors. */
enum twin_call_kind { TWIN_OF_RUNTIME, TWIN_OF_LIBRARY, TWIN_OF_DEVICES };

/* One call of a function that can fail: holds the lock, lets the call fail that twin_fail_after chose, and knows sticky errors. */
class twin_call {
public:
  explicit twin_call(const char *name, twin_call_kind kind = TWIN_OF_RUNTIME);
  /* Keeps `error` for cudaGetLastError, and why for twin_message; returns `error`. */
  cudaError_t fail(cudaError_t error, const char *format, ...) __attribute__((format(printf, 3, 4)));
  cudaError_t error; /* not cudaSuccess: the call ends here */

private:
  const char *name;
  twin_guard guard;
};

/* Begins a function of the runtime. */
#define TWIN_CALL(call)                                                                                                          \
  twin_call call(__func__);                                                                                                      \
  if (call.error != cudaSuccess) return call.error
/* Begins a function about devices. */
#define TWIN_CALL_OF_DEVICES(call)                                                                                               \
  twin_call call(__func__, TWIN_OF_DEVICES);                                                                                     \
  if (call.error != cudaSuccess) return call.error
/* Begins a function that frees or destroys: it does so even where it returns an error, of earlier work or on demand. */
#define TWIN_CALL_TO_FREE(call)                                                                                                  \
  twin_call call(__func__);                                                                                                      \
  if (call.error == cudaErrorNotPermitted) return call.error
/* Forwards the error of work, which has told its message. */
#define TWIN_TRY(call, expression)                                                                                               \
  do {                                                                                                                           \
    const cudaError_t twin_error_ = (expression);                                                                                \
    if (twin_error_ != cudaSuccess) return call.fail(twin_error_, "%s", twin().message.c_str());                                 \
  } while (0)
