/* A checkpoint file, opened as `eval` does and as `resume` does; where it is accepted, it searches and trains for a round. The
 * mutator works on the contents of sections and makes all sizes and checksums right again, so that what lies behind them is
 * reached. */
#include "tests/fuzz/fuzz.h"
#include "muzero/storage/sections.h"
#include "muzero/knobs.h"
#include "base/maths/digest.h"
#include "muzero/run.h"
#include "muzero/storage/stored.h"
#include "replay/storage/store.h"
#include "selfplay/games/games_state.h"
#include <string.h>

#define PATH FUZZ_FOLDER "/round.mzc"
enum { CONTENTS_MAX = 1 << 16, HEAD_BYTES = 16, NAME_BYTES = 16, FORMAT = 2, ENTRY_BYTES = NAME_BYTES + 8 + 5 * 8 };

static mz_state state;
static mz_workers workers;
static mz_store *store; /* of the segments that the seeds' replay names */

/* Loads a segment; every other one that is lost is left out, as a saver may do. */
static mz_status load(void *context, uint64_t hash, mz_segment **out) {
  const mz_status status = mz_store_load(context, hash, out);
  if (status != MZ_E_CHECKPOINT || (hash & 1)) return status;
  *out = NULL;
  return MZ_OK;
}

static void begin(const mz_env *env, const mz_settings *settings) {
  mz_knobs knobs = settings->knobs;
  mz_knobs_resolve(&knobs, settings, 1);
  fuzz_must(mz_state_init(&state, env, settings, 1, 1, NULL));
  fuzz_must(mz_workers_init(&workers, &state, &knobs, NULL));
}

/* The state of the run that the first seed is of. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  uint8_t *file;
  size_t size;
  mz_checkpoint checkpoint;
  mz_settings settings;
  mz_config config = mz_settings_config(&settings, NULL);
  const mz_env *env;
  fuzz_quiet();
  fuzz_seed_read("checkpoint/tictactoe.mzc", &file, &size);
  fuzz_file_put(PATH, file, size);
  fuzz_must(mz_checkpoint_open(&checkpoint, PATH));
  fuzz_must(mz_config_stored(&checkpoint, &config, &env));
  begin(env, &settings);
  fuzz_must(mz_store_open(&store, FUZZ_SEEDS "/pack", &env->spec));
  fuzz_must(mz_state_read(&state, &checkpoint, load, store));
  mz_checkpoint_close(&checkpoint);
  free(file);
  return 0;
}

/* A round from the state that was read. A state that failed is not used again. */
static void play_round(void) {
  const mz_env *env = state.env;
  const mz_settings settings = state.settings;
  mz_round_stats stats = {0};
  for (int i = 0; i < state.games->count; i++)
    if (!env->valid(env, mz_games_state(state.games, i))) return;
  if (mz_round_play(&state, &workers, &stats) == MZ_OK) return;
  mz_workers_deinit(&workers);
  mz_state_deinit(&state);
  begin(env, &settings);
}

/* Loads the agent as `eval` does and, where the checkpoint is accepted, searches with it. */
static void evaluate(void) {
  mz_loaded *loaded;
  mz_planner planner = {0};
  if (mz_loaded_open(&loaded, PATH) != MZ_OK) return;
  mz_agent agent = mz_loaded_agent(loaded);
  agent.simulations = 2;
  if (mz_agent_planner(&agent, 1, &planner) == MZ_OK) {
    static _Alignas(16) uint8_t first[1 << 16];
    MZ_ASSERT(agent.env->state_size <= sizeof first);
    memset(first, 0, agent.env->state_size);
    mz_rng rng = mz_rng_at(1, MZ_RNG_ENV, 0, 0);
    const mz_generator generator = mz_generator_from_rng(&rng);
    mz_status status = agent.env->reset(agent.env, first, &generator);
    if (status == MZ_OK) status = mz_planner_observe(&planner, 0, 1, first);
    MZ_ASSERT(status == MZ_OK);
    (void)mz_planner_search(&planner, 1, agent.weights, 0);
  }
  mz_planner_deinit(&planner);
  mz_loaded_close(loaded);
}

static void resume(const mz_checkpoint *checkpoint) {
  mz_run run = {.score = 0};
  mz_log_offsets offsets;
  uint64_t seed, *hashes, parts[MZ_DIGEST_PARTS], digest;
  mz_counters counters;
  int count;
  if (mz_checkpoint_segments(checkpoint, &hashes, &count) == MZ_OK) free(hashes);
  (void)mz_checkpoint_digest(checkpoint, parts, &digest);
  (void)mz_counters_stored(checkpoint, &seed, &counters);
  (void)mz_run_restore_session(&run, checkpoint, &offsets);
  free(run.parent);
  if (mz_state_read(&state, checkpoint, load, store) != MZ_OK) return;
  fuzz_must(mz_state_digest(&state, parts, &digest));
  play_round();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mz_checkpoint checkpoint;
  fuzz_file_put(PATH, data, size);
  if (mz_checkpoint_open(&checkpoint, PATH) != MZ_OK) return 0;
  resume(&checkpoint);
  const bool sound = mz_checkpoint_verify(&checkpoint) == MZ_OK;
  mz_checkpoint_close(&checkpoint);
  if (sound || size % 4 == 0) evaluate();
  return 0;
}

/* ---- the mutator ---- */

typedef struct part {
  char name[NAME_BYTES];
  uint32_t version;
  uint64_t bytes, hash; /* of the contents */
  const uint8_t *frame;
  size_t size;
} part;

