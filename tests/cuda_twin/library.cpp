#include "library.h"
#include "state.h"
#include <atomic>

void twin_library_refuses(const char *call, const char *why) {
  const std::lock_guard<std::mutex> held(twin().lock);
  twin().message = twin_format("%s: %s", call, why);
}

bool twin_library_toss(void) {
  static std::atomic<uint32_t> tosses;
  return (++tosses * 2654435761u) >> 31 != 0;
}
