#include "muzero/saver.h"
#include "muzero/base/file.h"
#include <math.h>
#include <pthread.h>
#include <string.h>

enum { SECTIONS = MZ_DIGEST_PARTS + 3, KEPT_MAX = 4096, PATH_MAX_ = 640, NAME_MAX_ = 64 };

typedef struct kept { /* a checkpoint on disk and the segments it needs */
  char name[NAME_MAX_];
  uint64_t *hashes;
  int count;
} kept;

struct mz_saver {
  char dir[512];
  mz_store *store;
  int keep, spaced;
  kept *kept; /* oldest first */
  int kept_count;
  char best[NAME_MAX_];
  /* the write under way */
  pthread_t thread;
  bool running;
  mz_status status;
  char message[MZ_MESSAGE_MAX];
  char name[NAME_MAX_];
  bool is_best;
  mz_writer sections[MZ_DIGEST_PARTS];
  char *config, *session;
  mz_content *contents; /* of segments not on disk yet, one reference each */
  int content_count;
  uint64_t *hashes; /* of all segments in the buffer */
  int hash_count;
};

static mz_status path_in(const mz_saver *s, const char *folder, const char *name, char out[PATH_MAX_]) {
  if (snprintf(out, PATH_MAX_, "%s%s%s/%s", s->dir, folder[0] ? "/" : "", folder, name) >= PATH_MAX_)
    return mz_fail(MZ_E_IO, "%s: path too long", s->dir);
  return MZ_OK;
}

static int by_name(const void *a, const void *b) { return strcmp(((const kept *)a)->name, ((const kept *)b)->name); }

static void read_hashes(mz_saver *s, kept *k) {
  char path[PATH_MAX_];
  mz_checkpoint checkpoint;
  if (path_in(s, "checkpoints", k->name, path) != MZ_OK || mz_checkpoint_open(&checkpoint, path) != MZ_OK)
    return; /* damaged: needs nothing */
  uint8_t *data;
  size_t size;
  if (mz_checkpoint_section(&checkpoint, "segments", &data, &size) == MZ_OK) {
    k->hashes = (uint64_t *)data;
    k->count = (int)(size / sizeof(uint64_t));
  }
  mz_checkpoint_close(&checkpoint);
}

static mz_status add_kept(void *saver, const char *name) {
  mz_saver *s = saver;
  const size_t length = strlen(name);
  if (length < 5 || length >= NAME_MAX_ || strcmp(name + length - 4, ".mzc") != 0 || s->kept_count == KEPT_MAX) return MZ_OK;
  memcpy(s->kept[s->kept_count++].name, name, length + 1);
  return MZ_OK;
}

static mz_status find_kept(mz_saver *s) {
  char folder[PATH_MAX_];
  MZ_TRY(path_in(s, "", "checkpoints", folder));
  MZ_TRY(mz_file_list(folder, add_kept, s));
  qsort(s->kept, (size_t)s->kept_count, sizeof *s->kept, by_name);
  for (int i = 0; i < s->kept_count; i++) read_hashes(s, &s->kept[i]);
  char path[PATH_MAX_];
  MZ_TRY(path_in(s, "", "BEST", path));
  uint8_t *name;
  size_t size;
  if (mz_file_exists(path) && mz_file_read(path, NAME_MAX_ - 1, &name, &size) == MZ_OK) {
    snprintf(s->best, sizeof s->best, "%.*s", (int)strcspn((char *)name, "\n"), (char *)name);
    free(name);
  }
  return MZ_OK;
}

