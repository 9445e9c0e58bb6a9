#include "cli/version.h"
#include "commit.h" /* made by the build */
#include "muzero/library/include/muzero.h"
#include "networks/isa.h"
#include <stdio.h>

const char *mz_commit(void) { return MUZERO_COMMIT; }

void mz_version_print(void) {
  printf("muzero %s (commit %s)\n", muzero_version(), MUZERO_COMMIT);
  printf("back ends: cpu (%s kernels, oneDNN %s), ref; compiled without cuda\n", mz_isa_name(mz_isa_level()),
         mz_onednn_version());
}
