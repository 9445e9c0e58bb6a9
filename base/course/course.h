/* A training run as a decision problem. A course cuts a run into stages; at the start of each stage one of a few plans (resources
 * and a batch size) is chosen, and the stage then takes so many seconds, costs so much and raises the score by so much. Limits on
 * time, cost and the final score hold for the whole run.
 *
 * Everything here is a pure function on flat structs without pointers: a state is copied by memcpy, and two states of one history
 * are equal byte for byte. Nothing allocates but mz_course_read and mz_course_to_json. All functions are thread safe on distinct
 * structs and give the same bits on every machine.
 *
 * The stage. Under plan p, stage s takes `seconds` of its cell and costs seconds × cost_per_s of the plan. The score closes the
 * share `growth` of the distance that is left to the course's ceiling:
 *     score ← score + growth · (ceiling − score)
 * so every plan has diminishing returns, and a state with a higher score never ends lower.
 *
 * The draw. `spread` (0 … 0.5) says how far an episode may be from the course's means. An episode's seed determines factors
 * 1 + spread · u, u uniform in [−1, 1), of Philox streams (mz_stream_course): of the time of each stage, the time of each plan, the
 * growth of each stage and the noise scale of each stage. Then
 *     seconds = mean · (1 + spread · (u of the stage + u of the plan) / 2)
 *     noise scale 𝓑′ = mean 𝓑 · factor
 *     growth = min(1, mean · factor · (1 + B/𝓑) / (1 + B/𝓑′))      B: the plan's batch size
 * What an episode shows of a plan or a stage therefore tells something about what is left of it. The last factor of growth is that
 * of a batch's efficiency 1 / (1 + B/𝓑) (McCandlish et al. 2018): the larger the noise scale, the more a large batch is worth.
 *
 * The pace. Learning curves differ in their pace more than in their shape, and a slow run stays slow. So where a course has a pace, an
 * episode needs `stretch` times as many stages as the typical run: exp(slower · z) for z above 0, exp(faster · z) below, held to 1/8 … 8;
 * z is the sum of twelve uniform draws less 6, which is nearly normal. Nor does a run go evenly: a stage goes
 *     (1 − bursts + bursts · e) · factor of growth / stretch      e: exponential with mean 1
 * mean stages further along the mean's curve. Its growth is what the mean closes on that way, where each mean stage closes
 * −ln(1 − growth) at an even rate, times the batch's efficiency as above; stages that the course does not have close nothing.
 * With spread 0 every episode is the mean. Resources, prices and limits are never drawn.
 *
 * The reward of a stage is −cost / budget − resize_penalty if the plan is another one than before; the first plan is no change. A run
 * ends after its last stage or, with ends_at_score, after the one in which it reached the target; then each violated limit
 * (deadline, budget, score) brings −5 more. Deadline and budget never end a run. */
#pragma once
#include "base/json/json.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MZ_COURSE_STAGES_MAX = 16, MZ_COURSE_PLANS_MAX = 24, MZ_COURSE_VERSION = 2 };
#define MZ_COURSE_SPREAD 0.2         /* default */
#define MZ_COURSE_RESIZE_PENALTY 0.1 /* of the built-in course */
#define MZ_COURSE_LIMIT_PENALTY 5.0

typedef enum mz_course_resource {
  MZ_COURSE_CORES,
  MZ_COURSE_GPUS,
  MZ_COURSE_MEMORY, /* GiB */
  MZ_COURSE_RESOURCES
} mz_course_resource;
/* "cores", "gpus", "memory_gib" */
extern const char *const mz_course_resource_names[MZ_COURSE_RESOURCES];

typedef struct mz_course_plan {
  double amounts[MZ_COURSE_RESOURCES]; /* cores, GPUs, GiB */
  double batch_size;                   /* rows */
  double cost_per_s;                   /* Σ amount × price / 3600 */
} mz_course_plan;

/* A stage under a plan, on the average. */
typedef struct mz_course_cell {
  double seconds;
  double growth; /* share of the distance to the ceiling that the stage closes, 0 … 1 */
  /* Shares of what the plan holds: how much is in use, and for how much of the stage others wait for it. 0 … 1 */
  double use[MZ_COURSE_RESOURCES], stall[MZ_COURSE_RESOURCES];
} mz_course_cell;

