/* A comparison: arms × seeds, each a run of its own, advanced in turns by blocks of phases in an order drawn for every block, so that
 * whatever disturbs the machine disturbs all arms alike. A twin of the first arm measures what difference there is between
 * a thing and itself (A/A): no smaller one is claimed. Arms of exact settings learn the same; that is checked, block by block.
 *
 * DIR/plan.json says what is compared; DIR/seed-S.json holds a seed's finished cells; an interrupted comparison continues with the
 * seed it was in, and plays a seed again in which a cell crashed. DIR/compare.json is the summary (summary.h), DIR/report.html shows it. */
#pragma once
#include "muzero/compare/arm.h"
#include "muzero/compare/party.h"
#include "muzero/trainer.h"

typedef struct mz_compare_options {
  mz_run_options run; /* of every cell; dir, seed, allocate are the comparison's */
  const char *arms;
  int seeds;       /* run.seed, run.seed + 1, … */
  const char *dir; /* NULL: runs/compare-ENV-… is made up */
  mz_limits limits;
  const char *scenario; /* scenario.h; NULL: the machine stays as it is */
  int together;         /* so many runs of an arm share the machine, with seeds of their own; 1 … MZ_TOGETHER_MAX */
  const char *machine;  /* a simulated one, allocator/machine/machine_spec.h; NULL: this one */
  const char *curves;   /* with it and a score: a history by whose learning curves scores grow; NULL: the run's */
  int block_phases;     /* 0: chosen: about 30 blocks a seed where rounds are limited, otherwise 1 */
} mz_compare_options;

typedef struct mz_compare_progress {
  int seed, seeds;   /* index of the present one; number */
  uint64_t run_seed; /* the present one */
  int64_t block;
  double done;              /* share of all, where rounds are limited; otherwise of seeds */
  double elapsed_s, left_s; /* left_s NAN: not known yet */
  const char *arm;
  double wall_s; /* of its block */
  bool simulated;
  const char *trouble; /* "": none; why the arm crashed */
} mz_compare_progress;
typedef struct mz_compare_watcher {
  void *context;
  void (*progress)(void *context, const mz_compare_progress *progress);
  bool (*stopping)(void *context); /* asked after each block: true ends it, finished seeds are kept */
} mz_compare_watcher;

/* Copies the directory that is given. MZ_E_IO: it does not fit. */
mz_status mz_compare_take_dir(const char *given, char *out, size_t size);

/* MZ_INTERRUPTED, saying how to go on. */
mz_status mz_compare_stopped(const char *dir);

/* *summary: cJSON_Delete. MZ_E_CONFIG: arms or settings that cannot be (before anything runs; the arm is named), a directory that
 * holds another comparison. MZ_E_IO: another process compares there. MZ_INTERRUPTED after stopping: *summary is NULL, the same call
 * continues. */
mz_status mz_compare(const mz_compare_options *options, const mz_compare_watcher *watcher, cJSON **summary, char *dir,
                     size_t dir_size);
