#include "base/threads/numerics.h"

void mz_numerics_enter(mz_numerics *before) {
  /* glibc has this one ready: nothing is allocated, and it must not be freed */
  const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  before->locale = uselocale(plain);
  fegetenv(&before->floating);
  fesetenv(FE_DFL_ENV);
}

void mz_numerics_restore(const mz_numerics *before) {
  fesetenv(&before->floating);
  uselocale(before->locale);
}