mz_status mz_saver_open(mz_saver **out, const char *dir, const mz_spec *spec, int keep, int spaced) {
  mz_saver *s;
  MZ_TRY(mz_alloc(&s, 1, sizeof *s));
  mz_status status;
  s->keep = keep;
  s->spaced = spaced;
  if (snprintf(s->dir, sizeof s->dir, "%s", dir) >= (int)sizeof s->dir)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_IO, "%s: path too long", dir));
  MZ_TRY_CLEANUP(mz_alloc(&s->kept, KEPT_MAX + 1, sizeof *s->kept));
  char folder[PATH_MAX_];
  MZ_TRY_CLEANUP(path_in(s, "", "checkpoints", folder));
  MZ_TRY_CLEANUP(mz_file_mkdirs(folder));
  MZ_TRY_CLEANUP(find_kept(s));
  MZ_TRY_CLEANUP(path_in(s, "", "segments", folder));
  MZ_TRY_CLEANUP(mz_store_open(&s->store, folder, spec));
  *out = s;
cleanup:
  if (status != MZ_OK) mz_saver_close(s);
  return status;
}

static void drop_copy(mz_saver *s) {
  for (int i = 0; i < MZ_DIGEST_PARTS; i++) mz_writer_free(&s->sections[i]);
  memset(s->sections, 0, sizeof s->sections);
  for (int i = 0; i < s->content_count; i++) mz_content_release(&s->contents[i]);
  free(s->contents);
  free(s->config);
  free(s->session);
  free(s->hashes);
  s->contents = NULL;
  s->config = s->session = NULL;
  s->hashes = NULL;
  s->content_count = s->hash_count = 0;
}

void mz_saver_close(mz_saver *s) {
  if (!s) return;
  mz_saver_wait(s); /* who closes without waiting has given up on it */
  drop_copy(s);
  for (int i = 0; i < s->kept_count; i++) free(s->kept[i].hashes);
  free(s->kept);
  if (s->store) mz_store_close(s->store);
  free(s);
}

mz_status mz_saver_load(void *saver, uint64_t hash, mz_segment **out) {
  return mz_store_load(((mz_saver *)saver)->store, hash, out);
}

static mz_status write_pointer(mz_saver *s, const char *file) {
  char path[PATH_MAX_], line[NAME_MAX_ + 1];
  MZ_TRY(path_in(s, "", file, path));
  int length = snprintf(line, sizeof line, "%s\n", s->name);
  return mz_file_write_atomic(path, line, (size_t)length);
}

/* The part of the run that a checkpoint belongs to: parts grow with the run, `spaced` of them to each doubling of the rounds. */
static int part_of(const mz_saver *s, int i) {
  const long long rounds = atoll(s->kept[i].name + sizeof "round-" - 1);
  return rounds < 1 ? -1 : (int)floor(s->spaced * log2((double)rounds));
}

static mz_status remove_old(mz_saver *s) {
  int out = 0, part_before = -2;
  for (int i = 0; i < s->kept_count; i++) {
    kept *k = &s->kept[i];
    const int part = part_of(s, i);
    const bool stays = i >= s->kept_count - s->keep || strcmp(k->name, s->best) == 0 || (s->spaced > 0 && part > part_before);
    part_before = part;
    if (stays) {
      s->kept[out++] = *k;
      continue;
    }
    char path[PATH_MAX_];
    MZ_TRY(path_in(s, "checkpoints", k->name, path));
    MZ_TRY(mz_file_remove(path));
    free(k->hashes);
  }
  s->kept_count = out;
  size_t total = 0;
  for (int i = 0; i < s->kept_count; i++) total += (size_t)s->kept[i].count;
  uint64_t *live;
  MZ_TRY(mz_alloc(&live, total, sizeof *live));
  size_t n = 0;
  for (int i = 0; i < s->kept_count; i++) {
    memcpy(live + n, s->kept[i].hashes, (size_t)s->kept[i].count * sizeof *live);
    n += (size_t)s->kept[i].count;
  }
  mz_status status = mz_store_collect(s->store, live, (int)n);
  free(live);
  return status;
}

