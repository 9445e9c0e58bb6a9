#include "muzero/storage/saver.h"
#include "muzero/storage/sections.h"
#include "base/file/file.h"
#include "base/log.h"
#include "base/threads/thread.h"
#include "muzero/storage/checkpoint_list.h"
#include "muzero/training/guard.h"
#include <string.h>

enum { SECTIONS_MAX = MZ_STATE_SECTIONS + 4, PATH_BYTES = 640 };

struct mz_saver {
  char dir[512];
  mz_saver_options options;
  mz_store *store;
  mz_checkpoint_list list;
  char best[MZ_CHECKPOINT_NAME_MAX]; /* "": none yet */
  int64_t skipped;
  /* the write under way */
  pthread_t thread;
  bool running;
  mz_status status;
  char message[MZ_MESSAGE_MAX];
  char name[MZ_CHECKPOINT_NAME_MAX];
  bool is_best;
  mz_writer sections[MZ_STATE_SECTIONS], guard; /* guard: empty where there is none */
  char *config, *session;
  mz_content *contents; /* of segments not on disk yet, one reference each */
  int content_count;
  uint64_t *hashes; /* of all segments in the buffer */
  int hash_count;
};

/* The latest checkpoint says which is the best; BEST, which is written after it, may be older or damaged. */
static mz_status find_best(mz_saver *s) {
  char pointer[MZ_CHECKPOINT_NAME_MAX] = "", path[PATH_BYTES];
  const bool there = mz_path_join(path, sizeof path, s->dir, "BEST") == MZ_OK && mz_file_exists(path);
  const bool damaged = there && mz_checkpoint_pointer_read(s->dir, "BEST", pointer) != MZ_OK;
  const int64_t rounds = s->options.best_rounds;
  if (damaged)
    mz_log_write(MZ_LOG_WARNING, "%s%s", mz_message(), rounds < 0 ? "; which checkpoint is the best is not known" : "");
  if (rounds < 0) {
    memcpy(s->best, pointer, sizeof s->best);
    return MZ_OK;
  }
  mz_checkpoint_name(rounds, s->best);
  MZ_TRY(mz_checkpoint_path(s->dir, s->best, path, sizeof path));
  if (pointer[0] && mz_checkpoint_name_rounds(pointer) > rounds) { /* the run went back to before it: still the best there was */
    memcpy(s->best, pointer, sizeof s->best);
    return MZ_OK;
  }
  if (strcmp(s->best, pointer) == 0 || !mz_file_exists(path)) return MZ_OK;
  return mz_checkpoint_pointer_write(s->dir, "BEST", s->best);
}

/* Nobody knows what an unreadable checkpoint needs: packs that it may need stay. */
static void keep_packs_of_unreadable(mz_saver *s) { mz_store_pin(s->store, !mz_checkpoint_list_readable(&s->list)); }

mz_status mz_saver_open(mz_saver **out, const char *dir, const mz_spec *spec, const mz_saver_options *options) {
  mz_saver *s;
  MZ_TRY(mz_alloc(&s, 1, sizeof *s));
  mz_status status;
  s->options = *options;
  if (snprintf(s->dir, sizeof s->dir, "%s", dir) >= (int)sizeof s->dir)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_IO, "%s: path too long", dir));
  char folder[PATH_BYTES];
  MZ_TRY_CLEANUP(mz_path_join(folder, sizeof folder, s->dir, "checkpoints"));
  MZ_TRY_CLEANUP(mz_file_mkdirs(folder));
  MZ_TRY_CLEANUP(mz_checkpoint_list_read(&s->list, folder));
  MZ_TRY_CLEANUP(find_best(s));
  MZ_TRY_CLEANUP(mz_path_join(folder, sizeof folder, s->dir, "segments"));
  MZ_TRY_CLEANUP(mz_file_mkdirs(folder));
  MZ_TRY_CLEANUP(mz_store_open(&s->store, folder, spec));
  keep_packs_of_unreadable(s);
  *out = s;
