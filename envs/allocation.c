/* The course of a training run (base/course/course.h) as a game for one: at the start of each stage a plan is chosen. A state holds
 * the seed that the episode's course is drawn with and the digest of the course, which is looked up among those that this process
 * has read. */
#include "envs/allocation.h"
#include "base/text.h"
#include "envs/memoryless.h"
#include "envs/bundled.h"
#include "envs/variants.h"
#include "base/course/course_policy.h"
#include "base/file/file.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 22, BUILTIN_PLANS = 16 };

typedef struct options {
  char course[64];
  double spread;
  uint64_t digest; /* of the course; 0: the built-in one as it is */
} options;

typedef struct position {
  uint64_t digest;
  mz_course_state run;
} position;

/* ---- courses of this process ---- */

typedef struct kept_course kept_course;
struct kept_course {
  mz_course course;
  kept_course *next;
};

static _Atomic(kept_course *) kept; /* grows at its head; what is in it does not change and is never freed */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t made = PTHREAD_ONCE_INIT;
static kept_course builtin;

static void make_builtin(void) {
  mz_course_builtin(&builtin.course);
  atomic_store(&kept, &builtin);
}

static const mz_course *find_kept(uint64_t digest) {
  const int failed = pthread_once(&made, make_builtin);
  MZ_ASSERT(!failed);
  const kept_course *at = atomic_load(&kept);
  while (at && at->course.digest != digest) at = at->next;
  return at ? &at->course : NULL;
}

static mz_status keep(const mz_course *course) {
  mz_status status = MZ_OK;
  int failed = pthread_mutex_lock(&lock);
  MZ_ASSERT(!failed);
  if (!find_kept(course->digest)) {
    kept_course *fresh;
    status = mz_alloc(&fresh, 1, sizeof *fresh);
    if (status == MZ_OK) {
      fresh->course = *course;
      fresh->next = atomic_load(&kept);
      atomic_store(&kept, fresh);
    }
  }
  failed = pthread_mutex_unlock(&lock);
  MZ_ASSERT(!failed);
  return status;
}

static const mz_course *course_of(const position *p) {
  const mz_course *course = find_kept(p->digest);
  MZ_ASSERT(course);
  return course;
}

static const mz_course *course_of_env(const mz_env *env) {
  const options *o = env->options;
  if (o->digest) return find_kept(o->digest);
  find_kept(0); /* makes the built-in one */
  return &builtin.course;
}

/* ---- the environment ---- */

static mz_status reset(const mz_env *env, void *state, const mz_generator *generator) {
  position *p = state;
  const mz_course *course = course_of_env(env);
  memset(p, 0, sizeof *p);
  p->digest = course->digest;
  mz_course_begin(course, generator->next64(generator->context), &p->run);
  return MZ_OK;
}

static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                      mz_step *results) {
  (void)env, (void)generators;
  position *p = states;
  for (int i = 0; i < n; i++) {
    const mz_course_result result = mz_course_step(course_of(&p[i]), &p[i].run, actions[i]);
    results[i] = (mz_step){.reward = (float)result.reward, .terminated = result.ended};
  }
  return MZ_OK;
}

static bool valid(const mz_env *env, const void *state) {
  const position *p = state;
  const mz_course *course = course_of_env(env);
  return p->digest == course->digest && mz_course_state_valid(course, &p->run);
}

static void observe(const mz_env *env, const void *states, int n, void *observations) {
  (void)env;
  const position *p = states;
  float *out = observations;
  for (int i = 0; i < n; i++) mz_course_observe(course_of(&p[i]), &p[i].run, out + (size_t)i * MZ_COURSE_OBSERVATION);
}

static int legal(const mz_env *env, const void *state, uint8_t *mask) {
  (void)env;
  const position *p = state;
  return mz_course_mask(course_of(p), &p->run, mask);
}

/* ---- for people ---- */

/* At most 32 bytes for amounts of four digits and batches of five. */
static int plan_text(const mz_course *course, int plan, char *out, size_t size) {
  if (plan < 0) return snprintf(out, size, "none yet");
  const mz_course_plan *p = &course->plan[plan];
  const double gpus = p->amounts[MZ_COURSE_GPUS];
  char with[32] = "";
  if (gpus > 0) snprintf(with, sizeof with, " %g GPU%s", gpus, mz_plural(gpus));
  return snprintf(out, size, "%g cores%s %g GiB b%g", p->amounts[MZ_COURSE_CORES], with, p->amounts[MZ_COURSE_MEMORY],
                  p->batch_size);
}

