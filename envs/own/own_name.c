#include "envs/own/own_name.h"
#include "base/config/config.h"
#include "envs/env.h"
#include "envs/worker/options.h"

/* Returns where the options of a name begin, behind the colon; its end where it has none. */
static const char *options_of(const char *name) {
  const char *at = NULL;
  for (const char *next = strstr(name, ".so:"); next; next = strstr(next + 1, ".so:")) at = next + 4;
  return at && !strchr(at, '/') && strcmp(name + strlen(name) - 3, ".so") != 0 ? at : name + strlen(name);
}

/* Returns the bytes of the path in front of `options`. */
static size_t path_length(const char *name, const char *options) { return (size_t)(options - name) - (*options != '\0'); }

bool mz_env_is_path(const char *name) {
  const size_t base = strcspn(name, ":");
  if (mz_worker_env_is_name(name)) return false;
  const char *options = options_of(name);
  const size_t length = path_length(name, options);
  if (length < 4 || strncmp(name + length - 3, ".so", 3) != 0) return false;
  for (int i = 0; i < mz_env_count(); i++) {
    const char *bundled = mz_env_at(i)->name;
    if (strlen(bundled) == base && strncmp(bundled, name, base) == 0) return false;
  }
  return true;
}

static mz_status read_item(const char *name, const char *item, mz_own_isolation *out) {
  static const mz_worker_option isolate = {"isolate", 0, 1, true, ""};
  static const char *const keys[] = {"isolate", "workers", "timeout"};
  const size_t length = strcspn(item, "=");
  char key[32];
  double value = 0;
  snprintf(key, sizeof key, "%.*s", (int)length, item);
  int which = 0;
  while (which < 3 && strcmp(keys[which], key) != 0) which++;
  if (which == 3 || !item[length]) {
    const char *nearest = mz_nearest(key, keys, 3);
    return mz_fail(MZ_E_CONFIG, "environment '%s': option '%s': takes isolate=1, workers=N and timeout=SECONDS%s%s%s", name, item,
                   nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "=?" : "");
  }
  MZ_TRY(mz_worker_option_read(name, which == 0 ? &isolate : mz_worker_option_named(keys[which]), item + length + 1, &value));
  if (which == 0) out->on = value != 0;
  if (which == 1) out->workers = (int)value;
  if (which == 2) out->timeout_s = value;
  return MZ_OK;
}

mz_status mz_own_isolation_read(const char *name, const char *options, mz_own_isolation *out) {
  char text[MZ_OWN_OPTIONS_MAX], *state;
  bool isolated_only = false;
  *out = (mz_own_isolation){.timeout_s = MZ_WORKER_TIMEOUT_S};
  if ((size_t)snprintf(text, sizeof text, "%s", options) >= sizeof text)
    return mz_fail(MZ_E_CONFIG, "environment '%s': options of more than %d bytes", name, MZ_OWN_OPTIONS_MAX - 1);
  for (char *item = strtok_r(text, ",", &state); item; item = strtok_r(NULL, ",", &state)) {
    MZ_TRY(read_item(name, item, out));
    isolated_only = isolated_only || strncmp(item, "isolate=", 8) != 0;
  }
  if (isolated_only && !out->on)
    return mz_fail(MZ_E_CONFIG, "environment '%s': workers and timeout are of processes; add isolate=1", name);
  return MZ_OK;
}

void mz_own_isolation_write(const mz_own_isolation *isolation, char out[MZ_OWN_OPTIONS_MAX]) {
  int used = snprintf(out, MZ_OWN_OPTIONS_MAX, "%s", isolation->on ? "isolate=1" : "");
  if (!isolation->on) return;
  if (isolation->workers) used += snprintf(out + used, (size_t)(MZ_OWN_OPTIONS_MAX - used), ",workers=%d", isolation->workers);
  if (isolation->timeout_s != MZ_WORKER_TIMEOUT_S)
    snprintf(out + used, (size_t)(MZ_OWN_OPTIONS_MAX - used), ",timeout=%.17g", isolation->timeout_s);
}

mz_status mz_own_name_read(const char *name, mz_own_name *out) {
  const char *options = options_of(name);
  const size_t length = path_length(name, options);
  if (length >= sizeof out->path) return mz_fail(MZ_E_CONFIG, "%s: path too long", name);
  memcpy(out->path, name, length);
  out->path[length] = '\0';
  return mz_own_isolation_read(name, options, &out->isolation);
}
