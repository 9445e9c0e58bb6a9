#include "muzero/library/failure.h"
#include <stdarg.h>
#include <stdio.h>

_Static_assert((int)MUZERO_E_INTERNAL == (int)MZ_E_INTERNAL && (int)MUZERO_E_USAGE == (int)MZ_E_USAGE &&
                   (int)MUZERO_E_CONFIG == (int)MZ_E_CONFIG && (int)MUZERO_E_CHECKPOINT == (int)MZ_E_CHECKPOINT &&
                   (int)MUZERO_E_IO == (int)MZ_E_IO && (int)MUZERO_E_DEVICE == (int)MZ_E_DEVICE &&
                   (int)MUZERO_E_MEMORY == (int)MZ_E_MEMORY && (int)MUZERO_E_DIVERGED == (int)MZ_E_DIVERGED,
               "a status has one number inside and outside");

muzero_status mz_failure_of(mz_status status) { return status <= MZ_E_DIVERGED ? (muzero_status)(int)status : MUZERO_E_INTERNAL; }

muzero_status mz_failure(muzero_status status, const char *format, ...) {
  char text[MZ_MESSAGE_MAX];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  mz_fail(MZ_E_USAGE, "%s", text);
  return status;
}
