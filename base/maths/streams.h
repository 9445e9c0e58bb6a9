/* Every stream of random numbers that training, evaluation and play draw from: one function for each, which makes its key. A
 * stream is named by what is drawn for (a slot, a move, a row …), never by who draws, so that no scheduling can change a draw.
 * Within training, and within evaluation, no two functions give the same stream. Slots count games in play; ordinals count from
 * 0. */
#pragma once
#include "base/maths/rng.h"

/* ---- training ---- */

static inline mz_rng mz_stream_weights(uint64_t seed, int tensor) { return mz_rng_at(seed, MZ_RNG_WEIGHTS, (uint32_t)tensor, 0); }

/* The environment's chance: at the reset that begins an episode, and at a move, counted over all episodes of the slot. Moves have
 * the keys from 2^48 on, so a slot makes at most MZ_STREAM_MOVES_MAX of them. */
#define MZ_STREAM_MOVES_MAX (UINT64_C(1) << 48)
static inline mz_rng mz_stream_reset(uint64_t seed, int slot, uint64_t episode) {
  return mz_rng_at(seed, MZ_RNG_ENV, (uint32_t)slot, episode);
}
static inline mz_rng mz_stream_chance(uint64_t seed, int slot, uint64_t move) {
  return mz_rng_at(seed, MZ_RNG_ENV, (uint32_t)slot, MZ_STREAM_MOVES_MAX + move);
}
/* First positions that no game is played from: what a state is tried on. */
static inline mz_rng mz_stream_trial_reset(uint64_t seed, int position) {
  return mz_rng_at(seed, MZ_RNG_ENV, UINT32_MAX, (uint64_t)position);
}
static inline mz_rng mz_stream_opening(uint64_t seed, int slot, uint64_t episode) {
  return mz_rng_at(seed, MZ_RNG_OPENING, (uint32_t)slot, episode);
}
/* How many random moves of an episode are recorded. */
static inline mz_rng mz_stream_exploring(uint64_t seed, int slot, uint64_t episode) {
  return mz_rng_at(seed, MZ_RNG_OPENING, (uint32_t)slot, MZ_STREAM_MOVES_MAX + episode);
}
/* Which position of an episode is kept for another game to fork off. */
static inline mz_rng mz_stream_fork(uint64_t seed, int slot, uint64_t move) {
  return mz_rng_at(seed, MZ_RNG_FORK, (uint32_t)slot, move);
}
/* Whether the move of that ordinal, the same in all slots, is searched in full. */
static inline mz_rng mz_stream_cap(uint64_t seed, uint64_t move) { return mz_rng_at(seed, MZ_RNG_CAP, 0, move); }
static inline mz_rng mz_stream_noise(uint64_t seed, int slot, uint64_t move) {
  return mz_rng_at(seed, MZ_RNG_NOISE, (uint32_t)slot, move);
}
static inline mz_rng mz_stream_action(uint64_t seed, int slot, uint64_t move) {
  return mz_rng_at(seed, MZ_RNG_ACTION, (uint32_t)slot, move);
}
/* Draws from the replay; pair: draws 2 pair and 2 pair + 1 of an update. */
static inline mz_rng mz_stream_sample(uint64_t seed, uint32_t update, uint64_t pair) {
  return mz_rng_at(seed, MZ_RNG_SAMPLE, update, pair);
}
/* A row's symmetry, then its actions past an end. */
static inline mz_rng mz_stream_row(uint64_t seed, uint32_t update, int row) {
  return mz_rng_at(seed, MZ_RNG_SYMMETRY, update, (uint64_t)row);
}
/* Whether a row is reanalyzed; and the noise of a search that reanalyzes, by its number in the batch. */
static inline mz_rng mz_stream_reanalyzed_row(uint64_t seed, uint32_t update, int row) {
  return mz_rng_at(seed, MZ_RNG_REANALYZE, update, (uint64_t)row);
}
static inline mz_rng mz_stream_reanalyze_noise(uint64_t seed, uint32_t update, uint32_t search) {
  return mz_rng_at(seed, MZ_RNG_REANALYZE, update, (UINT64_C(1) << 32) + search);
}

/* ---- evaluation ---- */

static inline mz_rng mz_stream_eval_chance(uint64_t seed, uint32_t round, uint64_t game) {
  return mz_rng_at(seed, MZ_RNG_EVAL_ENV, round, game);
}
static inline mz_rng mz_stream_eval_player(uint64_t seed, uint32_t round, uint64_t game) {
  return mz_rng_at(seed, MZ_RNG_EVAL_OPPONENT, round, game);
}
/* opening: games that begin alike share one. */
static inline mz_rng mz_stream_eval_opening(uint64_t seed, uint32_t round, uint64_t opening) {
  return mz_rng_at(seed, MZ_RNG_EVAL_OPENING, round, opening);
}
/* A position that moves are judged in, and the moves of the side with this number there. */
static inline mz_rng mz_stream_judged_position(uint64_t seed, uint64_t position) {
  return mz_rng_at(seed, MZ_RNG_JUDGE, 0, position);
}
static inline mz_rng mz_stream_judged_move(uint64_t seed, int side, uint64_t position) {
  return mz_rng_at(seed, MZ_RNG_JUDGE, 1 + (uint32_t)side, position);
}