typedef struct mz_course {
  int32_t stages, plans;
  double prices[MZ_COURSE_RESOURCES];       /* per core-hour, GPU-hour, GiB-hour */
  double deadline_s, budget, target;        /* of the whole run; target: the least score at its end */
  double score, ceiling;                    /* at the start; what the score tends to */
  double spread;                            /* of the draws; mz_course_read gives MZ_COURSE_SPREAD */
  double slower, faster, bursts;            /* deviations of a run's pace, and of its stages'; 0: all have the mean's */
  double resize_penalty;                    /* of a change of plans, in rewards */
  int64_t ends_at_score;                    /* 1: a run ends when it has reached the target; 0: it goes on */
  mz_course_plan plan[MZ_COURSE_PLANS_MAX]; /* [plans] */
  double noise_scale[MZ_COURSE_STAGES_MAX]; /* of the gradient, in rows; [stages] */
  mz_course_cell cell[MZ_COURSE_STAGES_MAX][MZ_COURSE_PLANS_MAX]; /* [stages][plans]; the rest is 0 */
  /* mz_course_prepare fills in the rest. */
  double seconds_left[MZ_COURSE_STAGES_MAX + 1]; /* least seconds of the stages from this one on, on the average; [stages + 1] */
  double cost_left[MZ_COURSE_STAGES_MAX + 1];    /* least cost of them, likewise */
  double gap_left[MZ_COURSE_STAGES_MAX + 1];     /* least share of the distance to the ceiling that they leave, likewise */
  uint64_t digest;                               /* of all that is above; never 0 */
} mz_course;

/* A run before its stage `stage`. The strategy of a real run fills it with what was measured. */
typedef struct mz_course_state {
  uint64_t seed;        /* of the episode's factors; a real run has none and leaves 0 */
  int32_t stage, plan;  /* plan: in force; −1 before the first stage */
  double seconds, cost; /* spent so far */
  double score, slope;  /* slope: score gained per second of the last stage; 0 at the start */
  double noise_scale;   /* of the stage that begins; after the last stage: that of the last one */
  double use[MZ_COURSE_RESOURCES], stall[MZ_COURSE_RESOURCES]; /* of the last stage; 0 at the start */
  double pace;  /* seconds of the last stage divided by their mean; 1 at the start */
  double yield; /* growth of the last stage divided by its mean; 1 at the start, and where the mean is 0 */
} mz_course_state;

typedef struct mz_course_result {
  double seconds, cost; /* of the stage */
  double growth;        /* score gained */
  bool resized;         /* another plan than before */
  int violations;       /* limits that the finished run violates; 0 before the end */
  double reward;
  bool ended;
} mz_course_result;

/* ---- courses ---- */

/* Fills in what follows from the other members: the plans' cost per second, least seconds and costs, and the digest, which is equal
 * for courses in which all else is equal. Call it after any change. MZ_E_CONFIG where a value is outside its range, beginning with
 * `where` and naming the nearest valid value. */
mz_status mz_course_prepare(mz_course *course, const char *where);
/* Makes the built-in course: 8 stages and 16 plans of 2 to 16 cores or up to two GPUs, with batches of 64 to 4096. Throughput is
 * sublinear in cores, and the noise scale grows from 96 to 6144, so large batches pay late. On means the best run changes its plan
 * once, one plan kept for all stages costs a fifth more, and the greedy rule misses the target. */
void mz_course_builtin(mz_course *out);
/* Reads a course from JSON text. Every key is required, any other key is refused but "fitted", which tells where a fitted course comes
 * from (allocator/runs/course_file.h) and is no part of the course or its digest. `name` is used in messages (a path).
 *   {"format": "muzero course", "version": 2,
 *    "prices": {"core_hour": 1, "gpu_hour": 20, "gib_hour": 0.1},
 *    "limits": {"deadline_s": 3600, "budget": 12, "score": 0.9},
 *    "score": {"start": 0, "ceiling": 1},
 *    "pace": {"slower": 0.3, "faster": 0.2, "bursts": 0.5}, "ends_at_score": true, "resize_penalty": 0.1,
 *    "plans": [{"cores": 2, "gpus": 0, "memory_gib": 4, "batch_size": 64}, …],
 *    "stages": [{"noise_scale": 64, "seconds": […], "growth": […],                      a number for each plan
 *                "use": {"cores": […], "gpus": […], "memory_gib": […]}, "stall": {…}}, …]}
 * MZ_E_CONFIG naming the key, the nearest one, or the range and the nearest valid value; MZ_E_MEMORY. */
