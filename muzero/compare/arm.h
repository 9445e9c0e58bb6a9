/* The arms of a comparison, from text: "default,oversubscribed,rule,fixed:cpu_actor=2,mcts_storage_size=16,demand,greedy".
 *   default         the plain default: every knob at its least
 *   oversubscribed  threads enough that no core ever waits for one: two actors a core, a builder and a learner thread a core
 *   rule            the expert's rule: one actor thread per core, a learner thread per core
 *   fixed           as rule, with the knobs that follow
 *   STRATEGY        the allocator's, beginning at the plain default
 * Any of them may be followed by :key=value,… of any settings. */
#pragma once
#include "muzero/settings.h"

enum { MZ_ARMS_MAX = 24, MZ_ARM_SETS_MAX = 24, MZ_ARM_TEXT_MAX = 768, MZ_ARM_NAME_MAX = 160 };

typedef struct mz_arm {
  char name[MZ_ARM_NAME_MAX]; /* as it was written */
  char strategy[MZ_NAME_MAX];
  const char *sets[MZ_ARM_SETS_MAX]; /* "key=value"; into text */
  int set_count;
  bool exact;  /* only exact and operational settings: it learns what every such arm learns */
  bool adapts; /* its strategy moves knobs */
  char text[MZ_ARM_TEXT_MAX];
} mz_arm;

/* cores: what threads are counted by. MZ_E_CONFIG: unknown arm or key (nearest), twice the same, too many. */
mz_status mz_arms_parse(const char *text, int cores, mz_arm arms[MZ_ARMS_MAX], int *count);