/* The new checkpoint becomes the last of the kept ones; one of the same round is replaced. */
static void remember(mz_saver *s) {
  int at = s->kept_count;
  if (at > 0 && strcmp(s->kept[at - 1].name, s->name) == 0) free(s->kept[--at].hashes);
  s->kept_count = at + 1;
  s->kept[at] = (kept){.hashes = s->hashes, .count = s->hash_count};
  memcpy(s->kept[at].name, s->name, sizeof s->name);
  s->hashes = NULL;
}

static mz_status write_all(mz_saver *s) {
  char pack[64], path[PATH_MAX_];
  MZ_TRY(mz_store_write(s->store, s->contents, s->content_count, pack));
  mz_part parts[SECTIONS] = {{"config", s->config, strlen(s->config)}};
  for (int i = 0; i < MZ_DIGEST_PARTS; i++)
    parts[1 + i] = (mz_part){mz_digest_parts[i], s->sections[i].data, s->sections[i].size};
  parts[SECTIONS - 2] = (mz_part){"segments", s->hashes, (size_t)s->hash_count * sizeof(uint64_t)};
  parts[SECTIONS - 1] = (mz_part){"session", s->session, strlen(s->session)};
  MZ_TRY(path_in(s, "checkpoints", s->name, path));
  MZ_TRY(mz_checkpoint_write(path, parts, SECTIONS));
  MZ_TRY(write_pointer(s, "LATEST"));
  if (s->is_best) {
    MZ_TRY(write_pointer(s, "BEST"));
    memcpy(s->best, s->name, sizeof s->best);
  }
  remember(s);
  return remove_old(s);
}

static void *write_in_background(void *saver) {
  mz_saver *s = saver;
  s->status = write_all(s);
  if (s->status != MZ_OK) snprintf(s->message, sizeof s->message, "%s", mz_message());
  return NULL;
}

mz_status mz_saver_wait(mz_saver *s) {
  if (!s->running) return MZ_OK;
  if (pthread_join(s->thread, NULL) != 0) return mz_fail(MZ_E_INTERNAL, "the checkpoint's thread could not be joined");
  s->running = false;
  drop_copy(s);
  return s->status == MZ_OK ? MZ_OK : mz_fail(s->status, "%s", s->message);
}

static mz_status copy_state(mz_saver *s, const mz_state *state, const char *config, const char *session) {
  MZ_TRY(mz_state_write(state, s->sections));
  int count = mz_buffer_segments(state->buffer);
  MZ_TRY(mz_alloc(&s->hashes, (size_t)count, sizeof *s->hashes));
  MZ_TRY(mz_alloc(&s->contents, (size_t)count, sizeof *s->contents));
  for (int i = 0; i < count; i++) {
    uint64_t hash = mz_buffer_entry(state->buffer, i).hash;
    s->hashes[s->hash_count++] = hash;
    if (mz_store_has(s->store, hash)) continue; /* whatever tier it is in: nothing is unpacked or read */
    MZ_TRY(mz_buffer_content(state->buffer, i, &s->contents[s->content_count]));
    s->content_count++;
  }
  s->config = strdup(config);
  s->session = strdup(session);
  return s->config && s->session ? MZ_OK : mz_fail(MZ_E_MEMORY, "checkpoint: no memory for its copy");
}

mz_status mz_saver_save(mz_saver *s, const mz_state *state, const char *config, const char *session, bool best) {
  MZ_TRY(mz_saver_wait(s));
  mz_status status = copy_state(s, state, config, session);
  if (status != MZ_OK) {
    drop_copy(s);
    return status;
  }
  snprintf(s->name, sizeof s->name, "round-%09lld.mzc", (long long)state->counters.rounds);
  s->is_best = best || strcmp(s->best, s->name) == 0;
  s->status = MZ_OK;
  if (pthread_create(&s->thread, NULL, write_in_background, s) != 0) { /* no thread to be had: write here */
    write_in_background(s);
    drop_copy(s);
    return s->status == MZ_OK ? MZ_OK : mz_fail(s->status, "%s", s->message);
  }
  s->running = true;
  return MZ_OK;
}
