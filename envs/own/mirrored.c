#include "envs/own/mirrored.h"
#include "base/symmetry.h"
#include "envs/own/watch.h"
#include <string.h>

enum { STARTS = 256, GAMES = 16 };

typedef struct mirror {
  const mz_repeats *r;
  uint8_t *states[2], *observations[2], *image, *masks[2];
  uint8_t *wanted; /* the image of a game's first observation */
  uint8_t *starts; /* observations of STARTS first states */
  int s;           /* the symmetry */
} mirror;

static mz_status mirror_init(mirror *m, const mz_repeats *r) {
  const size_t observation = mz_spec_obs_bytes(r->spec);
  *m = (mirror){.r = r};
  for (int i = 0; i < 2; i++) {
    MZ_TRY(mz_alloc(&m->states[i], r->abi->state_size, 1));
    MZ_TRY(mz_alloc(&m->observations[i], observation, 1));
    MZ_TRY(mz_alloc(&m->masks[i], (size_t)r->spec->actions, 1));
  }
  MZ_TRY(mz_alloc(&m->image, observation, 1));
  MZ_TRY(mz_alloc(&m->wanted, observation, 1));
  return mz_alloc(&m->starts, STARTS, observation);
}

static void mirror_deinit(mirror *m) {
  for (int i = 0; i < 2; i++) {
    free(m->states[i]);
    free(m->observations[i]);
    free(m->masks[i]);
  }
  free(m->image);
  free(m->wanted);
  free(m->starts);
}

static void begin(const mirror *m, uint64_t seed, uint8_t *state) {
  mz_game_chance chance = mz_game_chance_of(seed);
  const muzero_env_random random = mz_game_chance_source(&chance);
  memset(state, 0, m->r->abi->state_size);
  mz_watch_game(seed, NULL, 0);
  m->r->abi->reset(state, &random);
}

/* Returns whether observation and legal actions of the second state are images of the first one's; if not, *function says which. */
static bool is_image(mirror *m, const char **function) {
  const muzero_env_abi *abi = m->r->abi;
  const mz_spec *spec = m->r->spec;
  for (int i = 0; i < 2; i++) {
    memset(m->masks[i], 1, (size_t)spec->actions);
    if (abi->legal) abi->legal(m->states[i], m->masks[i]);
    abi->observe(m->states[i], 1, m->observations[i]);
  }
  *function = "legal";
  for (int a = 0; a < spec->actions; a++)
    if (m->masks[0][a] != m->masks[1][mz_symmetry_action(spec, m->s, a)]) return false;
  *function = "observe";
  mz_symmetry_observe(spec, m->s, m->observations[0], m->image);
  return memcmp(m->image, m->observations[1], mz_spec_obs_bytes(spec)) == 0;
}

static void find(const mirror *m, const mz_recorded_game *game, int moves, const char *function) {
  mz_findings_add(
      m->r->findings, "symmetries", "image", game->seed, game->actions, moves,
      "is %d, but symmetry %d (%s) does not hold: after %d moves and their images, %s gives something else; nearest valid "
      "value: 1",
      m->r->spec->symmetries, m->s, m->s < 4 && m->r->spec->symmetries == 8 ? "turned" : "mirrored", moves, function);
}

/* Plays a game and its image from another start. Returns the function that gives something else, after *moves moves; NULL: none. */
static const char *play(mirror *m, const mz_recorded_game *game, uint64_t seed, int *moves) {
  const muzero_env_abi *abi = m->r->abi;
  const char *function;
  begin(m, game->seed, m->states[0]);
  begin(m, seed, m->states[1]);
  mz_game_chance none = mz_game_chance_of(0);
  const muzero_env_random random = mz_game_chance_source(&none);
  for (*moves = 0;;) {
    if (!is_image(m, &function)) return function;
    if (*moves == game->count) return NULL;
    const int32_t action = game->actions[(*moves)++];
    const int32_t actions[2] = {action, mz_symmetry_action(m->r->spec, m->s, action)};
    muzero_env_step results[2] = {0};
    mz_watch_game(game->seed, game->actions, *moves);
    for (int i = 0; i < 2; i++) abi->step(m->states[i], 1, &actions[i], &random, &results[i]);
    if (results[0].reward != results[1].reward || !results[0].terminated != !results[1].terminated ||
        !results[0].truncated != !results[1].truncated)
      return "step";
  }
}

/* Returns false after a finding: of the first starts none that looks like this game's image goes on like it. One is enough, for they
 * may differ in what no observation shows. *found: whether any looks like it. */
static bool is_mirrored(mirror *m, const mz_recorded_game *game, bool *found) {
  const size_t bytes = mz_spec_obs_bytes(m->r->spec);
  const char *function = NULL;
  int most = -1;
  begin(m, game->seed, m->states[0]);
  m->r->abi->observe(m->states[0], 1, m->observations[0]);
  mz_symmetry_observe(m->r->spec, m->s, m->observations[0], m->wanted);
  for (int i = 0; i < STARTS; i++) {
    int moves;
    if (memcmp(m->wanted, m->starts + (size_t)i * bytes, bytes) != 0) continue;
    *found = true;
    const char *differs = play(m, game, m->r->games[0].seed + (uint64_t)i, &moves);
    if (!differs) return true;
    if (moves <= most) continue;
    most = moves;
    function = differs;
  }
  if (function) find(m, game, most, function);
  return !function;
}

mz_status mz_mirrored_check(const mz_repeats *r, int *checked) {
  mirror m;
  *checked = 0;
  if (r->spec->symmetries == 1 || r->abi->draws || r->count == 0) return MZ_OK;
  const mz_status status = mirror_init(&m, r);
  for (int i = 0; status == MZ_OK && i < STARTS; i++) {
    begin(&m, r->games[0].seed + (uint64_t)i, m.states[0]);
    r->abi->observe(m.states[0], 1, m.starts + (size_t)i * mz_spec_obs_bytes(r->spec));
  }
  for (m.s = 1; status == MZ_OK && m.s < r->spec->symmetries; m.s++) {
    int played = 0;
    bool holds = true;
    for (int g = 0; g < r->count && played < GAMES && holds; g++) {
      bool found = false;
      holds = is_mirrored(&m, &r->games[g], &found);
      played += found;
    }
    *checked += played > 0;
  }
  mirror_deinit(&m);
  return status;
}
