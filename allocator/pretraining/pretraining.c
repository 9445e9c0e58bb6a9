#include "allocator/pretraining/pretraining.h"
#include "base/maths/digest.h"
#include "base/maths/streams.h"
#include "networks/parameters/optimizer.h"
#include "networks/lane.h"
#include <math.h>
#include <string.h>

enum { ROWS = 32, PATIENCE = 8 };

typedef struct school {
  const mz_pretraining_options *options;
  mz_lesson_book book;
  mz_ensembles ensembles;
  mz_pretraining_result *result;
} school;

/* One member while it is trained. */
typedef struct pupil {
  school *school;
  mz_ensemble_kind kind;
  int member;
  mz_graph_tape tape;
  mz_optimizer optimizer;
  float *values, *transposed, *gradient;
  int *order; /* of the samples, in this epoch */
  double *misses;
  mz_graph graph;
} pupil;

static const mz_ensemble *ensemble_of(const pupil *p) { return &p->school->ensembles.items[p->kind]; }
static int trained_on(const school *s) { return s->book.sample_count - s->book.held_out; }

/* ---- one step ---- */

static void put(pupil *p, int row, int sample) {
  double target;
  mz_lesson_book_read(&p->school->book, sample, p->kind, &p->graph, &target);
  mz_graph_tape_put(&p->tape, row, &p->graph, target);
}

static double norm_of(const pupil *p) {
  double squares = 0;
  for (int c = 0; c < mz_chunk_count(p->optimizer.params); c++)
    squares += mz_gradient_squares_chunk(p->gradient, p->optimizer.params->trained, c);
  return sqrt(squares);
}

static mz_status step(pupil *p, const int *samples, int64_t horizon) {
  const mz_params *params = ensemble_of(p)->params;
  for (int row = 0; row < ROWS; row++) put(p, row, samples[row]);
  MZ_TRY(mz_tape_forward(p->tape.tape, p->values, ROWS));
  MZ_TRY(mz_lane_pack(&mz_lane_cpu, mz_backend_cpu.pack_backward, params, p->values, false, p->transposed));
  MZ_TRY(mz_tape_backward(p->tape.tape, p->values, p->transposed, p->gradient, ROWS));
  const float scale = mz_clip_scale(&p->optimizer.settings, norm_of(p));
  const double rate = mz_learning_rate(&p->optimizer.settings, p->optimizer.steps, horizon);
  p->optimizer.steps++;
  for (int c = 0; c < mz_chunk_count(params); c++) mz_optimizer_step_chunk(&p->optimizer, c, p->gradient, scale, rate, p->values);
  return MZ_OK;
}

/* ---- what it misses on situations that were held out ---- */

/* The standard deviation of the misses within a situation: what all of its plans have in common a run corrects at once. */
static double spread_within(const school *s, const double *misses) {
  const mz_sample *samples = &s->book.samples[trained_on(s)];
  double squares = 0;
  int freedom = 0;
  for (int begin = 0, end; begin < s->book.held_out; begin = end) {
    double mean = 0;
    for (end = begin; end < s->book.held_out && samples[end].exercise == samples[begin].exercise; end++) mean += misses[end];
    mean /= end - begin;
    for (int i = begin; i < end; i++) squares += (misses[i] - mean) * (misses[i] - mean);
    freedom += end - begin - 1;
  }
  return freedom > 0 ? sqrt(squares / freedom) : INFINITY;
}

static double examine(pupil *p) {
  const int held_out = p->school->book.held_out, first = trained_on(p->school);
  for (int begin = 0; begin < held_out; begin += ROWS) {
    const int rows = held_out - begin < ROWS ? held_out - begin : ROWS;
    double predicted[ROWS], target[ROWS];
    for (int row = 0; row < rows; row++) {
      mz_lesson_book_read(&p->school->book, first + begin + row, p->kind, &p->graph, &target[row]);
      mz_graph_tape_put(&p->tape, row, &p->graph, target[row]);
    }
    mz_graph_tape_run(&p->tape, p->values, rows, predicted);
    for (int row = 0; row < rows; row++) p->misses[begin + row] = predicted[row] - target[row];
  }
  return spread_within(p->school, p->misses);
}

/* T_ana's own misses are the targets of the ensembles that correct it. */
static double analytic_error(const school *s, double *misses, mz_graph *graph) {
  for (int i = 0; i < s->book.held_out; i++)
    mz_lesson_book_read(&s->book, trained_on(s) + i, MZ_ENSEMBLE_RESIDUAL, graph, &misses[i]);
  return spread_within(s, misses);
}

/* ---- training a member ---- */

static mz_status pupil_init(pupil *p) {
  const mz_optimizer_settings settings = {.kind = MZ_ADAM,
                                          .schedule = MZ_SCHEDULE_COSINE,
                                          .learning_rate = 1e-3,
                                          .final_fraction = 0.05,
                                          .beta1 = 0.9,
                                          .beta2 = 0.999,
                                          .epsilon = 1e-8,
                                          .weight_decay = 0.1, /* by far less, members learn the situations by heart */
                                          .gradient_clip = 1};
  const mz_ensemble *e = ensemble_of(p);
  const mz_lesson_book *book = &p->school->book;
  const size_t size = (size_t)e->params->size;
  MZ_TRY(mz_graph_tape_init(&p->tape, mz_ensemble_form(p->kind), e->params, &e->scaling, ROWS, book->nodes, book->edges, true));
  MZ_TRY(mz_optimizer_init(&p->optimizer, &settings, e->params));
  MZ_TRY(mz_alloc(&p->values, size, sizeof *p->values));
  MZ_TRY(mz_alloc(&p->transposed, (size_t)mz_backend_layout(&mz_backend_cpu, e->params, NULL), sizeof *p->transposed));
  MZ_TRY(mz_alloc(&p->gradient, size, sizeof *p->gradient));
  MZ_TRY(mz_alloc(&p->order, (size_t)trained_on(p->school), sizeof *p->order));
  MZ_TRY(mz_alloc(&p->misses, (size_t)book->held_out, sizeof *p->misses));
  mz_params_init(e->params, mz_hash_combine(p->school->options->practice.seed, (uint64_t)p->member), p->values);
  return MZ_OK;
}

