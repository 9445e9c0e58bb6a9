#include "cli/explaining/why_graph.h"
#include "allocator/predictors/pretrained.h"
#include "allocator/strategies/outlook.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/explaining/graph_drawing.h"
#include "cli/explaining/graphviz.h"
#include "cli/print.h"
#include <math.h>
#include <string.h>

enum { GRAPHVIZ, OWN };
static const char *const layouts[] = {[GRAPHVIZ] = "graphviz", [OWN] = "own"};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

const char *mz_why_graph_layout(int index) { return index < LAYOUTS ? layouts[index] : NULL; }

static mz_status check(const mz_why_graph_options *o) {
  if (!mz_text_ends_in(o->out, ".svg") && !mz_text_ends_in(o->out, ".dot")) {
    const char *name = strrchr(o->out, '/'), *dot = strrchr(name ? name : o->out, '.');
    const int stem = (int)(dot ? (size_t)(dot - o->out) : strlen(o->out));
    return mz_fail(MZ_E_USAGE, "--graph %s: the name ends in .svg (a picture) or .dot (text for Graphviz): try %.*s.svg", o->out,
                   stem, o->out);
  }
  if (!o->layout) return MZ_OK;
  for (int i = 0; i < LAYOUTS; i++)
    if (strcmp(o->layout, layouts[i]) == 0) return MZ_OK;
  const char *nearest = mz_nearest(o->layout, layouts, LAYOUTS);
  return mz_fail(MZ_E_USAGE, "--layout %s: takes graphviz or own%s%s%s", o->layout, nearest ? "; did you mean " : "",
                 nearest ? nearest : "", nearest ? "?" : "");
}

/* "muzero: plan after phase 12, 3.2 ms a unit of work predicted" */
static void make_title(const mz_replayed *r, const mz_plan *plan, char *out, size_t size) {
  const mz_pipeline *pipeline = r->options.pipeline;
  char time[MZ_OUTLOOK_TEXT];
  const bool on_trial = !mz_plan_equal(pipeline, plan, mz_allocator_kept(r->allocator));
  const double unit_s = mz_analytic_predict(mz_allocator_model(r->allocator), plan).unit_s;
  const int used =
      snprintf(out, size, "%s: plan%s after phase %lld", pipeline->name, on_trial ? " on trial" : "", (long long)r->phase);
  if (isfinite(unit_s))
    snprintf(out + used, size - (size_t)used, ", predicted to take %s a unit of work", mz_outlook_text(unit_s, time));
}

static mz_status write_picture(const mz_why_graph_options *o, const mz_graph_picture *picture) {
  mz_drawing dot = {0}, out = {0};
  const bool as_dot = mz_text_ends_in(o->out, ".dot"), own = o->layout && strcmp(o->layout, layouts[OWN]) == 0;
  const char *by = as_dot ? "for Graphviz" : "by Graphviz";
  char why_not[MZ_MESSAGE_MAX + 32];
  if (as_dot || !own) mz_graph_draw_dot(as_dot ? &out : &dot, picture);
  if (!as_dot && (own || mz_graphviz_draw(&out, &dot) != MZ_OK)) {
    snprintf(why_not, sizeof why_not, own ? "by our own layout" : "by our own layout: %s", mz_message());
    by = why_not;
    mz_graph_draw_svg(&out, picture);
  }
  mz_drawing_free(&dot);
  MZ_TRY(mz_drawing_write(&out, o->out));
  mz_log_write(MZ_LOG_INFO, "%s: %d nodes, %d edges, drawn %s", o->out, picture->graph->node_count, picture->graph->edge_count,
               by);
  return MZ_OK;
}

/* By the networks that the run's predictors brought along; a run whose strategy had none is looked at by the program's own. */
static mz_status look(const mz_replayed *r, const mz_graph *graph, float *attention) {
  mz_pretrained *own = NULL, *pretrained = r->pretrained;
  if (!pretrained) MZ_TRY(mz_pretrained_bundled(&own));
  if (!pretrained) pretrained = own;
  const mz_status status = mz_pretrained_prepare(pretrained, r->options.pipeline);
  if (status == MZ_OK) mz_pretrained_attention(pretrained, graph, attention);
  mz_pretrained_free(own);
  return status;
}

static mz_status draw(const mz_why_graph_options *o, const mz_replayed *r) {
  if (!r->allocator || r->phase < 0) return mz_fail(MZ_E_CONFIG, "%s: its ledger is empty: there is no plan yet", o->run);
  if (o->phase != MZ_NEWEST_PHASE && r->phase != o->phase)
    return mz_fail(MZ_E_CONFIG, "%s: there is no decision after phase %lld; the nearest before is after phase %lld", o->run,
                   (long long)o->phase, (long long)r->phase);
  const mz_plan *plan = mz_allocator_plan(r->allocator);
  const mz_graph_situation situation = {
      .model = mz_allocator_model(r->allocator), .explained = true, .newest = r->newest.unit_s > 0 ? &r->newest : NULL};
  char title[256];
  float attention[MZ_GRAPH_EDGES_MAX];
  mz_graph *graph;
  MZ_TRY(mz_alloc(&graph, 1, sizeof *graph));
  mz_graph_init(graph, &situation, plan);
  make_title(r, plan, title, sizeof title);
  const mz_graph_picture picture = {
      .graph = graph, .situation = &situation, .plan = plan, .attention = attention, .title = title};
  mz_status status = look(r, graph, attention);
  if (status == MZ_OK) status = write_picture(o, &picture);
  free(graph);
  return status;
}

mz_status mz_why_graph_write(const mz_why_graph_options *options) {
  mz_replayed replayed;
  MZ_TRY(check(options));
  MZ_TRY(mz_ledger_replay(options->ledger, options->phase == MZ_NEWEST_PHASE ? INT64_MAX : options->phase, &replayed));
  const mz_status status = draw(options, &replayed);
  mz_replayed_free(&replayed);
  return status;
}