/* ---- games at a prompt: by the ordinal of the game in a session and of the draw or move in it ---- */

static inline mz_rng mz_stream_prompt_chance(uint64_t seed, uint32_t game, int draw) {
  return mz_rng_at(seed, MZ_RNG_EVAL_ENV, game, (uint64_t)draw);
}
static inline mz_rng mz_stream_prompt_player(uint64_t seed, uint32_t game, int move) {
  return mz_rng_at(seed, MZ_RNG_EVAL_OPPONENT, game, (uint64_t)move);
}
static inline mz_rng mz_stream_prompt_action(uint64_t seed, uint32_t game, int move) {
  return mz_rng_at(seed, MZ_RNG_ACTION, game, (uint64_t)move);
}

/* ---- measuring ---- */

static inline mz_rng mz_stream_resample(uint64_t seed, int resample) {
  return mz_rng_at(seed, MZ_RNG_BOOTSTRAP, (uint32_t)resample, 0);
}
/* An order, or values, of what takes turns; each use has its own. */
typedef enum mz_order_use {
  MZ_ORDER_ARMS,      /* of a comparison, by block */
  MZ_ORDER_HYPERCUBE, /* the values of a knob over plans, by knob */
  MZ_ORDER_UNIFORM,   /* the values of a plan, by plan */
  MZ_ORDER_PASSES,    /* plans that are measured, by pass */
} mz_order_use;
static inline mz_rng mz_stream_order(uint64_t seed, mz_order_use use, int ordinal) {
  return mz_rng_at(seed, MZ_RNG_ORDER, (uint32_t)ordinal, (uint64_t)use);
}
/* A simulated machine: what a task of a stage (and its parts, counted through) takes in a unit of work. stage < 16, unit < 2^48. */
typedef enum mz_simulated_use {
  MZ_SIMULATED_ITEMS,  /* how items differ: sums of exponentials */
  MZ_SIMULATED_SPREAD, /* and by a deviation */
  MZ_SIMULATED_TASK,   /* what happens to a task */
  MZ_SIMULATED_UNIT,   /* what happens to a whole unit */
  MZ_SIMULATED_CURVE,  /* which real run a whole run learns as; unit, stage and task 0 */
} mz_simulated_use;
static inline mz_rng mz_stream_simulated(uint64_t seed, mz_simulated_use use, uint64_t unit, int stage, int task) {
  return mz_rng_at(seed, MZ_RNG_SIMULATION, (uint32_t)task, unit << 8 | (uint64_t)stage << 4 | (uint64_t)use);
}
/* Searching plans: of a chain of annealing, or of random draws. */
typedef enum mz_search_use { MZ_SEARCH_CHAIN, MZ_SEARCH_DRAWS } mz_search_use;
static inline mz_rng mz_stream_search(uint64_t seed, mz_search_use use, int chain) {
  return mz_rng_at(seed, MZ_RNG_PLANS, (uint32_t)chain, (uint64_t)use);
}
/* Situations that predictors are trained on: what is drawn for the situation of that number. */
typedef enum mz_practice_use {
  MZ_PRACTICE_MACHINE,
  MZ_PRACTICE_PIPELINE,
  MZ_PRACTICE_PLAN,
  MZ_PRACTICE_KNOWN, /* how many plans count as measured */
  MZ_PRACTICE_ORDER  /* of the samples in an epoch */
} mz_practice_use;
static inline mz_rng mz_stream_practice(uint64_t seed, mz_practice_use use, uint64_t number) {
  return mz_rng_at(seed, MZ_RNG_PRACTICE, (uint32_t)use, number);
}
/* Courses (base/course/course.h): a factor of the episode with this seed, by the ordinal of the stage or the plan; of its pace, by 0. */
typedef enum mz_course_use {
  MZ_COURSE_STAGE_TIME,
  MZ_COURSE_PLAN_TIME,
  MZ_COURSE_GROWTH,
  MZ_COURSE_NOISE,
  MZ_COURSE_PACE,
  MZ_COURSE_BURST
} mz_course_use;
static inline mz_rng mz_stream_course(uint64_t seed, mz_course_use use, int ordinal) {
  return mz_rng_at(seed, MZ_RNG_COURSE, (uint32_t)ordinal, (uint64_t)use);
}
/* Random play that shows where chance decides (envs/chance.h): what is drawn for the move of that number. */
typedef enum mz_chance_use { MZ_CHANCE_RESET, MZ_CHANCE_CHOICE, MZ_CHANCE_MOVE, MZ_CHANCE_TWIN } mz_chance_use;
static inline mz_rng mz_stream_chance_probe(mz_chance_use use, int move) {
  return mz_rng_at(0, MZ_RNG_PROBE, (uint32_t)use, (uint64_t)move);
}
/* Permutations of observations under a hypothesis of no effect: of the test with this number. */
static inline mz_rng mz_stream_permutation(uint64_t seed, int test, int permutation) {
  return mz_rng_at(seed, MZ_RNG_PERMUTATION, (uint32_t)test, (uint64_t)permutation);
}
