/* A row of `muzero doctor`: one thing of this machine that was looked at. */
#pragma once
#include <stdbool.h>

typedef struct mz_check {
  bool ok;
  char name[32], value[320];
  const char *advice; /* "" for none */
} mz_check;
