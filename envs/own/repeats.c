#include "envs/own/repeats.h"
#include "base/maths/digest.h"
#include "base/threads/thread.h"
#include "envs/own/guarded.h"
#include "envs/own/watch.h"

/* A game that went another way: the function that gave something else, after so many moves. */
typedef struct difference {
  const char *function;
  int game, moves;
} difference;

static void add(const mz_repeats *r, const difference *at, const char *kind, const char *when) {
  const mz_recorded_game *game = &r->games[at->game];
  if (at->function)
    mz_findings_add(
        r->findings, at->function, kind, game->seed, game->actions, at->moves,
        "gives something else after %d moves %s: it keeps something between calls, reads what is not in the state, or "
        "leaves bytes to chance",
        at->moves, when);
}

/* ---- one at a time ---- */

typedef struct places {
  mz_game_eyes eyes;
  uint8_t *states[2];
} places;

static mz_status places_init(places *p, const mz_repeats *r) {
  *p = (places){0};
  MZ_TRY(mz_game_eyes_init(&p->eyes, r->abi, r->spec));
  MZ_TRY(mz_alloc(&p->states[0], r->abi->state_size, 1));
  return mz_alloc(&p->states[1], r->abi->state_size, 1);
}

static void places_deinit(places *p) {
  mz_game_eyes_deinit(&p->eyes);
  free(p->states[0]);
  free(p->states[1]);
}

/* Plays a game once more. moves: the state changes its place before every step, and its old place is overwritten. */
static bool replay(const mz_repeats *r, places *p, int index, bool moves, difference *out) {
  const mz_recorded_game *game = &r->games[index];
  mz_game_chance chance = mz_game_chance_of(game->seed);
  const muzero_env_random random = mz_game_chance_source(&chance);
  const size_t bytes = r->abi->state_size;
  int here = 0;
  memset(p->states[here], 0, bytes);
  mz_watch_game(game->seed, game->actions, 0);
  r->abi->reset(p->states[here], &random);
  for (int m = 0;; m++) {
    muzero_env_step result = {0};
    if (m > 0) {
      if (moves) {
        memcpy(p->states[1 - here], p->states[here], bytes);
        memset(p->states[here], 0xDD, bytes);
        here = 1 - here;
      }
      mz_watch_game(game->seed, game->actions, m);
      r->abi->step(p->states[here], 1, &game->actions[m - 1], &random, &result);
    }
    const mz_game_point point = mz_game_point_of(&p->eyes, p->states[here], m > 0 ? &result : NULL);
    *out = (difference){.function = mz_game_point_differs(&game->points[m], &point, m), .game = index, .moves = m};
    if (out->function || m == game->count) return out->function != NULL;
  }
}

static mz_status replay_all(const mz_repeats *r, bool moves, int first, difference *out) {
  places p;
  *out = (difference){0};
  mz_status status = places_init(&p, r);
  for (int i = 0; status == MZ_OK && i < r->count; i++)
    if (replay(r, &p, (first + i) % r->count, moves, out)) break;
  places_deinit(&p);
  return status;
}

mz_status mz_repeats_alone(const mz_repeats *r) {
  difference at;
  MZ_TRY(replay_all(r, false, 0, &at));
  add(r, &at, "repeat", "when the game is played again");
  return MZ_OK;
}

mz_status mz_repeats_moved(const mz_repeats *r) {
  difference at;
  MZ_TRY(replay_all(r, true, 0, &at));
  add(r, &at, "moved", "when the state was copied to another place and the old one overwritten");
  return MZ_OK;
}

/* ---- several in one call ---- */

enum { TOGETHER = 8 };

typedef struct company {
  mz_game_eyes eyes;
  mz_guarded states, observations; /* of those that are in play, one behind another */
  uint8_t *kept;                   /* [TOGETHER][state_size] */
  mz_game_chance chances[TOGETHER];
} company;

static mz_status company_init(company *c, const mz_repeats *r) {
  const size_t state = r->abi->state_size, observation = mz_spec_obs_bytes(r->spec);
  *c = (company){0};
  MZ_TRY(mz_game_eyes_init(&c->eyes, r->abi, r->spec));
  MZ_TRY(mz_guarded_init(&c->states, TOGETHER * state, state));
  MZ_TRY(mz_guarded_init(&c->observations, TOGETHER * observation, observation));
  return mz_alloc(&c->kept, TOGETHER, state);
}

static void company_deinit(company *c) {
  mz_game_eyes_deinit(&c->eyes);
  mz_guarded_deinit(&c->states);
  mz_guarded_deinit(&c->observations);
  free(c->kept);
}

/* Observes all at once. Returns the place of an observation that is another one than alone, −1 for none. */
static int compare_observations(const mz_repeats *r, company *c, const int *who, int first, int n, int m) {
  const size_t bytes = mz_spec_obs_bytes(r->spec);
  memset(c->observations.bytes, 0, (size_t)n * bytes);
  r->abi->observe(c->states.bytes, (size_t)n, c->observations.bytes);
  for (int i = 0; i < n; i++)
    if (mz_hash(c->observations.bytes + (size_t)i * bytes, bytes, 0) != r->games[first + who[i]].points[m].observation) return i;
  return -1;
}

