/* Files that `muzero envs --new NAME` writes: a small game to begin with, how to build it, and the header that it needs. */
#pragma once
#include "base/status.h"
#include <stddef.h>

typedef struct mz_template {
  const char *name; /* "one_player.c.in" */
  const unsigned char *bytes;
  size_t size;
} mz_template;

typedef enum mz_template_game { MZ_TEMPLATE_ONE_PLAYER, MZ_TEMPLATE_TWO_PLAYERS, MZ_TEMPLATE_PIXELS } mz_template_game;

/* Compiled in (embed.cmake). */
extern const mz_template mz_templates[];
extern const int mz_template_count;

/* Makes the folder `path` with NAME.c, env_abi.h, CMakeLists.txt and test.sh, NAME being its last part. MZ_E_CONFIG where something of
 * this name is there already, or NAME is no name for a file of C. */
mz_status mz_templates_write(const char *path, mz_template_game game);
