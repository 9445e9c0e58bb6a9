#include "muzero/storage/run_path.h"
#include "base/config/config.h"
#include "base/file/file.h"
#include "muzero/storage/checkpoint_name.h"
#include <string.h>

enum { ROUND_DIGITS_MAX = 18 };

/* ---- what is named ---- */

/* Copies the part before an '@' in the last name of a path; returns what follows it, NULL where there is none. */
static const char *split(const char *run, char *base, size_t size) {
  const char *at = strrchr(run, '@');
  if (!at || at == run || strchr(at, '/') || (size_t)(at - run) >= size) return NULL;
  memcpy(base, run, (size_t)(at - run));
  base[at - run] = '\0';
  return at + 1;
}

static mz_status read_choice(const char *run, const char *word, mz_run_path *out) {
  const size_t digits = strspn(word, "0123456789");
  if (digits > 0 && digits <= ROUND_DIGITS_MAX && word[digits] == '\0') {
    out->choice = MZ_RUN_ROUND;
    out->rounds = strtoll(word, NULL, 10);
    return MZ_OK;
  }
  static const char *const names[] = {"latest", "best"};
  for (int i = 0; i < 2; i++) {
    if (strcmp(word, names[i]) != 0) continue;
    out->choice = i == 0 ? MZ_RUN_LATEST : MZ_RUN_BEST;
    return MZ_OK;
  }
  const char *nearest = mz_nearest(word, names, 2);
  return mz_fail(MZ_E_USAGE, "%s: '@' takes latest, best or a number of rounds, as in %s@best%s%s%s", run, out->path,
                 nearest ? "; did you mean '@" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

mz_status mz_run_path_read(const char *run, mz_run_path *out) {
  *out = (mz_run_path){.choice = MZ_RUN_LATEST};
  if (mz_file_exists(run)) {
    if (snprintf(out->path, sizeof out->path, "%s", run) >= (int)sizeof out->path)
      return mz_fail(MZ_E_IO, "%s: path too long", run);
    if (!mz_file_is_dir(run)) out->choice = MZ_RUN_FILE;
    return MZ_OK;
  }
  const char *word = split(run, out->path, sizeof out->path);
  if (!word || !mz_file_exists(out->path)) return mz_fail(MZ_E_IO, "%s: there is nothing here; give a run's directory", run);
  if (!mz_file_is_dir(out->path))
    return mz_fail(MZ_E_USAGE, "%s: %s is a checkpoint file; '@' chooses a checkpoint of a run's directory", run, out->path);
  return read_choice(run, word, out);
}

bool mz_run_path_exists(const char *run) {
  char base[MZ_RUN_PATH_MAX];
  return mz_file_exists(run) || (split(run, base, sizeof base) && mz_file_exists(base));
}

/* ---- the checkpoint ---- */

typedef struct nearest {
  int64_t wanted, found; /* found: -1 for none yet */
} nearest;

static int64_t distance(int64_t a, int64_t b) { return a < b ? b - a : a - b; }

static mz_status take_if_nearer(void *context, int64_t rounds, const char *path) {
  (void)path;
  nearest *n = context;
  const int64_t far = distance(rounds, n->wanted), before = distance(n->found, n->wanted);
  if (n->found < 0 || far < before || (far == before && rounds > n->found)) n->found = rounds;
  return MZ_OK;
}

/* Finds the checkpoint nearest to `wanted` rounds, the later of two; -1: there is none. */
static int64_t find_nearest(const char *dir, int64_t wanted) {
  nearest n = {.wanted = wanted, .found = -1};
  return mz_checkpoint_each(dir, take_if_nearer, &n) == MZ_OK ? n.found : -1;
}

bool mz_run_has_checkpoints(const char *dir) { return find_nearest(dir, 0) >= 0; }

static bool holds(const char *dir, const char *name) {
  char path[MZ_RUN_PATH_MAX + 16];
  return mz_path_join(path, sizeof path, dir, name) == MZ_OK && mz_file_exists(path);
}

bool mz_run_is_run(const char *dir) { return holds(dir, "LATEST") || (holds(dir, "config.json") && mz_run_has_checkpoints(dir)); }

static mz_status fail_no_round(const mz_run_path *run) {
  const int64_t near = find_nearest(run->path, run->rounds);
  if (near < 0) return mz_fail(MZ_E_CHECKPOINT, "%s: no checkpoint in this directory", run->path);
  return mz_fail(MZ_E_CHECKPOINT, "%s@%lld: this run keeps no checkpoint of round %lld; the nearest is %s@%lld", run->path,
                 (long long)run->rounds, (long long)run->rounds, run->path, (long long)near);
}

static mz_status find_named(const mz_run_path *run, const char *pointer, char *out, size_t size) {
  char name[MZ_CHECKPOINT_NAME_MAX], path[MZ_RUN_PATH_MAX + 8];
  MZ_TRY(mz_path_join(path, sizeof path, run->path, pointer));
  if (run->choice == MZ_RUN_BEST && mz_run_is_run(run->path) && !mz_file_exists(path))
    return mz_fail(MZ_E_CHECKPOINT,
                   "%s@best: this run has no best checkpoint yet: the first evaluation makes one; %s@latest is there", run->path,
                   run->path);
  MZ_TRY(mz_checkpoint_pointer_read(run->path, pointer, name));
  MZ_TRY(mz_checkpoint_path(run->path, name, out, size));
  if (mz_file_exists(out)) return MZ_OK;
  return mz_fail(MZ_E_CHECKPOINT, "%s: %s names a checkpoint that is not there: %s", run->path, pointer, out);
}

mz_status mz_run_path_checkpoint(const mz_run_path *run, char *out, size_t size) {
  char name[MZ_CHECKPOINT_NAME_MAX];
  switch (run->choice) {
    case MZ_RUN_LATEST: return find_named(run, "LATEST", out, size);
    case MZ_RUN_BEST: return find_named(run, "BEST", out, size);
    case MZ_RUN_FILE:
      if (snprintf(out, size, "%s", run->path) >= (int)size) return mz_fail(MZ_E_IO, "%s: path too long", run->path);
      return MZ_OK;
    case MZ_RUN_ROUND: break;
  }
  mz_checkpoint_name(run->rounds, name);
  MZ_TRY(mz_checkpoint_path(run->path, name, out, size));
  return mz_file_exists(out) ? MZ_OK : fail_no_round(run);
}

mz_status mz_run_checkpoint_path(const char *given, char *out, size_t size) {
  mz_run_path run;
  MZ_TRY(mz_run_path_read(given, &run));
  return mz_run_path_checkpoint(&run, out, size);
}
