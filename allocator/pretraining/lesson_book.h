/* The samples that networks are trained on: drawn situations, in each of which some plans count as measured, and for every plan what is
 * known of it (a graph) and what it takes (the target). Plain data, computed once, shared by all that train. */
#pragma once
#include "allocator/predictors/pretrained.h"
#include "allocator/pretraining/practice.h"

typedef struct mz_exercise { /* a situation */
  mz_practice practice;
  mz_analytic model; /* fitted to the probes and the plans that count as measured */
  const mz_observation *newest;
} mz_exercise;

typedef struct mz_sample { /* a plan of it */
  int exercise, plan;
} mz_sample;

typedef struct mz_lesson_book {
  int exercise_count, sample_count;
  mz_exercise *exercises;
  mz_sample *samples; /* of one exercise after the other */
  int held_out;       /* samples at the end, of other exercises than the rest: training stops by them */
  int nodes, edges;   /* of the largest graph */
} mz_lesson_book;

/* Draws `exercises` situations, an eighth of which is held out; MZ_E_CONFIG, MZ_E_MEMORY. */
mz_status mz_lesson_book_init(mz_lesson_book *book, const mz_practice_options *options, int exercises);
void mz_lesson_book_deinit(mz_lesson_book *book);
/* The graph that `kind` reads, and what it is to predict. */
void mz_lesson_book_read(const mz_lesson_book *book, int sample, mz_ensemble_kind kind, mz_graph *graph, double *target);
/* Means and deviations of features and targets over the samples that are trained on. A feature that never varies counts as 0. */
mz_status mz_lesson_book_scaling(const mz_lesson_book *book, mz_ensemble_kind kind, mz_graph_scaling *out);