/* The table of a file in the present format, whose frames lie within it; 0: it is none. */
static int read_parts(const uint8_t *data, size_t size, part parts[MZ_SECTIONS_MAX]) {
  mz_reader reader = mz_reader_over(data, size);
  reader.at = size < HEAD_BYTES ? size : 8;
  const uint32_t format = mz_read_u32(&reader), count = mz_read_u32(&reader);
  if (!reader.ok || format != FORMAT || count > MZ_SECTIONS_MAX) return 0;
  for (uint32_t i = 0; i < count; i++) {
    part *p = &parts[i];
    mz_read(&reader, p->name, sizeof p->name);
    p->version = mz_read_u32(&reader);
    mz_read_u32(&reader);
    p->bytes = mz_read_u64(&reader);
    p->size = mz_read_u64(&reader);
    const uint64_t offset = mz_read_u64(&reader);
    p->hash = mz_read_u64(&reader);
    mz_read_u64(&reader);
    if (!reader.ok || offset > size || p->size > size - offset) return 0;
    p->frame = data + offset;
  }
  return (int)count;
}

/* An entry whose numbers are sometimes not what they should be, under a right checksum all the same. */
static void write_entry(const part *p, uint64_t offset, bool wrong, uint64_t *random, mz_writer *out) {
  uint64_t fields[] = {p->bytes, p->size, offset, p->hash, mz_hash(p->frame, p->size, 0)};
  if (wrong) fuzz_mutate_bytes((uint8_t *)&fields[fuzz_below(random, 4)], 8, 8, random);
  mz_write(out, p->name, sizeof p->name);
  mz_write_u32(out, p->version);
  mz_write_u32(out, 0);
  for (int i = 0; i < 5; i++) mz_write_u64(out, fields[i]);
}

static void write_parts(const part *parts, int count, uint64_t *random, mz_writer *out) {
  uint64_t offset = HEAD_BYTES + (uint64_t)count * ENTRY_BYTES + 8;
  const int wrong = fuzz_below(random, 16) == 0 ? (int)fuzz_below(random, (uint32_t)count) : -1;
  mz_write(out, "MZCHKPT\n", 8);
  mz_write_u32(out, FORMAT);
  mz_write_u32(out, (uint32_t)count);
  for (int i = 0; i < count; i++) {
    write_entry(&parts[i], offset, i == wrong, random, out);
    offset += parts[i].size;
  }
  mz_write_u64(out, mz_hash(out->data, out->size, 0));
  for (int i = 0; i < count; i++) mz_write(out, parts[i].frame, parts[i].size);
}

static bool is_text(const part *p) { return strcmp(p->name, "config") == 0 || strcmp(p->name, "session") == 0; }

/* Safetensors begin with a header in JSON, which is most of what can be wrong with them. */
static size_t mutate_contents(const part *p, uint8_t *data, size_t size, size_t max_size, uint64_t *random) {
  const bool tensors = strcmp(p->name, "weights") == 0 || strcmp(p->name, "target") == 0;
  if (is_text(p)) return fuzz_mutate_text(data, size, max_size, random);
  uint64_t header = 0;
  if (tensors && size >= 8) memcpy(&header, data, 8);
  if (!tensors || size < 8 || header > size - 8 || fuzz_below(random, 2)) return fuzz_mutate_bytes(data, size, max_size, random);
  static uint8_t text[CONTENTS_MAX];
  memcpy(text, data + 8, header);
  const uint64_t changed =
      fuzz_mutate_text(text, header, max_size - size + header < sizeof text ? max_size - size + header : sizeof text, random);
  memmove(data + 8 + changed, data + 8 + header, size - 8 - header);
  memcpy(data + 8, text, changed);
  memcpy(data, &changed, 8);
  return size - header + changed;
}

static void mutate_part(part *p, mz_writer *frame, uint64_t *random) {
  static mz_writer contents;
  static uint8_t changed[CONTENTS_MAX + 4096];
  if (!fuzz_decompress(p->frame, p->size, CONTENTS_MAX, &contents)) return;
  memcpy(changed, contents.data, contents.size);
  size_t size = contents.size;
  for (int n = 1 + (int)fuzz_below(random, 3); n > 0; n--) size = mutate_contents(p, changed, size, CONTENTS_MAX, random);
  frame->size = 0;
  fuzz_compress(changed, size, frame);
  p->bytes = size;
  if (fuzz_below(random, 32) == 0) p->bytes = fuzz_claim(frame, random);
  p->frame = frame->data;
  p->size = frame->size;
  p->hash = mz_hash(changed, size, 0);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  static mz_writer out, frame;
  uint64_t random = seed;
  part parts[MZ_SECTIONS_MAX];
  int count = read_parts(data, size, parts);
  if (count == 0 || fuzz_below(&random, 32) == 0) return LLVMFuzzerMutate(data, size, max_size);
  part *p = &parts[fuzz_below(&random, (uint32_t)count)], *other = &parts[fuzz_below(&random, (uint32_t)count)];
  switch (fuzz_below(&random, 32)) {
    case 0: *p = parts[--count]; break;
    case 1: memcpy(p->name, other->name, sizeof p->name); break;
    case 2: p->version = fuzz_below(&random, 4); break;
    case 3: *p = *other; break;
    default: mutate_part(p, &frame, &random);
  }
  if (count == 0) return LLVMFuzzerMutate(data, size, max_size);
  out.size = 0;
  write_parts(parts, count, &random, &out);
  if (out.size > max_size) return LLVMFuzzerMutate(data, size, max_size);
  memcpy(data, out.data, out.size);
  return out.size;
}
