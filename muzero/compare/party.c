#include "muzero/compare/party.h"
#include "base/maths/digest.h"
#include <math.h>
#include <string.h>

static const uint64_t SEEDS_APART = 1000003; /* from the first run's to the second's */

/* It takes part without a block: others show what the limits allow. */
static mz_status refuse(mz_party *party) {
  party->refused = party->ended = true;
  party->cells[0].bytes = party->cells[0].bytes_least = 0;
  snprintf(party->why, sizeof party->why, "%s", mz_message());
  return MZ_OK;
}

mz_status mz_party_start(mz_party *party, const mz_run_options *options, const mz_limits *limits, int count) {
  mz_run_options each = *options;
  char dir[700];
  *party = (mz_party){.count = count, .blocks = cJSON_CreateArray()};
  for (int i = 0; i < count; i++) {
    if (i > 0) snprintf(dir, sizeof dir, "%s-%d", options->dir, i + 1);
    each.dir = i > 0 ? dir : options->dir;
    each.seed = options->seed + (uint64_t)i * SEEDS_APART;
    const mz_status status = mz_cell_start(&party->cells[i], &each, limits);
    if (status != MZ_OK && party->cells[i].refused && count == 1) return refuse(party);
    MZ_TRY(status);
  }
  return MZ_OK;
}

/* ---- a block ---- */

static cJSON *last_block(const mz_cell *cell) { return cJSON_GetArrayItem(cell->blocks, cJSON_GetArraySize(cell->blocks) - 1); }

static void set_number(cJSON *block, const char *key, double value) {
  cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(block, key), value);
}

static void join(cJSON *into, const cJSON *other) {
  static const char *const sums[] = {"cpu_s", "reserved_core_s", "reserved_gpu_s", "gib_s",
                                     "cost",  "changes",         "reverts",        "rss_bytes"};
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
    set_number(into, sums[i], mz_json_number_or_nan(into, sums[i]) + mz_json_number_or_nan(other, sums[i]));
  set_number(into, "wall_s", fmax(mz_json_number_or_nan(into, "wall_s"), mz_json_number_or_nan(other, "wall_s")));
}

static mz_status join_digests(const mz_party *party, cJSON *into) {
  uint64_t digest = 0;
  for (int i = 0; i < party->count; i++) {
    uint64_t one;
    MZ_TRY(mz_json_get_u64_hex(last_block(&party->cells[i]), "digest", "a block of the comparison", MZ_E_CHECKPOINT, &one));
    digest = i > 0 ? mz_hash_combine(digest, one) : one;
  }
  cJSON_DeleteItemFromObjectCaseSensitive(into, "digest");
  mz_json_add_u64_hex(into, "digest", digest);
  return MZ_OK;
}

static mz_status add_block(mz_party *party) {
  cJSON *block = cJSON_Duplicate(last_block(&party->cells[0]), true);
  if (!block) return mz_fail(MZ_E_MEMORY, "compare: no memory for a block");
  cJSON_AddItemToArray(party->blocks, block);
  for (int i = 1; i < party->count; i++) join(block, last_block(&party->cells[i]));
  return join_digests(party, block);
}

mz_status mz_party_advance(mz_party *party, int phases, uint64_t memory) {
  MZ_ASSERT(!party->ended);
  for (int i = 0; i < party->count; i++) mz_cell_send(&party->cells[i], phases, memory);
  for (int i = 0; i < party->count; i++) MZ_TRY(mz_cell_receive(&party->cells[i]));
  for (int i = 0; i < party->count; i++) mz_cell_rest(&party->cells[i]); /* all together: until then they share the machine */
  for (int i = 0; i < party->count; i++) {
    const mz_cell *cell = &party->cells[i];
    party->ended = party->ended || cell->ended;
    if (cell->why[0] && !party->why[0]) snprintf(party->why, sizeof party->why, "%s", cell->why);
  }
  return party->why[0] ? MZ_OK : add_block(party);
}

void mz_party_end(mz_party *party) {
  for (int i = 0; i < party->count; i++) mz_cell_end(&party->cells[i]);
}

int mz_party_pids(const mz_party *party, pid_t out[MZ_TOGETHER_MAX]) {
  for (int i = 0; i < party->count; i++) out[i] = party->cells[i].ended ? 0 : party->cells[i].pid;
  return party->count;
}

void mz_party_deinit(mz_party *party) {
  for (int i = 0; i < party->count; i++) cJSON_Delete(party->cells[i].blocks);
  cJSON_Delete(party->blocks);
}
