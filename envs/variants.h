/* Variants of the bundled games: "gomoku:size=9,k=5" is Gomoku with some of its options set. A game lists its options as rows of
 * settings (base/config/config.h) and says what they change; names, errors and the keeping of variants are done here. */
#pragma once
#include "envs/env.h"
#include "base/config/config.h"

enum { MZ_ENV_NAME_MAX = 128, MZ_ENV_OPTIONS_MAX = 8 };

struct mz_env_variants {
  const mz_setting *rows; /* at most MZ_ENV_OPTIONS_MAX; their defaults are the bundled environment */
  int count;
  size_t size; /* of the struct that the rows fill and mz_env.options points to */
  /* Turns *env, the bundled environment with other options, into the variant: spec and state_size. MZ_E_CONFIG for options that
   * do not go together; its message begins with `where`. */
  mz_status (*fill)(mz_env *env, const char *where);
};

/* The variant of a bundled environment that `options` ("size=9,k=5") ask for. Made on first use and kept for the life of the
 * process; any thread may ask. Its name is canonical: options in the order of the rows, defaults left out. Variants that are equal
 * are therefore one, and the one that differs in nothing is the bundled environment itself. MZ_E_CONFIG names the option, its
 * range and the nearest valid value. */
mz_status mz_env_vary(const mz_env *bundled, const char *options, const mz_env **out);

/* The options of an environment, to be read (mz_config_text, mz_config_to_json …); no rows where it has none. `table` lives as long
 * as the result. */
mz_config mz_env_config(const mz_env *env, mz_settings_table *table);
