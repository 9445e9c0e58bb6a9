/* How a thread writes and computes numbers. A process that uses the library may have a decimal comma, another rounding or
 * subnormals flushed to zero; then settings could not be read, and runs would not repeat. */
#pragma once
#include <fenv.h>
#include <locale.h>

typedef struct mz_numerics {
  locale_t locale;
  fenv_t floating;
} mz_numerics;

/* Gives the calling thread the locale "C" and C's default floating-point environment; *before: what it had. */
void mz_numerics_enter(mz_numerics *before);
void mz_numerics_restore(const mz_numerics *before);