static int text(const mz_env *env, const void *state, char *out, size_t size) {
  (void)env;
  const position *p = state;
  const mz_course *course = course_of(p);
  const mz_course_state *run = &p->run;
  char plan[128];
  plan_text(course, run->plan, plan, sizeof plan);
  return snprintf(out, size,
                  "stages   %d of %d done\n"
                  "score    %.4g of %.4g   noise scale %.4g rows\n"
                  "plan     %s\n"
                  "use      cores %.0f %%, GPUs %.0f %%, memory %.0f %%   stall %.0f %%, %.0f %%, %.0f %%\n"
                  "time     %.4g s, %.4g s left\n"
                  "cost     %.4g, %.4g left\n",
                  run->stage, course->stages, run->score, course->target, run->noise_scale, plan, 100 * run->use[0],
                  100 * run->use[1], 100 * run->use[2], 100 * run->stall[0], 100 * run->stall[1], 100 * run->stall[2],
                  run->seconds, course->deadline_s - run->seconds, run->cost, course->budget - run->cost);
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  return plan_text(course_of_env(env), action, out, size);
}

/* ---- numbers ---- */

enum { NUMBERS = 17 };

static int numbers(const mz_env *env, const void *state, double *out) {
  (void)env;
  const mz_course_state *run = &((const position *)state)->run;
  const double all[NUMBERS] = {(double)(run->seed >> 32),
                               (double)(uint32_t)run->seed,
                               run->plan,
                               run->seconds,
                               run->cost,
                               run->score,
                               run->slope,
                               run->noise_scale,
                               run->use[0],
                               run->use[1],
                               run->use[2],
                               run->stall[0],
                               run->stall[1],
                               run->stall[2],
                               run->pace,
                               run->yield,
                               run->stage};
  memcpy(out, all, sizeof all);
  return NUMBERS;
}

static void load(const mz_env *env, void *state, const double *from, int moves) {
  (void)moves;
  position *p = state;
  memset(p, 0, sizeof *p);
  p->digest = course_of_env(env)->digest;
  p->run = (mz_course_state){.seed = (uint64_t)from[0] << 32 | (uint64_t)from[1],
                             .plan = (int32_t)from[2],
                             .seconds = from[3],
                             .cost = from[4],
                             .score = from[5],
                             .slope = from[6],
                             .noise_scale = from[7],
                             .use = {from[8], from[9], from[10]},
                             .stall = {from[11], from[12], from[13]},
                             .pace = from[14],
                             .yield = from[15],
                             .stage = (int32_t)from[16]};
}

/* ---- other decision makers ---- */

static mz_status create_solver(void **solver) {
  mz_course_oracle *oracle;
  MZ_TRY(mz_course_oracle_create(&oracle));
  *solver = oracle;
  return MZ_OK;
}

static void free_solver(void *solver) { mz_course_oracle_free(solver); }

static void mark(const mz_env *env, int plan, uint8_t *chosen) {
  memset(chosen, 0, (size_t)env->spec.actions);
  chosen[plan] = 1;
}

static mz_status solve_exactly(const mz_env *env, void *solver, const void *state, uint8_t *chosen) {
  const position *p = state;
  mz_course_answer answer;
  MZ_TRY(mz_course_solve(solver, course_of(p), &p->run, &answer));
  mark(env, answer.plans[0], chosen);
  return MZ_OK;
}

static mz_status solve_on_means(const mz_env *env, void *solver, const void *state, uint8_t *chosen) {
  const position *p = state;
  int plan;
  MZ_TRY(mz_course_replan(solver, course_of(p), &p->run, &plan));
  mark(env, plan, chosen);
  return MZ_OK;
}

static mz_status choose_greedily(const mz_env *env, void *solver, const void *state, uint8_t *chosen) {
  (void)solver;
  const position *p = state;
  mark(env, mz_course_greedy(course_of(p), &p->run), chosen);
  return MZ_OK;
}

static mz_status choose_static(const mz_env *env, void *solver, const void *state, uint8_t *chosen) {
  (void)solver;
  const position *p = state;
  mark(env, mz_course_static(course_of(p), &p->run), chosen);
  return MZ_OK;
}

enum { SOLVER_BYTES = 1 << 20 }; /* with the partial runs that it keeps */
static const mz_env_solver exact = {.bytes = SOLVER_BYTES, .create = create_solver, .free = free_solver, .solve = solve_exactly};
static const mz_env_solver on_means = {
    .bytes = SOLVER_BYTES, .create = create_solver, .free = free_solver, .solve = solve_on_means};
static const mz_env_solver greedily = {.create = mz_create_nothing, .free = mz_free_nothing, .solve = choose_greedily};
static const mz_env_solver statically = {.create = mz_create_nothing, .free = mz_free_nothing, .solve = choose_static};
static const mz_env_baseline baselines[] = {{"replan", &on_means}, {"greedy", &greedily}, {"static", &statically}, {NULL, NULL}};

/* ---- variants ---- */

