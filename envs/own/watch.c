#include "envs/own/watch.h"
#include <signal.h>

static mz_watch *watched;
static const muzero_env_abi *object;
static _Thread_local int own_place;

/* ---- calls ---- */

static void enter(mz_worker_call call) {
  mz_watch_place *place = &watched->places[own_place];
  place->calling = place->called = call;
  __atomic_signal_fence(__ATOMIC_SEQ_CST); /* it stands there when the function crashes */
}

static void leave(void) {
  mz_watch_place *place = &watched->places[own_place];
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  place->calling = MZ_CALL_NONE;
  __atomic_store_n(&place->calls, place->calls + 1, __ATOMIC_RELAXED);
}

static const char *reset(void *state, const muzero_env_random *random) {
  enter(MZ_CALL_RESET);
  const char *why = object->reset(state, random);
  return leave(), why;
}

static const char *step(void *states, size_t n, const int32_t *actions, const muzero_env_random *random,
                        muzero_env_step *results) {
  enter(MZ_CALL_STEP);
  const char *why = object->step(states, n, actions, random, results);
  return leave(), why;
}

static const char *observe(const void *states, size_t n, void *observations) {
  enter(MZ_CALL_OBSERVE);
  const char *why = object->observe(states, n, observations);
  return leave(), why;
}

static const char *legal(const void *state, uint8_t *mask) {
  enter(MZ_CALL_LEGAL);
  const char *why = object->legal(state, mask);
  return leave(), why;
}

static int32_t to_play(const void *state) {
  enter(MZ_CALL_TO_PLAY);
  const int32_t player = object->to_play(state);
  return leave(), player;
}

static int text(const void *state, char *out, size_t size) {
  enter(MZ_CALL_TEXT);
  const int length = object->text(state, out, size);
  return leave(), length;
}

static int action_text(int32_t action, char *out, size_t size) {
  enter(MZ_CALL_ACTION_TEXT);
  const int length = object->action_text(action, out, size);
  return leave(), length;
}

static int valid(const void *state) {
  enter(MZ_CALL_VALID);
  const int is = object->valid(state);
  return leave(), is;
}

/* ---- the watch ---- */

static void note_crash(int number) {
  (void)number;
  watched->crashed = own_place;
} /* and the same signal again, which ends the process */

void mz_watch_begin(mz_watch *watch, const muzero_env_abi *from, muzero_env_abi *out) {
  static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  struct sigaction action = {.sa_handler = note_crash, .sa_flags = SA_RESETHAND};
  watched = watch;
  object = from;
  *watch = (mz_watch){.crashed = -1, .way = ""};
  *out = *from;
  out->reset = reset;
  out->step = step;
  out->observe = observe;
  if (from->legal) out->legal = legal;
  if (from->to_play) out->to_play = to_play;
  if (from->text) out->text = text;
  if (from->action_text) out->action_text = action_text;
  if (from->valid) out->valid = valid;
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) sigaction(crashes[i], &action, NULL);
}

void mz_watch_take_place(int place) { own_place = place; }
void mz_watch_way(const char *way) { watched->way = way; }

void mz_watch_game(uint64_t seed, const int32_t *actions, int count) {
  mz_watch_place *place = &watched->places[own_place];
  place->seed = seed;
  place->actions = actions;
  place->count = count;
}

const mz_watch_place *mz_watch_found(const mz_watch *watch) {
  if (watch->crashed >= 0) return &watch->places[watch->crashed];
  for (int i = 0; i < MZ_WATCH_PLACES; i++)
    if (watch->places[i].calling != MZ_CALL_NONE) return &watch->places[i];
  return &watch->places[0];
}

uint64_t mz_watch_calls(const mz_watch *watch) {
  uint64_t calls = 0;
  for (int i = 0; i < MZ_WATCH_PLACES; i++) calls += __atomic_load_n(&watch->places[i].calls, __ATOMIC_RELAXED);
  return calls;
}