mz_status mz_course_read(mz_course *out, const char *text, size_t size, const char *name);
/* Writes the same; spread is no part of it. Reading it back gives the same bits. Failed allocations show when the text is made. */
cJSON *mz_course_to_json(const mz_course *course);

/* ---- episodes ---- */

/* The start of a run. */
void mz_course_begin(const mz_course *course, uint64_t seed, mz_course_state *out);
/* Returns the logarithm of the distance to the ceiling that a growth closes, at most 50: what is left then is nothing in double
 * precision. */
double mz_course_closes(double growth);
/* Returns the score after a growth: the ceiling itself after one of 1. */
double mz_course_score_after(const mz_course *course, double score, double growth);
/* Returns the place at which a curve with these growths [stages] has closed so much (a logarithm), counted in its stages; `stages` where
 * it never has. */
double mz_course_place(const double *growths, int stages, double closed);
/* Returns whether runs differ in their pace. */
bool mz_course_has_pace(const mz_course *course);
/* Returns how many times as many stages as the mean a run of this seed needs. */
double mz_course_draw_stretch(const mz_course *course, uint64_t seed);
/* Returns stage `stage` under plan `plan` as this seed draws it. */
mz_course_cell mz_course_draw(const mz_course *course, uint64_t seed, int stage, int plan);
/* Returns the noise scale of a stage as this seed draws it. */
double mz_course_draw_noise_scale(const mz_course *course, uint64_t seed, int stage);
/* Runs the next stage under `plan`. The run has not ended. */
mz_course_result mz_course_step(const mz_course *course, mz_course_state *state, int plan);
/* Returns how many limits a run that ends with these sums violates. */
int mz_course_violations(const mz_course *course, double seconds, double cost, double score);
/* Returns whether the run has ended. */
bool mz_course_is_over(const mz_course *course, const mz_course_state *state);
/* Marks the plans that limits allow in mask [plans]; returns how many, 0 only where the run has ended. A plan provably breaks a
 * limit where, at the least that any draw can give, it and the cheapest (quickest) plans after it exceed the budget (deadline); where
 * runs end at their score, it alone.
 * Plans that provably break fewest limits are allowed. So none is forbidden that could keep both where another could, and where
 * none can, they are forbidden what can only make it worse. */
int mz_course_mask(const mz_course *course, const mz_course_state *state, uint8_t *mask);
/* Returns whether a state from outside is one that a run of this course can be in before its end: numbers are finite and within
 * what the course allows. */
bool mz_course_state_valid(const mz_course *course, const mz_course_state *state);

/* The entries of an observation, in order. All lie in [−4, 4].
 *    0       share of the stages that are done
 *    1       score: 0 at the start, 1 at the target
 *    2       slope: score gained per deadline at the pace of the last stage, over the score that the target asks for
 *    3       log2 of the noise scale over 16
 *    4 …  9  use of cores, GPUs, memory; stall of cores, GPUs, memory
 *   10, 11   time left over the deadline; budget left over the budget
 *   12, 13   the same after the quickest (cheapest) plans have run all stages that the course still has, on the average
 *   14, 15   pace − 1; yield − 1
 *   16 … 31  1 at the stage that begins
 *   32 … 55  1 at the plan in force
 *   56 … 67  margins to deadline, budget and score: what is left of time and cost and what the score exceeds the target by, when all
 *            stages that are left have run on the average. In order: under the quickest, the cheapest, the best plans for each limit;
 *            then under the plan in force (0 before the first stage). Each in a stage's mean share of the limit, and in an eighth of
 *            that: a limit is an edge, and the best runs end close to it. Where runs end at their score, when it has come from where it
 *            is to the target as the mean does under one plan; the third margin is then the share of the stages that are left over */
enum { MZ_COURSE_MARGINS = 12, MZ_COURSE_OBSERVATION = 16 + MZ_COURSE_STAGES_MAX + MZ_COURSE_PLANS_MAX + MZ_COURSE_MARGINS };
void mz_course_observe(const mz_course *course, const mz_course_state *state, float *out);
