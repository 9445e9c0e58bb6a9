#include "envs/chance.h"
#include "base/maths/digest.h"
#include "base/maths/streams.h"

/* A move may take long elsewhere: it is over when enough were compared, or when no observation has come again for so many moves. */
enum { MOVES = 2000, ENOUGH = 300, IN_VAIN = 500 };
enum { PLACES = 4096 }; /* observations with a move that are remembered */

typedef struct seen {
  uint64_t question, answer; /* hashes: of an observation and a move, of what followed */
} seen;

typedef struct probe {
  const mz_env *env;
  size_t obs_bytes;
  mz_rng choice;
  uint8_t *states, *observation, *mask; /* two states */
  seen *places;
  mz_chance found;
} probe;

static uint64_t hash_observation(probe *p, const void *state) {
  p->env->observe(p->env, state, 1, p->observation);
  return mz_hash(p->observation, p->obs_bytes, 0);
}

static uint64_t hash_answer(probe *p, const void *state, const mz_step *result) {
  const uint64_t hash = mz_hash(&result->reward, sizeof result->reward, result->terminated);
  return result->terminated || result->truncated ? hash : mz_hash_combine(hash, hash_observation(p, state));
}

static void compare(probe *p, bool differs) {
  p->found.compared++;
  p->found.differing += differs;
}

/* Makes the move a second time, from the state's copy; which move it is in the probe tells its draws from those of the first. */
static mz_status compare_twin(probe *p, int move, int32_t action, uint64_t answer) {
  uint8_t *twin = p->states + p->env->state_size;
  mz_rng rng = mz_stream_chance_probe(MZ_CHANCE_TWIN, move);
  const mz_generator generator = mz_generator_from_rng(&rng);
  mz_step result;
  MZ_TRY(p->env->step(p->env, twin, 1, &action, &generator, &result));
  compare(p, hash_answer(p, twin, &result) != answer);
  return MZ_OK;
}

static void compare_last(probe *p, uint64_t question, uint64_t answer) {
  seen *place = &p->places[question % PLACES];
  if (place->question == question) compare(p, place->answer != answer);
  *place = (seen){question, answer};
}

/* *over: the game has ended. */
static mz_status make_move(probe *p, int move, bool *over) {
  const mz_env *env = p->env;
  mz_rng rng = mz_stream_chance_probe(MZ_CHANCE_MOVE, move);
  const mz_generator generator = mz_generator_from_rng(&rng);
  mz_step result;
  const int legal = mz_env_legal(env, p->states, p->mask);
  *over = true;
  if (legal == 0) return MZ_OK; /* a mistake, which games in play tell of */
  const int32_t action = mz_env_nth_legal(p->mask, env->spec.actions, mz_rng_below(&p->choice, (uint32_t)legal));
  const uint64_t question = mz_hash_combine(hash_observation(p, p->states), (uint64_t)action);
  if (env->copies) memcpy(p->states + env->state_size, p->states, env->state_size);
  MZ_TRY(env->step(env, p->states, 1, &action, &generator, &result));
  *over = result.terminated || result.truncated;
  if (result.truncated && !result.terminated) return MZ_OK; /* a limit of moves, which no observation shows */
  const uint64_t answer = hash_answer(p, p->states, &result);
  if (env->copies) return compare_twin(p, move, action, answer);
  compare_last(p, question, answer);
  return MZ_OK;
}

static mz_status play(probe *p) {
  bool over = true;
  for (int move = 0; move < MOVES && p->found.compared < ENOUGH; move++) {
    if (move == IN_VAIN && p->found.compared == 0) break;
    if (over) {
      mz_rng rng = mz_stream_chance_probe(MZ_CHANCE_RESET, move);
      const mz_generator generator = mz_generator_from_rng(&rng);
      MZ_TRY(p->env->reset(p->env, p->states, &generator));
    }
    MZ_TRY(make_move(p, move, &over));
  }
  return p->env->failure ? p->env->failure(p->env) : MZ_OK;
}

mz_status mz_chance_measure(const mz_env *env, mz_chance *out) {
  probe p = {.env = env, .obs_bytes = mz_spec_obs_bytes(&env->spec), .choice = mz_stream_chance_probe(MZ_CHANCE_CHOICE, 0)};
  mz_status status;
  MZ_TRY_CLEANUP(mz_alloc(&p.states, 2, env->state_size));
  MZ_TRY_CLEANUP(mz_alloc(&p.observation, 1, p.obs_bytes));
  MZ_TRY_CLEANUP(mz_alloc(&p.mask, (size_t)env->spec.actions, 1));
  MZ_TRY_CLEANUP(mz_alloc(&p.places, PLACES, sizeof *p.places));
  MZ_TRY_CLEANUP(play(&p));
  *out = p.found;
cleanup:
  if (p.states) mz_env_release(env, p.states, 1);
  free(p.states), free(p.observation), free(p.mask), free(p.places);
  return status;
}
