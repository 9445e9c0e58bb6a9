#include "cli/version.h"
#include "commit.h" /* made by the build */
#include "muzero/library/include/muzero.h"
#include "networks/isa.h"
#include "networks/module.h"
#include <stdio.h>

void mz_version_print(void) {
  printf("muzero %s (commit %s)\n", muzero_version(), MUZERO_COMMIT);
  printf("back ends: cpu (%s kernels, oneDNN %s), ref; ", mz_isa_name(mz_isa_level()), mz_onednn_version());
  const mz_module *module;
  if (mz_module_open(&module) == MZ_OK)
    printf("cuda (%s, code for %s)\n", mz_module_path(), module->architectures);
  else
    printf("no cuda (`muzero doctor` says why)\n");
}
