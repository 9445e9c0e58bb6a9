/* A folder for a test, removed at its end, and the path of a run in it. */
#pragma once
#include "library.h"

static char folder[64], dir[128];

static int make(void **state) {
  (void)state;
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  return 0;
}
static int drop(void **state) {
  (void)state;
  drop_folder(folder);
  return 0;
}