/* One step of the games in `who`, whose states lie in `kept`. Returns whether something differed. */
static bool step_together(const mz_repeats *r, company *c, int first, const int *who, int n, int m, difference *out) {
  const size_t bytes = r->abi->state_size;
  muzero_env_random random[TOGETHER];
  muzero_env_step results[TOGETHER] = {0};
  int32_t actions[TOGETHER];
  for (int i = 0; i < n; i++) {
    memcpy(c->states.bytes + (size_t)i * bytes, c->kept + (size_t)who[i] * bytes, bytes);
    random[i] = mz_game_chance_source(&c->chances[who[i]]);
    actions[i] = r->games[first + who[i]].actions[m];
  }
  memset(c->states.bytes + (size_t)n * bytes, MZ_GUARD_BYTE, (size_t)(TOGETHER - n) * bytes); /* more were in play before */
  mz_watch_game(r->games[first + who[0]].seed, r->games[first + who[0]].actions, m + 1);
  r->abi->step(c->states.bytes, (size_t)n, actions, random, results);
  if (mz_guarded_broken(&c->states, (size_t)n * bytes)) {
    const mz_recorded_game *game = &r->games[first + who[n - 1]];
    mz_findings_add(r->findings, "step", "bounds", game->seed, game->actions, m + 1,
                    "writes beyond the %d states that it is given", n);
  }
  for (int i = 0; i < n; i++) {
    const uint8_t *state = c->states.bytes + (size_t)i * bytes;
    const mz_game_point point = mz_game_point_of(&c->eyes, state, &results[i]);
    *out = (difference){.function = mz_game_point_differs(&r->games[first + who[i]].points[m + 1], &point, m + 1),
                        .game = first + who[i],
                        .moves = m + 1};
    if (out->function) return true;
    memcpy(c->kept + (size_t)who[i] * bytes, state, bytes);
  }
  const int other = compare_observations(r, c, who, first, n, m + 1);
  if (other >= 0) *out = (difference){.function = "observe", .game = first + who[other], .moves = m + 1};
  return other >= 0;
}

/* The games that have a move m, in another order at every move. */
static int find_players(const mz_repeats *r, int first, int games, int m, int *who) {
  int n = 0;
  for (int i = 0; i < games; i++) {
    const int game = (i + m) % games;
    if (r->games[first + game].count > m) who[n++] = game;
  }
  return n;
}

static bool replay_group(const mz_repeats *r, company *c, int first, int games, difference *out) {
  for (int i = 0; i < games; i++) {
    uint8_t *state = c->kept + (size_t)i * r->abi->state_size;
    c->chances[i] = mz_game_chance_of(r->games[first + i].seed);
    const muzero_env_random random = mz_game_chance_source(&c->chances[i]);
    memset(state, 0, r->abi->state_size);
    mz_watch_game(r->games[first + i].seed, NULL, 0);
    r->abi->reset(state, &random);
  }
  int who[TOGETHER], n;
  for (int m = 0; (n = find_players(r, first, games, m, who)) > 0; m++)
    if (step_together(r, c, first, who, n, m, out)) return true;
  return false;
}

mz_status mz_repeats_together(const mz_repeats *r) {
  company c;
  difference at = {0};
  const mz_status status = company_init(&c, r);
  for (int first = 0; status == MZ_OK && first < r->count; first += TOGETHER)
    if (replay_group(r, &c, first, r->count - first < TOGETHER ? r->count - first : TOGETHER, &at)) break;
  company_deinit(&c);
  add(r, &at, "place", "when the game is stepped beside others in one call");
  return status;
}

/* ---- in several threads ---- */

enum { THREADS = MZ_WATCH_PLACES - 1, ROUNDS = 8 };

typedef struct worker {
  const mz_repeats *repeats;
  int first, place;
  mz_status status;
  difference at;
  pthread_t thread;
} worker;

static void *work(void *context) {
  worker *w = context;
  mz_watch_take_place(w->place);
  for (int round = 0; round < ROUNDS && w->status == MZ_OK && !w->at.function; round++)
    w->status = replay_all(w->repeats, false, w->first + round, &w->at);
  return NULL;
}

mz_status mz_repeats_in_threads(const mz_repeats *r) {
  worker workers[THREADS];
  int started = 0;
  mz_status status = MZ_OK;
  for (; started < THREADS && status == MZ_OK; started++) {
    workers[started] = (worker){.repeats = r, .first = started * r->count / THREADS, .place = 1 + started};
    if (mz_thread_start(&workers[started].thread, "check", work, &workers[started]) == 0) continue;
    status = mz_fail(MZ_E_INTERNAL, "check: a thread cannot be started");
    break;
  }
  for (int i = 0; i < started; i++) {
    pthread_join(workers[i].thread, NULL);
    if (workers[i].status != MZ_OK) status = mz_fail(workers[i].status, "check: out of memory");
    add(r, &workers[i].at, "threads", "when several threads play at a time");
  }
  return status;
}
