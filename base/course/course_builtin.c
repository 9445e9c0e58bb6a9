#include "base/course/course.h"
#include "base/maths/maths.h"
#include <math.h>
#include <string.h>

enum { STAGES = 8, CORE_CHOICES = 4, BATCH_CHOICES = 3, GPU_PLANS = 4, PLANS = CORE_CHOICES * BATCH_CHOICES + GPU_PLANS };

static const double ROWS = 240000;          /* trained in a stage */
static const double CPU_ROWS_PER_S = 100;   /* of one core that has all to itself */
static const double GPU_ROWS_PER_S = 16000; /* of a GPU with batches without end */
static const double FEED_ROWS_PER_S = 600;  /* of self-play on one core, where a GPU does the rest */
static const double SCALING = 0.75;         /* rows per second grow with cores^SCALING */
static const double CPU_HALF_BATCH = 48;    /* the batch at which half the speed is reached */
static const double GPU_HALF_BATCH = 2048;
static const double PAUSE_S = 20;  /* evaluation and a checkpoint at the end of each stage */
static const double GROWTH = 0.46; /* log of the distance to the ceiling that a stage closes with small batches */

static double power(double base, double exponent) { return mz_exp(exponent * mz_log(base)); }

static mz_course_cell cell_of(const mz_course_plan *plan, double noise_scale) {
  const double cores = plan->amounts[MZ_COURSE_CORES], gpus = plan->amounts[MZ_COURSE_GPUS], batch = plan->batch_size;
  const double speed_up = power(cores, SCALING);
  mz_course_cell cell = {.growth = 1 - mz_exp(-GROWTH / (1 + batch / noise_scale))};
  if (gpus > 0) { /* self-play on the cores and updates on the GPUs take turns */
    const double feed_s = ROWS / (FEED_ROWS_PER_S * speed_up),
                 update_s = ROWS / (GPU_ROWS_PER_S * gpus * batch / (batch + GPU_HALF_BATCH));
    cell.seconds = feed_s + update_s + PAUSE_S;
    cell.use[MZ_COURSE_CORES] = feed_s / cell.seconds;
    cell.use[MZ_COURSE_GPUS] = update_s / cell.seconds;
    cell.stall[MZ_COURSE_GPUS] = update_s / cell.seconds;
  } else {
    const double work_s = ROWS / (CPU_ROWS_PER_S * speed_up * batch / (batch + CPU_HALF_BATCH));
    cell.seconds = work_s + PAUSE_S;
    cell.use[MZ_COURSE_CORES] = work_s / cell.seconds * speed_up / cores;
  }
  cell.stall[MZ_COURSE_CORES] = 1 - PAUSE_S / cell.seconds - cell.stall[MZ_COURSE_GPUS];
  cell.use[MZ_COURSE_MEMORY] = fmin(1, (2 + batch / 512) / plan->amounts[MZ_COURSE_MEMORY]);
  return cell;
}

void mz_course_builtin(mz_course *out) {
  static const double cores[CORE_CHOICES] = {2, 4, 8, 16}, batches[BATCH_CHOICES] = {64, 256, 1024};
  static const double with_gpu[GPU_PLANS][4] = {{4, 1, 16, 256}, {4, 1, 16, 1024}, {8, 1, 16, 1024}, {8, 2, 32, 4096}};
  memset(out, 0, sizeof *out);
  out->stages = STAGES;
  out->prices[MZ_COURSE_CORES] = 1;
  out->prices[MZ_COURSE_GPUS] = 20;
  out->prices[MZ_COURSE_MEMORY] = 0.1;
  out->deadline_s = 4800;
  out->budget = 20;
  out->target = 0.88;
  out->ceiling = 1;
  out->spread = MZ_COURSE_SPREAD;
  out->resize_penalty = MZ_COURSE_RESIZE_PENALTY;
  for (int c = 0; c < CORE_CHOICES; c++)
    for (int b = 0; b < BATCH_CHOICES; b++)
      out->plan[out->plans++] = (mz_course_plan){.amounts = {cores[c], 0, 4 + cores[c]}, .batch_size = batches[b]};
  for (int g = 0; g < GPU_PLANS; g++) {
    const double *row = with_gpu[g];
    out->plan[out->plans++] = (mz_course_plan){.amounts = {row[0], row[1], row[2]}, .batch_size = row[3]};
  }
  for (int s = 0; s < STAGES; s++) {
    out->noise_scale[s] = 96 * power(2, 6.0 * s / (STAGES - 1));
    for (int p = 0; p < out->plans; p++) out->cell[s][p] = cell_of(&out->plan[p], out->noise_scale[s]);
  }
  const mz_status status = mz_course_prepare(out, "built-in course");
  MZ_ASSERT(status == MZ_OK);
}