static void pupil_deinit(pupil *p) {
  mz_graph_tape_deinit(&p->tape);
  mz_optimizer_deinit(&p->optimizer);
  free(p->values);
  free(p->transposed);
  free(p->gradient);
  free(p->order);
  free(p->misses);
}

static mz_status train(pupil *p) {
  school *s = p->school;
  const mz_ensemble *e = ensemble_of(p);
  double *best = &s->result->kinds[p->kind].error[p->member];
  int *best_epoch = &s->result->kinds[p->kind].epochs[p->member];
  const int steps = trained_on(s) / ROWS, epochs = s->options->epochs;
  *best = INFINITY;
  for (int epoch = 1; epoch <= epochs && epoch - *best_epoch <= PATIENCE; epoch++) {
    mz_rng rng =
        mz_stream_practice(mz_hash_combine(s->options->practice.seed, (uint64_t)p->member), MZ_PRACTICE_ORDER, (uint64_t)epoch);
    mz_rng_permutation(&rng, trained_on(s), p->order);
    for (int i = 0; i < steps; i++) MZ_TRY(step(p, p->order + i * ROWS, (int64_t)epochs * steps));
    const double error = examine(p);
    if (!(error < *best)) continue;
    *best = error;
    *best_epoch = epoch;
    memcpy(e->members[p->member], p->values, (size_t)e->params->size * sizeof *p->values);
  }
  return MZ_OK;
}

static mz_status train_member(void *context, int task, int worker) {
  (void)worker;
  school *s = context;
  pupil *p;
  char what[160];
  MZ_TRY(mz_alloc(&p, 1, sizeof *p));
  p->school = s;
  p->kind = (mz_ensemble_kind)(task / MZ_PRETRAINED_MEMBERS);
  p->member = task % MZ_PRETRAINED_MEMBERS;
  mz_status status = pupil_init(p);
  if (status == MZ_OK) status = train(p);
  if (status == MZ_OK && s->options->progress) {
    snprintf(what, sizeof what, "%s, member %d: best after %d epochs, error %.4f between plans of held-out situations",
             mz_ensemble_name(p->kind), p->member + 1, s->result->kinds[p->kind].epochs[p->member],
             s->result->kinds[p->kind].error[p->member]);
    s->options->progress(s->options->context, what);
  }
  pupil_deinit(p);
  free(p);
  return status;
}

/* ---- all of them ---- */

static mz_status judge_analytic(school *s) {
  double *misses = NULL;
  mz_graph *graph = NULL;
  mz_status status;
  MZ_TRY_CLEANUP(mz_alloc(&misses, (size_t)s->book.held_out, sizeof *misses));
  MZ_TRY_CLEANUP(mz_alloc(&graph, 1, sizeof *graph));
  s->result->analytic_error = analytic_error(s, misses, graph);
cleanup:
  free(graph);
  free(misses);
  return status;
}

mz_status mz_pretrain(const mz_pretraining_options *options, mz_pretraining_result *out) {
  school *s = NULL;
  char about[200];
  mz_status status;
  *out = (mz_pretraining_result){0};
  MZ_TRY(mz_alloc(&s, 1, sizeof *s));
  s->options = options;
  s->result = out;
  MZ_TRY_CLEANUP(mz_lesson_book_init(&s->book, &options->practice, options->exercises));
  if (trained_on(s) < ROWS || s->book.held_out < 2) {
    status = mz_fail(MZ_E_CONFIG, "%d situations are too few to train on", options->exercises);
    goto cleanup;
  }
  out->samples = trained_on(s);
  out->held_out = s->book.held_out;
  MZ_TRY_CLEANUP(judge_analytic(s));
  MZ_TRY_CLEANUP(mz_ensembles_init(&s->ensembles));
  for (int k = 0; k < MZ_ENSEMBLE_KINDS; k++)
    MZ_TRY_CLEANUP(mz_lesson_book_scaling(&s->book, (mz_ensemble_kind)k, &s->ensembles.items[k].scaling));
  MZ_TRY_CLEANUP(mz_pool_run(options->pool, train_member, s, MZ_ENSEMBLE_KINDS * MZ_PRETRAINED_MEMBERS));
  snprintf(about, sizeof about, "trained on %d plans of %d simulated situations, %d to %d cores, seed %llu", out->samples,
           options->exercises, options->practice.cores_min, options->practice.cores_max,
           (unsigned long long)options->practice.seed);
  status = mz_pretrained_write(&s->ensembles, about, &out->bytes, &out->size);
cleanup:
  mz_ensembles_deinit(&s->ensembles);
  mz_lesson_book_deinit(&s->book);
  free(s);
  return status;
}
