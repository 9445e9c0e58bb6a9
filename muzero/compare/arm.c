#include "muzero/compare/arm.h"
#include "allocator/strategies/strategy.h"
#include <string.h>

static mz_status add_set(mz_arm *arm, const char *format, const char *key, long long value) {
  size_t used = 0;
  for (int i = 0; i < arm->set_count; i++) used += strlen(arm->sets[i]) + 1;
  char set[160];
  snprintf(set, sizeof set, format, key, value);
  if (arm->set_count == MZ_ARM_SETS_MAX || used + strlen(set) + 1 > sizeof arm->text)
    return mz_fail(MZ_E_CONFIG, "--arms: '%s' has too many settings; at most %d", arm->name, MZ_ARM_SETS_MAX);
  memcpy(arm->text + used, set, strlen(set) + 1);
  arm->sets[arm->set_count++] = arm->text + used;
  return MZ_OK;
}

static mz_status add_pair(mz_arm *arm, const char *pair) { return add_set(arm, "%s", pair, 0); }

/* Names the nearest kind of arm, or all of them. */
static mz_status unknown(const char *kind) {
  static const char *const own[] = {"default", "oversubscribed", "rule", "fixed"};
  enum { OWN = sizeof own / sizeof own[0], NAMES_MAX = 32 };
  const char *names[NAMES_MAX];
  char all[256] = "";
  int count = 0;
  for (; count < OWN; count++) names[count] = own[count];
  for (int i = 0; mz_strategies[i]; i++) {
    if (strcmp(mz_strategies[i]->name, "fixed") == 0) continue;
    MZ_ASSERT(count < NAMES_MAX);
    names[count++] = mz_strategies[i]->name;
  }
  for (int i = 0, length = 0; i < count; i++)
    length += snprintf(all + length, sizeof all - (size_t)length, "%s%s%s", i ? ", " : "", names[i],
                       strcmp(names[i], "fixed") == 0 ? ":k=v,…" : "");
  const char *nearest = mz_nearest(kind, names, count);
  if (nearest) return mz_fail(MZ_E_CONFIG, "--arms: there is no arm '%s'; did you mean '%s'?", kind, nearest);
  return mz_fail(MZ_E_CONFIG, "--arms: there is no arm '%s'; there are %s", kind, all);
}

static mz_status begin(mz_arm *arm, const char *kind, int cores) {
  const bool plain_start = strcmp(kind, "oversubscribed") != 0 && strcmp(kind, "rule") != 0 && strcmp(kind, "fixed") != 0;
  if (strcmp(kind, "default") == 0 || !plain_start)
    snprintf(arm->strategy, sizeof arm->strategy, "fixed");
  else {
    const mz_strategy *strategy;
    if (mz_strategy_find(kind, "--arms", &strategy) != MZ_OK) return unknown(kind);
    snprintf(arm->strategy, sizeof arm->strategy, "%s", strategy->name);
    arm->adapts = true;
    arm->exact = !strategy->algorithmic;
  }
  MZ_TRY(add_pair(arm, plain_start ? "allocate.start=plain" : "allocate.start=auto"));
  if (!arm->adapts) MZ_TRY(add_pair(arm, "allocate.share=off")); /* it knows of no others */
  if (strcmp(kind, "oversubscribed") == 0) {
    MZ_TRY(add_set(arm, "%s=%lld", "cpu_actor", 2LL * cores));
    MZ_TRY(add_set(arm, "%s=%lld", "batch_actor", cores));
    MZ_TRY(add_set(arm, "%s=%lld", "learner_threads", cores));
  }
  return MZ_OK;
}

/* A later value of a key replaces what the kind of arm says. */
static mz_status take_pair(mz_arm *arm, const char *pair) {
  const char *equals = strchr(pair, '=');
  mz_settings settings;
  mz_config config = mz_settings_config(&settings, NULL);
  mz_config_defaults(&config);
  MZ_TRY(mz_config_set_pair(&config, pair, "--arms"));
  char key[80];
  snprintf(key, sizeof key, "%.*s", (int)(equals - pair), pair);
  const mz_class class_ = mz_config_row(&config, mz_config_find(&config, key))->class_;
  if (class_ == MZ_ALGORITHMIC || class_ == MZ_NUMERIC) arm->exact = false;
  return add_pair(arm, pair);
}

static mz_status add_arm(mz_arm *arm, const char *item, int cores) {
  const char *colon = strchr(item, ':');
  char kind[MZ_NAME_MAX];
  snprintf(kind, sizeof kind, "%.*s", colon ? (int)(colon - item) : (int)strlen(item), item);
  *arm = (mz_arm){.exact = true};
  snprintf(arm->name, sizeof arm->name, "%s", item);
  MZ_TRY(begin(arm, kind, cores));
  return colon ? take_pair(arm, colon + 1) : MZ_OK;
}

mz_status mz_arms_parse(const char *text, int cores, mz_arm arms[MZ_ARMS_MAX], int *count) {
  *count = 0;
  for (const char *at = text; *at;) {
    const size_t length = strcspn(at, ",");
    char item[MZ_ARM_NAME_MAX];
    if (length == 0 || length >= sizeof item)
      return mz_fail(MZ_E_CONFIG, "--arms: %s in '%s'", length ? "an arm is too long" : "an empty arm", text);
    snprintf(item, sizeof item, "%.*s", (int)length, at);
    const char *equals = strchr(item, '='), *colon = strchr(item, ':');
    if (equals && (!colon || colon > equals)) { /* a further setting of the arm before it */
      if (*count == 0) return mz_fail(MZ_E_CONFIG, "--arms: '%s' belongs to no arm; write fixed:%s", item, item);
      mz_arm *last = &arms[*count - 1];
      const size_t used = strlen(last->name);
      if (snprintf(last->name + used, sizeof last->name - used, ",%s", item) >= (int)(sizeof last->name - used))
        return mz_fail(MZ_E_CONFIG, "--arms: the arm '%s…' is longer than %d characters", last->name, MZ_ARM_NAME_MAX - 1);
      MZ_TRY(take_pair(last, item));
    } else {
      if (*count == MZ_ARMS_MAX) return mz_fail(MZ_E_CONFIG, "--arms: more than %d arms", MZ_ARMS_MAX);
      MZ_TRY(add_arm(&arms[*count], item, cores));
      ++*count;
    }
    at += length;
    if (*at == ',') at++;
  }
  for (int i = 0; i < *count; i++)
    for (int j = 0; j < i; j++)
      if (strcmp(arms[i].name, arms[j].name) == 0) return mz_fail(MZ_E_CONFIG, "--arms: '%s' is given twice", arms[i].name);
  if (*count < 2) return mz_fail(MZ_E_CONFIG, "--arms: '%s': a comparison takes two arms or more", text);
  return MZ_OK;
}
