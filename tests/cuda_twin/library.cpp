#include "library.h"
#include "state.h"

void twin_library_refuses(const char *call, const char *why) {
  const std::lock_guard<std::mutex> held(twin().lock);
  twin().message = twin_format("%s: %s", call, why);
}
