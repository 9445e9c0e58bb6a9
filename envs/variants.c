#include "envs/variants.h"
#include <pthread.h>
#include <string.h>

typedef struct variant variant;
struct variant {
  mz_env env;
  char name[MZ_ENV_NAME_MAX];
  variant *next;
  _Alignas(16) char options[]; /* variants->size */
};

static variant *kept; /* grows at its head; what is in it does not change */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

mz_config mz_env_config(const mz_env *env, mz_settings_table *table) {
  *table = (mz_settings_table){0};
  if (env->variants) *table = (mz_settings_table){.rows = env->variants->rows, .count = env->variants->count};
  return (mz_config){.tables = table, .table_count = 1, .values = (void *)env->options}; /* not written by who only reads */
}

/* Reads "size=9,k=5" into config; each option at most once. */
static mz_status parse(mz_config *config, const char *options, const char *where) {
  for (const char *at = options;; at++) {
    char pair[128], key[128];
    const size_t length = strcspn(at, ",");
    snprintf(pair, sizeof pair, "%.*s", (int)length, at);
    snprintf(key, sizeof key, "%.*s", (int)strcspn(at, "=,"), at);
    const int index = mz_config_find(config, key);
    if (index >= 0 && config->explicit_[index])
      return mz_fail(MZ_E_CONFIG, "%s: %s is given twice", where, mz_config_row(config, index)->key);
    MZ_TRY(mz_config_set_pair(config, pair, where));
    at += length;
    if (!*at) return MZ_OK;
  }
}

/* The name of the variant, which is the bundled one's where nothing differs. */
static mz_status name_variant(const mz_env *bundled, const mz_config *config, const char *where, char out[MZ_ENV_NAME_MAX]) {
  mz_settings_table table;
  const mz_config defaults = mz_env_config(bundled, &table);
  size_t used = (size_t)snprintf(out, MZ_ENV_NAME_MAX, "%s", bundled->name);
  char mark = ':';
  for (int i = 0; i < table.count; i++) {
    if (mz_config_equal(config, &defaults, i)) continue;
    char value[MZ_SETTING_TEXT_MAX];
    mz_config_text(config, i, value, sizeof value);
    used += (size_t)snprintf(out + used, MZ_ENV_NAME_MAX - used, "%c%s=%s", mark, table.rows[i].key, value);
    if (used >= MZ_ENV_NAME_MAX) return mz_fail(MZ_E_CONFIG, "%s: a name of more than %d bytes", where, MZ_ENV_NAME_MAX - 1);
    mark = ',';
  }
  return MZ_OK;
}

/* The kept variant of this name, or `fresh` if it is the first: then *taken is set. */
static const mz_env *keep(variant *fresh, bool *taken) {
  int failed = pthread_mutex_lock(&lock);
  MZ_ASSERT(!failed);
  const variant *found = kept;
  while (found && strcmp(found->name, fresh->name) != 0) found = found->next;
  *taken = !found;
  if (*taken) {
    fresh->next = kept;
    kept = fresh;
    found = fresh;
  }
  failed = pthread_mutex_unlock(&lock);
  MZ_ASSERT(!failed);
  return &found->env;
}

mz_status mz_env_vary(const mz_env *bundled, const char *options, const mz_env **out) {
  char where[192];
  snprintf(where, sizeof where, "environment '%s:%.80s'", bundled->name, options);
  const mz_env_variants *variants = bundled->variants;
  if (!variants) return mz_fail(MZ_E_CONFIG, "%s: %s has no options", where, bundled->name);
  MZ_ASSERT(variants->count <= MZ_ENV_OPTIONS_MAX);

  variant *fresh;
  MZ_TRY(mz_alloc(&fresh, 1, sizeof *fresh + variants->size));
  fresh->env = *bundled;
  fresh->env.name = fresh->name;
  fresh->env.options = fresh->options;
  mz_settings_table table;
  mz_config config = mz_env_config(&fresh->env, &table);
  uint8_t given[MZ_ENV_OPTIONS_MAX];
  config.explicit_ = given;
  mz_config_defaults(&config);
  bool taken = false;
  mz_status status;
  MZ_TRY_CLEANUP(parse(&config, options, where));
  MZ_TRY_CLEANUP(name_variant(bundled, &config, where, fresh->name));
  MZ_TRY_CLEANUP(variants->fill(&fresh->env, where));
  *out = strcmp(fresh->name, bundled->name) == 0 ? bundled : keep(fresh, &taken);
cleanup:
  if (!taken) free(fresh);
  return status;
}