static const mz_setting rows[] = {
    MZ_SETTING(options, course, "course", MZ_TEXT, MZ_ALGORITHMIC, 0, 0, "", "",
               "path of a file with the course (JSON, base/course/course.h); none: the built-in course"),
    MZ_SETTING(options, spread, "spread", MZ_FLOAT, MZ_ALGORITHMIC, 0, 0.5, "0.2", "",
               "how far an episode's times, growths and noise scales may be from the course's means; 0: always the means"),
};

static mz_status read_course(const char *path, const char *where, mz_course *out) {
  uint8_t *text = NULL;
  size_t size;
  mz_status status = mz_file_read(path, FILE_BYTES_MAX, &text, &size);
  if (status == MZ_OK) status = mz_course_read(out, (const char *)text, size, path);
  free(text);
  return status == MZ_OK ? MZ_OK : mz_fail(status, "%s: %s", where, mz_message());
}

/* Rewards and returns lie in these ranges in any draw. */
static void fill_spec(mz_spec *spec, const mz_course *course) {
  const double most = 1 + course->spread, limits = 3 * MZ_COURSE_LIMIT_PENALTY;
  double worst = 0, sum = 0;
  for (int s = 0; s < course->stages; s++) {
    double loss = 0;
    for (int p = 0; p < course->plans; p++)
      loss = fmax(loss, most * course->cell[s][p].seconds * course->plan[p].cost_per_s / course->budget);
    loss += s > 0 ? course->resize_penalty : 0;
    worst = fmax(worst, s + 1 == course->stages ? loss + limits : loss);
    sum += loss;
  }
  *spec = mz_env_allocation.spec;
  spec->actions = course->plans;
  spec->longest = course->stages;
  spec->reward_min = -(float)(worst * (1 + 1e-6));
  spec->return_min = -(float)((sum + limits) * (1 + 1e-6));
}

static mz_status fill(mz_env *env, const char *where) {
  options *o = (options *)(void *)env->options; /* of this variant alone, while it is made */
  mz_course *course;
  MZ_TRY(mz_alloc(&course, 1, sizeof *course));
  mz_status status = MZ_OK;
  if (o->course[0])
    status = read_course(o->course, where, course);
  else
    mz_course_builtin(course);
  if (status == MZ_OK) {
    course->spread = o->spread;
    status = mz_course_prepare(course, where);
  }
  if (status == MZ_OK) status = keep(course);
  if (status == MZ_OK) {
    o->digest = course->digest;
    fill_spec(&env->spec, course);
  }
  free(course);
  return status;
}

static const mz_env_variants variants = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .size = sizeof(options), .fill = fill};

const mz_env mz_env_allocation = {
    .name = "allocation",
    .title = "Allocation: resources and batch size for each stage of a training run",
    .rules =
        "A training run of several stages. At the start of each stage a plan is chosen: cores, GPUs, memory and the batch size. "
        "Each brings its time, its cost and its growth of the score; larger batches are faster and teach less, the less so the "
        "larger the noise scale, which grows. Reward -cost/budget, -0.1 (or as the course says) for another plan than before, "
        "and "
        "at the end -5 for each limit that is violated: deadline, budget, score. Plans that provably break a limit which others "
        "can "
        "keep are not legal. Each episode draws times, growths and noise scales anew within spread, and a pace where the course "
        "has one; in some courses it ends when the score is reached.",
    .observation =
        "progress, score, slope, noise scale; use and stall of cores, GPUs, memory; time and budget left, and left after "
        "the quickest and cheapest rest; pace and yield of the last stage against their means; the stage (16) and the "
        "plan in force (24), one-hot; margins to the limits when the best plans, and the one in force, run the rest (12)",
    .spec = {.obs_kind = MZ_OBS_F32,
             .obs_shape = {1, 1, MZ_COURSE_OBSERVATION},
             .obs_size = MZ_COURSE_OBSERVATION,
             .actions = BUILTIN_PLANS,
             .players = 1,
             .longest = MZ_COURSE_STAGES_MAX,
             .symmetries = 1,
             .reward_min = -16,
             .reward_max = 0,
             .return_min = -18,
             .return_max = 0},
    .state_size = sizeof(position),
    .copies = true,
    .options = &(const options){.spread = MZ_COURSE_SPREAD},
    .variants = &variants,
    .reset = reset,
    .step = step,
    .valid = valid,
    .observe = observe,
    .legal = legal,
    .text = text,
    .action_text = action_text,
    .solver = &exact,
    .baselines = baselines,
    .numbers = numbers,
    .load = load,
};

/* ---- for agents that decide about real runs ---- */

const mz_course *mz_allocation_course(const mz_env *env) { return env->step == step ? course_of_env(env) : NULL; }

const char *mz_allocation_path(const mz_env *env) { return ((const options *)env->options)->course; }

void mz_allocation_state(const mz_env *env, const mz_course_state *run, void *state) {
  position *p = state;
  memset(p, 0, sizeof *p);
  p->digest = course_of_env(env)->digest;
  p->run = *run;
}