cleanup:
  if (status != MZ_OK) mz_saver_close(s);
  return status;
}

static void drop_copy(mz_saver *s) {
  for (int i = 0; i < MZ_STATE_SECTIONS; i++) mz_writer_free(&s->sections[i]);
  memset(s->sections, 0, sizeof s->sections);
  mz_writer_free(&s->guard);
  s->guard = (mz_writer){0};
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
  mz_checkpoint_list_deinit(&s->list);
  if (s->store) mz_store_close(s->store);
  free(s);
}

mz_status mz_saver_load(void *saver, uint64_t hash, mz_segment **out) {
  return mz_store_load(((mz_saver *)saver)->store, hash, out);
}

mz_status mz_saver_load_or_skip(void *saver, uint64_t hash, mz_segment **out) {
  mz_saver *s = saver;
  const mz_status status = mz_saver_load(s, hash, out);
  if (status != MZ_E_CHECKPOINT && status != MZ_E_IO) return status;
  *out = NULL;
  s->skipped++;
  return MZ_OK;
}

int64_t mz_saver_skipped(const mz_saver *s) { return s->skipped; }

static mz_status remove_old(mz_saver *s) {
  const mz_retention retention = {.latest = s->name, .best = s->best, .keep = s->options.keep, .spaced = s->options.spaced};
  mz_checkpoint_list_prune(&s->list, &retention);
  keep_packs_of_unreadable(s);
  uint64_t *live;
  size_t count;
  MZ_TRY(mz_checkpoint_list_segments(&s->list, &live, &count));
  mz_store_collect(s->store, live, count);
  free(live);
  return MZ_OK;
}

static mz_status write_all(mz_saver *s) {
  char pack[64], path[PATH_BYTES];
  if (s->options.sync_logs) MZ_TRY(s->options.sync_logs(s->options.context));
  MZ_TRY(mz_store_write(s->store, s->contents, s->content_count, pack));
  mz_part parts[SECTIONS_MAX];
  int count = 0;
  parts[count++] = (mz_part){"config", s->config, strlen(s->config)};
  for (int i = 0; i < MZ_STATE_SECTIONS; i++)
    if (s->sections[i].size > 0) parts[count++] = (mz_part){mz_state_section_name(i), s->sections[i].data, s->sections[i].size};
  parts[count++] = (mz_part){"segments", s->hashes, (size_t)s->hash_count * sizeof(uint64_t)};
  parts[count++] = (mz_part){"session", s->session, strlen(s->session)};
  if (s->guard.size > 0) parts[count++] = (mz_part){"guard", s->guard.data, s->guard.size};
  MZ_TRY(mz_checkpoint_path(s->dir, s->name, path, sizeof path));
  MZ_TRY(mz_checkpoint_write(path, parts, count));
  MZ_TRY(mz_checkpoint_pointer_write(s->dir, "LATEST", s->name));
  if (s->is_best) {
    MZ_TRY(mz_checkpoint_pointer_write(s->dir, "BEST", s->name));
    memcpy(s->best, s->name, sizeof s->best);
  }
  MZ_TRY(mz_checkpoint_list_add(&s->list, s->name, s->hashes, s->hash_count));
  s->hashes = NULL;
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
  if (state->guard) mz_guard_write(state->guard, &s->guard);
  if (s->guard.failed) return mz_fail(MZ_E_MEMORY, "checkpoint: no memory for the copy of section 'guard'");
  MZ_TRY(mz_store_refresh(s->store));
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
  mz_checkpoint_name(state->counters.rounds, s->name);
  s->is_best = best || strcmp(s->best, s->name) == 0;
  s->status = MZ_OK;
  if (mz_thread_start(&s->thread, "saver", write_in_background, s) != 0) { /* no thread to be had: write here */
    write_in_background(s);
    drop_copy(s);
    return s->status == MZ_OK ? MZ_OK : mz_fail(s->status, "%s", s->message);
  }
  s->running = true;
  return MZ_OK;
}
