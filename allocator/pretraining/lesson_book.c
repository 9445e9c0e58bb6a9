#include "allocator/pretraining/lesson_book.h"
#include "base/maths/streams.h"
#include <math.h>
#include <string.h>

enum { HELD_OUT = 8 };

/* How many plans count as measured when a plan is predicted: none before a run, more later. */
static const int known[] = {0, 1, 2, 4, 8};
enum { KNOWN = sizeof known / sizeof *known };

static mz_status draw(mz_exercise *e, const mz_practice_options *options, int number) {
  mz_rng rng = mz_stream_practice(options->seed, MZ_PRACTICE_KNOWN, (uint64_t)number);
  MZ_TRY(mz_practice_draw(&e->practice, options, (uint64_t)number));
  int count = known[mz_rng_below(&rng, KNOWN)];
  if (count > e->practice.count) count = e->practice.count;
  mz_analytic_init(&e->model, &e->practice.pipeline, fmax(1, mz_pipeline_cores(&e->practice.pipeline)));
  mz_analytic_fit(&e->model, e->practice.seen, count); /* the usual plan first, as a run would */
  e->model.plan_count = 0;
  e->newest = count > 0 ? &e->practice.seen[count - 1] : NULL;
  return MZ_OK;
}

static void add_samples(mz_lesson_book *book, int exercise) {
  const mz_exercise *e = &book->exercises[exercise];
  for (int i = 0; i < e->practice.count; i++) {
    if (!isfinite(mz_analytic_predict(&e->model, &e->practice.seen[i].plan).unit_s)) continue;
    book->samples[book->sample_count++] = (mz_sample){exercise, i};
  }
}

mz_status mz_lesson_book_init(mz_lesson_book *book, const mz_practice_options *options, int exercises) {
  *book = (mz_lesson_book){.exercise_count = exercises};
  mz_status status;
  MZ_TRY_CLEANUP(mz_alloc(&book->exercises, (size_t)exercises, sizeof *book->exercises));
  MZ_TRY_CLEANUP(mz_alloc(&book->samples, (size_t)exercises * MZ_PRACTICE_PLANS_MAX, sizeof *book->samples));
  for (int i = 0; i < exercises; i++) {
    int nodes, edges;
    MZ_TRY_CLEANUP(draw(&book->exercises[i], options, i));
    add_samples(book, i);
    if (i < exercises - exercises / HELD_OUT) book->held_out = -book->sample_count;
    mz_graph_size(&book->exercises[i].practice.pipeline, &nodes, &edges);
    book->nodes = nodes > book->nodes ? nodes : book->nodes;
    book->edges = edges > book->edges ? edges : book->edges;
  }
  book->held_out += book->sample_count;
  return MZ_OK;
cleanup:
  mz_lesson_book_deinit(book);
  return status;
}

void mz_lesson_book_deinit(mz_lesson_book *book) {
  free(book->exercises);
  free(book->samples);
  *book = (mz_lesson_book){0};
}

void mz_lesson_book_read(const mz_lesson_book *book, int sample, mz_ensemble_kind kind, mz_graph *graph, double *target) {
  const mz_sample *s = &book->samples[sample];
  const mz_exercise *e = &book->exercises[s->exercise];
  const mz_observation *seen = &e->practice.seen[s->plan];
  const bool explained = mz_ensemble_explained(kind);
  const mz_graph_situation situation = {.model = &e->model, .explained = explained, .newest = e->newest};
  mz_graph_init(graph, &situation, &seen->plan);
  *target = log(seen->unit_s) - (explained ? log(mz_analytic_predict(&e->model, &seen->plan).unit_s) : 0);
}

/* ---- scaling ---- */

typedef struct moments {
  double sum, squares, count;
} moments;

static void count(moments *m, double value) {
  m->sum += value;
  m->squares += value * value;
  m->count++;
}

static void finish(const moments *m, float *mean, float *scale) {
  enum { DIGITS = 6 };
  const double average = m->count > 0 ? m->sum / m->count : 0;
  const double variance = m->count > 0 ? m->squares / m->count - average * average : 0;
  *mean = (float)average;
  *scale = variance > pow(10, -DIGITS) * (1 + average * average) ? (float)(1 / sqrt(variance)) : 0;
}

typedef struct tally {
  moments nodes[MZ_NODE_KINDS][MZ_GRAPH_NODE_FEATURES], edges[MZ_EDGE_KINDS][MZ_GRAPH_EDGE_FEATURES], target;
  mz_graph graph;
} tally;

static void add_graph(tally *t) {
  for (int i = 0; i < t->graph.node_count; i++)
    for (int k = 0; k < MZ_GRAPH_NODE_FEATURES; k++) count(&t->nodes[t->graph.nodes[i].kind][k], t->graph.nodes[i].features[k]);
  for (int i = 0; i < t->graph.edge_count; i++)
    for (int k = 0; k < MZ_GRAPH_EDGE_FEATURES; k++) count(&t->edges[t->graph.edges[i].kind][k], t->graph.edges[i].features[k]);
}

mz_status mz_lesson_book_scaling(const mz_lesson_book *book, mz_ensemble_kind kind, mz_graph_scaling *out) {
  tally *t;
  MZ_TRY(mz_alloc(&t, 1, sizeof *t));
  for (int i = 0; i < book->sample_count - book->held_out; i++) {
    double target;
    mz_lesson_book_read(book, i, kind, &t->graph, &target);
    add_graph(t);
    count(&t->target, target);
  }
  for (int n = 0; n < MZ_NODE_KINDS; n++)
    for (int k = 0; k < MZ_GRAPH_NODE_FEATURES; k++) finish(&t->nodes[n][k], &out->node_mean[n][k], &out->node_scale[n][k]);
  for (int e = 0; e < MZ_EDGE_KINDS; e++)
    for (int k = 0; k < MZ_GRAPH_EDGE_FEATURES; k++) finish(&t->edges[e][k], &out->edge_mean[e][k], &out->edge_scale[e][k]);
  finish(&t->target, &out->target_mean, &out->target_scale);
  if (out->target_scale == 0) out->target_scale = 1;
  free(t);
  return MZ_OK;
}
